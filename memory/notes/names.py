"""Finds where the titles and aliases of notes stand in the texts of others."""

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from memory.notes.markup import title_of
from memory.notes.segments import NOBODY, Segments
from memory.notes.vocabulary import BREAK, Ranges, Word, words_of
from memory.summaries.evidence import stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LONGEST_NAME = 12
"""Words of a title that can be mentioned; longer ones are sentences."""
_MANY_NAMES = 100
"""So many new names are looked for by reading all texts once, fewer one by one."""
_WIDEST_GAP = 3
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_END = BREAK - 1


@dataclass(frozen=True, slots=True)
class NoteText:
    """A note as it is compared. `path` is its place below a folder, with slashes; empty if it has none.

    `quiet` are ranges of the text (characters, the end excluded) where words mention nothing: code, front
    matter, addresses and links.
    """

    id: str
    title: str
    text: str = field(repr=False)
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    path: str = ""
    quiet: tuple[tuple[int, int], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Mention:
    """A place where a note's text has the title or an alias of another, without a link."""

    note: str
    at: tuple[int, int]


def names_of(note: NoteText) -> list[str]:
    """Returns what a note is called: its title, its aliases and the name of its file, each also without its
    namespace and with words written together apart."""
    names = [note.title, *note.aliases, title_of(note.path)]
    names += [name.rsplit("/", 1)[-1] for name in names if "/" in name]
    names += [_CAMEL.sub(" ", name) for name in names]
    return list(dict.fromkeys(name for name in names if name.strip()))


# --- places in one text ----------------------------------------------------------------------------


def places(source: NoteText, target: NoteText, *, stems: bool = False) -> list[tuple[int, int]]:
    """Returns where a name of `target` stands as words in the text of `source`, in order and disjoint; the
    longest name first. With `stems`, endings of words do not count."""
    by_first: dict[str, list[list[str]]] = {}
    for name in names_of(target):
        wanted = [stem(word.folded) if stems else word.folded for word in words_of(name)]
        if wanted:
            by_first.setdefault(wanted[0], []).append(wanted)
    for alike in by_first.values():
        alike.sort(key=len, reverse=True)
    words = _loud(words_of(source.text), source.quiet)
    said = ["" if word is None else stem(word.folded) if stems else word.folded for word in words]
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(words):
        step = 1
        for wanted in by_first.get(said[at], ()):
            meant = words[at : at + len(wanted)]
            if said[at : at + len(wanted)] == wanted and _together(source.text, meant):
                first, last = meant[0], meant[-1]
                if first is not None and last is not None:
                    found.append((first.begin, last.end))
                    step = len(wanted)
                    break
        at += step
    return found


def first_place(source: NoteText, target: NoteText) -> tuple[int, int] | None:
    """Returns where a text first has a name of another note, as it is written if it has that."""
    return next(iter(places(source, target) or places(source, target, stems=True)), None)


def _loud(words: Iterable[Word], quiet: Ranges) -> list[Word | None]:
    """Returns the words outside of `quiet` ranges; None where some were left out."""
    ranges = sorted(quiet)
    found: list[Word | None] = []
    at = 0
    for word in words:
        while at < len(ranges) and ranges[at][1] <= word.begin:
            at += 1
        if at < len(ranges) and ranges[at][0] < word.end:
            if found and found[-1] is not None:
                found.append(None)
        else:
            found.append(word)
    return found


def _together(text: str, words: Sequence[Word | None]) -> bool:
    """Returns whether the words stand on one line, with little between them."""
    for one, other in pairwise(words):
        if one is None or other is None:
            return False
        between = text[one.end : other.begin]
        if len(between) > _WIDEST_GAP or "\n" in between:
            return False
    return True


# --- index -----------------------------------------------------------------------------------------


class NameIndex:
    """The names of all notes, and in which texts their words stand one after another.

    Notes are rows, 1 or more; words are numbers of stems. `settle` reads each changed text once, for all
    names, and looks for each new name in all texts. A name that no note has any more stays known: a note may
    get it back.
    """

    def __init__(self) -> None:
        import numpy as np

        self._texts = Segments(np.int32)
        self._found = Segments(np.int32)
        self._names: dict[tuple[int, ...], int] = {}
        self._owners: list[set[int]] = []
        self._of: dict[int, tuple[int, ...]] = {}
        # A tree of names by their words. It holds itself and numbers, which Python cannot name as a type.
        self._tree: dict[int, Any] = {}
        self._unread: set[int] = set()
        self._new: list[tuple[int, ...]] = []
        self._holders = np.zeros(0, np.int64)
        self._settled = True

    def put(self, row: int, words: "NDArray[np.int32]", names: Collection[tuple[int, ...]]) -> None:
        """Replaces the text and the names of a note; `words` has `BREAK` at its end."""
        self._forget(row)
        self._of[row] = tuple(self._number(name) for name in names)
        for name in self._of[row]:
            self._owners[name].add(row)
        self._texts.put(row, words)
        self._unread.add(row)
        self._settled = False

    def remove(self, row: int) -> None:
        self._forget(row)
        self._texts.drop(row)
        self._found.drop(row)
        self._unread.discard(row)
        self._settled = False

    def settle(self) -> None:
        """Finds the names in changed texts, and new names in all. Must precede the questions below."""
        import numpy as np

        if self._settled:
            return
        if len(self._new) > _MANY_NAMES:
            self._unread.update(self._of)
        else:
            for name in self._new:
                self._look_for(name)
        self._new = []
        for row in sorted(self._unread):
            self._found.put(row, np.array(self._names_in(self._texts.of(row).tolist()), np.int32))
        self._unread = set()
        known = self._found.column(0)[self._found.owner != NOBODY]
        self._holders = np.bincount(known, minlength=len(self._owners))
        self._settled = True

    def worth(self, notes: int) -> "NDArray[np.float64]":
        """Returns how rare each name is among so many texts, 0 … 1."""
        import numpy as np

        rarity = np.log(1 + (notes - self._holders + 0.5) / (self._holders + 0.5))
        return np.asarray(np.clip(rarity / math.log(2 + notes), 0.0, 1.0))

    def mentioned_in(self, row: int) -> "list[tuple[int, NDArray[np.int64]]]":
        """Returns the names in a note's text, each with the rows whose name it is."""
        import numpy as np

        names = map(int, self._found.of(row))
        return [(name, np.array(sorted(self._owners[name]), np.int64)) for name in names]

    def mentions_of(self, row: int) -> "list[tuple[int, NDArray[np.int64]]]":
        """Returns the names of a note, each with the rows in whose text it stands."""
        owner, found = self._found.owner, self._found.column(0)
        return [(name, owner[(found == name) & (owner != NOBODY)].astype("int64")) for name in self._of[row]]

    def _forget(self, row: int) -> None:
        for name in self._of.pop(row, ()):
            self._owners[name].discard(row)

    def _number(self, name: tuple[int, ...]) -> int:
        number = self._names.get(name)
        if number is None:
            number = self._names[name] = len(self._owners)
            self._owners.append(set())
            self._new.append(name)
            node = self._tree
            for word in name:
                node = node.setdefault(word, {})
            node[_END] = number
        return number

    def _names_in(self, words: Sequence[int]) -> list[int]:
        """Returns the names that stand in a text; its last word is `BREAK`, which no name has."""
        found = set()
        begins = self._tree.get
        for begin, word in enumerate(words):
            node, at = begins(word), begin
            while node is not None:
                if (name := node.get(_END)) is not None:
                    found.add(name)
                at += 1
                node = node.get(words[at])
        return sorted(found)

    def _look_for(self, name: tuple[int, ...]) -> None:
        """Adds a name to what is found in the texts that have it."""
        import numpy as np

        words, owner = self._texts.column(0), self._texts.owner
        at = np.flatnonzero(words == name[0])
        for step, word in enumerate(name[1:], start=1):
            # Each text ends with a break, so there is always a next word.
            at = at[words[at + step] == word]
        for row in map(int, np.unique(owner[at])):
            if row != NOBODY and row not in self._unread:
                self._found.put(row, np.append(self._found.of(row), np.int32(self._names[name])))
