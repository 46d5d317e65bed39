"""How what is not text becomes readable text: code, results of tools, names of files."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from atlas_desktop.services.cleaning import clean_line

_FENCES = re.compile(r"`{3,}")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,30}")
_LONGEST_TAG = 20_000


@dataclass(frozen=True, slots=True)
class Element:
    """An element in a text: what its tag says, and what stands in it."""

    attributes: str = field(repr=False)
    body: str = field(repr=False)
    begin: int
    end: int


def elements(text: str, name: str, *, unclosed: bool = False, spaces: bool = False) -> Iterator[Element]:
    """The elements `<name …>…</name>`, none inside another.

    With `unclosed` the last one may reach to the end, with `spaces` the white space behind one belongs to it.

    A scan, since an expression would read to the end of the text from each tag that is never closed.
    """
    opening, closing = f"<{name}", f"</{name}>"
    begin, bracket = text.find(opening), -1
    while begin >= 0:
        at = begin + len(opening)
        if bracket < at and (bracket := text.find(">", at)) < 0:
            return
        if text[at : at + 1].isalnum() or bracket - at > _LONGEST_TAG:
            begin = text.find(opening, at)
            continue
        close = text.find(closing, bracket + 1)
        if close < 0 and not unclosed:
            return
        body_end, end = (len(text), len(text)) if close < 0 else (close, close + len(closing))
        while spaces and text[end : end + 1].isspace():
            end += 1
        yield Element(text[at:bracket], text[bracket + 1 : body_end], begin, end)
        begin = text.find(opening, end)


def replaced(text: str, found: Iterable[Element], shown: Callable[[Element], str]) -> str:
    """The text with what `shown` makes of each element in its place."""
    parts: list[str] = []
    at = 0
    for one in found:
        parts += (text[at : one.begin], shown(one))
        at = one.end
    return "".join((*parts, text[at:]))


def joined(parts: Iterable[str]) -> str:
    """What is not empty, with an empty line between."""
    return "\n\n".join(part for one in parts if (part := one.strip("\n").rstrip()))


def fenced(text: str, language: str = "") -> str:
    """A code block whose fences are longer than any in it; nothing for nothing."""
    if not text.strip():
        return ""
    longest = max((len(found) for found in _FENCES.findall(text)), default=2)
    fence = "`" * max(longest + 1, 3)
    known = language if _LANGUAGE.fullmatch(language) else ""
    return f"{fence}{known}\n{text.strip(chr(10))}\n{fence}"


def quoted(text: str) -> str:
    """Text that was thought rather than said."""
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n")) if text.strip() else ""


def aside(kind: str, *names: str) -> str:
    """A remark in square brackets, such as the names of attached files."""
    named = ", ".join(name for one in names if (name := clean_line(one)))
    return f"[{kind}: {named}]" if named else f"[{kind}]"


def attached(names: Iterable[str]) -> str:
    """The names of attached files; nothing when there are none."""
    given = [name for one in names if (name := clean_line(one))]
    return aside("Attached", *given) if given else ""
