"""The numbers in a reply as links to the passages that they cite."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory.documents.entities import StoredCitation

if TYPE_CHECKING:
    from markdown_it.token import Token

_SCHEME = "citation:"
UNVERIFIED = "✗"
_MARKERS = re.compile(r"\[(\d{1,3}(?:[,;] ?\d{1,3}){0,20})\]")
_NUMBERS = re.compile(r"(\d+)")


def citation_at(href: str, citations: Sequence[StoredCitation]) -> StoredCitation | None:
    """Returns the citation that a link of `linked` leads to; None for any other address."""
    at = href.removeprefix(_SCHEME)
    if at == href or not at.isdecimal() or int(at) >= len(citations):
        return None
    return citations[int(at)]


def meant(marker: int, said: str, citations: Sequence[StoredCitation]) -> int | None:
    """Returns the index of the citation that a number stands for, behind (or before) the words `said`.

    One number may be cited for several sentences, verified for some of them. None if nothing has that number.
    """
    own = [at for at, one in enumerate(citations) if one.marker == marker]
    letters = _letters(said)
    for at in own:
        # What is not verified is quoted as the reply says it.
        quote = "" if citations[at].verified else _letters(citations[at].quote)
        if quote and quote in letters:
            return at
    words = set(said.casefold().split())
    best = [at for at in own if citations[at].verified] or own
    return max(
        best, key=lambda at: len(words.intersection(citations[at].quote.casefold().split())), default=None
    )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def linked(children: Sequence["Token"], citations: Sequence[StoredCitation]) -> list["Token"]:
    """Returns the parts of a paragraph, in which the numbers of citations are links. Code has none."""
    made: list[Token] = []
    said = claim = ""
    for child in children:
        if child.type != "text":
            said += child.content or " "
            made.append(child)
            continue
        at = 0
        for match in _MARKERS.finditer(child.content):
            before = child.content[at : match.start()]
            at = match.end()
            said += before
            # Of two numbers in a row, both belong to the words in front. A first one belongs to those behind.
            claim = said if _letters(said) else claim or _MARKERS.split(child.content[at:], maxsplit=1)[0]
            said = ""
            made += [_plain(before), *_links(match[1], claim, citations)]
        said += child.content[at:]
        made.append(_plain(child.content[at:]))
    return made


def _links(numbers: str, claim: str, citations: Sequence[StoredCitation]) -> list["Token"]:
    """Returns the numbers in their brackets: one that nothing is cited for is plain text."""
    parts = _NUMBERS.split(numbers)
    parts[0], parts[-1] = "[", "]"
    if len(parts) == 3 and (only := meant(int(parts[1]), claim, citations)) is not None:
        return _link(f"[{parts[1]}]", only, citations)
    made: list[Token] = []
    for part in parts:
        known = meant(int(part), claim, citations) if part.isdecimal() else None
        made += [_plain(part)] if known is None else _link(part, known, citations)
    return made


def _link(text: str, at: int, citations: Sequence[StoredCitation]) -> list["Token"]:
    from markdown_it.token import Token

    opened = Token("link_open", "a", 1, attrs={"href": f"{_SCHEME}{at}"})
    closed = Token("link_close", "a", -1)
    if citations[at].verified:
        return [opened, _plain(text), closed]
    # Many fonts have no italic form of the sign.
    words = [Token("em_open", "em", 1), _plain(text), Token("em_close", "em", -1), _plain(UNVERIFIED)]
    return [opened, *words, closed]


def _plain(text: str) -> "Token":
    from markdown_it.token import Token

    return Token("text", "", 0, content=text)
