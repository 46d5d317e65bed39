"""Texts about projects that both interfaces show."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from atlas_desktop.locale import N_, _, formats, ngettext, plural
from atlas_desktop.services.cleaning import clean_line
from memory.clock import LocalZone

if TYPE_CHECKING:
    from atlas_desktop.services.memories import ProjectLifetime
    from atlas_desktop.services.projects import ProjectDefaults
    from memory.organising.entities import Project, ProjectContents

MODES = {
    "normal": N_("uses memories and adds to them"),
    "reads": N_("uses memories, adds none"),
    "blank": N_("neither uses memories nor adds any"),
}
"""What a memory mode means, in a few words."""

_TIERS = {
    "working": plural("1 for this session", "{count} for this session"),
    "short_term": plural("1 short-term", "{count} short-term"),
    "episodic": plural("1 for as long as the project", "{count} for as long as the project"),
    "long_term": plural("1 long-term", "{count} long-term"),
    "procedural": plural("1 how-to", "{count} how-tos"),
}


def defaults_line(name: str, defaults: "ProjectDefaults") -> str:
    """Returns what a new session of a project begins with, in one line."""
    parts = []
    if defaults.persona is not None:
        parts.append(_("persona {name}", name=clean_line(defaults.persona.name)))
    if defaults.model is not None:
        parts.append(_("model {model}", model=defaults.model))
    if defaults.memory_mode is not None:
        parts.append(_("memory {mode}", mode=defaults.memory_mode.value))
    return _("Defaults of the project “{name}”: {parts}.", name=clean_line(name), parts=", ".join(parts))


def said_of_opening_up() -> str:
    """Returns what happens to the contents of an isolated project when the project is deleted."""
    return _("It keeps to itself. Without it, its conversations and memories are recalled like all others.")


def contents_line(contents: "ProjectContents") -> str:
    """Returns how much belongs to a project; what there is none of is left out."""
    memories = sum(contents.tiers.values())
    parts = (
        (contents.sessions, ngettext("1 conversation", "{count} conversations", contents.sessions)),
        (contents.documents, ngettext("1 document", "{count} documents", contents.documents)),
        (contents.notes, ngettext("1 note", "{count} notes", contents.notes)),
        (memories, ngettext("1 memory", "{count} memories", memories)),
    )
    return ", ".join(text for count, text in parts if count) or _("empty")


def tiers_line(tiers: Mapping[str, int]) -> str:
    """Returns how many memories there are by how long they last; "" without any."""
    return ", ".join(ngettext(*_TIERS[tier], tiers[tier]) for tier in _TIERS if tiers.get(tier))


def lifetime_lines(
    project: "Project", lifetime: "ProjectLifetime", days: float, *, preview: bool = False
) -> list[str]:
    """Returns in words what expires when. `days` is the setting; with `preview`, what archiving would do."""
    episodes = [one for one in lifetime.ending if one.memory.tier == "episodic"]
    others = [one for one in lifetime.ending if one.memory.tier != "episodic"]
    last = episodes[-1].at if episodes else lifetime.ends_at
    found = []
    if lifetime.ends_at is None:
        found.append(
            ngettext(
                "Its episodic memories last as long as the project, and {days:g} day after you archive it.",
                "Its episodic memories last as long as the project, and {days:g} days after you archive it.",
                round(days),
                days=days,
            )
        )
    elif preview:
        found.append(
            ngettext(
                "1 episodic memory would expire on {when}.",
                "{count} episodic memories would expire on {when}.",
                len(episodes),
                when=_day(last or lifetime.ends_at),
            )
            if episodes
            else _("No memory would expire.")
        )
    else:
        if project.archived_at is not None:
            found.append(_("Archived on {when}.", when=_day(project.archived_at)))
        if episodes:
            found.append(
                ngettext(
                    "1 episodic memory expires on {when}, unless you reopen the project.",
                    "{count} episodic memories expire on {when}, unless you reopen the project.",
                    len(episodes),
                    when=_day(last or lifetime.ends_at),
                )
            )
    if lifetime.returning:
        found.append(
            ngettext(
                "1 memory is in the archive; reopening brings it back.",
                "{count} memories are in the archive; reopening brings them back.",
                len(lifetime.returning),
            )
        )
    if others:
        found.append(
            ngettext(
                "1 other memory expires on {when}.",
                "{count} other memories expire, the first on {when}.",
                len(others),
                when=_day(others[0].at),
            )
        )
    return found


def _day(moment: datetime) -> str:
    return formats().date(moment.astimezone(LocalZone()))
