"""How the `llm` tool keeps its log since it has `threads`: messages that name the one before them by hash.

A turn is one call of a model: it names the last message that it was given and the last that it made. Messages
are shared between turns and threads that begin alike, so what belongs to whom follows from the turns.
"""

import sqlite3
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from atlas_desktop.services.importing.entities import Said
from atlas_desktop.services.importing.values import identifier, mapping, moment, readable_json, sequence, text
from atlas_desktop.services.importing.wording import aside, attached, fenced, joined, quoted
from models.messages import Role

_NEEDED = {
    "threads": {"id", "name", "tip_message_hash", "datetime_utc"},
    "turns": {"id", "thread_id", "parent_message_hash", "tip_message_hash", "model", "datetime_utc"},
    "messages": {"hash", "parent_hash", "role"},
    "parts": {"message_hash", "position", "type", "text", "payload"},
}


def has_threads(tables: dict[str, set[str]]) -> bool:
    return all(columns <= tables.get(name, set()) for name, columns in _NEEDED.items())


@dataclass(slots=True)
class Thread:
    """What the turns of a thread tell of it."""

    title: str = field(default="", repr=False)
    said: list[Said] = field(default_factory=list, repr=False)
    system_prompt: str = field(default="", repr=False)
    model: str | None = None
    head: str | None = None
    begun: datetime | None = None
    turns: int = 0


@dataclass(frozen=True, slots=True)
class _Message:
    hash: str
    role: str


class Threads:
    """The threads of a database that `has_threads`. Its methods raise `sqlite3.Error`."""

    def __init__(self, conn: sqlite3.Connection, tables: dict[str, set[str]]) -> None:
        self._conn = conn
        self._fragment = _FRAGMENT if {"id", "content"} <= tables.get("fragments", set()) else ""
        known = tables.get("attachments", set())
        self._attached = _ATTACHMENT if {"id", "path", "url", "type"} <= known else ""

    def ids(self) -> Iterator[str]:
        rows = self._conn.execute(
            "SELECT id FROM threads UNION SELECT thread_id FROM turns WHERE thread_id IS NOT NULL ORDER BY 1"
        )
        return (key for (one,) in rows if (key := identifier(one)))

    def has_turn(self, response: str) -> bool:
        """Whether what is told of a response is told of a turn, too, and more of it."""
        found = self._conn.execute("SELECT 1 FROM turns WHERE id = ?", (response,)).fetchone()
        return found is not None

    def read(self, thread: str, after: str | None = None) -> Thread:
        """`after` is the last message of what was said in it before there were threads, if anything was: the
        first turn was given all that once more."""
        row = self._conn.execute(
            "SELECT name, tip_message_hash, datetime_utc FROM threads WHERE id = ?", (thread,)
        ).fetchone()
        name, tip, begun = map(text, row or ("", "", ""))
        reading = _Reading(self, Thread(title=name, begun=moment(begun)), after)
        turns = self._conn.execute(
            "SELECT id, parent_message_hash, tip_message_hash, model, datetime_utc FROM turns"
            " WHERE thread_id = ? ORDER BY id",
            (thread,),
        ).fetchall()
        reading.found.turns = len(turns)
        for turn in turns:
            reading.turn(*map(text, turn))
        if turns or after is None:
            reading.history(tip)
        reading.found.head = reading.places.get(tip)
        return reading.found

    def back(self, start: str, known: Container[str], until: str = "") -> tuple[list[_Message], str]:
        """The messages that lead to one, the oldest first, and the hash in `known` that they follow on."""
        found: dict[str, _Message] = {}
        at = start
        while at and at != until and at not in found and at not in known:
            row = self._conn.execute(_MESSAGE, (at,)).fetchone()
            if row is None:
                return list(found.values())[::-1], ""
            found[at] = _Message(at, text(row[0]))
            at = text(row[1])
        return list(found.values())[::-1], at if at in known else ""

    def words(self, messages: Iterable[_Message]) -> str:
        return joined(
            self._part(text(kind), text(words), _decoded(payload))
            for one in messages
            for kind, words, payload in self._conn.execute(
                "SELECT type, text, payload FROM parts WHERE message_hash = ? ORDER BY position", (one.hash,)
            )
        )

    def _part(self, kind: str, words: str, held: dict[str, Any]) -> str:
        words = words or text(held.get("text")) or self._put_together(sequence(held.get("text_ref")))
        name = text(held.get("name"))
        if kind == "reasoning":
            return quoted(words)
        if kind == "tool_call":
            return joined(
                (aside("Asked", name), fenced(readable_json(mapping(held.get("arguments"))) or "{}", "json"))
            )
        if kind == "tool_result":
            failed = text(held.get("exception"))
            body = fenced(text(held.get("output")) or failed)
            files = attached(self._attachment(one) for one in sequence(held.get("attachments")))
            return joined((aside("Error" if failed else "Result", name), body, files))
        if kind == "attachment":
            return attached([self._attachment(held.get("attachment"))])
        return words

    def _put_together(self, pieces: list[Any]) -> str:
        """Text of which some stands in fragments."""
        return "".join(
            text(piece.get("literal")) or self._one(self._fragment, piece.get("fragment"))
            for piece in map(mapping, pieces)
        )

    def _attachment(self, value: Any) -> str:
        return self._one(self._attached, mapping(value).get("id"))

    def _one(self, query: str, key: Any) -> str:
        if not query or not (isinstance(key, str) or (isinstance(key, int) and abs(key) < 1 << 63)):
            return ""
        row = self._conn.execute(query, (key,)).fetchone()
        return "" if row is None else text(row[0])


_MESSAGE = "SELECT role, parent_hash FROM messages WHERE hash = ?"
_FRAGMENT = "SELECT content FROM fragments WHERE id = ?"
_ATTACHMENT = "SELECT coalesce(path, url, type) FROM attachments WHERE id = ?"


class _Reading:
    """Goes through the turns of one thread. `places` says in which message of ours one of theirs went."""

    def __init__(self, threads: Threads, found: Thread, after: str | None) -> None:
        self.found = found
        self.places: dict[str, str] = {}
        self._threads = threads
        self._after = after

    def turn(self, own: str, asked: str, answered: str, model: str, at: str) -> None:
        before, mine, parent = self._given(asked)
        if self._after is not None and not self.found.said:
            parent = self._after
            self.places.update((one.hash, parent) for one in before)
        else:
            parent = self._taken(before, parent)
        when = moment(at)
        if mine:
            words = self._threads.words(mine)
            parent = self._said(Said(f"{own}:prompt", parent, Role.USER, words, when), mine)
        made, _ = self._threads.back(answered, self.places, asked)
        words = self._threads.words(made)
        self._said(Said(f"{own}:response", parent, Role.ASSISTANT, words, when, model=model or None), made)
        self.found.model = model or self.found.model

    def history(self, tip: str) -> None:
        """The messages that lead to the last one and are of no turn."""
        before, mine, parent = self._given(tip)
        self._taken([*before, *mine], parent)

    def _given(self, tip: str) -> tuple[list[_Message], list[_Message], str | None]:
        """What a turn was given that is not known yet: what was said before, what was asked, and the message
        of ours that it follows on. Instructions are no message."""
        given, known = self._threads.back(tip, self.places)
        instructions = [one for one in given if one.role == "system"]
        self.found.system_prompt = self._threads.words(instructions) or self.found.system_prompt
        given = [one for one in given if one.role != "system"]
        cut = len(given)
        while cut and given[cut - 1].role in ("user", "tool"):
            cut -= 1
        return given[:cut], given[cut:], self.places.get(known)

    def _taken(self, messages: list[_Message], parent: str | None) -> str | None:
        for one in messages:
            role = Role.ASSISTANT if one.role == "assistant" else Role.USER
            parent = self._said(Said(one.hash, parent, role, self._threads.words([one])), [one])
        return parent

    def _said(self, said: Said, holds: Iterable[_Message]) -> str:
        self.found.said.append(said)
        self.places.update((one.hash, said.id) for one in holds)
        return said.id


def _decoded(payload: Any) -> dict[str, Any]:
    try:
        return mapping(msgspec.json.decode(text(payload) or "{}"))
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return {}
