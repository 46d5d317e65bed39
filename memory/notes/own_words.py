"""Finds the words of a note that are the user's own: what memories may be learned from."""

import re
from collections.abc import Sequence

from memory.notes.entities import WrittenLink
from memory.notes.markup import front_matter, read_markup

_PARAGRAPH = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*+]|\d{1,3}[.)]|#{1,6})[ \t])")
_MARK = re.compile(r"[ \t]*(?:[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,3}[.)][ \t]+|#{1,6}[ \t]+)")
_LEAST = 12


def own_words(text: str) -> list[str]:
    """Returns the paragraphs and list items of a note, without what others may have written.

    Left out are front matter, quotations, code, and what links show of other things. A link in a sentence
    stays as the words that it shows.
    """
    markup = read_markup(text)
    _fields, begin = front_matter(text)
    blanked = _without(text, [(0, begin), *markup.quoted], markup.links)
    found = []
    for part in _PARAGRAPH.split(blanked):
        mark = _MARK.match(part)
        words = " ".join(part[0 if mark is None else mark.end() :].split())
        if len(words) >= _LEAST:
            found.append(words)
    return found


def _without(text: str, ranges: Sequence[tuple[int, int]], links: Sequence[WrittenLink]) -> str:
    """Returns the text with line breaks instead of these ranges, and words instead of links."""
    changes = [(begin, end, "\n\n") for begin, end in ranges if end > begin]
    for link in links:
        if any(begin <= link.begin < end for begin, end in ranges):
            continue
        # What is embedded is somebody else's text, or another note's.
        words = "" if link.embedded else link.shown or ("" if link.kind else link.target.rpartition("/")[2])
        changes.append((link.begin, link.end, words))
    parts, at = [], 0
    for begin, end, words in sorted(changes):
        parts += [text[at:begin], words]
        at = end
    return "".join([*parts, text[at:]])
