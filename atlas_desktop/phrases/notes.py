"""Why a link between two notes is suggested, in words."""

from collections.abc import Mapping

from atlas_desktop.locale import _, ngettext
from atlas_desktop.services.cleaning import clean_line
from memory.notes.entities import Reason, Why


def reason_text(reason: Reason, titles: Mapping[str, str]) -> str:
    """Returns the reason of a suggestion as a sentence; `titles` are those of notes, by id."""
    match reason.why:
        case Why.MENTION:
            return _("This note mentions it.")
        case Why.MENTIONED:
            return _("It mentions this note.")
        case Why.LINKED if reason.notes:
            names = ", ".join(f"“{clean_line(titles[one])}”" for one in reason.notes if one in titles)
            return ngettext(
                "Both are linked with {notes}.",
                "Both are linked with {notes}.",
                len(reason.notes),
                notes=names,
            )
        case Why.WORDS if reason.words:
            return _("Both say: {words}.", words=", ".join(map(clean_line, reason.words)))
        case Why.PROPERTY:
            return _("It is about a property of this note.")
        case _:
            return _("Both are about similar things.")
