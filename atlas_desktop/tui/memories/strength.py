"""How strong memories are, as bars and curves, and what changed when: the timeline and topics by month."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from atlas_desktop.locale import N_, _, formats, ngettext, quoted
from atlas_desktop.phrases import stored_text, topic_name_text
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.insights import MemoryTopic
from atlas_desktop.services.memories import FORGOTTEN, TimelineEvent
from atlas_desktop.tui.calendar import long, short
from memory.memories.lifetime import PASSING
from memory.recall.decay import StrengthCurve
from memory.storage.memories import ADD_SOURCES

BAR = 5
"""Cells of a bar."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_STEPS = " ▁▂▃▄▅▆▇█"
HEIGHT = 4
_LEAST_SPAN = timedelta(days=1)
Part = Content | str | tuple[str, str]


def percent(strength: float) -> str:
    """Returns a strength in per cent: 100 is an ordinary memory on its first day."""
    of_hundred = 100 * strength
    return _("{value} %", value=formats().decimal(of_hundred, 1 if of_hundred < 1 else 0))


def bar(strength: float) -> str:
    """Returns a bar of `BAR` cells, full at 100 %."""
    eighths = min(max(round(8 * BAR * strength), 1 if strength > 0 else 0), 8 * BAR)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(BAR, "░")


def curve_text(curve: StrengthCurve, width: int) -> Content:
    """Returns the curve from the memory's beginning to its end, and the same in words."""
    now, end = curve.now, curve.ends_at
    began = min(curve.memory.created_at, now)
    until = max(end if end is not None else now + (now - began), now + _LEAST_SPAN)
    width = max(width, 12)
    step = (until - began) / width
    columns = [began + (place + 0.5) * step for place in range(width)]
    here = min(int((now - began) / step), width - 1)
    values = [curve.at(one) for one in columns]
    # A weak memory may have lost nearly all of it within the first column.
    values[0] = curve.at(began)
    values[here] = curve.at(now)
    most = max(*values, curve.if_pinned)
    pinned = -1.0 if curve.memory.pinned else HEIGHT * curve.if_pinned / most
    parts: list[Part] = [*_columns(values, here, pinned, most)]
    uses = {min(int((one - began) / step), width - 1) for one in curve.used if began <= one <= now}
    line = "".join("▲" if place in uses else "┼" if place == here else "─" for place in range(width))
    parts += [(line, "$quiet"), "\n", (_labels(began, now, until, here, width), "$quiet"), "\n\n"]
    return Content.assemble(*parts, Content("\n").join(_in_words(curve)))


def _columns(values: list[float], here: int, pinned: float, most: float) -> list[Part]:
    """Returns the lines of the chart. The forecast is striped, so that it differs not only by its colour."""
    parts: list[Part] = []
    for row in reversed(range(HEIGHT)):
        for place, value in enumerate(values):
            height = HEIGHT * value / most - row
            ahead = place > here
            if height > 0 and not (ahead and (place - here) % 2):
                cell = _STEPS[min(max(round(8 * height), 1), 8)]
                parts.append((cell, "$quiet" if ahead else "$primary"))
            elif ahead and row <= pinned - 0.01 < row + 1:
                parts.append(("┄", "$accent"))
            else:
                parts.append(" ")
        parts.append("\n")
    return parts


def _labels(began: datetime, now: datetime, until: datetime, here: int, width: int) -> str:
    """Returns the dates below the axis: the beginning, now and the end, as many as have space."""
    first, last, today = short(began, now), _day(until, now), _("now")
    line = list(" " * width)
    for text, place in ((last, width - cell_len(last)), (first, 0), (today, here - cell_len(today) // 2)):
        place = min(max(place, 0), width - cell_len(text))
        around = line[max(place - 1, 0) : place + cell_len(text) + 1]
        if place >= 0 and not "".join(around).strip():
            line[place : place + cell_len(text)] = text
    return "".join(line).rstrip()


def _day(moment: datetime, now: datetime) -> str:
    local = moment.astimezone(now.tzinfo)
    return formats().day(local) if local.year == now.year else formats().month(local)


def _in_words(curve: StrengthCurve) -> list[Content]:
    memory, now = curve.memory, curve.now
    now_text = _("Strength {strength} now.", strength=percent(curve.at(now)))
    if curve.at(now) > 1:
        now_text = f"{now_text} {_('100 % is an ordinary memory on its first day.')}"
    told = [Content(now_text)]
    limit = percent(curve.threshold)
    end = curve.ends_at
    if memory.pinned:
        told.append(Content(_("Pinned: it stays as strong as it is.")))
    elif memory.expires_at is not None:
        told.append(Content(_("It expires {time}.", time=long(memory.expires_at, now))))
    elif end is not None:
        day = formats().date(end.astimezone(now.tzinfo))
        passing = memory.tier in PASSING and memory.project is None
        if end <= now:
            told.append(Content(_("It is below {limit}: it has hardly any weight.", limit=limit)))
        elif passing:
            told.append(Content(_("Unused, it fades on {day} (below {limit}).", day=day, limit=limit)))
        else:
            told.append(
                Content(_("Unused, it is faint from {day} (below {limit}), but kept.", day=day, limit=limit))
            )
    if not memory.pinned:
        pinned = _("┄ pinned, it would stay at {strength}.", strength=percent(curve.if_pinned))
        told.append(Content(pinned))
    if curve.used:
        last = long(curve.used[-1], now)
        told.append(
            Content(
                ngettext(
                    "▲ used once ({time})",
                    "▲ used {count} times (latest: {time})",
                    len(curve.used),
                    time=last,
                )
            )
        )
    else:
        told.append(Content(_("No reply has recalled it yet. Being in your profile does not count.")))
    told.append(Content.styled(_("Solid: so far. Striped: if it is not used again."), "$quiet"))
    return told


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
    replaced = [one for one in event.memories[1:] if one.superseded_by == event.memories[0].id]
    if replaced:
        facts.append(_("replaces {text}", text=quoted(clean_line(replaced[0].text))))
    elif len(event.memories) > 1:
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
        hint = _("A receipt contains counts, but no content.")
        return Content.assemble(head, stored_text(event.receipt), (f"\n\n{hint}", "$quiet"))
    shown = {one.id for one in event.memories}
    lines = [
        _("Replaced: {text}", text=text) if one.superseded_by in shown else text
        for one in event.memories[:_SHOWN]
        for text in [clean_line(one.text)]
    ]
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
    name = _cut(topic_name_text(topic.topic.kind, topic.topic.name), max(width - MONTHS - 2, 8))
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
        (topic_name_text(topic.topic.kind, topic.topic.name), "bold"),
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
