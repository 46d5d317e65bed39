"""Insights as text, for users without plots, and the calendar of days. Pure functions."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content

from atlas_desktop.errors import size
from atlas_desktop.locale import _, formats, ngettext
from atlas_desktop.phrases.insights import TOPIC_KINDS, stored_text, topic_text
from atlas_desktop.services.cleaning import clean_line
from memory.insights import monday

if TYPE_CHECKING:
    from atlas_desktop.services.insights import Insights
    from memory.insights import DayCount, Topic

ACTIVITY, TOPICS, MEMORIES, STORAGE, SPEED = TABS = ("activity", "topics", "memories", "storage", "speed")
SHADES = ("·", "░", "▒", "▓", "█")
"""From none to the maximum: readable without colour."""
_MOST_WEEKS = 53
_WEEKS_TOLD = 12
_TOPICS_TOLD = 8
_LONGEST = 200
Part = Content | str | tuple[str, str]


def amounts(found: "Insights") -> list[str]:
    """Returns the amounts of each kind, as text."""
    totals = found.totals
    written, read = totals.tokens_written, totals.tokens_read
    return [
        ngettext("1 conversation", "{count} conversations", totals.sessions),
        ngettext("1 message", "{count} messages", totals.messages),
        ngettext("1 memory", "{count} memories", totals.memories),
        ", ".join(
            [
                ngettext("1 token written", "{count} tokens written", written),
                ngettext("1 read", "{count} read", read),
            ]
        ),
    ]


def in_lines(parts: Sequence[str], width: int) -> str:
    """Joins the parts with dots into as many lines as needed; never breaks a part."""
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]} · {part}" if lines[-1] else part
        if cell_len(longer) > width and lines[-1]:
            lines.append(part)
        else:
            lines[-1] = longer
    return "\n".join(lines)


# --- the calendar ----------------------------------------------------------------------------------


def calendar(counts: Mapping[date, int], today: date, width: int, heading: str) -> Content:
    """Returns one line for each weekday and one column for each week, as many as fit."""
    weeks = max(min((width - 5) // 2, _MOST_WEEKS), 1)
    first = monday(today) - timedelta(weeks=weeks - 1)
    most = max((count for day, count in counts.items() if first <= day <= today), default=0)
    parts: list[Part] = [(heading, "bold"), "\n", (_months(first, weeks), "$quiet"), "\n"]
    for row in range(7):
        name = formats().weekday(_noon(first + timedelta(days=row)))[:3] if row % 2 == 0 else ""
        parts.append((f"{name:<4}", "$quiet"))
        for week in range(weeks):
            day = first + timedelta(weeks=week, days=row)
            if day > today:
                break
            shade = SHADES[level(counts.get(day, 0), most)]
            parts.append(
                (
                    f"{shade} " if shade == SHADES[0] else shade * 2,
                    "$quiet" if shade == SHADES[0] else "$primary",
                )
            )
        parts.append("\n")
    scale = _("none {none} to {most} {full}", none=SHADES[0], most=formats().number(most), full=SHADES[-1])
    parts.append((scale, "$quiet"))
    return Content.assemble(*parts)


def level(count: int, most: int) -> int:
    """Returns 0 for none, or 1 to 4 by quarters of the maximum."""
    return 0 if count <= 0 or most <= 0 else min(1 + (4 * count - 1) // most, 4)


def _months(first: date, weeks: int) -> str:
    """Returns month names above the weeks in which they begin."""
    line = [" "] * (4 + 2 * weeks)
    free = 0
    for week in range(weeks):
        begin = first + timedelta(weeks=week)
        days = [begin + timedelta(days=n) for n in range(7)]
        if (start := next((day for day in days if day.day == 1), None)) and 4 + 2 * week >= free:
            name = f"{_noon(start):%b}" if not formats().locale else formats().month(_noon(start)).split()[0]
            place = 4 + 2 * week
            for at, letter in enumerate(name[: len(line) - place]):
                line[place + at] = letter
            free = place + len(name) + 1
    return "".join(line).rstrip()


def _noon(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12).astimezone()


# --- plots as text ---------------------------------------------------------------------------------


def told(tab: str, found: "Insights") -> Content:
    """Returns the text of a tab without its plot."""
    makers = {ACTIVITY: _activity, TOPICS: _topics, MEMORIES: _memories, STORAGE: _storage, SPEED: _speed}
    return Content.assemble(*makers[tab](found))


def _activity(found: "Insights") -> Iterable[Part]:
    if not found.days:
        yield _("Nothing to show for this period.")
        return
    best = max(found.days, key=lambda one: (one.messages, one.sessions))
    yield _(
        "The busiest day was {day}: {sessions}, {messages}.",
        day=formats().date(_noon(best.day)),
        sessions=ngettext("1 conversation", "{count} conversations", best.sessions),
        messages=ngettext("1 message", "{count} messages", best.messages),
    )
    yield "\n\n"
    yield _("Week by week"), "bold"
    for week in reversed(found.weeks[-_WEEKS_TOLD:]):
        yield f"\n{_('Week of {day}', day=formats().date(_noon(week.day)))}: ", "$quiet"
        yield _counted(week)


def _counted(count: "DayCount") -> str:
    counts = [
        ngettext("1 conversation", "{count} conversations", count.sessions),
        ngettext("1 message", "{count} messages", count.messages),
    ]
    if count.tokens_written:
        counts.append(ngettext("1 token written", "{count} tokens written", count.tokens_written))
    return ", ".join(counts)


def _topics(found: "Insights") -> Iterable[Part]:
    if not found.topics:
        yield _("Nothing to show for this period.")
    first = True
    for kind in TOPIC_KINDS:
        members = [one for one in found.topics if one.kind == kind]
        if not members:
            continue
        yield ("" if first else "\n\n") + topic_text(kind), "bold"
        first = False
        for one in members[:_TOPICS_TOLD]:
            yield f"\n{topic_name(one)}"
            yield f" · {_topic_facts(one)}", "$quiet"
        if len(members) > _TOPICS_TOLD:
            yield f"\n{ngettext('and 1 more', 'and {count} more', len(members) - _TOPICS_TOLD)}", "$quiet"


def _topic_facts(topic: "Topic") -> str:
    facts = [ngettext("1 conversation", "{count} conversations", topic.sessions)]
    if topic.months:
        begun = datetime.strptime(min(topic.months), "%Y-%m").replace(day=2).astimezone()
        facts.append(_("since {month}", month=formats().month(begun)))
    return " · ".join(facts)


def topic_name(topic: "Topic") -> str:
    return clean_line(topic.name) or topic.kind


def _memories(found: "Insights") -> Iterable[Part]:
    yield _("Most used"), "bold"
    if not found.most_used:
        yield f"\n{_('No memory has been used yet.')}"
    for one in found.most_used:
        yield f"\n{clean_line(one.text)[:_LONGEST]}"
        yield f" · {one.kind} · {ngettext('1 use', '{count} uses', one.uses)}", "$quiet"
    if found.growth:
        yield f"\n\n{_('Learned')}", "bold"
    for week in reversed(found.growth[-_WEEKS_TOLD:]):
        yield f"\n{_('Week of {day}', day=formats().date(_noon(week.week)))}: ", "$quiet"
        number = formats().number
        yield _("{added} new, {total} in all", added=number(week.added), total=number(week.total))


def _storage(found: "Insights") -> Iterable[Part]:
    yield _("Disk usage"), "bold"
    for one in found.storage:
        if one.bytes:
            rows = "" if one.rows is None else f" · {ngettext('1 entry', '{count} entries', one.rows)}"
            yield f"\n{size(one.bytes):>10}  ", "bold"
            yield stored_text(one.kind)
            yield rows, "$quiet"


def _speed(found: "Insights") -> Iterable[Part]:
    if not found.speed:
        yield _("No replies were measured in this period.")
        return
    for number, model in enumerate(models_of(found)):
        yield ("\n\n" if number else "") + clean_line(model), "bold"
        weeks = [one for one in found.speed if one.model == model]
        for one in reversed(weeks[-_WEEKS_TOLD:]):
            yield f"\n{_('Week of {day}', day=formats().date(_noon(one.week)))}: ", "$quiet"
            yield _(
                "{tokens} tokens a second, first word after {first}, {replies}",
                tokens=formats().decimal(one.tokens_per_second),
                first=_duration(one.first_token_ms),
                replies=ngettext("1 reply", "{count} replies", one.replies),
            )


def models_of(found: "Insights") -> list[str]:
    """Returns the models by the week of their latest reply, the latest first."""
    latest = {one.model: one.week for one in found.speed}
    return sorted(latest, key=lambda model: (latest[model], model), reverse=True)


def _duration(ms: float) -> str:
    if ms < 1000:
        return _("{value} ms", value=formats().number(round(ms)))
    return _("{value} s", value=formats().decimal(ms / 1000))


def months_between(months: Sequence[str]) -> list[str]:
    """Returns all months from first to last, such as 2026-03, including empty ones."""
    if not months:
        return []
    (year, month), last = map(int, min(months).split("-")), max(months)
    found = [f"{year:04}-{month:02}"]
    while found[-1] < last:
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
        found.append(f"{year:04}-{month:02}")
    return found
