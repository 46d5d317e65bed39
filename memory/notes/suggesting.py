"""Ranks the notes that a note should link to.

Evidence is gathered first and then weighed, so that other weights can be tried on the same evidence.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from memory.notes.entities import LinkReason, LinkSuggestion, Reason
from memory.notes.names import (
    LONGEST_NAME,
    WORD,
    Mention,
    NameIndex,
    NoteText,
    NoteVectors,
    Segments,
    Vocabulary,
    first_place,
    mentions,
    names_of,
    terms_of,
    with_room,
    words_of,
)
from memory.recall.rows import K1, B
from memory.search.terms import is_unspaced

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_TERMS = 200
"""Words of a note that are searched for in others: the ones that distinguish it most."""
_SHOWN_WORDS = 3
_SHOWN_NOTES = 3
_TITLE_COUNTS = 2


# --- values ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SuggestionWeights:
    """How much each part of a score counts: rounded weights near those that `benchmarks.notes` fits, except
    `linked` and `tags`, which its data cannot fit.

    `mention`: this note names the other; rare titles count more. `title`: the share of the words of the
    other's title that this note has, by rarity. `mentioned`: the other names this note. `words`: BM25 of the
    other for the words of this note. `overlap`: cosine of their words. `chunk`: the highest cosine of a chunk
    of each. `meaning`: the cosine of their means, compared with that of the other to all notes. `folder`:
    they are in the same folder. `tags`: they share tags, by rarity. `linked`: they are linked with the same
    notes. `property`: the share of the words of the other's title that are names of this note's properties:
    the value of a property is often named like it. `schema`: the share of this note's properties that the
    other writes about, as does a note that defines what notes of a kind have.
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
"""For notes with properties: these, and what a note is about, count for more than its words, which are few.
"""

PARTS = tuple(one.name for one in fields(SuggestionWeights))
_WITH_VECTORS = frozenset({"chunk", "meaning"})
_WHY = {
    "mention": LinkReason.MENTION,
    "mentioned": LinkReason.MENTIONED,
    "linked": LinkReason.LINKED,
    "title": LinkReason.WORDS,
    "words": LinkReason.WORDS,
    "overlap": LinkReason.WORDS,
    "property": LinkReason.PROPERTY,
    "schema": LinkReason.PROPERTY,
    "chunk": LinkReason.MEANING,
    "meaning": LinkReason.MEANING,
}


# --- index -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for a link to each note, by the names in `SuggestionWeights`: one element per note, each 0
    … 1. `vectors`: whether this note has any. `properties`: whether it has any. `cosine`: of the nearest
    chunks, -1 where there are none.
    """

    parts: "Mapping[str, NDArray[np.float64]]"
    vectors: bool
    properties: bool = False
    cosine: "NDArray[np.float64] | None" = None


class LinkSuggester:
    """Ranks the notes of a room.

    A change costs as much as its note; the next question updates what depends on all notes, in a few
    hundredths of a second for 10,000 of them.
    """

    def __init__(
        self,
        weights: SuggestionWeights | None = None,
        with_properties: SuggestionWeights | None = None,
    ) -> None:
        """`with_properties` are the weights for notes that have any."""
        self._weights = weights or SuggestionWeights()
        self._with_properties = with_properties or WITH_PROPERTIES
        self._notes: dict[str, NoteText] = {}
        self._vocabulary = Vocabulary()
        self._columns = _Columns(self._vocabulary)

    def __len__(self) -> int:
        return len(self._notes)

    def put(
        self,
        note: NoteText,
        vectors: "NDArray[np.float32] | None" = None,
        links: Collection[str] = (),
    ) -> None:
        """Adds a note, or replaces the one with its id. `vectors` are those of its chunks, float32[n, dim];
        None if there are none. `links` are the ids of the notes that it links to."""
        self._columns.put(note, vectors, frozenset(links) - {note.id})
        self._notes[note.id] = note

    def remove(self, note_id: str) -> None:
        """Removes a note. Raises `KeyError` if there is none with this id."""
        del self._notes[note_id]
        self._columns.remove(note_id)

    def suggest(self, note_id: str, k: int = 10, exclude: Collection[str] = ()) -> list[LinkSuggestion]:
        """Returns up to `k` notes that this one should link to, best first: neither itself, nor those that it
        links to, nor those in `exclude`. Raises `KeyError` for an unknown note."""
        import numpy as np

        ids, evidence = self.evidence(note_id)
        used = self._with_properties if evidence.properties else self._weights
        weights = known_weights(used, evidence)
        total = weigh(evidence, used)
        left_out = {note_id, *exclude, *self._columns.links[note_id]}
        found: list[LinkSuggestion] = []
        for place in map(int, np.argsort(-total, kind="stable")):
            if total[place] <= 0 or len(found) >= k:
                break
            if (other := ids[place]) not in left_out:
                parts = {name: float(values[place]) for name, values in evidence.parts.items()}
                reason = self._reason(note_id, other, parts, weights)
                cosine = None if evidence.cosine is None else float(evidence.cosine[place])
                found.append(LinkSuggestion(other, float(total[place]), parts, reason, cosine))
        return found

    def evidence(self, note_id: str) -> "tuple[tuple[str, ...], Evidence]":
        """Returns the ids of all notes in order, and the evidence for a link to each."""
        row = self._columns.rows[note_id]
        self._columns.settle()
        return self._columns.ids, self._columns.evidence(row)

    def mentions(self, note_id: str) -> list[Mention]:
        """Returns where other notes have the title or an alias of this one as words, by note and place.

        Differences of case and accents do not count; places in `quiet` ranges are left out. Raises
        `KeyError` for an unknown note.
        """
        note = self._notes[note_id]
        self._columns.settle()
        return mentions((self._notes[other] for other in self._columns.sources(note_id)), note)

    def _reason(
        self, note: str, other: str, parts: Mapping[str, float], weights: Mapping[str, float]
    ) -> Reason:
        this, that = self._notes[note], self._notes[other]
        share = dict.fromkeys(LinkReason, 0.0)
        for name, why in _WHY.items():
            share[why] += parts[name] * weights.get(name, 0.0)
        # A mention is the plainest reason, however little it counts.
        for name, plain in (("mention", 2.0), ("mentioned", 1.0)):
            if parts[name] > 0:
                share[_WHY[name]] += plain
        for why in sorted(share, key=lambda one: -share[one]):
            if why is LinkReason.MEANING:
                break
            if why is LinkReason.LINKED and (notes := self._columns.between(note, other)):
                return Reason(why, notes=notes[:_SHOWN_NOTES])
            if why is LinkReason.WORDS and (words := self._shared(this, that)):
                return Reason(why, words=words)
            if why in {LinkReason.MENTION, LinkReason.MENTIONED}:
                source, target = (this, that) if why is LinkReason.MENTION else (that, this)
                if (at := first_place(source, target)) is not None:
                    return Reason(why, at=at)
        return Reason(LinkReason.MEANING)

    def _shared(self, this: NoteText, that: NoteText) -> tuple[str, ...]:
        """Returns the rarest words that both notes have, as this one writes them."""
        import numpy as np

        both = np.intersect1d(self._columns.terms(this.id), self._columns.terms(that.id))
        best = both[np.argsort(-self._columns.rarity[both], kind="stable")][:_SHOWN_WORDS]
        numbers = set(map(int, best))
        written: dict[int, str] = {}
        for text in (this.text, this.title):
            for one in WORD.finditer(text):
                for term in terms_of(word.folded for word in words_of(one[0])):
                    number = self._vocabulary.number(term)
                    if number is not None and number in numbers:
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


# --- columns ---------------------------------------------------------------------------------------


class _Columns:
    """All notes as arrays. Each note has a row, 1 or more; `settle` brings up to date what depends on several
    notes, and must precede the questions below it."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        import numpy as np

        self._vocabulary = vocabulary
        self.rows: dict[str, int] = {}
        self.ids: tuple[str, ...] = ()
        self.links: dict[str, frozenset[str]] = {}
        self.rarity = np.zeros(0)
        self._id_of: dict[int, str] = {}
        self._free: list[int] = []
        self._settled = False
        # For each term of a note: how often it occurs, ln(1 + that), whether it is in the text, and whether
        # it occurs outside the names of properties.
        self._terms = Segments(np.int32, np.float32, np.float64, np.bool_, np.bool_)
        self._fields: dict[int, tuple[frozenset[int], ...]] = {}
        # How many notes have each term, and how many terms each note has.
        self._held, self._length = np.zeros(0), np.zeros(1)
        # For each word of a name: whether it is the first of one.
        self._name_words = Segments(np.int32, np.bool_)
        self._names = NameIndex()
        self._vectors = NoteVectors()
        self._folders: dict[str, int] = {"": 0}
        self._folder = np.zeros(1, np.int32)
        self._tags: dict[int, frozenset[str]] = {}
        self._tagged: dict[str, set[int]] = {}
        self._linked_from: dict[str, set[str]] = {}

    def put(self, note: NoteText, vectors: "NDArray[np.float32] | None", links: frozenset[str]) -> None:
        import numpy as np

        row = self.rows.get(note.id)
        if row is None:
            row = self.rows[note.id] = self._free.pop() if self._free else len(self.rows) + 1
            self._id_of[row] = note.id
            self._folder, self._length = with_room(self._folder, row + 1), with_room(self._length, row + 1)
            self.ids = ()
        words, own = self._vocabulary.text(note.text, note.quiet)
        counted = Counter(own)
        in_text = len(counted)
        fields = [self._vocabulary.terms(one) for one in note.properties]
        named = Counter(term for one in fields for term in one)
        said = [count > named[term] for term, count in counted.items()]
        counted.update(dict.fromkeys(self._vocabulary.terms(note.title), _TITLE_COUNTS))
        counts = np.array(list(counted.values()), np.float64)
        is_own = np.arange(len(counts)) < in_text
        is_said = np.array(said + [False] * (len(counts) - in_text), np.bool_)
        self._held = with_room(self._held, len(self._vocabulary))
        self._held[self._terms.of(row)] -= 1
        self._terms.put(row, np.array(list(counted), np.int32), counts, np.log1p(counts), is_own, is_said)
        self._held[self._terms.of(row)] += 1
        self._length[row] = counts.sum()
        names: dict[tuple[int, ...], list[int]] = {}
        for name in names_of(note):
            phrase = self._vocabulary.phrase(name)
            if 0 < len(phrase) <= LONGEST_NAME:
                names[phrase] = sorted(set(self._vocabulary.terms(name)))
        self._names.put(row, np.array(words, np.int32), names)
        of_names = [(term, not at) for terms in names.values() for at, term in enumerate(terms)]
        self._name_words.put(row, *np.array(of_names, np.int32).reshape(-1, 2).T)
        self._vectors.put(row, vectors)
        self._fields.pop(row, None)
        if any(fields):
            self._fields[row] = tuple(dict.fromkeys(map(frozenset, filter(None, fields))))
        self._folder[row] = self._folders.setdefault(_folder(note), len(self._folders))
        self._forget_places(note.id, row)
        self._tags[row] = frozenset(tag.casefold() for tag in note.tags)
        for tag in self._tags[row]:
            self._tagged.setdefault(tag, set()).add(row)
        self.links[note.id] = links
        for other in links:
            self._linked_from.setdefault(other, set()).add(note.id)
        self._settled = False

    def remove(self, note_id: str) -> None:
        row = self.rows.pop(note_id)
        self._forget_places(note_id, row)
        self._held[self._terms.of(row)] -= 1
        self._terms.drop(row)
        self._name_words.drop(row)
        self._names.remove(row)
        self._vectors.put(row, None)
        self._fields.pop(row, None)
        del self._id_of[row]
        self._free.append(row)
        self.ids = ()
        self._settled = False

    def _forget_places(self, note_id: str, row: int) -> None:
        for tag in self._tags.pop(row, ()):
            self._tagged[tag].discard(row)
        for other in self.links.pop(note_id, ()):
            self._linked_from[other].discard(note_id)

    def settle(self) -> None:
        import numpy as np

        if self._settled:
            return
        if not self.ids:
            self.ids = tuple(sorted(self.rows))
            self._order = np.array([self.rows[one] for one in self.ids], np.int64)
        n = len(self.ids)
        self._held = with_room(self._held, len(self._vocabulary))
        self.rarity = _rarity(n, self._held)
        usual = float(self._length[self._order].mean()) if n else 1.0
        norm = K1 * (1 - B + B * self._length / max(usual, 1.0))
        term, count, strength = (self._terms.column(number) for number in range(3))
        self._bm25 = count * (K1 + 1) / (count + norm[self._terms.owner])
        squares = self._terms.reduced(np.add, (strength * self.rarity[term]) ** 2, len(norm))
        self._norm = np.sqrt(np.maximum(squares, 1e-12))
        self._names.settle()
        self._worth = self._names.worth(n)
        self._vectors.settle()
        self._settled = True

    # --- evidence

    def terms(self, note_id: str) -> "NDArray[np.int32]":
        """Returns the numbers of the terms of a note."""
        return self._terms.of(self.rows[note_id])

    def sources(self, note_id: str) -> list[str]:
        """Returns the ids of the other notes that mention a note, in order."""
        row = self.rows[note_id]
        found = {one for _, rows in self._names.mentions_of(row) for one in map(int, rows)}
        return sorted(self._id_of[one] for one in found - {row})

    def between(self, note_id: str, other: str) -> tuple[str, ...]:
        """Returns the ids of notes linked with both, those with the fewest links first."""
        both = self._neighbours(note_id) & self._neighbours(other)
        return tuple(sorted(both, key=lambda one: (len(self._neighbours(one)), one)))

    def evidence(self, row: int) -> Evidence:
        """Returns the evidence for a link from a note to each, in the order of `ids`."""
        import numpy as np

        parts = {name: np.zeros(len(self._folder)) for name in PARTS}
        for part, found in (
            ("mention", self._names.mentioned_in(row)),
            ("mentioned", self._names.mentions_of(row)),
        ):
            for name, rows in found:
                parts[part][rows] = np.maximum(parts[part][rows], self._worth[name])
        parts["title"] = self._of_names(self._terms.of(row)[self._terms.of(row, 3)])
        parts["words"], parts["overlap"] = self._of_words(row)
        cosine = self._of_vectors(row, parts)
        if self._folder[row]:
            parts["folder"] = (self._folder == self._folder[row]).astype(float)
        self._of_tags(row, parts["tags"])
        self._of_links(row, parts["linked"])
        self._of_properties(row, parts)
        for values in parts.values():
            values[row] = 0.0
        ordered = {name: values[self._order] for name, values in parts.items()}
        return Evidence(
            ordered,
            self._vectors.has(row),
            row in self._fields,
            None if cosine is None else cosine[self._order],
        )

    def _of_names(self, own: "NDArray[np.int32]") -> "NDArray[np.float64]":
        """Returns the share of the words of each note's best name that are among these terms."""
        import numpy as np

        shares = np.zeros(len(self._folder))
        term, begins = self._name_words.column(0), np.flatnonzero(self._name_words.column(1))
        if len(begins):
            is_own = np.zeros(len(self.rarity), np.bool_)
            is_own[own] = True
            rarity = self.rarity[term]
            found = np.add.reduceat(np.where(is_own[term], rarity, 0.0), begins)
            whole = np.maximum(np.add.reduceat(rarity, begins), 1e-9)
            np.maximum.at(shares, self._name_words.owner[begins], found / whole)
        return np.minimum(shares, 1.0)

    def _of_properties(self, row: int, parts: "dict[str, NDArray[np.float64]]") -> None:
        import numpy as np

        fields = self._fields.get(row, ())
        if not fields:
            return
        names = sorted(frozenset().union(*fields))
        parts["property"] = self._of_names(np.array(names, np.int32))
        term, said = self._terms.column(0), self._terms.column(4)
        has = {name: np.zeros(len(self._folder), np.bool_) for name in names}
        for name, rows in has.items():
            rows[self._terms.owner[(term == name) & said]] = True
        for one in fields:
            parts["schema"] += np.logical_and.reduce([has[name] for name in one]) / len(fields)

    def _of_words(self, row: int) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        import numpy as np

        own, asked = self._terms.of(row), self._terms.of(row, 2)
        chosen = np.argsort(-asked * self.rarity[own], kind="stable")[:MOST_TERMS]
        weight = np.zeros(len(self.rarity))
        weight[own[chosen]] = asked[chosen] * self.rarity[own[chosen]]
        # Going through the terms of all notes in order is faster than looking up which notes have these.
        term, strength = self._terms.column(0), self._terms.column(2)
        words = self._terms.reduced(np.add, weight[term] * self._bm25, len(self._folder))
        overlap = self._terms.reduced(np.add, (weight * self.rarity)[term] * strength, len(self._folder))
        overlap /= self._norm * self._norm[row]
        words[row] = overlap[row] = 0.0
        return _scaled(words), _scaled(overlap)

    def _of_vectors(
        self, row: int, parts: "Mapping[str, NDArray[np.float64]]"
    ) -> "NDArray[np.float64] | None":
        """Fills in the parts; returns the cosines of the nearest chunks, None if the note has no vectors."""
        import numpy as np

        if not self._vectors.has(row):
            return None
        found = self._vectors.compare(row)
        parts["chunk"][found.rows], parts["meaning"][found.rows] = found.chunk, found.mean
        cosine = np.full(len(self._folder), -1.0)
        cosine[found.rows] = found.cosine
        return cosine

    def _of_tags(self, row: int, into: "NDArray[np.float64]") -> None:
        import numpy as np

        tags = sorted(self._tags[row])
        worth = {tag: float(_rarity(len(self.ids), np.array(float(len(self._tagged[tag]))))) for tag in tags}
        for tag in tags:
            into[list(self._tagged[tag])] += worth[tag] / (sum(worth.values()) or 1.0)
        np.minimum(into, 1.0, out=into)

    def _of_links(self, row: int, into: "NDArray[np.float64]") -> None:
        """Counts the notes linked with both; one with few links counts for more."""
        for middle in sorted(self._neighbours(self._id_of[row])):
            near = [self.rows[one] for one in self._neighbours(middle)]
            into[near] += 1 / math.log(1 + len(near))
        into /= 1 + into

    def _neighbours(self, note_id: str) -> set[str]:
        """Returns the ids of the notes that a note links to, or that link to it."""
        linked = self.links[note_id] | self._linked_from.get(note_id, set())
        return {one for one in linked if one in self.rows}


def _folder(note: NoteText) -> str:
    """Returns the folder of a note, or else the namespace of its title."""
    place = note.path if "/" in note.path else note.title
    return place.rpartition("/")[0]


def _rarity(n: int, holders: "NDArray[np.float64]") -> "NDArray[np.float64]":
    import numpy as np

    return np.log(1 + (n - holders + 0.5) / (holders + 0.5))


def _scaled(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    most = float(values.max(initial=0.0))
    return values / most if most > 0 else values
