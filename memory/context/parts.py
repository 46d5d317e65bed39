"""A text that is too long for one message, in parts: cut at paragraphs, else sentences, else words."""

import re
from collections.abc import Sequence

from models.ports import TokenCounter

# Each finds pieces whose texts, one after the other, are the whole text; coarser ones first.
_BORDERS = (
    re.compile(r".+?(?:\n[^\S\n]*\n\s*|\Z)", re.DOTALL),
    re.compile(r".+?(?:\n+|[.!?…]+[\"”’)\]]*\s+|[。！？]+|\Z)", re.DOTALL),
    re.compile(r"\s*\S+\s*", re.DOTALL),
)


async def in_parts(text: str, counter: TokenCounter, most: int) -> list[str]:
    """Parts of at most `most` tokens each, in order; all words of the text, none of them cut.

    A single word (or a text without any border) that is longer stays whole, as a part of its own.
    """
    parts: list[str] = []
    held, size = "", 0
    for piece, tokens in await _pieces(text.strip(), counter, most):
        if held and size + tokens > most:
            parts.append(held.strip())
            held, size = "", 0
        held, size = held + piece, size + tokens
    return [*parts, held.strip()] if held.strip() else parts


async def _pieces(text: str, counter: TokenCounter, most: int) -> list[tuple[str, int]]:
    """Pieces with their tokens: as coarse as the size allows."""
    found = [(text, (await counter.count([text]))[0])] if text else []
    for border in _BORDERS:
        finer: list[tuple[str, int]] = []
        for piece, tokens in found:
            if tokens <= most:
                finer.append((piece, tokens))
            else:
                finer += await _counted(border.findall(piece), counter)
        found = finer
    return found


async def _counted(pieces: Sequence[str], counter: TokenCounter) -> list[tuple[str, int]]:
    # Where two pieces meet, their tokens may be cut otherwise than in the whole: one more is allowed for.
    counts = await counter.count(pieces)
    return [(piece, tokens + 1) for piece, tokens in zip(pieces, counts, strict=True)]
