"""The timeline of the memory browser (learned, changed, forgotten), and its topics over time."""

from collections.abc import Sequence
from datetime import datetime

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from atlas_desktop.locale import N_, _, formats, ngettext
from atlas_desktop.phrases import stored_text
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.insights import MemoryTopic
from atlas_desktop.services.memories import FORGOTTEN, TimelineEvent
from atlas_desktop.tui.calendar import long
from memory.storage.memories import ADD_SOURCES

_ACTIONS = {
    "learn": ("+", N_("learned")),
    "add": ("+", N_("added")),
    "digest": ("+", N_("digest of a conversation")),
    "accept": ("✓", N_("accepted")),
    "pin": ("✓", N_("pinned")),
    "unpin": ("~", N_("unpinned")),
    "rescue": ("✓", N_("rescued")),
    "promote": ("✓", N_("made long-term")),
    "edit": ("~", N_("changed")),
    "consolidate": ("~", N_("merged")),
    "prolong": ("~", N_("given more time")),
    ADD_SOURCES: ("~", N_("said again")),
    "project_reopened": ("~", N_("project reopened")),
    "project_ended": ("~", N_("project archived")),
    "reject": ("−", N_("rejected")),
    "archive": ("−", N_("archived: out of use")),
    FORGOTTEN: ("−", N_("forgotten")),
}
"""Sign and name of each action in the change log."""
_TOPIC_KINDS = {
    "tag": N_("tag"),
    "project": N_("project"),
    "category": N_("category"),
    "cluster": N_("found by meaning"),
}
_COLOURS = {"+": "$success", "✓": "$primary", "~": "$accent", "−": "$error"}
_SPARKS = "▁▂▃▄▅▆▇█"
MONTHS = 12
_SHOWN = 20


def action_of(event: TimelineEvent) -> tuple[str, str]:
    """Returns the sign and the name of what happened."""
    sign, name = _ACTIONS.get(event.action, ("~", N_("changed")))
    return sign, _(name)


def event_row(event: TimelineEvent, width: int, now: datetime) -> Content:
    """Returns what it was about on one line, and below it what happened, and when."""
    sign, name = action_of(event)
    facts = [name, long(event.at, now)]
    if len(event.memories) > 1:
        facts.append(ngettext("1 memory", "{count} memories", len(event.memories)))
    if event.automatic:
        facts.append(_("automatic"))
    text = clean_line(event.memories[0].text) if event.memories else ""
    if event.receipt is not None:
        text, facts = stored_text(event.receipt), facts[:2]
    return Content.assemble(
        (sign, f"bold {_COLOURS[sign]}"),
        f" {_cut(text, width - 2)}\n  ",
        (_cut(" · ".join(facts), width - 2), "$quiet"),
    )


def event_details(event: TimelineEvent, now: datetime) -> Content:
    """Returns everything about an event."""
    sign, name = action_of(event)
    head = Content.assemble((sign, f"bold {_COLOURS[sign]}"), f" {name} · {long(event.at, now)}\n\n")
    if event.receipt is not None:
        hint = _("A receipt holds numbers, and nothing of what was forgotten.")
        return Content.assemble(head, stored_text(event.receipt), (f"\n\n{hint}", "$quiet"))
    lines = [clean_line(one.text) for one in event.memories[:_SHOWN]]
    more = len(event.memories) - _SHOWN
    lines += [ngettext("and 1 more", "and {count} more", more)] if more > 0 else []
    return Content.assemble(head, "\n".join(lines))


# --- topics ----------------------------------------------------------------------------------------


def spark(counts: Sequence[int]) -> str:
    """Returns a column for each count; a dot for none."""
    most = max(counts, default=0)
    return "".join("·" if not one else _SPARKS[max(round(8 * one / most) - 1, 0)] for one in counts)


def topic_row(topic: MemoryTopic, width: int) -> Content:
    """Returns the name with its months, and below how many memories there are, and since when."""
    line = spark([count for _month, count in topic.months[-MONTHS:]]).rjust(MONTHS)
    name = _cut(clean_line(topic.topic.name), max(width - MONTHS - 2, 8))
    facts = [
        _(_TOPIC_KINDS[topic.topic.kind]),
        ngettext("1 memory", "{count} memories", len(topic.memories)),
        _("last {month}", month=formats().month(topic.memories[0].created_at)),
    ]
    gap = " " * max(width - cell_len(name) - MONTHS, 1)
    return Content.assemble(name, gap, (line, "$primary"), "\n", (_cut(" · ".join(facts), width), "$quiet"))


def topic_details(topic: MemoryTopic, now: datetime) -> Content:
    """Returns the memories of a topic, month by month, latest first."""
    shown = topic.months[-MONTHS:]
    ends = [_month(shown[0][0]), _month(shown[-1][0])]
    parts: list[Content | str | tuple[str, str]] = [
        (clean_line(topic.topic.name), "bold"),
        "\n",
        (ends[0], "$quiet"),
        " ",
        (spark([count for _unused, count in shown]), "$primary"),
        " ",
        (ends[1] if len(shown) > 1 else "", "$quiet"),
        (f"\n{_('Memories learned, month by month')}", "$quiet"),
    ]
    month = ""
    for one in topic.memories[:_SHOWN]:
        of = formats().month(one.created_at.astimezone(now.tzinfo))
        if of != month:
            parts.append((f"\n\n{of}", "$quiet"))
            month = of
        parts.append(f"\n{clean_line(one.text)}")
    more = len(topic.memories) - _SHOWN
    parts += [(f"\n\n{ngettext('and 1 more', 'and {count} more', more)}", "$quiet")] if more > 0 else []
    return Content.assemble(*parts)


def _month(name: str) -> str:
    return formats().month(datetime.strptime(name, "%Y-%m").replace(day=2).astimezone())


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…"
