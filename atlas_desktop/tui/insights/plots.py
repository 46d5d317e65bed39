"""Draws insights into a plot. Each line has its own marker and name, not only a colour."""

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from atlas_desktop.locale import _, formats
from atlas_desktop.phrases.insights import stored_text
from atlas_desktop.tui.insights.texts import (
    ACTIVITY,
    MEMORIES,
    SPEED,
    STORAGE,
    TOPICS,
    models_of,
    months_between,
    topic_name,
)

if TYPE_CHECKING:
    from atlas_desktop.services.insights import Insights

Colour = tuple[int, int, int] | str
Plot = Any
"""A `textual_plotext.plot.Plot`, which has no types."""

_LINES = 5
_MARKERS = ("braille", "dot", "x", "star", "heart")
_WEEKS, _LEAST_WEEKS = 26, 12
_MONTHS = 24
_LABEL = 22
_TICKS = 6


def draw(tab: str, plt: Plot, found: "Insights", colours: Sequence[Colour]) -> bool:
    """Draws a plot. Returns False, and leaves it empty, if there is no data."""
    plt.clear_figure()
    makers: dict[str, Callable[[Plot, Insights, Sequence[Colour]], bool]] = {
        ACTIVITY: _weeks,
        TOPICS: _topics,
        MEMORIES: _growth,
        STORAGE: _storage,
        SPEED: _speed,
    }
    return makers[tab](plt, found, colours)


def _weeks(plt: Plot, found: "Insights", colours: Sequence[Colour]) -> bool:
    if not found.weeks:
        return False
    # Imported messages have no token counts: with many of them, the weeks would look empty.
    tokens = 2 * sum(one.tokens_written > 0 for one in found.weeks) > len(found.weeks)
    known = {one.day: one.tokens_written if tokens else one.messages for one in found.weeks}
    last = found.weeks[-1].day
    weeks = _every_week(min(found.weeks[0].day, last - timedelta(weeks=_LEAST_WEEKS - 1)), last)
    values = [known.get(week, 0) for week in weeks]
    plt.bar(list(range(len(weeks))), values, color=colours[0], width=0.7, marker="sd")
    _whole_numbers(plt, max(values))
    _week_ticks(plt, weeks)
    plt.title(_("Tokens written a week") if tokens else _("Messages a week"))
    return True


def _topics(plt: Plot, found: "Insights", colours: Sequence[Colour]) -> bool:
    best = sorted(found.topics, key=lambda one: (-one.sessions, one.name))[:_LINES]
    months = months_between([month for one in best for month in one.months])[-_MONTHS:]
    if not months:
        return False
    places = list(range(len(months)))
    for number, topic in enumerate(best):
        values = [topic.months.get(month, 0) for month in months]
        _line(plt, places, values, topic_name(topic), number, colours)
    _whole_numbers(plt, max(max(topic.months.values(), default=0) for topic in best))
    plt.xticks(*_ticks(places, months))
    plt.title(_("Conversations a month, by topic"))
    return True


def _growth(plt: Plot, found: "Insights", colours: Sequence[Colour]) -> bool:
    if not found.growth:
        return False
    known = {one.week: one.total for one in found.growth}
    weeks = _every_week(found.growth[0].week, found.growth[-1].week)
    values, total = [], 0
    for week in weeks:
        total = known.get(week, total)
        values.append(total)
    _line(plt, list(range(len(weeks))), values, "", 0, colours)
    _whole_numbers(plt, max(values))
    _week_ticks(plt, weeks)
    plt.title(_("Memories by week"))
    return True


def _storage(plt: Plot, found: "Insights", colours: Sequence[Colour]) -> bool:
    kinds = [one for one in found.storage if one.bytes][:_LINES][::-1]
    if not kinds:
        return False
    labels = [cut(stored_text(one.kind)) for one in kinds]
    values = [one.bytes / 1e6 for one in kinds]
    plt.bar(labels, values, orientation="h", color=colours[0], width=0.5, marker="sd")
    plt.title(_("Megabytes"))
    return True


def _speed(plt: Plot, found: "Insights", colours: Sequence[Colour]) -> bool:
    if not found.speed:
        return False
    weeks = _every_week(min(one.week for one in found.speed), max(one.week for one in found.speed))
    place = {week: at for at, week in enumerate(weeks)}
    for number, model in enumerate(models_of(found)[:_LINES]):
        own = [one for one in found.speed if one.model == model and one.week in place]
        _line(
            plt,
            [place[one.week] for one in own],
            [one.tokens_per_second for one in own],
            model,
            number,
            colours,
        )
    plt.ylim(0, max(one.tokens_per_second for one in found.speed) * 1.1 or 1)
    _week_ticks(plt, weeks)
    plt.title(_("Tokens a second, weekly median"))
    return True


def _line(
    plt: Plot,
    places: Sequence[int],
    values: Sequence[float],
    label: str,
    number: int,
    colours: Sequence[Colour],
) -> None:
    drawn = plt.plot if len(places) > 1 else plt.scatter
    marker = _MARKERS[number % len(_MARKERS)]
    drawn(
        list(places),
        list(values),
        label=cut(label) or None,
        marker=marker if len(places) > 1 else "dot",
        color=colours[number % len(colours)],
    )


def cut(label: str) -> str:
    """Shortens a label to fit a plot."""
    return label if len(label) <= _LABEL else f"{label[: _LABEL - 1]}…"


def _every_week(first: date, last: date) -> list[date]:
    """Returns the Mondays of the period, at most the newest half year."""
    return [first + timedelta(weeks=n) for n in range((last - first).days // 7 + 1)][-_WEEKS:]


def _week_ticks(plt: Plot, weeks: Sequence[date]) -> None:
    plt.xticks(*_ticks(list(range(len(weeks))), [f"{week:%m-%d}" for week in weeks]))


def _whole_numbers(plt: Plot, most: int) -> None:
    """Makes an axis of counts start at 0, without fractions."""
    plt.ylim(0, most * 1.1 or 1)
    marks = sorted({0, most // 2, most})
    plt.yticks(marks, [formats().number(mark) for mark in marks])


def _ticks(places: Sequence[int], labels: Sequence[str]) -> tuple[list[int], list[str]]:
    step = max(-(-len(places) // _TICKS), 1)
    return list(places[::step]), list(labels[::step])
