"""Compares notes: where the titles of one occur in another, and how near the vectors of their chunks are."""

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.notes.markup import title_of
from memory.recall.words import carries_meaning
from memory.search.terms import is_unspaced, pieces
from memory.summaries.evidence import stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike, NDArray


NOBODY = 0
"""The owner of values that were replaced; no note has this row."""
_GROWTH = 1.5


class Segments:
    """Columns of equal length in which each row (a note, 1 or more) owns one stretch.

    Replaced stretches stay until there are many; their owner is `NOBODY`.
    """

    def __init__(self, *kinds: "DTypeLike", width: int | None = None) -> None:
        """`kinds` are the types of the columns; with a `width`, each value is a vector."""
        import numpy as np

        self._shape = () if width is None else (width,)
        self._columns: list[NDArray[Any]] = [np.zeros((0, *self._shape), kind) for kind in kinds]
        self._owner = np.zeros(0, np.int32)
        self._places: dict[int, tuple[int, int]] = {}
        self._begins: list[int] = []
        self._used = 0
        self._replaced = 0

    @property
    def owner(self) -> "NDArray[np.int32]":
        """The row of each value."""
        return self._owner[: self._used]

    def column(self, number: int) -> "NDArray[Any]":
        return self._columns[number][: self._used]

    def of(self, row: int, number: int = 0) -> "NDArray[Any]":
        """Returns the values of a row in a column; empty if it has none. They change with the next `put`."""
        begin, end = self._places.get(row, (0, 0))
        return self._columns[number][begin:end]

    def reduced(self, how: "np.ufunc", values: "NDArray[Any]", rows: int) -> "NDArray[np.float64]":
        """Returns the sum (`how` is `np.add`) or the like of the values of each row. `values` are as long as
        a column; rows without any have 0.
        """
        import numpy as np

        found = np.zeros(rows)
        if self._begins:
            begins = np.array(self._begins)
            found[self._owner[begins]] = how.reduceat(values, begins)
            found[NOBODY] = 0.0
        return found

    def put(self, row: int, *values: "NDArray[Any]") -> None:
        """Replaces the values of a row, one array for each column."""
        self.drop(row)
        size = len(values[0])
        if not size:
            return
        if self._used + size > len(self._owner):
            self._make_room(size)
        begin, end = self._used, self._used + size
        for column, one in zip(self._columns, values, strict=True):
            column[begin:end] = one
        self._owner[begin:end] = row
        self._places[row] = (begin, end)
        self._begins.append(begin)
        self._used = end

    def drop(self, row: int) -> None:
        """Removes the values of a row, if it has any."""
        place = self._places.pop(row, None)
        if place is not None:
            self._owner[slice(*place)] = NOBODY
            self._replaced += place[1] - place[0]

    def _make_room(self, size: int) -> None:
        import numpy as np

        kept = np.ones(self._used, np.bool_)
        if self._replaced * 2 > self._used:
            kept = self.owner != NOBODY
            moved = np.cumsum(kept) - kept
            self._places = {
                row: (int(moved[begin]), int(moved[begin]) + end - begin)
                for row, (begin, end) in self._places.items()
            }
            self._begins = sorted(begin for begin, _ in self._places.values())
        used = int(kept.sum())
        room = max(1024, int((used + size) * _GROWTH))
        owner = np.zeros(room, np.int32)
        owner[:used] = self.owner[kept]
        for number, column in enumerate(self._columns):
            larger = np.zeros((room, *self._shape), column.dtype)
            larger[:used] = column[: self._used][kept] if used < self._used else column[:used]
            self._columns[number] = larger
        self._replaced -= self._used - used
        self._owner, self._used = owner, used


def with_room(values: "NDArray[Any]", size: int) -> "NDArray[Any]":
    """Returns the array with zeros added at its end, if it is shorter than `size`."""
    import numpy as np

    if len(values) >= size:
        return values
    larger = np.zeros((size + size // 2, *values.shape[1:]), values.dtype)
    larger[: len(values)] = values
    return larger


MOST_CHUNKS = 16
"""Chunks of a note that are compared with those of others: a long note has them from all its parts."""
_LEAST_SPREAD = 0.03
_NOISE = 1e-5
"""Differences of cosines, and variances, that rounding makes."""
_MANY_MEANS = 50
"""If at least this many means have changed, all are compared again; fewer are compared one by one."""


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near the notes `rows` are to one: by their nearest chunks, and by their means, compared with how
    near these usually are to others. Each from 0, the farthest, to 1, the nearest. `cosine` is that of the
    nearest chunks as it is."""

    rows: "NDArray[np.int64]"
    chunk: "NDArray[np.float64]"
    mean: "NDArray[np.float64]"
    cosine: "NDArray[np.float64]"


class NoteVectors:
    """The vectors of all notes, and how near the mean of each usually is to those of others."""

    def __init__(self) -> None:
        import numpy as np

        self._chunks: Segments | None = None
        self._mean = np.zeros((1, 0), np.float32)
        self._has = np.zeros(1, np.bool_)
        # Sums over the cosines of a note's mean with those of all notes, and over their squares.
        self._sum, self._square = np.zeros(1), np.zeros(1)
        self._before: dict[int, NDArray[np.float32]] = {}

    def put(self, row: int, vectors: "NDArray[np.float32] | None") -> None:
        """Replaces the vectors of a row."""
        import numpy as np

        if vectors is None or not len(vectors):
            if self._chunks is not None and self.has(row):
                self._set(row, np.zeros_like(self._mean[row]), known=False)
                self._chunks.drop(row)
            return
        if self._chunks is None:
            self._chunks = Segments(np.float32, width=vectors.shape[1])
            self._mean = np.zeros((len(self._has), vectors.shape[1]), np.float32)
        vectors = np.asarray(vectors, np.float32)
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        self._chunks.put(row, vectors)
        mean = vectors.mean(0)
        self._set(row, mean / max(float(np.linalg.norm(mean)), 1e-9), known=True)

    def has(self, row: int) -> bool:
        return row < len(self._has) and bool(self._has[row])

    def settle(self) -> None:
        """Brings the sums up to date: of few notes by what they add and take away, otherwise of all."""
        import numpy as np

        changed = sorted(self._before)
        if len(changed) > _MANY_MEANS:
            self._sum = (self._mean @ self._mean.sum(0)).astype(float)
            squares = (self._mean @ (self._mean.T @ self._mean)) * self._mean
            self._square = squares.sum(1).astype(float)
        elif changed:
            # Notes without vectors have a mean of zeros, which adds nothing.
            before = _cosines(self._mean, np.array([self._before[row] for row in changed]))
            now = _cosines(self._mean, self._mean[changed])
            self._sum += (now - before).sum(1)
            self._square += (now**2 - before**2).sum(1)
            self._sum[changed], self._square[changed] = now.sum(0), (now**2).sum(0)
        self._before = {}

    def compare(self, row: int) -> Nearness:
        """Compares a note with all others that have vectors. Raises `KeyError` if it has none itself."""
        import numpy as np

        if self._chunks is None or not self.has(row):
            raise KeyError(row)
        own = self._chunks.of(row)
        chosen = np.unique(np.linspace(0, len(own) - 1, min(len(own), MOST_CHUNKS)).astype(int))
        nearest = _cosines(self._chunks.column(0), own[chosen]).max(1)
        best = self._chunks.reduced(np.maximum, nearest, len(self._has))
        cosine = _cosines(self._mean, self._mean[[row]])[:, 0]
        count = int(self._has.sum())
        usual = self._sum / count
        variance = self._square / count - usual**2
        spread = np.sqrt(np.maximum(variance - _NOISE, 0.0)) + _LEAST_SPREAD
        others = np.flatnonzero(self._has)
        others = others[others != row]
        nearest = best[others]
        return Nearness(others, _between(nearest), _between(((cosine - usual) / spread)[others]), nearest)

    def _set(self, row: int, mean: "NDArray[np.float32]", *, known: bool) -> None:
        self._mean, self._has = with_room(self._mean, row + 1), with_room(self._has, row + 1)
        self._sum, self._square = with_room(self._sum, row + 1), with_room(self._square, row + 1)
        self._before.setdefault(row, self._mean[row].copy())
        self._mean[row], self._has[row] = mean, known


def _cosines(many: "NDArray[np.float32]", few: "NDArray[np.float32]") -> "NDArray[np.float64]":
    """Returns the products of vectors, a row for each of `many`.

    BLAS is slower for so few: several times slower while other processes use the cores, because its threads
    wait for each other.
    """
    import numpy as np

    return np.stack([np.einsum("ij,j->i", many, one) for one in few], axis=1).astype(float)


def _between(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Scales to between 0 and 1."""
    import numpy as np

    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high - low > _NOISE else np.ones(len(values))


BREAK = -1
"""Marks words that were left out of a stream of numbers."""
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
"""At least this many new names are searched for by reading all texts once; fewer, one by one."""
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
    """Returns the names of a note: its title, its aliases and the name of its file, each also without its
    namespace and with joined words separated.
    """
    names = [note.title, *note.aliases, title_of(note.path)]
    names += [name.rsplit("/", 1)[-1] for name in names if "/" in name]
    names += [_CAMEL.sub(" ", name) for name in names]
    return list(dict.fromkeys(name for name in names if name.strip()))


# --- places in one text ----------------------------------------------------------------------------


def mentions(sources: Iterable[NoteText], target: NoteText) -> list[Mention]:
    """Returns where the names of a note occur as words in the texts of others, in their order."""
    names = _by_first(target)
    return [Mention(source.id, at) for source in sources for at in _places(source, names)]


def first_place(source: NoteText, target: NoteText) -> tuple[int, int] | None:
    """Returns where a text first has a name of another note, preferably with the same spelling."""
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
    """Returns whether the words are on one line, close together, and outside `quiet` ranges."""
    begin, end = words[0].begin, words[-1].end
    between = [source.text[one.end : other.begin] for one, other in pairwise(words)]
    return all(len(gap) <= _WIDEST_GAP and "\n" not in gap for gap in between) and not any(
        first < end and begin < last for first, last in source.quiet
    )


# --- index -----------------------------------------------------------------------------------------


class NameIndex:
    """The names of all notes, and the texts in which their words occur in a row.

    Notes are rows, 1 or more; words are numbers of stems. `settle` reads each changed text once, for all
    names, and looks for each new name in all texts. A name that no note has now stays known: a note may get
    it back.
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
        """Returns how rare each name is among this number of texts, 0 … 1."""
        import numpy as np

        rarity = np.log(1 + (notes - self._holders + 0.5) / (self._holders + 0.5))
        return np.asarray(np.clip(rarity / math.log(2 + notes), 0.0, 1.0))

    def mentioned_in(self, row: int) -> "list[tuple[int, NDArray[np.int64]]]":
        """Returns the names in a note's text, each with the rows whose name it is."""
        import numpy as np

        names = map(int, self._found.of(row))
        return [(name, np.array(sorted(self._owners[name]), np.int64)) for name in names]

    def mentions_of(self, row: int) -> "list[tuple[int, NDArray[np.int64]]]":
        """Returns the names of a note, each with the rows in whose text it occurs."""
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
        """Returns the names that occur in a text; its last word is `BREAK`, which no name has."""
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
