"""Names of files that every system takes."""

import re
import unicodedata
from collections.abc import Collection

LONGEST = 120
"""Bytes, of the name with its ending."""

# Forbidden by some system, or with a meaning to a shell that a person would trip over.
_FORBIDDEN = re.compile(
    r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\'`$&;!#%{}\[\]^~]|[\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]'
)
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³])", re.IGNORECASE)


def stem_of(title: str, *, longest: int = LONGEST) -> str:
    """A title as the name of a file without its ending, at most `longest` bytes; never empty.

    It names nothing that Windows reserves, does not begin with a dot or a hyphen, nor end with a dot or an
    ellipsis, as a title does that was cut.
    """
    text = unicodedata.normalize("NFC", title).encode("utf-8", errors="ignore").decode("utf-8")
    text = " ".join(_FORBIDDEN.sub(" ", text).split()).strip(" .-_…")
    cut = _cut(text, longest) or "conversation"
    return "_" + _cut(cut, longest - 1) if _RESERVED.fullmatch(cut.split(".", 1)[0].rstrip()) else cut


def _cut(text: str, longest: int) -> str:
    return text.encode("utf-8")[:longest].decode("utf-8", errors="ignore").rstrip(" .-_…")


class Names:
    """Gives out names in one folder, each once: what differs in capitals only is the same to some systems."""

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken = {_folded(name) for name in taken}
        self._next: dict[str, int] = {}

    def give(self, title: str, suffix: str) -> str:
        """A name with an ending (`.md`), of at most `LONGEST` bytes."""
        room = LONGEST - len(suffix.encode("utf-8"))
        stem = stem_of(title, longest=room)
        key = _folded(stem + suffix)
        name, number = stem + suffix, self._next.get(key, 2)
        while _folded(name) in self._taken:
            mark = f" {number}"
            name = stem_of(stem, longest=room - len(mark)) + mark + suffix
            number += 1
        self._next[key] = number
        self._taken.add(_folded(name))
        return name


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()
