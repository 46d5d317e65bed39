"""The plots of the insights: what they show, as text or, where the terminal can, as a picture."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from atlas_desktop.locale import _, formats
from atlas_desktop.phrases import storage_text, topic_name_text
from atlas_desktop.services.insights import Insights
from memory.insights import months_between

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

    from memory.insights import Topic

ACTIVITY, TOPICS, MEMORIES, STORAGE, SPEED = TABS = ("activity", "topics", "memories", "storage", "speed")
Colour = tuple[int, int, int] | str
Plot = Any
"""A `textual_plotext.plot.Plot`, which has no types."""

_LINES = 5
_LEAST = 2
"""Weeks, months or kinds below which the text alone is clearer than a plot."""
_MARKERS = ("braille", "dot", "x", "star", "heart")
_FEW = 4
"""The most of an axis that has a mark at each number."""
_NAME = 0.12
"""The part of the height that the name of a line takes."""
_WEEKS, _LEAST_WEEKS = 53, 12
_MONTHS = 24
_LABEL = 22
_TICKS = 6


def draw(tab: str, plt: Plot, found: Insights, colours: Sequence[Colour]) -> bool:
    """Draws a plot. Returns False, and leaves it empty, if there is too little data."""
    plt.clear_figure()
    makers: dict[str, Callable[[Plot, Insights, Sequence[Colour]], bool]] = {
        ACTIVITY: _weeks,
        TOPICS: _topics_plot,
        MEMORIES: _growth,
        STORAGE: _storage_plot,
        SPEED: _speed_plot,
    }
    return makers[tab](plt, found, colours)


def _weeks(plt: Plot, found: Insights, colours: Sequence[Colour]) -> bool:
    if len(found.weeks) < _LEAST:
        return False
    # Imported messages have no token counts: with many of them, the weeks would look empty.
    tokens = 2 * sum(one.tokens_written > 0 for one in found.weeks) > len(found.weeks)
    known = {one.day: one.tokens_written if tokens else one.messages for one in found.weeks}
    last = found.weeks[-1].day
    weeks = _every_week(min(found.weeks[0].day, last - timedelta(weeks=_LEAST_WEEKS - 1)), last)
    values = [known.get(week, 0) for week in weeks]
    if sum(value > 0 for value in values) < _LEAST:
        return False
    plt.bar(list(range(len(weeks))), values, color=colours[0], width=0.7, marker="sd")
    _whole_numbers(plt, max(values))
    _week_ticks(plt, weeks)
    plt.title(_("Tokens written a week") if tokens else _("Messages a week"))
    return True


def _topics_plot(plt: Plot, found: Insights, colours: Sequence[Colour]) -> bool:
    best = sorted(found.topics, key=lambda one: (-one.sessions, one.name))[:_LINES]
    months = months_between([month for one in best for month in one.months])[-_MONTHS:]
    if len(months) < _LEAST:
        return False
    places = list(range(len(months)))
    for number, topic in enumerate(best):
        values = [topic.months.get(month, 0) for month in months]
        _line(plt, places, values, topic_name(topic), number, colours)
    most = max(max(topic.months.values(), default=0) for topic in best)
    _whole_numbers(plt, most)
    if not isinstance(plt, Chart):
        # In a plot of characters, the names lie over its upper left corner.
        plt.ylim(0, most * (1.1 + _NAME * len(best)) or 1)
    plt.xticks(*_ticks(places, months))
    plt.title(_("Conversations a month, by topic"))
    return True


def _growth(plt: Plot, found: Insights, colours: Sequence[Colour]) -> bool:
    if len(found.growth) < _LEAST:
        return False
    known = {one.week: one.total for one in found.growth}
    weeks = _every_week(found.growth[0].week, found.growth[-1].week)
    values = []
    # Memories that are older than the first week count in it, too.
    total = next((one.total for one in reversed(found.growth) if one.week < weeks[0]), 0)
    for week in weeks:
        total = known.get(week, total)
        values.append(total)
    _line(plt, list(range(len(weeks))), values, "", 0, colours)
    _whole_numbers(plt, max(values))
    _week_ticks(plt, weeks)
    plt.title(_("Memories by week"))
    return True


def _storage_plot(plt: Plot, found: Insights, colours: Sequence[Colour]) -> bool:
    kinds = [one for one in found.storage if one.bytes][:_LINES][::-1]
    if len(kinds) < _LEAST:
        return False
    labels = [cut(storage_text(one.kind)) for one in kinds]
    values = [one.bytes / 1e6 for one in kinds]
    plt.bar(labels, values, orientation="h", color=colours[0], width=0.5, marker="sd")
    plt.title(_("Megabytes"))
    return True


def _speed_plot(plt: Plot, found: Insights, colours: Sequence[Colour]) -> bool:
    if len({one.week for one in found.speed}) < _LEAST:
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
    """Returns the Mondays of the period, at most the newest year."""
    return [first + timedelta(weeks=n) for n in range((last - first).days // 7 + 1)][-_WEEKS:]


def _week_ticks(plt: Plot, weeks: Sequence[date]) -> None:
    plt.xticks(*_ticks(list(range(len(weeks))), [f"{week:%m-%d}" for week in weeks]))


def _whole_numbers(plt: Plot, most: int) -> None:
    """Makes an axis of counts start at 0, without fractions."""
    plt.ylim(0, most * 1.1 or 1)
    middle = {most // 2} if most % 2 == 0 or most > _FEW else set(range(most))
    marks = sorted({0, *middle, most})
    plt.yticks(marks, [formats().number(mark) for mark in marks])


def _ticks(places: Sequence[int], labels: Sequence[str]) -> tuple[list[int], list[str]]:
    step = max(-(-len(places) // _TICKS), 1)
    return list(places[::step]), list(labels[::step])


def topic_name(topic: "Topic") -> str:
    return topic_name_text(topic.kind, topic.name) or topic.kind


def models_of(found: Insights) -> list[str]:
    """Returns the models by the week of their latest reply, the latest first."""
    latest = {one.model: one.week for one in found.speed}
    return sorted(latest, key=lambda model: (latest[model], model), reverse=True)


# --- as a picture ----------------------------------------------------------------------------------

_FONTS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial.ttf", "LiberationSans-Regular.ttf")
_FINER = 2
"""How many times larger a picture is drawn, so that its lines are smooth."""
_LEAST_SIZE = 40


@dataclass(frozen=True, slots=True)
class Look:
    """The colours of a picture, and the height of its letters in pixels."""

    ground: tuple[int, int, int]
    text: tuple[int, int, int]
    quiet: tuple[int, int, int]
    letters: int


@dataclass(frozen=True, slots=True)
class _Series:
    kind: Literal["line", "points", "bars", "rows"]
    places: Sequence[float]
    values: Sequence[float]
    label: str
    colour: Colour


class Chart:
    """Takes what `draw` gives to plotext's plot, and draws it as a picture."""

    def __init__(self) -> None:
        self.clear_figure()

    def clear_figure(self) -> None:
        self._series: list[_Series] = []
        self._title = ""
        self._across: tuple[Sequence[float], Sequence[str]] = ((), ())
        self._up: tuple[Sequence[float], Sequence[str]] = ((), ())
        self._bounds: tuple[float, float] | None = None

    def bar(self, places: Sequence[Any], values: Sequence[float], *, color: Colour, **options: Any) -> None:
        if options.get("orientation") == "h":
            self._series.append(_Series("rows", range(len(values)), values, "", color))
            self._up = (range(len(values)), [str(place) for place in places])
        else:
            self._series.append(_Series("bars", places, values, "", color))

    def plot(
        self, places: Sequence[float], values: Sequence[float], *, color: Colour, **options: Any
    ) -> None:
        self._series.append(_Series("line", places, values, options.get("label") or "", color))

    def scatter(
        self, places: Sequence[float], values: Sequence[float], *, color: Colour, **options: Any
    ) -> None:
        self._series.append(_Series("points", places, values, options.get("label") or "", color))

    def title(self, text: str) -> None:
        self._title = text

    def xticks(self, places: Sequence[float], labels: Sequence[str]) -> None:
        self._across = (places, labels)

    def yticks(self, places: Sequence[float], labels: Sequence[str]) -> None:
        self._up = (places, labels)

    def ylim(self, low: float, high: float) -> None:
        self._bounds = (low, high)

    def picture(self, width: int, height: int, look: Look) -> "Image":
        """Returns the plot in this size in pixels. Takes some hundredths of a second."""
        from PIL import Image, ImageDraw

        size = max(width, _LEAST_SIZE) * _FINER, max(height, _LEAST_SIZE) * _FINER
        image = Image.new("RGB", size, look.ground)
        _Drawing(ImageDraw.Draw(image), size, look, _font(look.letters * _FINER)).fill(
            self._series, self._title, self._across, self._up, self._bounds
        )
        return image.resize((size[0] // _FINER, size[1] // _FINER), Image.Resampling.BOX)


@cache
def _font(height: int) -> "FreeTypeFont":
    """Returns a font of this computer, or the one that comes with Pillow."""
    from PIL import ImageFont

    from atlas_desktop.exporting.pdf import font_files

    files = font_files()
    for name in _FONTS:
        if (path := files.get(name.lower())) is not None:
            return ImageFont.truetype(path, height)
    font = ImageFont.load_default(height)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


class _Drawing:
    """Draws the parts of a plot into their places."""

    def __init__(self, draw: "ImageDraw", size: tuple[int, int], look: Look, font: "FreeTypeFont") -> None:
        self._draw = draw
        self._size = size
        self._look = look
        self._font = font
        self._line = max(look.letters * _FINER // 8, 1)

    def fill(
        self,
        series: Sequence[_Series],
        title: str,
        across: tuple[Sequence[float], Sequence[str]],
        up: tuple[Sequence[float], Sequence[str]],
        bounds: tuple[float, float] | None,
    ) -> None:
        letters = self._look.letters * _FINER
        rows = any(one.kind == "rows" for one in series)
        if rows and not across[0]:
            across = _round_marks(max((max(one.values) for one in series), default=0))
        elif not up[0] and bounds is not None:
            up = _round_marks(bounds[1])
        beside = max((self._font.getlength(label) for label in up[1]), default=0)
        left, right = int(beside) + 2 * letters, self._size[0] - 2 * letters
        below_title = self._name([one for one in series if one.label])
        top, bottom = 2.6 * letters + below_title, self._size[1] - 2.2 * letters
        self._draw.text((self._size[0] / 2, letters), title, self._look.text, self._font, anchor="mm")
        lowest, highest = _range(series, bounds, rows=rows)
        first, last = _width(series, rows=rows)

        def place(x: float, y: float) -> tuple[float, float]:
            return (
                left + (x - first) / (last - first) * (right - left),
                bottom - (y - lowest) / (highest - lowest) * (bottom - top),
            )

        for value, label in zip(*up, strict=True):
            _, y = place(first, value)
            if not rows:
                self._draw.line((left, y, right, y), self._faint, 1)
            self._draw.text((left - letters, y), label, self._look.quiet, self._font, anchor="rm")
        for value, label in zip(*across, strict=True):
            x, _ = place(value, lowest)
            if rows:
                self._draw.line((x, top, x, bottom), self._faint, 1)
            self._draw.text((x, bottom + letters), label, self._look.quiet, self._font, anchor="mm")
        for one in series:
            self._put(
                one, place, (right - left) / max(len(one.places), 1), (bottom - top) / max(len(one.places), 1)
            )

    @property
    def _faint(self) -> tuple[int, ...]:
        pairs = zip(self._look.ground, self._look.quiet, strict=True)
        return tuple((3 * ground + quiet) // 4 for ground, quiet in pairs)

    def _put(
        self, one: _Series, place: "Callable[[float, float], tuple[float, float]]", wide: float, high: float
    ) -> None:
        points = [place(x, y) for x, y in zip(one.places, one.values, strict=True)]
        if one.kind == "line":
            self._draw.line(points, one.colour, self._line * 2, joint="curve")
        elif one.kind == "points":
            for x, y in points:
                r = self._line * 2
                self._draw.ellipse((x - r, y - r, x + r, y + r), one.colour)
        elif one.kind == "bars":
            for (x, y), (_, base) in zip(points, (place(x, 0) for x in one.places), strict=True):
                self._draw.rectangle((x - wide * 0.35, y, x + wide * 0.35, base), one.colour)
        else:
            for at, value in zip(one.places, one.values, strict=True):
                (x, y), (base, _) = place(value, at), place(0, at)
                self._draw.rectangle((base, y - high * 0.3, x, y + high * 0.3), one.colour)

    def _name(self, named: Sequence[_Series]) -> float:
        """Writes below the title which line is which; returns the height that this takes."""
        letters = self._look.letters * _FINER
        rows: list[list[_Series]] = []
        used = 0.0
        for one in named:
            width = self._font.getlength(one.label) + 4 * letters
            if not rows or used + width > self._size[0] - 4 * letters:
                rows.append([])
                used = 0
            rows[-1].append(one)
            used += width
        for at, row in enumerate(rows):
            y = (2.4 + 1.4 * at) * letters
            x = (self._size[0] - sum(self._font.getlength(one.label) + 4 * letters for one in row)) / 2
            for one in row:
                self._draw.line((x + letters, y, x + 2.5 * letters, y), one.colour, self._line * 2)
                self._draw.text((x + 3 * letters, y), one.label, self._look.text, self._font, anchor="lm")
                x += self._font.getlength(one.label) + 4 * letters
        return 1.4 * letters * len(rows)


def _range(
    series: Sequence[_Series], bounds: tuple[float, float] | None, *, rows: bool
) -> tuple[float, float]:
    """Returns the lowest and the highest value of the vertical axis."""
    if rows:
        return -0.6, max((len(one.places) for one in series), default=1) - 0.4
    if bounds is not None:
        return bounds
    return 0, max((max(one.values) for one in series), default=0) * 1.1 or 1


def _width(series: Sequence[_Series], *, rows: bool) -> tuple[float, float]:
    """Returns the first and the last value of the horizontal axis."""
    if rows:
        return 0, max((max(one.values) for one in series), default=0) * 1.05 or 1
    places = [place for one in series for place in one.places]
    return min(places, default=0) - 0.6, max(places, default=0) + 0.6


def _round_marks(most: float) -> tuple[list[float], list[str]]:
    """Returns a few round values from 0 up to `most`, and their texts."""
    step = 10.0 ** (len(str(int(most))) - 1) if most >= 1 else 0.1
    while most / step > _TICKS:
        step *= 2
    while most / step < _LEAST:
        step /= 2
    marks = [at * step for at in range(int(most / step) + 1)]
    whole = step >= 1 and step == int(step)
    return marks, [formats().number(round(mark)) if whole else formats().decimal(mark) for mark in marks]
