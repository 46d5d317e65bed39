"""How strong memories are: the bar of a row, and the curve of one memory, as text. Pure functions."""

from datetime import datetime, timedelta

from rich.cells import cell_len
from textual.content import Content

from atlas_desktop.locale import _, formats, ngettext
from atlas_desktop.tui.calendar import long, short
from memory.memories.lifetime import PASSING
from memory.recall.decay import StrengthCurve

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
    told = [Content(_("Strength {strength} now.", strength=percent(curve.at(now))))]
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
        told.append(Content(_("Not used in a reply yet.")))
    told.append(Content.styled(_("Solid: so far. Striped: if it is not used again."), "$quiet"))
    return told
