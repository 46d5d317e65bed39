"""Cleaning of untrusted text: from models, documents, file names, imports.

Textual passes ESC and OSC sequences through to the terminal (an OSC 52 even writes the clipboard), so no
untrusted text may keep them. Characters are dropped one by one, so cleaning a stream gives the same result as
cleaning the whole text, no matter where the stream is cut.
"""

import re

_KEPT = "\n\t"
_C0_C1_DEL = [*range(0x20), *range(0x7F, 0xA0)]
# Embeddings, overrides and isolates can display text differently from its actual content (CVE-2021-42574).
_BIDI = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_LINE_SEPARATORS = {0x2028: "\n", 0x2029: "\n"}
# Lone surrogates cannot be written as UTF-8 and would fail in the database or the terminal.
_SURROGATES = range(0xD800, 0xE000)

_TABLE: dict[int, str | None] = {
    **{c: None for c in (*_C0_C1_DEL, *_BIDI, *_SURROGATES) if chr(c) not in _KEPT},
    **_LINE_SEPARATORS,
}


_UNCLEAN = re.compile(f"[{''.join(map(re.escape, map(chr, _TABLE)))}]")


def clean(text: str) -> str:
    """Returns `text` without control characters (except newline and tab), bidi overrides, surrogates."""
    # Most text contains none of them, and searching is five times as fast as translating.
    return text.translate(_TABLE) if _UNCLEAN.search(text) else text


def clean_line(text: str) -> str:
    """Returns `text` cleaned, as one line with single spaces, for titles and names."""
    return " ".join(clean(text).split())
