"""Splits a text that is too long for one message: at paragraphs, else sentences, else words."""

import asyncio
import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from models.ports import TokenCounter

# The end of a paragraph, of a sentence or line, of a word. A run of marks is matched once, from its first
# character: that keeps the patterns linear.
_BORDERS = (
    re.compile(r"\n[^\S\n]*+\n\s*+"),
    re.compile(r"\n++|(?<![.!?…])[.!?…]++[\"”’)\]]*+\s++|[。！？]++"),
    re.compile(r"(?<=\S)\s++"),
)

_JOINERS = frozenset("\u200d\ufe0f")
_MOST_JOINED = 32
"""The most characters of one cluster kept together. Longer ones do not occur in real writing."""


async def in_parts(text: str, counter: TokenCounter, most: int) -> list[str]:
    """Returns parts of at most `most` tokens each, in order, with all words of the text.

    A word is cut only when it alone is longer than a part, as a key or a line of data can be.
    """
    parts: list[str] = []
    held, size = "", 0
    for piece, tokens in await _pieces(text.strip(), counter, most):
        if held and size + tokens > most:
            parts.append(held.strip())
            held, size = "", 0
        held, size = held + piece, size + tokens
    # A part may be only a border, which says nothing.
    return [part for part in (*parts, held.strip()) if part]


async def _pieces(text: str, counter: TokenCounter, most: int) -> list[tuple[str, int]]:
    """Returns pieces with their tokens, as coarse as the size allows."""
    found = [(text, (await counter.count([text]))[0])] if text else []
    for border in _BORDERS:
        finer: list[tuple[str, int]] = []
        for piece, tokens in found:
            if tokens <= most:
                finer.append((piece, tokens))
            else:
                finer += await _counted(await asyncio.to_thread(_cut, piece, border), counter)
        found = finer
    while any(tokens > most and len(piece) > 1 for piece, tokens in found):
        halves: list[tuple[str, int]] = []
        for piece, tokens in found:
            if tokens <= most or len(piece) < 2:
                halves.append((piece, tokens))
            else:
                halves += await _counted(_halves(piece), counter)
        found = halves
    return found


def _cut(text: str, border: re.Pattern[str]) -> list[str]:
    """Cuts the text after each border. The concatenated pieces are the whole text."""
    ends = [*(match.end() for match in border.finditer(text)), len(text)]
    return [text[begin:end] for begin, end in pairwise([0, *ends]) if begin < end]


def _halves(piece: str) -> tuple[str, ...]:
    """Returns both halves of a piece. Combining characters stay with the one before, where possible."""
    middle = len(piece) // 2
    for at in range(middle, max(0, middle - _MOST_JOINED), -1):
        if not unicodedata.combining(piece[at]) and not _JOINERS.intersection(piece[at - 1 : at + 1]):
            return piece[:at], piece[at:]
    return piece[:middle], piece[middle:]


async def _counted(pieces: Sequence[str], counter: TokenCounter) -> list[tuple[str, int]]:
    # Where two pieces meet, the text may tokenise differently than as a whole: one more token is allowed for.
    counts = await counter.count(pieces)
    return [(piece, tokens + 1) for piece, tokens in zip(pieces, counts, strict=True)]
