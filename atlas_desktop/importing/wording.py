"""Formats content that is not text as readable text: code, tool results, file names."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from atlas_desktop.services.cleaning import clean_line

_FENCES = re.compile(r"`{3,}")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,30}")
_LONGEST_TAG = 20_000


@dataclass(frozen=True, slots=True)
class Element:
    """An element in a text: the attributes in its tag, its body and its position."""

    attributes: str = field(repr=False)
    body: str = field(repr=False)
    begin: int
    end: int


def elements(text: str, name: str, *, unclosed: bool = False, spaces: bool = False) -> Iterator[Element]:
    """Yields the elements `<name …>…</name>`, none inside another.

    With `unclosed` the last one may extend to the end; with `spaces` the whitespace after one belongs to it.
    This is a scan because a regular expression would read to the end of the text from each unclosed tag.
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
    """Returns the text with each element replaced by the result of `shown`."""
    parts: list[str] = []
    at = 0
    for one in found:
        parts += (text[at : one.begin], shown(one))
        at = one.end
    return "".join((*parts, text[at:]))


def joined(parts: Iterable[str]) -> str:
    """Joins the parts that are not empty with an empty line between them."""
    return "\n\n".join(part for one in parts if (part := one.strip("\n").rstrip()))


def fenced(text: str, language: str = "") -> str:
    """Returns a code block whose fences are longer than any in it; empty for empty text."""
    if not text.strip():
        return ""
    longest = max((len(found) for found in _FENCES.findall(text)), default=2)
    fence = "`" * max(longest + 1, 3)
    known = language if _LANGUAGE.fullmatch(language) else ""
    return f"{fence}{known}\n{text.strip(chr(10))}\n{fence}"


def quoted(text: str) -> str:
    """Returns text as a Markdown quote, which marks reasoning and citations."""
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n")) if text.strip() else ""


def aside(kind: str, *names: str) -> str:
    """Returns a remark in square brackets, such as the names of attached files."""
    named = ", ".join(name for one in names if (name := clean_line(one)))
    return f"[{kind}: {named}]" if named else f"[{kind}]"


def attached(names: Iterable[str]) -> str:
    """Returns the names of attached files as a remark; empty if there are none."""
    given = [name for one in names if (name := clean_line(one))]
    return aside("Attached", *given) if given else ""
