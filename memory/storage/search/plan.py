"""Plans a query: which conditions become SQL, which the full-text index answers, and which are checked
message by message.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

from memory.clock import micros
from memory.entities import RoomKind
from memory.search.entities import (
    All,
    AnyOf,
    Condition,
    Field,
    Has,
    Is,
    Mark,
    Named,
    Not,
    Relation,
    SaidBy,
    Thing,
    When,
    Words,
)
from memory.search.language import conditions
from memory.search.terms import LETTERS_A_PIECE, Ranges, is_unspaced, merged, searchable
from memory.storage.connection import Connection, fold, folded, in_folded, open_memory, storable
from memory.storage.words import beginning, pieces

# ruff: noqa: S608  # the names put into SQL are all written in this module


_ENDINGS = (
    "able", "al", "ally", "ance", "ation", "ations", "ed", "ence", "er", "ers", "es", "ful", "ible", "ic",
    "ied", "ies", "ing", "ings", "ion", "ions", "ism", "ist", "ities", "ity", "ive", "ized", "izing", "ly",
    "ment", "ments", "ness", "ous", "tion", "tional",
)  # fmt: skip
_LEAST_ROOT = 3


def only_words(part: Condition) -> bool:
    """Whether the condition is about space-separated words alone, so that one FTS5 expression covers it."""
    match part:
        case All(parts) | AnyOf(parts):
            return all(only_words(one) for one in parts)
        case Words(text):
            return not is_unspaced(text)
        case _:
            return False


def only_texts(part: Condition) -> bool:
    """Whether a text alone decides if it matches, in any script and including exclusions."""
    match part:
        case All(parts) | AnyOf(parts):
            return all(only_texts(one) for one in parts)
        case Not(inner):
            return only_texts(inner)
        case _:
            return isinstance(part, Words)


def expression(part: Condition) -> str:
    """Returns the FTS5 expression of a condition that is `only_words`."""
    match part:
        case All(parts):
            return f"({' AND '.join(expression(one) for one in parts)})"
        case AnyOf(parts):
            return f"({' OR '.join(expression(one) for one in parts)})"
        case Words(text, prefix):
            text = storable(text)
            if not prefix:
                return f'"{text}"'
            wholes = [f'"{whole}"' for whole in _completed(text)]
            return f"({' OR '.join([*beginning(text), *wholes])})"
        case Not():
            raise TypeError("an exclusion must accompany an FTS5 expression, not be part of it")
    raise TypeError(f"{type(part).__name__} is not about words")


def _completed(text: str) -> list[str]:
    """Returns the words that a prefix may become if its ending is half typed.

    The index contains stems: "running" is stored as "run", which begins neither with "runni" nor with "runn".
    """
    word = text.rsplit(" ", 1)[-1].lower()
    is_doubled = len(word) > _LEAST_ROOT and word[-1] == word[-2] and word[-1].isalpha()
    found = {f"{text}ing", f"{text}ed"} if is_doubled else set[str]()
    found |= {
        text + ending[typed:]
        for ending in _ENDINGS
        for typed in range(1, len(ending))
        if word.endswith(ending[:typed]) and len(word) - typed >= _LEAST_ROOT
    }
    return sorted(found)


@dataclass(frozen=True, slots=True)
class Sql:
    """A piece of SQL with its parameters in the order of their placeholders."""

    text: str
    parameters: tuple[object, ...] = ()

    def __and__(self, other: "Sql") -> "Sql":
        return Sql(f"{self.text} AND {other.text}", (*self.parameters, *other.parameters))


TRUE, FALSE = Sql("1"), Sql("0")
_SESSION_FIELDS = {
    Mark.STARRED: "starred",
    Mark.ARCHIVED: "archived_at IS NOT NULL",
    Mark.PINNED: "pinned_at IS NOT NULL",
}


def of_sessions(part: Condition) -> bool:
    """Whether the condition is about sessions alone, so that all messages of one match or none."""
    match part:
        case All(parts) | AnyOf(parts):
            return all(of_sessions(one) for one in parts)
        case Not(inner):
            return of_sessions(inner)
        case Is(mark):
            return mark not in {Mark.IMPORTANT, Mark.PARTIAL}
        case Has(thing):
            return thing is Thing.ATTACHMENT
        case _:
            return isinstance(part, Named)


class Compiler:
    """Compiles conditions for one room.

    With `whole`, sessions are matched as wholes: excluded words must be nowhere in them.
    """

    def __init__(self, room: RoomKind, *, whole: bool) -> None:
        self._room = room
        self.whole = whole
        self._numbers = count(1)

    def on_message(self, part: Condition, m: str = "m", s: str = "s") -> Sql:
        """Returns a condition that is true for the matching messages."""
        match part:
            case All(parts):
                return joined(" AND ", [self.on_message(one, m, s) for one in parts])
            case AnyOf(parts):
                return joined(" OR ", [self.on_message(one, m, s) for one in parts])
            case Not(inner):
                return self._not(inner, self.on_message(inner, m, s), s)
            case Words():
                return _words(part, m)
            case SaidBy(role):
                return Sql(f"{m}.role = ?", (role.value,))
            case Is(Mark.IMPORTANT):
                return Sql(f"({m}.important = 1 OR {s}.important = 1)")
            case Is(Mark.PARTIAL):
                return Sql(f"{m}.status IN ('partial', 'failed')")
            case Has(Thing.CODE):
                return Sql(f"instr({m}.content, '```') > 0")
            case Has(Thing.MEMORY):
                return Sql(
                    f"EXISTS (SELECT 1 FROM memory_sources AS k WHERE k.session_id = {m}.session_id"
                    f" AND k.message_id = {m}.id)"
                )
            case When():
                return when(part, f"{m}.created_at", f"{m}.created_at")
            case _:
                return self._of_session(part, s)

    def on_title(self, part: Condition, s: str = "s") -> Sql:
        """Returns a condition that is true for the sessions whose title matches."""
        match part:
            case All(parts):
                return joined(" AND ", [self.on_title(one, s) for one in parts])
            case AnyOf(parts):
                return joined(" OR ", [self.on_title(one, s) for one in parts])
            case Not(inner):
                return self._not(inner, self.on_title(inner, s), s)
            case Words(text):
                return _in_title(text, s)
            case Is(Mark.IMPORTANT):
                return Sql(f"{s}.important = 1")
            case When():
                return when(part, f"{s}.created_at", f"{s}.updated_at")
            case SaidBy() | Is(Mark.PARTIAL) | Has(Thing.CODE | Thing.MEMORY):
                return FALSE
            case _:
                return self._of_session(part, s)

    def on_session(self, part: Condition, s: str = "s") -> Sql:
        """Returns a condition that is true for the sessions whose title or a message matches."""
        if of_sessions(part) or isinstance(part, When):
            # A session with a message of that time was in use then, so its own times decide.
            return self.on_title(part, s)
        if (marked := _marked(part, s)) is not None:
            return marked
        if isinstance(part, Not):
            return self._not(part.part, TRUE, s)
        m, t = self._fresh("m"), self._fresh("s")
        inner = self.on_message(part, m, t)
        beside = f"JOIN sessions AS {t} ON {t}.id = {m}.session_id" if f"{t}." in inner.text else ""
        said = Sql(
            f"{s}.id IN (SELECT {m}.session_id FROM messages AS {m} {beside} WHERE {inner.text})",
            inner.parameters,
        )
        return joined(" OR ", [self.on_title(part, s), said])

    def _not(self, inner: Condition, alone: Sql, s: str) -> Sql:
        if self.whole and not of_sessions(inner):
            alone = self.on_session(inner, s)
        return Sql(f"NOT ({alone.text})", alone.parameters)

    def _of_session(self, part: Condition, s: str) -> Sql:
        match part:
            case Named(Field.MODEL, name, prefix):
                pattern = ("" if prefix else "%") + _like(name) + "%"
                return Sql(
                    f"({s}.model LIKE ? ESCAPE '!' OR EXISTS (SELECT 1 FROM messages AS q"
                    f" WHERE q.session_id = {s}.id AND q.model LIKE ? ESCAPE '!'))",
                    (pattern, pattern),
                )
            case Named(Field.CATEGORY, name, prefix):
                if not name:
                    return Sql(f"{s}.category <> ''")
                named = is_named(f"{s}.category", name, prefix=prefix)
                return Sql(f"({s}.category <> '' AND {named.text})", named.parameters)
            case Named(Field.PROJECT, name, prefix):
                if not name:
                    return Sql(f"{s}.project_id IS NOT NULL")
                named = is_named("name", name, prefix=prefix)
                return Sql(
                    f"{s}.project_id IN (SELECT id FROM projects WHERE {named.text})", named.parameters
                )
            case Named(Field.TAG, name, prefix):
                if not name:
                    return Sql(f"{s}.id IN (SELECT session_id FROM session_tags)")
                named = is_named("tag", name, prefix=prefix)
                return Sql(
                    f"{s}.id IN (SELECT session_id FROM session_tags WHERE tag IN"
                    f" (SELECT DISTINCT tag FROM session_tags WHERE {named.text}))",
                    named.parameters,
                )
            case Is(Mark.PRIVATE):
                return TRUE if self._room is RoomKind.PRIVATE else FALSE
            case Is(mark):
                return Sql(f"{s}.{_SESSION_FIELDS[mark]}")
            case Has():
                return Sql(f"{s}.id IN (SELECT session_id FROM attachments)")
        raise TypeError(f"{type(part).__name__} is not about sessions")

    def _fresh(self, letter: str) -> str:
        return f"{letter}{next(self._numbers)}"


def _marked(part: Condition, s: str) -> Sql | None:
    """Returns a condition for the sessions that have, or contain a message that has, a mark; None otherwise.

    Uses the indexes that contain only marked messages.
    """
    match part:
        case Is(Mark.IMPORTANT):
            return Sql(
                f"({s}.important = 1 OR {s}.id IN (SELECT session_id FROM messages WHERE important = 1))"
            )
        case Is(Mark.PARTIAL):
            return Sql(f"{s}.id IN (SELECT session_id FROM messages WHERE status IN ('partial', 'failed'))")
        case Has(Thing.CODE):
            return Sql(f"{s}.id IN (SELECT session_id FROM messages WHERE instr(content, '```') > 0)")
        case Has(Thing.MEMORY):
            return Sql(f"{s}.id IN (SELECT session_id FROM memory_sources)")
        case SaidBy(role):
            return Sql(
                f"EXISTS (SELECT 1 FROM messages AS r WHERE r.session_id = {s}.id AND r.role = ?"
                " AND r.status <> 'streaming')",
                (role.value,),
            )
        case _:
            return None


def joined(operator: str, parts: list[Sql]) -> Sql:
    text = operator.join(part.text for part in parts)
    return Sql(f"({text})", tuple(value for part in parts for value in part.parameters))


def _words(part: Words, m: str) -> Sql:
    if not is_unspaced(part.text):
        return Sql(
            f"{m}.seq IN (SELECT rowid FROM messages_fts WHERE messages_fts MATCH ?)", (expression(part),)
        )
    if len(part.text) >= LETTERS_A_PIECE:
        return Sql(
            f"{m}.seq IN (SELECT rowid FROM messages_pieces WHERE messages_pieces MATCH ?)",
            (f'"{storable(part.text)}"',),
        )
    return Sql(
        f"({m}.seq IN (SELECT id FROM messages_pieces_docsize) AND instr({m}.content, ?) > 0)",
        (storable(part.text),),
    )


def _in_title(text: str, s: str) -> Sql:
    folded = searchable(fold(storable(text)))
    words = folded.split()
    found = [Sql(f"{in_folded(f'{s}.title')} > 0", (word,)) for word in words]
    if len(words) > 1:
        # Evaluated only for the few titles that contain each word.
        found.append(Sql(f"instr(spaced({s}.title), ?) > 0", (folded,)))
    return joined(" AND ", found or [FALSE])


def when(part: When, begin: str, end: str) -> Sql:
    match part.relation:
        case Relation.BEFORE:
            return Sql(f"{begin} < ?", (micros(part.begin),))
        case Relation.AFTER:
            return Sql(f"{end} >= ?", (micros(part.begin),))
        case Relation.ON:
            return Sql(f"({begin} < ? AND {end} >= ?)", (micros(part.end), micros(part.begin)))


def is_named(column: str, name: str, *, prefix: bool) -> Sql:
    wanted = fold(storable(name))
    return Sql(f"{in_folded(column)} = 1" if prefix else f"{folded(column)} = ?", (wanted,))


def _like(text: str) -> str:
    escaped = storable(text)
    for special in "!%_":
        escaped = escaped.replace(special, f"!{special}")
    return escaped


# ruff: noqa: S608  # the names put into SQL are all written in this module


_BEGIN, _END = "\ufdd0", "\ufdd1"
# Both are Unicode noncharacters, which may nevertheless occur in a text.
_HARMLESS = str.maketrans({_BEGIN: " ", _END: " ", "\x00": " "})


class Lens:
    """An in-memory index over a few texts. Belongs to one thread."""

    def __init__(self) -> None:
        self._conn: Connection = open_memory()
        self._conn.execute(
            "CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        self._conn.execute("CREATE VIRTUAL TABLE places USING fts5vocab(texts, instance)")
        self._stems: dict[str, list[str]] = {}

    def stems(self, text: str) -> list[str]:
        """Returns the stems of the words of `text`, in order, as the index stores them."""
        if text not in self._stems:
            if len(self._stems) > 1000:
                self._stems.clear()
            self._fill([text])
            rows = self._conn.execute("SELECT term FROM places ORDER BY offset").fetchall()
            self._conn.execute("ROLLBACK")
            self._stems[text] = [piece for (term,) in rows for piece in pieces(term)]
        return self._stems[text]

    def fitting(self, texts: Sequence[str], wanted: Condition) -> set[int]:
        """Returns the positions in `texts` of those that match a condition about words alone."""
        self._fill(texts)
        try:
            return self._fitting(texts, wanted)
        finally:
            self._conn.execute("ROLLBACK")

    def marks(self, texts: Sequence[str], wanted: Sequence[Words]) -> list[Ranges]:
        """Returns, for each text, the ranges of the words, in order and disjoint."""
        found: list[list[tuple[int, int]]] = [[] for _ in texts]
        spaced = [one for one in wanted if not is_unspaced(one.text)]
        if spaced:
            whole = AnyOf(tuple(spaced)) if len(spaced) > 1 else spaced[0]
            self._fill(texts)
            rows = self._conn.execute(
                f"SELECT rowid, highlight(texts, 0, '{_BEGIN}', '{_END}') FROM texts WHERE texts MATCH ?",
                (expression(whole),),
            ).fetchall()
            self._conn.execute("ROLLBACK")
            for row, marked in rows:
                found[row - 1] += _ranges(marked)
        for one in wanted:
            if is_unspaced(one.text):
                for at, text in enumerate(texts):
                    found[at] += occurrences(text, one.text)
        return [merged(ranges) for ranges in found]

    def _fill(self, texts: Sequence[str]) -> None:
        self._conn.execute("BEGIN")
        try:
            self._conn.execute(
                "INSERT INTO texts (rowid, text) SELECT key + 1, value FROM json_each(?)",
                (json.dumps([text.translate(_HARMLESS) for text in texts]),),
            )
        except BaseException:
            self._conn.execute("ROLLBACK")
            raise

    def _fitting(self, texts: Sequence[str], wanted: Condition) -> set[int]:
        match wanted:
            case All(parts):
                return set.intersection(*(self._fitting(texts, one) for one in parts))
            case AnyOf(parts):
                return set.union(*(self._fitting(texts, one) for one in parts))
            case Not(inner):
                return set(range(len(texts))) - self._fitting(texts, inner)
            case Words(text) if is_unspaced(text):
                return {at for at, one in enumerate(texts) if occurrences(one, text)}
            case Words():
                rows = self._conn.execute(
                    "SELECT rowid FROM texts WHERE texts MATCH ?", (expression(wanted),)
                ).fetchall()
                return {row - 1 for (row,) in rows}
        raise TypeError(f"{type(wanted).__name__} is not about words")


def _ranges(marked: str) -> list[tuple[int, int]]:
    """Returns the highlighted ranges as offsets into the text without marks."""
    found: list[tuple[int, int]] = []
    at = begin = 0
    for piece in marked.split(_BEGIN)[:1]:
        at = len(piece)
    for piece in marked.split(_BEGIN)[1:]:
        inside, _, after = piece.partition(_END)
        begin = at
        found.append((begin, begin + len(inside)))
        at = begin + len(inside) + len(after)
    return found


def occurrences(text: str, wanted: str) -> list[tuple[int, int]]:
    """Returns the ranges of `wanted` in `text`; ignores case where that does not change the offsets."""
    lower, sought = text.lower(), wanted.lower()
    if len(lower) != len(text):
        lower, sought = text, wanted
    found = []
    at = lower.find(sought)
    while at >= 0:
        found.append((at, at + len(sought)))
        at = lower.find(sought, at + len(sought))
    return found


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

    The index finds every ASCII text that contains them in this form; it also finds other forms.
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
    """Whether enough messages contain the words to make building the set of their sessions slow."""
    if any(isinstance(one, Words) and one.prefix and _is_common(conn, one) for one in conditions(words)):
        return True
    (held,) = conn.execute(
        "SELECT count(*) FROM (SELECT 1 FROM messages_fts WHERE messages_fts MATCH ? LIMIT ?)",
        (expression(words), _FREQUENT),
    ).fetchone()
    return bool(held == _FREQUENT)


def _is_common(conn: Connection, beginning: Words) -> bool:
    """Whether enough messages contain the prefix to make the index slow; judged by the newest ones."""
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
    """Whether one or two letters are in so few places that the index is fast. If they are in many, reading
    the texts soon finds some.
    """
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
