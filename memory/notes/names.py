"""Finds where the titles and aliases of notes stand in the texts of others."""

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.notes.markup import title_of
from memory.notes.nearness import NOBODY, Segments
from memory.recall.words import carries_meaning
from memory.search.terms import is_unspaced, pieces
from memory.summaries.evidence import stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


BREAK = -1
"""Stands in a stream of numbers for words that were left out."""
WORD = re.compile(r"[^\W_]+")

Ranges = Sequence[tuple[int, int]]
_Read = tuple[tuple[int, ...], tuple[int, ...]]


class Word(NamedTuple):
    """A word without case and accents, and its place in a text."""

    folded: str
    begin: int
    end: int


def words_of(text: str) -> Iterator[Word]:
    """Yields the words of a text; of scripts without spaces, each letter."""
    for found in WORD.finditer(text):
        if found[0].isascii() or not is_unspaced(found[0]):
            yield Word(_folded(found[0]), *found.span())
            continue
        begin = found.start()
        for at, letter in enumerate(found[0], found.start()):
            if is_unspaced(letter):
                if begin < at:
                    yield Word(_folded(text[begin:at]), begin, at)
                yield Word(_folded(letter), at, at + 1)
                begin = at + 1
        if begin < found.end():
            yield Word(_folded(text[begin : found.end()]), begin, found.end())


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFKD", word).casefold()
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def terms_of(words: Iterable[str]) -> list[str]:
    """Returns stems to count; of scripts without spaces, every pair of letters."""
    found: list[str] = []
    run = ""
    for word in [*words, ""]:
        if word and is_unspaced(word):
            run += word
            continue
        if run:
            found.extend(one for one in pieces(run) if len(one) > 1 or len(run) == 1)
            run = ""
        if word:
            found.append(stem(word))
    return found


class Vocabulary:
    """Numbers for the stems of words, in the order in which they were first read."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._words: dict[str, _Read] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, term: str) -> int | None:
        """Returns the number of a term; None if no note has it."""
        return self._numbers.get(term)

    def phrase(self, text: str) -> tuple[int, ...]:
        """Returns the numbers of the stems of a text in order."""
        return tuple(number for word in WORD.findall(text) for number in self._read(word)[0])

    def terms(self, text: str) -> list[int]:
        """Returns the numbers of the terms of a text that carry meaning."""
        return [number for word in WORD.findall(text) for number in self._read(word)[1]]

    def text(self, text: str, quiet: Ranges) -> tuple[list[int], list[int]]:
        """Returns the numbers of the stems of a text outside of the `quiet` ranges, with `BREAK` where some
        were left out and at the end, and those of all its terms that carry meaning."""
        stream: list[int] = []
        terms: list[int] = []
        at = 0
        known, read = self._words, self._read
        for begin, end in [*sorted(quiet), (len(text), len(text))]:
            begin = max(at, begin)
            found = [known.get(word) or read(word) for word in WORD.findall(text, at, begin)]
            stream += [number for numbers, _ in found for number in numbers]
            terms += [number for _, numbers in found for number in numbers]
            stream.append(BREAK)
            at = max(begin, end)
            terms += [number for word in WORD.findall(text, begin, at) for number in read(word)[1]]
        return stream, terms

    def _read(self, word: str) -> _Read:
        """Returns the numbers of the stems of a word, and of those that carry meaning. In scripts without
        spaces, these are its letters and pairs of letters."""
        known = self._words.get(word)
        if known is None:
            folded = [one.folded for one in words_of(word)]
            numbers = tuple(self._added(stem(one)) for one in folded)
            known = numbers, tuple(self._added(one) for one in terms_of(folded) if carries_meaning([one]))
            if not is_unspaced(word):
                self._words[word] = known
        return known

    def _added(self, term: str) -> int:
        return self._numbers.setdefault(term, len(self._numbers))


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
    properties: tuple[str, ...] = ()


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


def mentions(sources: Iterable[NoteText], target: NoteText) -> list[Mention]:
    """Returns where the names of a note stand as words in the texts of others, in their order."""
    names = _by_first(target)
    return [Mention(source.id, at) for source in sources for at in _places(source, names)]


def first_place(source: NoteText, target: NoteText) -> tuple[int, int] | None:
    """Returns where a text first has a name of another note, as it is written if it has that."""
    found = _places(source, _by_first(target)) or _places(source, _by_first(target, stems=True), stems=True)
    return found[0] if found else None


def _by_first(note: NoteText, *, stems: bool = False) -> dict[str, list[list[str]]]:
    """Returns the words of the names of a note by their first, the longest names first."""
    found: dict[str, list[list[str]]] = {}
    for name in names_of(note):
        words = [stem(word.folded) if stems else word.folded for word in words_of(name)]
        if words:
            found.setdefault(words[0], []).append(words)
    for alike in found.values():
        alike.sort(key=len, reverse=True)
    return found


def _places(
    source: NoteText, names: Mapping[str, Sequence[list[str]]], *, stems: bool = False
) -> list[tuple[int, int]]:
    words = list(words_of(source.text))
    said = [stem(word.folded) if stems else word.folded for word in words]
    found: list[tuple[int, int]] = []
    free = 0
    for at, word in enumerate(said):
        if at < free or word not in names:
            continue
        for name in names[word]:
            meant = words[at : at + len(name)]
            if said[at : at + len(name)] == name and _is_mention(source, meant):
                found.append((meant[0].begin, meant[-1].end))
                free = at + len(name)
                break
    return found


def _is_mention(source: NoteText, words: Sequence[Word]) -> bool:
    """Returns whether the words stand on one line, little apart, and outside of `quiet` ranges."""
    begin, end = words[0].begin, words[-1].end
    between = [source.text[one.end : other.begin] for one, other in pairwise(words)]
    return all(len(gap) <= _WIDEST_GAP and "\n" not in gap for gap in between) and not any(
        first < end and begin < last for first, last in source.quiet
    )


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
