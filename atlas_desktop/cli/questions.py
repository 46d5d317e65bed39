"""One line of `atlas memory recall --stdin`: plain text, or an object with a query and what differs."""

from typing import Annotated

import msgspec

from atlas_desktop.explain import UsageError


class Question(msgspec.Struct, frozen=True):
    """What to look for, and where. `kinds` are separated by commas."""

    query: str
    k: int
    kinds: str
    project: str | None
    session: str | None


class _Line(msgspec.Struct, frozen=True):
    query: Annotated[str, msgspec.Meta(min_length=1)]
    k: int | None = None
    kinds: str | None = None
    project: str | None = None
    session: str | None = None


def read_question(line: str, usual: Question, number: int) -> Question:
    """`usual` gives what the line leaves out. Raises `UsageError`, which names the line."""
    text = line.strip()
    if not text.startswith("{"):
        return msgspec.structs.replace(usual, query=text)
    try:
        given = msgspec.json.decode(text, type=_Line)
    except (msgspec.DecodeError, UnicodeError):
        raise UsageError(
            f"Line {number} is not a question.", 'Give plain text, or {"query": …, "project": …, "k": …}.'
        ) from None
    return Question(
        given.query,
        usual.k if given.k is None else given.k,
        usual.kinds if given.kinds is None else given.kinds,
        usual.project if given.project is None else given.project,
        usual.session if given.session is None else given.session,
    )
