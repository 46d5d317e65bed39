"""Plans a query: what the full-text index answers, and what is checked message by message.

BM25 (Robertson and Zaragoza, 2009). The frequency of a word is counted on its surface, by the prefix that all
of its forms share. Words that occur together as typed get a bonus.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memory.search.entities import All, AnyOf, Condition, Has, Is, Not, When, Words
from memory.search.language import conditions
from memory.search.terms import LETTERS_A_PIECE, is_unspaced
from memory.storage.connection import Connection
from memory.storage.search.match_locator import Lens
from memory.storage.search.sql import TRUE, Compiler, Sql, expression, of_sessions, only_words
from memory.storage.values import storable

# ruff: noqa: S608  # the names put into SQL are all written in this package

K1, B = 1.2, 0.75
_TOGETHER = 0.3
_LETTERS_A_WORD = 6.0
_SHORT = 3
_HALF_SHORT = 4


_BEFORE_WORDS = (" ", "\n", "(", '"', "'", "*", "`", "-")


@dataclass(frozen=True, slots=True)
class Surface:
    """The visible form of consecutive words in a text.

    `roots` are the prefixes that all of their forms share; `pattern` describes how they follow one another.
    Other texts may look the same.
    """

    roots: tuple[str, ...]
    pattern: re.Pattern[str]

    def may_be_in(self, text: str) -> bool:
        """Whether a text, in the form of `plain`, contains all roots; several times faster than `is_in`."""
        return all(root in text for root in self.roots)

    def is_in(self, text: str) -> bool:
        if not self.may_be_in(text):
            return False
        # Most words follow a space, where they are found many times faster.
        if len(self.roots) == 1 and f" {self.roots[0]}" in text:
            return True
        return self.pattern.search(text) is not None

    def count(self, text: str) -> int:
        """Returns the estimated number of occurrences."""
        return min(_count(root, text) for root in self.roots)


@dataclass(frozen=True, slots=True)
class Sought:
    """One wanted word or phrase and its rarity (higher is rarer)."""

    surface: Surface
    rarity: float = 1.0


def _count(root: str, text: str) -> int:
    """Counts occurrences at the beginning of words; those after characters not listed are not counted."""
    return text.startswith(root) + sum(text.count(sign + root) for sign in _BEFORE_WORDS)


def plain(text: str) -> str:
    """Returns the text as patterns see it: in lower case and without combining marks."""
    if text.isascii():
        return text.lower()
    spread = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(char for char in spread if not unicodedata.combining(char))
    # Parts of Hangul syllables are letters of their own: left apart, one syllable would be found in another.
    return unicodedata.normalize("NFC", bare)


def surface(words: Sequence[str], *, prefix: bool, unspaced: bool = False) -> Surface:
    """Returns the surface of stems; with `prefix`, of words as typed, the last of which may be a prefix."""
    if unspaced:
        root = "".join(plain(one) for one in words)
        return Surface((root,), re.compile(re.escape(root)))
    folded = [plain(word) for word in words]
    roots = tuple(word if prefix and at == len(folded) - 1 else _root(word) for at, word in enumerate(folded))
    parts = [rf"(?<!\w){re.escape(root)}\w*" for root in roots]
    return Surface(roots, re.compile(r"\W+".join(parts)))


@dataclass(frozen=True, slots=True)
class Typed:
    """Consecutive words as typed.

    The index finds every ASCII text that contains them in this form; it finds other forms too.
    """

    words: tuple[str, ...]
    together: str
    pattern: re.Pattern[str]

    def is_in(self, text: str) -> bool:
        """Whether `text`, in the form of `plain`, contains the words."""
        if not all(word in text for word in self.words):
            return False
        # Most words are between spaces, where they are found many times faster.
        return self.together in text or self.pattern.search(text) is not None


def typed(text: str) -> Typed | None:
    """Returns the words as typed; None if the index may read them differently."""
    words = tuple(text.lower().split())
    if not words or not text.isascii():
        return None
    pattern = re.compile(rf"(?<!\w){r'[^a-z0-9_]+'.join(map(re.escape, words))}(?!\w)")
    return Typed(words, f" {' '.join(words)} ", pattern)


def _root(stem: str) -> str:
    """Returns the part of a stem that all its words share: pony and ponies have stem poni, hoping hope."""
    if any(char.isdigit() for char in stem):
        return stem
    if len(stem) <= _SHORT:
        return stem[:-1] if stem.endswith("i") and len(stem) > 1 else stem
    return stem[: -1 if len(stem) == _HALF_SHORT else -2]


def rarity(documents: int, holders: int) -> float:
    return math.log(1 + (documents - holders + 0.5) / (holders + 0.5))


def scores(texts: Sequence[str], sought: Sequence[Sought], together: str) -> list[float]:
    """Returns one score for each text, higher is better.

    `together` is all words one after the other as typed, or empty.
    """
    if not texts or not sought:
        return [0.0] * len(texts)
    folded = [plain(text) for text in texts]
    lengths = [len(text) / _LETTERS_A_WORD for text in folded]
    mean = max(sum(lengths) / len(lengths), 1.0)
    phrase = plain(together)
    found = []
    for text, length in zip(folded, lengths, strict=True):
        norm = K1 * (1 - B + B * length / mean)
        total = 0.0
        for one in sought:
            count = one.surface.count(text)
            total += one.rarity * count * (K1 + 1) / (count + norm)
        if phrase and phrase in text:
            total *= 1 + _TOGETHER
        # The index has found the text, though its surface may differ.
        found.append(max(total, 1e-6))
    return found


_SAMPLE = 300
_FREQUENT = 2_000
_CHEAP = 15_000
"""Occurrences of a prefix that the index merges in a few milliseconds.

It merges them before it returns the first one. For a common prefix the texts themselves are read instead,
where a match is found soon.
"""


@dataclass(frozen=True, slots=True)
class Parts:
    """The conditions of a query, all of which must hold, by how they are evaluated.

    `sessions` are about whole sessions. Words are `indexed` if the index answers them, `close` if the texts
    have to be read, `unspaced` if they are of scripts without spaces, `excluded` if no matching text may
    contain them, and `absent` if no text of the session may. `others` are about messages.
    """

    sessions: tuple[Condition, ...] = ()
    indexed: tuple[Condition, ...] = ()
    close: tuple[Condition, ...] = ()
    unspaced: tuple[Words, ...] = ()
    excluded: tuple[Condition, ...] = ()
    absent: tuple[Condition, ...] = ()
    others: tuple[Condition, ...] = ()

    @property
    def words(self) -> tuple[Condition, ...]:
        """All conditions that can be evaluated on a text."""
        return (*self.indexed, *self.close, *self.unspaced, *(Not(one) for one in self.excluded))

    @property
    def looks_for_words(self) -> bool:
        return bool(self.indexed or self.close or self.unspaced)

    @property
    def of_messages(self) -> tuple[Condition, ...]:
        return (*self.words, *self.others)


def parts_of(conn: Connection, where: Condition | None, *, whole: bool) -> Parts:
    """Groups the conditions of a query. `whole` has the meaning that it has in `Compiler`."""
    given = where.parts if isinstance(where, All) else () if where is None else (where,)
    groups: dict[str, list[Condition]] = {name: [] for name in Parts.__dataclass_fields__}
    for part in given:
        group = _group(conn, part, whole=whole)
        bare = group in {"excluded", "absent"} and isinstance(part, Not)
        groups[group].append(part.part if bare and isinstance(part, Not) else part)
    if groups["excluded"] and not groups["indexed"]:
        groups["others"] += [Not(one) for one in groups.pop("excluded")]
    return Parts(**{name: tuple(found) for name, found in groups.items()})  # type: ignore[arg-type]  # by `_group`


def _group(conn: Connection, part: Condition, *, whole: bool) -> str:
    if of_sessions(part):
        return "sessions"
    if whole and isinstance(part, Not):
        # Building the set of all sessions that contain a common word takes long.
        return "absent" if only_words(part.part) and is_frequent(conn, part.part) else "sessions"
    if isinstance(part, Not) and only_words(part.part):
        return "excluded"
    if isinstance(part, Words) and is_unspaced(part.text):
        return "unspaced"
    if not only_words(part):
        return "others"
    beginnings = [one for one in conditions(part) if isinstance(one, Words) and one.prefix]
    return "close" if any(_is_common(conn, one) for one in beginnings) else "indexed"


def is_frequent(conn: Connection, words: Condition) -> bool:
    """Whether so many messages contain the words that building the set of their sessions takes long."""
    if any(isinstance(one, Words) and one.prefix and _is_common(conn, one) for one in conditions(words)):
        return True
    (held,) = conn.execute(
        "SELECT count(*) FROM (SELECT 1 FROM messages_fts WHERE messages_fts MATCH ? LIMIT ?)",
        (expression(words), _FREQUENT),
    ).fetchone()
    return bool(held == _FREQUENT)


def _is_common(conn: Connection, beginning: Words) -> bool:
    """Whether so many messages contain the prefix that the index is slow; judged by the newest ones."""
    (newest,) = conn.execute("SELECT coalesce(max(seq), 0) FROM messages").fetchone()
    if newest <= _CHEAP:
        return False
    looked_for = surface([beginning.text.rsplit(" ", 1)[-1]], prefix=True)
    texts = conn.execute(
        "SELECT substr(content, 1, 2000) FROM messages ORDER BY seq DESC LIMIT ?", (_SAMPLE,)
    )
    held = sum(looked_for.is_in(plain(text)) for (text,) in texts)
    return bool(held * newest > _CHEAP * _SAMPLE)


@dataclass(frozen=True, slots=True)
class Stream:
    """SQL that returns the places (`seq`) of messages that an index finds, latest stored first.

    `{allowed}` is where a condition on them is inserted. The last parameter is the limit.
    """

    sql: str
    parameters: tuple[object, ...]

    def read(self, conn: Connection, most: int, allowed: Sql | None = None) -> list[int]:
        """Returns at most `most` places, only of those that `allowed` (SQL that returns places) contains."""
        # The unary plus keeps SQLite from querying the full-text index for each allowed place.
        within = Sql("") if allowed is None else Sql(f"AND +{{seq}} IN ({allowed.text})", allowed.parameters)
        sql = self.sql.replace("{allowed}", within.text.replace("{seq}", self._place))
        rows = conn.execute(sql, (*self.parameters, *within.parameters, most)).fetchall()
        return [seq for (seq,) in rows]

    @property
    def _place(self) -> str:
        return next((place for place in ("d.id", "d.doc") if f" {place} " in self.sql), "rowid")


def is_short(part: Condition) -> bool:
    """Whether the condition is about fewer letters than a piece of the index has."""
    return isinstance(part, Words) and is_unspaced(part.text) and len(part.text) < LETTERS_A_PIECE


def stream_of(conn: Connection, parts: Parts) -> tuple[Stream | None, tuple[Condition, ...]]:
    """Returns the stream that answers most of the words, and the words that it does not answer."""
    if parts.indexed:
        wanted = expression(All(parts.indexed) if len(parts.indexed) > 1 else parts.indexed[0])
        if parts.excluded:
            wanted = f"{wanted} NOT ({' OR '.join(expression(one) for one in parts.excluded)})"
        return _full_text("messages_fts", wanted), parts.unspaced
    if parts.unspaced:
        longest = max(parts.unspaced, key=lambda one: len(one.text))
        left = tuple(one for one in parts.unspaced if one is not longest)
        text = storable(longest.text)
        if not is_short(longest):
            return _full_text("messages_pieces", f'"{text}"'), left
        return Stream(_FROM_INDEX if _is_rare(conn, text) else _FROM_TEXTS, (text,)), left
    return None, ()


# Pieces that begin with the letters are all read before the first place is returned.
_PIECES = "temp.piece_places AS d WHERE d.term >= ?1 AND d.term < ?1 || char(0x10ffff)"
_FROM_INDEX = f"SELECT DISTINCT d.doc FROM {_PIECES} {{allowed}} ORDER BY d.doc DESC LIMIT ?"
_FROM_TEXTS = """
    SELECT d.id FROM messages_pieces_docsize AS d CROSS JOIN messages AS c ON c.seq = d.id
    WHERE instr(c.content, ?) > 0 {allowed} ORDER BY d.id DESC LIMIT ?
"""


def _is_rare(conn: Connection, letters: str) -> bool:
    """Whether one or two letters are in so few places that the index is fast. Where they are in many, reading
    the texts soon finds some."""
    (places,) = conn.execute(
        f"SELECT count(*) FROM (SELECT 1 FROM {_PIECES} LIMIT {_CHEAP + 1})", (letters,)
    ).fetchone()
    return bool(places <= _CHEAP)


def _full_text(table: str, wanted: str) -> Stream:
    return Stream(
        f"SELECT rowid FROM {table} WHERE {table} MATCH ? {{allowed}} ORDER BY rowid DESC LIMIT ?", (wanted,)
    )


def surfaces(parts: Parts, lens: Lens) -> list[list[Surface]]:
    """Returns, for each condition about words, the surfaces of which a text must have one."""
    found = []
    for part in (*parts.indexed, *parts.close, *parts.unspaced):
        for one in part.parts if isinstance(part, All) else (part,):
            leaves = one.parts if isinstance(one, AnyOf) else (one,)
            words = [leaf for leaf in leaves if isinstance(leaf, Words)]
            if len(words) == len(leaves):
                found.append([surface_of(leaf, lens) for leaf in words])
    return found


@lru_cache(maxsize=16)
def plainly(part: Condition) -> list[list[Typed]] | None:
    """Returns lists of words: an ASCII text that has one of each list matches for certain.

    It may match without them. None if the words as typed do not decide it.
    """
    match part:
        case All(parts):
            each = [plainly(one) for one in parts]
            return None if None in each else [choice for one in each for choice in one or ()]
        case AnyOf(parts):
            found = [plainly(one) for one in parts]
            # Words that must occur together are not alternatives.
            if any(one is None or len(one) != 1 for one in found):
                return None
            return [[words for one in found for choice in one or () for words in choice]]
        case Words(text, prefix=False) if not is_unspaced(text):
            words = typed(text)
            return None if words is None else [[words]]
        case _:
            return None


def told_by_surface(part: Condition) -> bool:
    """Whether every text that has the surface of the condition matches it."""
    return isinstance(part, Words) and (is_unspaced(part.text) or (part.prefix and " " not in part.text))


def surface_of(words: Words, lens: Lens) -> Surface:
    unspaced = is_unspaced(words.text)
    if unspaced:
        return surface([words.text], prefix=False, unspaced=True)
    if not words.prefix:
        return surface(lens.stems(words.text) or words.text.split(), prefix=False)
    *whole, last = words.text.split()
    return surface([*(lens.stems(" ".join(whole)) if whole else ()), last], prefix=True)


def conjunction(compiler: Compiler, given: Iterable[Condition]) -> Sql:
    """Returns SQL that is true for the messages `m` (of sessions `s`) for which all conditions hold."""
    found = TRUE
    for part in given:
        found = found & compiler.on_message(part)
    return found


def session_conjunction(compiler: Compiler, parts: Parts) -> Sql:
    """Returns what must hold for a session so that a message of it can match."""
    found = TRUE
    for part in parts.sessions:
        found = found & compiler.on_session(part)
    for part in parts.others:
        if isinstance(part, When | Is | Has):
            found = found & compiler.on_session(part)
    return found
