"""What goes in front of the person's newest words: the time, and what was recalled for them.

It is stored with the message, so it is part of every later prompt of the epoch: a prompt is only appended to.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from memory.vectors.passages import PASSAGE_CHARS

FRESH = timedelta(minutes=30)
"""The time is told again after so long."""


def time_line(now: datetime, told: datetime | None) -> str:
    """The moment in words, or nothing while what the model was last told still holds."""
    if told is not None and now - told < FRESH and now.date() == told.date():
        return ""
    return f"[{now:%A}, {now.day} {now:%B} {now:%Y}, {now:%H:%M}]"


def preface(time: str, recalled: Sequence[str]) -> str:
    """The text before the person's words; empty when there is nothing to tell."""
    lines = [time] if time else []
    if recalled:
        lines += ["(From memory, if it helps:", *(f"- {line}" for line in recalled)]
        lines[-1] += ")"
    return "\n".join(lines) + "\n\n" if lines else ""


def recall_line(text: str, speaker: str, when: datetime, *, longest: int = PASSAGE_CHARS) -> str:
    """A remembered passage as one line, cut at a word when it is long (`longest` is in characters)."""
    line = " ".join(text.split())
    if len(line) > longest:
        line = line[:longest].rpartition(" ")[0] + " …"
    who = f"{speaker}, " if speaker else ""
    return f"{who}{when.day} {when:%b} {when:%Y}: {line}"
