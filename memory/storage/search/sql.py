"""Compiles search conditions to SQL. User input only ever becomes a parameter.

Messages are `m` and their sessions `s`, unless stated otherwise. A session's title counts as one more message
of it, which has no properties other than those of the session.
"""
# ruff: noqa: S608  # the names put into SQL are all written in this module

from dataclasses import dataclass
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
from memory.search.terms import LETTERS_A_PIECE, is_unspaced, searchable
from memory.storage.connection import fold, folded, in_folded
from memory.storage.values import storable

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
            term = f'"{storable(text)}"'
            if not prefix:
                return term
            wholes = "".join(f' OR "{whole}"' for whole in _completed(storable(text)))
            return f"({term}*{wholes})"
        case Not():
            raise TypeError("what is excluded stands beside an expression, not in it")
    raise TypeError(f"{type(part).__name__} is not about words")


def _completed(text: str) -> list[str]:
    """Returns the words that a prefix may become if its ending is half typed.

    The index contains stems: "running" is stored as "run", which does not begin with "runni".
    """
    word = text.rsplit(" ", 1)[-1].lower()
    found = {
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

    With `whole`, sessions are matched as wholes: what is excluded must be nowhere in them.
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
