"""Ranks the notes that a note should link to, and finds where titles are mentioned without a link. Pure.

Evidence is gathered first and weighed then, so that other weights can be tried on the same evidence.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from memory.notes.markup import title_of
from memory.recall.rows import K1, B
from memory.recall.words import carries_meaning
from memory.search.terms import is_unspaced, pieces
from memory.summaries.evidence import stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_TERMS = 200
"""Words of a note that are looked for in others: the ones that distinguish it most."""
MOST_CHUNKS = 16
"""Chunks of a note that are compared with those of others: a long note has them from all its parts."""
LONGEST_NAME = 12
"""Words of a title that can be mentioned; longer ones are sentences."""
_SHOWN_WORDS = 3
_SHOWN_NOTES = 3
_BREAK = -1
_TITLE_COUNTS = 2
_LEAST_SPREAD = 0.03
_WIDEST_GAP = 3
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

Ranges = Sequence[tuple[int, int]]
_Read = tuple[tuple[int, ...], tuple[int, ...]]


# --- values ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NoteText:
    """A note as it is ranked. `path` is its place below a folder, with slashes; empty if it has none.

    `quiet` are ranges of the text (characters, the end excluded) where words mention nothing: code, front
    matter, addresses and links. `properties` are the names of its fields, as in `Markup`.
    """

    id: str
    title: str
    text: str = field(repr=False)
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    path: str = ""
    quiet: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    properties: tuple[str, ...] = ()


class Why(StrEnum):
    """What speaks most for a link.

    mention: this note names the other. mentioned: the other names this one. linked: the same notes are linked
    with both. words: they share rare words. property: the other is about a property of this note. meaning:
    they are about similar things.
    """

    MENTION = "mention"
    MENTIONED = "mentioned"
    LINKED = "linked"
    WORDS = "words"
    PROPERTY = "property"
    MEANING = "meaning"


@dataclass(frozen=True, slots=True)
class Reason:
    """The fact that speaks most for a link.

    `at` is the place of the mention, in this note for `MENTION` and in the other for `MENTIONED`. `words` are
    up to three words that both have, the rarest first; `notes` are up to three notes linked with both.
    """

    why: Why
    at: tuple[int, int] | None = None
    words: tuple[str, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkSuggestion:
    """A note to link to. `score` and each of `parts`, named as in `SuggestionWeights`, are 0 … 1."""

    note: str
    score: float
    parts: Mapping[str, float]
    reason: Reason


@dataclass(frozen=True, slots=True)
class Mention:
    """A place where a note's text has the title or an alias of another, without a link."""

    note: str
    at: tuple[int, int]


@dataclass(frozen=True, slots=True)
class SuggestionWeights:
    """How much each part of a score counts: rounded weights near those that `benchmarks.notes` fits, but for
    `linked` and `tags`, which its data cannot fit.

    `mention`: this note names the other; rare titles count more. `title`: the share of the words of the
    other's title that this note has, by rarity. `mentioned`: the other names this note. `words`: BM25 of the
    other for the words of this note. `overlap`: cosine of their words. `chunk`: the highest cosine of a chunk
    of each. `meaning`: the cosine of their means, compared with that of the other to all notes. `folder`:
    they are in the same folder. `tags`: they share tags, by rarity. `linked`: they are linked with the same
    notes. `property`: the share of the words of the other's title that are names of this note's properties:
    what a property holds is often called like it. `schema`: the share of this note's properties that the
    other writes about, as a note does that says what notes of a kind have.
    """

    mention: float = 0.1
    title: float = 0.25
    mentioned: float = 0.05
    words: float = 0.15
    overlap: float = 0.15
    chunk: float = 0.2
    meaning: float = 0.1
    folder: float = 0.05
    tags: float = 0.05
    linked: float = 0.3
    property: float = 0.0
    schema: float = 0.0


WITH_PROPERTIES = SuggestionWeights(
    mention=0.0,
    title=0.15,
    mentioned=0.15,
    words=0.0,
    overlap=0.05,
    chunk=0.1,
    meaning=0.3,
    folder=0.0,
    property=0.15,
    schema=0.15,
)
"""For notes with properties: these, and what a note is about, say more than its words, which are few."""

PARTS = tuple(one.name for one in fields(SuggestionWeights))
_WITH_VECTORS = frozenset({"chunk", "meaning"})
_WHY = {
    "mention": Why.MENTION,
    "mentioned": Why.MENTIONED,
    "linked": Why.LINKED,
    "title": Why.WORDS,
    "words": Why.WORDS,
    "overlap": Why.WORDS,
    "property": Why.PROPERTY,
    "schema": Why.PROPERTY,
    "chunk": Why.MEANING,
    "meaning": Why.MEANING,
}


# --- words -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Word:
    folded: str
    begin: int
    end: int


def _words(text: str) -> Iterator[_Word]:
    """Yields the words of a text without case and accents; of scripts without spaces, each letter."""
    for found in _WORD.finditer(text):
        if not is_unspaced(found[0]):
            yield _Word(_folded(found[0]), found.start(), found.end())
            continue
        begin = found.start()
        for at, letter in enumerate(found[0], found.start()):
            if is_unspaced(letter):
                if begin < at:
                    yield _Word(_folded(text[begin:at]), begin, at)
                yield _Word(_folded(letter), at, at + 1)
                begin = at + 1
        if begin < found.end():
            yield _Word(_folded(text[begin : found.end()]), begin, found.end())


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFKD", word).casefold()
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def _terms(words: Iterable[str]) -> list[str]:
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


def _loud(words: Sequence[_Word], quiet: Ranges) -> list[_Word | None]:
    """Returns the words outside of `quiet` ranges; None where some were left out."""
    ranges = sorted(quiet)
    found: list[_Word | None] = []
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


def _names(note: NoteText) -> list[str]:
    """Returns what a note is called: its title, its aliases and the name of its file, each also without its
    namespace and with words written together apart."""
    names = [note.title, *note.aliases, title_of(note.path)]
    names += [name.rsplit("/", 1)[-1] for name in names if "/" in name]
    names += [_CAMEL.sub(" ", name) for name in names]
    return list(dict.fromkeys(name for name in names if name.strip()))


# --- index -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Block:
    """What is known of one note. `stream` are numbers of stems in order, `_BREAK` where words are left out;
    `names` are those of its names, each with its terms; `terms` with their `counts` are those of text and
    title, `own` those of the text, `fields` those of its properties' names, `said` those that it has besides
    these."""

    note: NoteText
    stream: "NDArray[np.int32]"
    names: dict[tuple[int, ...], tuple[int, ...]]
    terms: "NDArray[np.int32]"
    counts: "NDArray[np.float32]"
    own: frozenset[int]
    vectors: "NDArray[np.float32] | None" = None
    links: frozenset[str] = frozenset()
    fields: tuple[frozenset[int], ...] = ()
    said: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for a link to each note, by the names in `SuggestionWeights`: one element per row of the
    index, each 0 … 1. `vectors`: whether this note has any. `properties`: whether it has any."""

    parts: "Mapping[str, NDArray[np.float64]]"
    vectors: bool
    properties: bool = False


class LinkSuggester:
    """The notes of a room as they are ranked. A change costs little; the next question sums them up anew,
    which takes some tenths of a second for 10,000 notes."""

    def __init__(
        self,
        weights: SuggestionWeights | None = None,
        with_properties: SuggestionWeights | None = None,
    ) -> None:
        """`with_properties` are the weights for notes that have any."""
        self._weights = weights or SuggestionWeights()
        self._with_properties = with_properties or WITH_PROPERTIES
        self._blocks: dict[str, _Block] = {}
        self._vocabulary: dict[str, int] = {}
        self._words: dict[str, _Read] = {}
        self._columns: _Columns | None = None

    def __len__(self) -> int:
        return len(self._blocks)

    def put(
        self,
        note: NoteText,
        vectors: "NDArray[np.float32] | None" = None,
        links: Collection[str] = (),
    ) -> None:
        """Adds a note, or replaces the one with its id. `vectors` are those of its chunks, float32[n, dim];
        None if there are none. `links` are the ids of the notes that it links to."""
        import numpy as np

        stream, own = self._stream(note)
        title = [term for word in _WORD.findall(note.title) for term in self._read(word)[1]]
        counted = Counter(own)
        counted.update(dict.fromkeys(title, _TITLE_COUNTS))
        if vectors is not None and len(vectors):
            vectors = np.asarray(vectors, np.float32)
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        else:
            vectors = None
        fields = [
            [term for word in _WORD.findall(one) for term in self._read(word)[1]] for one in note.properties
        ]
        named = Counter(term for one in fields for term in one)
        names: dict[tuple[int, ...], tuple[int, ...]] = {}
        for name in _names(note):
            read = [self._read(word) for word in _WORD.findall(name)]
            phrase = tuple(number for numbers, _ in read for number in numbers)
            if 0 < len(phrase) <= LONGEST_NAME:
                names[phrase] = tuple(sorted({term for _, terms in read for term in terms}))
        self._blocks[note.id] = _Block(
            note,
            np.array(stream, np.int32),
            names,
            np.array(list(counted), np.int32),
            np.array(list(counted.values()), np.float32),
            frozenset(own),
            vectors,
            frozenset(links) - {note.id},
            tuple(dict.fromkeys(map(frozenset, filter(None, fields)))),
            frozenset(term for term, count in Counter(own).items() if count > named[term]),
        )
        self._columns = None

    def remove(self, note_id: str) -> None:
        """Removes a note. Raises `KeyError` if there is none with this id."""
        del self._blocks[note_id]
        self._columns = None

    def suggest(self, note_id: str, k: int = 10, exclude: Collection[str] = ()) -> list[LinkSuggestion]:
        """Returns up to `k` notes that this one should link to, best first: neither itself, nor those that it
        links to, nor those in `exclude`. Raises `KeyError` for an unknown note."""
        import numpy as np

        columns = self._summed_up()
        row = columns.rows[note_id]
        evidence = columns.evidence(row)
        weights, total = self._scores(evidence)
        left_out = {note_id, *exclude, *self._blocks[note_id].links}
        total[[columns.rows[one] for one in left_out if one in columns.rows]] = 0.0
        best = np.argsort(-total, kind="stable")[: max(k, 0)]
        found = []
        for other in map(int, best):
            if total[other] <= 0:
                break
            parts = {name: float(values[other]) for name, values in evidence.parts.items()}
            reason = self._reason(columns, row, other, parts, weights)
            found.append(LinkSuggestion(columns.ids[other], float(total[other]), parts, reason))
        return found

    def evidence(self, note_id: str) -> "tuple[tuple[str, ...], Evidence]":
        """Returns the ids of all notes, and what speaks for a link to each."""
        columns = self._summed_up()
        return columns.ids, columns.evidence(columns.rows[note_id])

    def mentions(self, note_id: str) -> list[Mention]:
        """Returns where other notes have the title or an alias of this one as words, by note and place.

        Differences of case and accents do not count; places in `quiet` ranges are left out. Raises
        `KeyError` for an unknown note.
        """
        columns = self._summed_up()
        row = columns.rows[note_id]
        names = [[word.folded for word in _words(name)] for name in _names(self._blocks[note_id].note)]
        found: list[Mention] = []
        for source in sorted(map(int, columns.sources(row))):
            other = columns.ids[source]
            if source != row:
                found.extend(Mention(other, at) for at in _places(self._blocks[other].note, names))
        return found

    def _stream(self, note: NoteText) -> tuple[list[int], list[int]]:
        """Returns the numbers of the stems of a text that may name something, and of all its terms."""
        if not note.quiet:
            read = [self._read(word) for word in _WORD.findall(note.text)]
            return [one for numbers, _ in read for one in numbers], [
                one for _, terms in read for one in terms
            ]
        stream: list[int] = []
        terms: list[int] = []
        ranges = iter([*sorted(note.quiet), (len(note.text), len(note.text))])
        begin, end = next(ranges)
        for found in _WORD.finditer(note.text):
            while end <= found.start():
                begin, end = next(ranges)
                stream.append(_BREAK)
            numbers, counted = self._read(found[0])
            terms.extend(counted)
            stream.extend([_BREAK] if begin < found.end() else numbers)
        return stream, terms

    def _read(self, word: str) -> "_Read":
        """Returns the numbers of the stems of a word, and of those that carry meaning. In scripts without
        spaces, these are its letters and pairs of letters."""
        known = self._words.get(word)
        if known is None:
            numbers = tuple(self._number(stem(one.folded)) for one in _words(word))
            terms = _terms(one.folded for one in _words(word))
            known = numbers, tuple(self._number(one) for one in terms if carries_meaning([one]))
            if not is_unspaced(word):
                self._words[word] = known
        return known

    def _number(self, term: str) -> int:
        return self._vocabulary.setdefault(term, len(self._vocabulary))

    def _summed_up(self) -> "_Columns":
        if self._columns is None:
            self._columns = _Columns(self._blocks, len(self._vocabulary))
        return self._columns

    def _scores(self, evidence: Evidence) -> "tuple[dict[str, float], NDArray[np.float64]]":
        used = self._with_properties if evidence.properties else self._weights
        return known_weights(used, evidence), weigh(evidence, used)

    def _reason(
        self,
        columns: "_Columns",
        row: int,
        other: int,
        parts: Mapping[str, float],
        weights: Mapping[str, float],
    ) -> Reason:
        this, that = (self._blocks[columns.ids[one]] for one in (row, other))
        share = dict.fromkeys(Why, 0.0)
        for name, why in _WHY.items():
            share[why] += parts[name] * weights.get(name, 0.0)
        # That one names the other is the plainest fact, however little it counts.
        for name, plain in (("mention", 2.0), ("mentioned", 1.0)):
            if parts[name] > 0:
                share[_WHY[name]] += plain
        for why in sorted(share, key=lambda one: -share[one]):
            if why is Why.MEANING:
                break
            if why is Why.LINKED and (notes := columns.between(row, other)):
                return Reason(why, notes=notes[:_SHOWN_NOTES])
            if why is Why.WORDS and (words := self._shared(columns, this, that)):
                return Reason(why, words=words)
            if why in {Why.MENTION, Why.MENTIONED}:
                source, target = (this, that) if why is Why.MENTION else (that, this)
                if (at := _first_place(source.note, target.note)) is not None:
                    return Reason(why, at=at)
        return Reason(Why.MEANING)

    def _shared(self, columns: "_Columns", this: _Block, that: _Block) -> tuple[str, ...]:
        """Returns the rarest words that both notes have, as this one writes them."""
        import numpy as np

        both = np.intersect1d(this.terms, that.terms)
        best = both[np.argsort(-columns.rarity[both], kind="stable")][:_SHOWN_WORDS]
        numbers = set(map(int, best))
        written: dict[int, str] = {}
        for text in (this.note.text, this.note.title):
            for one in _WORD.finditer(text):
                for term in _terms([word.folded for word in _words(one[0])]):
                    number = self._vocabulary.get(term, _BREAK)
                    if number in numbers:
                        written.setdefault(number, term if is_unspaced(term) else one[0])
            if len(written) == len(numbers):
                break
        return tuple(dict.fromkeys(written[one] for one in map(int, best) if one in written))


def known_weights(weights: SuggestionWeights, evidence: Evidence) -> dict[str, float]:
    """Returns the weights of the parts that are known, with a sum of 1."""
    known = {
        name: float(getattr(weights, name)) for name in PARTS if evidence.vectors or name not in _WITH_VECTORS
    }
    whole = sum(known.values()) or 1.0
    return {name: weight / whole for name, weight in known.items()}


def weigh(evidence: Evidence, weights: SuggestionWeights) -> "NDArray[np.float64]":
    """Returns the score of each note, 0 … 1."""
    import numpy as np

    total = np.zeros(len(evidence.parts["words"]))
    for name, weight in known_weights(weights, evidence).items():
        total += weight * evidence.parts[name]
    return np.clip(total, 0.0, 1.0)


# --- places ----------------------------------------------------------------------------------------


def _places(note: NoteText, names: Sequence[Sequence[str]], *, stems: bool = False) -> list[tuple[int, int]]:
    """Returns where one of the names stands as words in a text, in order and disjoint; the longest first."""
    by_first: dict[str, list[list[str]]] = {}
    for name in names:
        if name:
            wanted = [stem(word) for word in name] if stems else list(name)
            by_first.setdefault(wanted[0], []).append(wanted)
    for alike in by_first.values():
        alike.sort(key=len, reverse=True)
    words = _loud(list(_words(note.text)), note.quiet)
    said = ["" if word is None else stem(word.folded) if stems else word.folded for word in words]
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(words):
        step = 1
        for wanted in by_first.get(said[at], ()):
            if said[at : at + len(wanted)] == wanted and _together(note.text, words[at : at + len(wanted)]):
                first, last = words[at], words[at + len(wanted) - 1]
                if first is not None and last is not None:
                    found.append((first.begin, last.end))
                    step = len(wanted)
                    break
        at += step
    return found


def _together(text: str, words: Sequence[_Word | None]) -> bool:
    """Returns whether the words stand on one line, with little between them."""
    for one, other in pairwise(words):
        if one is None or other is None:
            return False
        between = text[one.end : other.begin]
        if len(between) > _WIDEST_GAP or "\n" in between:
            return False
    return True


def _first_place(source: NoteText, target: NoteText) -> tuple[int, int] | None:
    names = [[word.folded for word in _words(name)] for name in _names(target)]
    return next(iter(_places(source, names) or _places(source, names, stems=True)), None)


# --- columns ---------------------------------------------------------------------------------------


class _Columns:
    """All notes as arrays, one row a note, ordered by id."""

    def __init__(self, blocks: Mapping[str, _Block], terms: int) -> None:
        import numpy as np

        self.ids = tuple(sorted(blocks))
        self.rows = {one: row for row, one in enumerate(self.ids)}
        self._ordered = [blocks[one] for one in self.ids]
        n = len(self.ids)
        sizes = np.array([len(one.terms) for one in self._ordered], np.int64)
        row = np.repeat(np.arange(n), sizes)
        term = _joined([one.terms for one in self._ordered], np.int32)
        count = _joined([one.counts for one in self._ordered], np.float32).astype(np.float64)
        held = np.bincount(term, minlength=terms).astype(float)
        self.rarity = _rarity(n, held)
        length = np.bincount(row, count, n)
        norm = K1 * (1 - B + B * length / max(float(length.mean()) if n else 1.0, 1.0))
        strength = np.log1p(count) * self.rarity[term]
        self._norm = np.sqrt(np.maximum(np.bincount(row, strength**2, n), 1e-12))
        order = np.argsort(term, kind="stable")
        self._begin = np.concatenate([[0], np.cumsum(held)]).astype(np.int64)
        self._row = row[order]
        bm25 = count * (K1 + 1) / (count + norm[row]) * self.rarity[term]
        self._bm25, self._strength = bm25[order], strength[order]
        self._read_names(terms)
        self._find_mentions(terms)
        self._read_vectors()
        self._read_places()

    # --- what is summed up

    def _read_names(self, terms: int) -> None:
        """Reads where each word occurs among the names of notes; `_named` is whose name it is."""
        import numpy as np

        self._named = np.repeat(np.arange(len(self.ids)), [len(one.names) for one in self._ordered])
        words = [terms for one in self._ordered for terms in one.names.values()]
        sizes = np.array([len(one) for one in words], np.int64)
        term = np.array([word for one in words for word in one], np.int64)
        owner = np.repeat(np.arange(len(words)), sizes)
        rarity = self.rarity[term] if len(term) else np.zeros(0)
        whole = np.maximum(np.bincount(owner, rarity, len(words)), 1e-9)
        order = np.argsort(term, kind="stable")
        self._name_begin = np.searchsorted(term[order], np.arange(terms + 1))
        self._name, self._name_share = owner[order], (rarity / whole[owner])[order]

    def _find_mentions(self, terms: int) -> None:
        """Finds the names in the words of all notes at once, by walking down the tree of names from each
        word: `state` is the node that is reached, `at` the next word."""
        import numpy as np

        nodes: dict[tuple[int, int], int] = {}
        ends: list[tuple[int, int]] = []
        for row, one in enumerate(self._ordered):
            for phrase in one.names:
                reached = 0
                for word in phrase:
                    reached = nodes.setdefault((reached, word), len(nodes) + 1)
                ends.append((reached, row))
        end, owner = np.array(sorted(ends), np.int64).reshape(-1, 2).T
        width = terms + 1
        keys = np.array([beginning * width + word for beginning, word in nodes], np.int64)
        order = np.argsort(keys)
        keys, to = keys[order], 1 + order
        streams = [np.append(one.stream, np.int32(_BREAK)) for one in self._ordered]
        stream = _joined(streams, np.int32).astype(np.int64)
        source = np.repeat(np.arange(len(streams)), [len(one) for one in streams])
        is_end = np.zeros(len(nodes) + 1, np.bool_)
        is_end[end] = True
        # Most words begin no name: looking them up by number is faster than searching among the keys.
        begins = np.zeros(width, np.int64)
        for (beginning, word), number in nodes.items():
            if not beginning:
                begins[word] = number
        state = begins[stream]
        at = np.flatnonzero(state)
        state = state[at]
        found = [np.zeros(0, np.int64)]
        while len(at):
            ending = is_end[state]
            found.append(state[ending] * len(streams) + source[at[ending]])
            # Each text ends with a break, so there is always a next word.
            at = at + 1
            wanted = state * width + stream[at]
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            there = (keys[place] == wanted) & (stream[at] != _BREAK)
            at, state = at[there], to[place[there]]
        node, where = np.divmod(_distinct(np.concatenate(found)), max(len(streams), 1))
        holders = np.bincount(node, minlength=len(nodes) + 1).astype(float)
        worth = np.clip(_rarity(len(streams), holders) / math.log(2 + len(streams)), 0.0, 1.0)
        # Several notes may have the same name.
        first = np.searchsorted(end, np.arange(len(nodes) + 2))
        counts = np.diff(first)[node]
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        target = owner[np.repeat(first[node], counts) + within]
        where, of_name = np.repeat(where, counts), np.repeat(worth[node], counts)
        by_source = np.argsort(where * len(streams) + target)
        self._from, self._to, self._worth = where[by_source], target[by_source], of_name[by_source]
        self._by_target = np.argsort(self._to * len(streams) + self._from)
        self._sorted_target = self._to[self._by_target]

    def _read_vectors(self) -> None:
        import numpy as np

        known = [(row, one) for row, one in enumerate(self._ordered) if one.vectors is not None]
        self._vectors: NDArray[np.float32] | None = None
        if not known:
            return
        parts = [one.vectors for _, one in known if one.vectors is not None]
        self._vectors = np.concatenate(parts)
        sizes = np.array([len(one) for one in parts])
        begins = np.cumsum(sizes) - sizes
        for (_, one), begin, size in zip(known, begins, sizes, strict=True):
            # The notes share the memory of the whole.
            one.vectors = self._vectors[begin : begin + size]
        self._with_vectors = np.array([row for row, _ in known], np.int64)
        self._chunk_begins = begins
        means = np.add.reduceat(self._vectors, begins, axis=0) / sizes[:, None].astype(np.float32)
        self._means = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
        # Mean and spread of each note's cosines with all notes, without computing these.
        usual = self._means @ self._means.mean(0)
        squares = ((self._means @ (self._means.T @ self._means / len(known))) * self._means).sum(1)
        self._usual = usual.astype(float)
        self._spread = np.sqrt(np.maximum(squares - usual**2, 0.0)).astype(float) + _LEAST_SPREAD

    def _read_places(self) -> None:
        """Reads folders, tags and links."""
        import numpy as np

        folders: dict[str, int] = {"": 0}
        self._folder = np.array(
            [folders.setdefault(_folder(one.note), len(folders)) for one in self._ordered], np.int64
        )
        self._tagged: dict[str, list[int]] = {}
        self._linked: dict[int, set[int]] = {}
        for row, one in enumerate(self._ordered):
            for tag in {tag.casefold() for tag in one.note.tags}:
                self._tagged.setdefault(tag, []).append(row)
            for other in one.links:
                if other in self.rows:
                    self._linked.setdefault(row, set()).add(self.rows[other])
                    self._linked.setdefault(self.rows[other], set()).add(row)

    # --- evidence

    def sources(self, row: int) -> "NDArray[np.int64]":
        """Returns the rows of the notes that mention a note."""
        import numpy as np

        low, high = np.searchsorted(self._sorted_target, [row, row + 1])
        return np.unique(self._from[self._by_target[low:high]])

    def between(self, row: int, other: int) -> tuple[str, ...]:
        """Returns the ids of notes linked with both."""
        both = self._linked.get(row, set()) & self._linked.get(other, set())
        return tuple(self.ids[one] for one in sorted(both, key=lambda one: len(self._linked[one])))

    def evidence(self, row: int) -> Evidence:
        """Returns what speaks for a link from a note to each."""
        import numpy as np

        n = len(self.ids)
        parts = {name: np.zeros(n) for name in PARTS}
        low, high = np.searchsorted(self._from, [row, row + 1])
        np.maximum.at(parts["mention"], self._to[low:high], self._worth[low:high])
        low, high = np.searchsorted(self._sorted_target, [row, row + 1])
        back = self._by_target[low:high]
        np.maximum.at(parts["mentioned"], self._from[back], self._worth[back])
        parts["title"] = self._of_names(self._ordered[row].own)
        parts["words"], parts["overlap"] = self._of_words(row)
        self._of_vectors(row, parts)
        if self._folder[row]:
            parts["folder"] = (self._folder == self._folder[row]).astype(float)
        self._of_tags(row, parts["tags"])
        self._of_links(row, parts["linked"])
        self._of_properties(row, parts)
        for values in parts.values():
            values[row] = 0.0
        known = self._vectors is not None and self._ordered[row].vectors is not None
        return Evidence(parts, known, bool(self._ordered[row].fields))

    def _of_names(self, terms: Iterable[int]) -> "NDArray[np.float64]":
        """Returns the share of the words of each note's best name that are among the terms."""
        import numpy as np

        found = np.zeros(len(self._named))
        for term in sorted(terms):
            low, high = self._name_begin[term], self._name_begin[term + 1]
            found[self._name[low:high]] += self._name_share[low:high]
        shares = np.zeros(len(self.ids))
        np.maximum.at(shares, self._named, found)
        return np.minimum(shares, 1.0)

    def _of_words(self, row: int) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        import numpy as np

        one = self._ordered[row]
        n = len(self.ids)
        asked = np.log1p(one.counts.astype(float))
        chosen = np.argsort(-asked * self.rarity[one.terms], kind="stable")[:MOST_TERMS]
        bm25, overlap = np.zeros(n), np.zeros(n)
        for term, weight in zip(one.terms[chosen], asked[chosen], strict=True):
            low, high = self._begin[term], self._begin[term + 1]
            rows = self._row[low:high]
            bm25[rows] += weight * self._bm25[low:high]
            overlap[rows] += weight * self.rarity[term] * self._strength[low:high]
        overlap /= self._norm * self._norm[row]
        bm25[row] = overlap[row] = 0.0
        return _scaled(bm25), _scaled(overlap)

    def _of_vectors(self, row: int, parts: "dict[str, NDArray[np.float64]]") -> None:
        import numpy as np

        own = self._ordered[row].vectors
        if self._vectors is None or own is None:
            return
        chosen = np.unique(np.linspace(0, len(own) - 1, min(len(own), MOST_CHUNKS)).astype(int))
        best = np.maximum.reduceat((own[chosen] @ self._vectors.T).max(0), self._chunk_begins).astype(float)
        place = int(np.searchsorted(self._with_vectors, row))
        cosine = (self._means @ self._means[place]).astype(float)
        apart = (cosine - self._usual) / self._spread
        others = self._with_vectors != row
        for name, values in (("chunk", best), ("meaning", apart)):
            parts[name][self._with_vectors[others]] = _between(values[others])

    def _of_tags(self, row: int, into: "NDArray[np.float64]") -> None:
        import numpy as np

        tags = sorted({tag.casefold() for tag in self._ordered[row].note.tags})
        worth = {tag: float(_rarity(len(self.ids), np.array(float(len(self._tagged[tag]))))) for tag in tags}
        for tag in tags:
            into[self._tagged[tag]] += worth[tag] / (sum(worth.values()) or 1.0)
        np.minimum(into, 1.0, out=into)

    def _of_properties(self, row: int, parts: "dict[str, NDArray[np.float64]]") -> None:
        fields = self._ordered[row].fields
        if not fields:
            return
        parts["property"] = self._of_names(frozenset().union(*fields))
        for other, one in enumerate(self._ordered):
            parts["schema"][other] = sum(map(one.said.issuperset, fields)) / len(fields)

    def _of_links(self, row: int, into: "NDArray[np.float64]") -> None:
        """Counts the notes linked with both; one with few links says more."""
        for middle in sorted(self._linked.get(row, ())):
            near = sorted(self._linked[middle])
            into[near] += 1 / math.log(1 + len(near))
        into /= 1 + into


def _folder(note: NoteText) -> str:
    """Returns the folder of a note, or else the namespace of its title."""
    place = note.path if "/" in note.path else note.title
    return place.rpartition("/")[0]


def _joined(parts: "Sequence[NDArray[np.generic]]", kind: "type[np.generic]") -> "NDArray[np.generic]":
    import numpy as np

    return np.concatenate(parts) if parts else np.zeros(0, kind)


def _rarity(n: int, holders: "NDArray[np.float64]") -> "NDArray[np.float64]":
    import numpy as np

    return np.log(1 + (n - holders + 0.5) / (holders + 0.5))


def _distinct(values: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Returns the different values, in order. `np.unique` takes a second for a million of them."""
    import numpy as np

    values = np.sort(values)
    return np.asarray(values[np.append(True, np.diff(values) != 0)[: len(values)]])


def _scaled(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    most = float(values.max(initial=0.0))
    return values / most if most > 0 else values


def _between(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Scales to between 0 and 1."""
    import numpy as np

    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.ones(len(values))
