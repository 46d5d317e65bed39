"""What stands in prompts of what was remembered, and how it is taken out of them."""

import json
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from dataclasses import replace

from memory.context.entities import TOLD, TurnRecord
from memory.storage.connection import Connection
from memory.storage.queries import epochs


def forget(conn: Connection, ids: Collection[str], *, gone: Collection[str]) -> tuple[str, ...]:
    """Empties the prefaces in which one of the ids was recalled or read, and ends the epochs that go on with
    them or hold one of the ids in their head.

    Those that are `gone` are taken out of what is known of any turn as well. Returns the sessions.
    """
    known, missing = set(ids), set(gone)
    touched: list[str] = []
    for turn in naming(conn, known):
        tiers = {part.tier for part in turn.parts if not known.isdisjoint(part.ids)}
        if not TOLD.isdisjoint(tiers):
            conn.execute(
                "UPDATE messages SET preface = '' WHERE id = (SELECT parent_id FROM messages WHERE id = ?)",
                (turn.reply_id,),
            )
            epochs.drop(conn, turn.session_id)
            touched.append(turn.session_id)
        if any(not missing.isdisjoint(part.ids) for part in turn.parts):
            parts = tuple(
                replace(part, ids=tuple(held for held in part.ids if held not in missing))
                for part in turn.parts
            )
            # An epoch that has ended meanwhile is left out.
            epochs.put_turn(conn, replace(turn, parts=parts))
    for epoch_id, session_id, parts in conn.execute("SELECT id, session_id, parts FROM epochs").fetchall():
        if names(parts, known):
            conn.execute("DELETE FROM epochs WHERE id = ?", (epoch_id,))
            touched.append(session_id)
    return tuple(dict.fromkeys(touched))


def names(text: str, ids: AbstractSet[str]) -> bool:
    """Whether JSON names one of the ids, as a key or a value. Much faster than reading it."""
    return not ids.isdisjoint(text.split('"'))


def naming(conn: Connection, ids: Collection[str]) -> list[TurnRecord]:
    """The turns of which a part names one of the ids."""
    known = set(ids)
    if not known:
        return []
    found = [
        (session_id, reply_id)
        for session_id, reply_id, parts in conn.execute("SELECT session_id, reply_id, parts FROM turns")
        if names(parts, known)
    ]
    rows = conn.execute(
        f"""
        SELECT {epochs.TURN_COLUMNS} FROM turns WHERE (session_id, reply_id) IN (
            SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?)
        )
        """,  # noqa: S608 - names of this package
        (json.dumps(found),),
    )
    return [epochs.turn_of(row) for row in rows]
