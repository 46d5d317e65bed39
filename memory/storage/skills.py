"""The skills of one room: procedures with their versions, vectors and uses."""

import hashlib
import json
import struct
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from memory.clock import Clock, micros, moment
from memory.errors import (
    AmbiguousId,
    MessageNotFound,
    SkillHasNoDraft,
    SkillNameTaken,
    SkillNotFound,
    SkillVersionNotFound,
)
from memory.personas import found_among
from memory.skills.entities import (
    KEPT_VERSIONS,
    NewSkill,
    Skill,
    SkillAuthor,
    SkillSource,
    SkillState,
    SkillText,
    SkillUse,
    SkillVersion,
    SourceKind,
    UsedSkill,
    Verdict,
)
from memory.storage.connection import Connection, id_range, new_id, storable
from memory.storage.database import Database
from memory.storage.queries import context

# ruff: noqa: S608  # the names put into SQL are all written in this module


_LISTED = "(SELECT value FROM json_each(?))"
_COLUMNS = """
    s.id, s.name, s.state, s.current, s.pending, s.uses, s.helped, s.harmed, s.created_at, s.updated_at,
    s.approved_at, v.description, v.body, v.front, v.author
"""
_USED = "skill_id, name, version, message_id, tokens, verdict"
_FROM = "skills AS s JOIN skill_versions AS v ON v.skill_id = s.id AND v.version = s.current"


def any_in_use(conn: Connection, session_id: str) -> bool:
    """Whether a skill is approved, or was used in the session."""
    (found,) = conn.execute(
        """
        SELECT EXISTS (SELECT 1 FROM skills WHERE state = 'approved')
            OR EXISTS (SELECT 1 FROM skill_uses WHERE session_id = ?)
        """,
        (session_id,),
    ).fetchone()
    return bool(found)


def _skill(conn: Connection, row: Any) -> Skill:
    return Skill(
        id=row[0],
        name=row[1],
        text=SkillText(row[11], row[12], row[13]),
        version=row[3],
        state=SkillState(row[2]),
        author=SkillAuthor(row[14]),
        created_at=moment(row[8]),
        updated_at=moment(row[9]),
        approved_at=None if row[10] is None else moment(row[10]),
        pending=row[4],
        sources=_sources(conn, row[0], row[3]),
        uses=row[5],
        helped=row[6],
        harmed=row[7],
    )


def _sources(conn: Connection, skill_id: str, version: int) -> tuple[SkillSource, ...]:
    rows = conn.execute(
        "SELECT kind, source_id FROM skill_sources WHERE skill_id = ? AND version = ? ORDER BY source_id",
        (skill_id, version),
    )
    return tuple(SkillSource(SourceKind(kind), source) for kind, source in rows)


def select(conn: Connection, states: Collection[SkillState] | None = None) -> list[Skill]:
    """Returns skills by name, all or those in these states."""
    wanted = json.dumps([one.value for one in (SkillState if states is None else states)])
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM {_FROM} WHERE s.state IN {_LISTED} ORDER BY s.name", (wanted,)
    ).fetchall()
    return [_skill(conn, row) for row in rows]


def get(conn: Connection, ref: str) -> Skill:
    """Returns a skill by id, name, or a unique prefix of either. Raises `SkillNotFound`, `AmbiguousId`."""
    found = found_among(select(conn), ref)
    if found is None:
        raise SkillNotFound(ref)
    return found


def named(conn: Connection, name: str) -> Skill | None:
    """Returns the skill with exactly this name."""
    row = conn.execute(f"SELECT {_COLUMNS} FROM {_FROM} WHERE s.name = ?", (name,)).fetchone()
    return None if row is None else _skill(conn, row)


def versions(conn: Connection, skill_id: str) -> list[SkillVersion]:
    """Returns the kept versions, newest first."""
    rows = conn.execute(
        """
        SELECT skill_id, version, description, body, front, author, written_at, approved_at
        FROM skill_versions WHERE skill_id = ? ORDER BY version DESC
        """,
        (skill_id,),
    ).fetchall()
    return [
        SkillVersion(
            row[0],
            row[1],
            SkillText(row[2], row[3], row[4]),
            SkillAuthor(row[5]),
            moment(row[6]),
            None if row[7] is None else moment(row[7]),
            _sources(conn, row[0], row[1]),
        )
        for row in rows
    ]


# --- writing ----------------------------------------------------------------------------------------


def add(conn: Connection, new: NewSkill, now: datetime, *, approved: bool) -> Skill:
    """Stores a skill with its first version. Raises `SkillNameTaken`."""
    _require_free(conn, new.name, "")
    at = micros(now)
    skill_id = new_id()
    conn.execute(
        """
        INSERT INTO skills (id, name, state, current, pending, created_at, updated_at, approved_at)
        VALUES (?, ?, ?, 1, ?, ?, ?, ?)
        """,
        (
            skill_id,
            new.name,
            *(("approved", None) if approved else ("draft", 1)),
            at,
            at,
            at if approved else None,
        ),
    )
    _put_version(conn, skill_id, 1, new, at, approved=approved)
    return get(conn, skill_id)


def write(conn: Connection, skill_id: str, new: NewSkill, now: datetime, *, in_effect: bool) -> Skill:
    """Adds a version. `in_effect`: it replaces the current one at once, unless the skill is a draft.

    Otherwise it waits for approval, in place of an earlier waiting version.
    """
    old = get(conn, skill_id)
    at = micros(now)
    version = 1 + max(one.version for one in versions(conn, skill_id))
    is_draft = old.state is SkillState.DRAFT
    in_effect = in_effect and not is_draft
    if not in_effect and old.pending is not None and not is_draft:
        _drop_version(conn, skill_id, old.pending)
    _put_version(conn, skill_id, version, new, at, approved=in_effect)
    if in_effect:
        changes, values = "current = ?, approved_at = ?", [version, at]
    elif is_draft:
        changes, values = "current = ?, pending = ?", [version, version]
    else:
        changes, values = "pending = ?", [version]
    conn.execute(f"UPDATE skills SET {changes}, updated_at = ? WHERE id = ?", (*values, at, skill_id))
    _prune(conn, skill_id)
    return get(conn, skill_id)


def rename(conn: Connection, skill_id: str, name: str, now: datetime) -> Skill:
    """Gives a skill another name. Raises `SkillNameTaken`."""
    _require_free(conn, name, skill_id)
    conn.execute("UPDATE skills SET name = ?, updated_at = ? WHERE id = ?", (name, micros(now), skill_id))
    return get(conn, skill_id)


def _require_free(conn: Connection, name: str, skill_id: str) -> None:
    """Raises `SkillNameTaken` if another skill has the name, also one whose text has not arrived by sync."""
    taken = conn.execute("SELECT 1 FROM skills WHERE name = ? AND id <> ?", (name, skill_id)).fetchone()
    if taken is not None:
        raise SkillNameTaken(name)


def _put_version(
    conn: Connection, skill_id: str, version: int, new: NewSkill, at: int, *, approved: bool
) -> None:
    text = new.text
    conn.execute(
        """
        INSERT INTO skill_versions
            (skill_id, version, description, body, front, author, written_at, approved_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            skill_id,
            version,
            storable(text.description),
            storable(text.body),
            storable(text.front),
            new.author.value,
            at,
            at if approved else None,
        ),
    )
    conn.executemany(
        "INSERT OR IGNORE INTO skill_sources (skill_id, version, kind, source_id) VALUES (?, ?, ?, ?)",
        [(skill_id, version, one.kind.value, one.id) for one in new.sources],
    )


def _drop_version(conn: Connection, skill_id: str, version: int) -> None:
    conn.execute("DELETE FROM skill_versions WHERE skill_id = ? AND version = ?", (skill_id, version))


def _prune(conn: Connection, skill_id: str) -> None:
    """Keeps the newest versions, and those in effect and waiting, however old they are."""
    conn.execute(
        """
        DELETE FROM skill_versions WHERE skill_id = ?1 AND version NOT IN (
            SELECT version FROM skill_versions WHERE skill_id = ?1 ORDER BY version DESC LIMIT ?2
        ) AND version NOT IN (SELECT current FROM skills WHERE id = ?1)
        """,
        (skill_id, KEPT_VERSIONS),
    )


# --- decisions on skills ----------------------------------------------------------------------------


def approve(conn: Connection, skill_id: str, now: datetime) -> Skill:
    """Puts the waiting version into effect; a retired skill is used again. Raises `SkillHasNoDraft`."""
    skill, at = get(conn, skill_id), micros(now)
    if skill.pending is None and skill.state is not SkillState.RETIRED:
        raise SkillHasNoDraft(skill.name)
    current = skill.version if skill.pending is None else skill.pending
    conn.execute(
        "UPDATE skill_versions SET approved_at = ? WHERE skill_id = ? AND version = ?",
        (at, skill_id, current),
    )
    conn.execute(
        """
        UPDATE skills SET state = 'approved', current = ?, pending = NULL, approved_at = ?, updated_at = ?
        WHERE id = ?
        """,
        (current, at, at, skill_id),
    )
    return get(conn, skill_id)


def reject(conn: Connection, skill_id: str, now: datetime) -> Skill | None:
    """Deletes the waiting version, and remembers its sources.

    Returns the remaining skill; None if nothing is left of it. Raises `SkillHasNoDraft`.
    """
    skill = get(conn, skill_id)
    if skill.pending is None:
        raise SkillHasNoDraft(skill.name)
    sources = _sources(conn, skill_id, skill.pending)
    if sources:
        digest = digest_of(one.id for one in sources)
        conn.execute("INSERT OR IGNORE INTO rejected_drafts (digest) VALUES (?)", (digest,))
    if skill.state is SkillState.DRAFT:
        erase(conn, [skill_id])
        return None
    _drop_version(conn, skill_id, skill.pending)
    conn.execute("UPDATE skills SET pending = NULL, updated_at = ? WHERE id = ?", (micros(now), skill_id))
    return get(conn, skill_id)


def roll_back(conn: Connection, skill_id: str, version: int | None, now: datetime) -> Skill:
    """Puts an approved version into effect again; by default the one before the current one.

    Later versions stay. Raises `SkillVersionNotFound`.
    """
    skill, at = get(conn, skill_id), micros(now)
    known = [one.version for one in versions(conn, skill_id) if one.approved_at is not None]
    wanted = next((one for one in known if one < skill.version), 0) if version is None else version
    if wanted not in known:
        raise SkillVersionNotFound(wanted)
    conn.execute(
        "UPDATE skills SET current = ?, approved_at = ?, updated_at = ? WHERE id = ?",
        (wanted, at, at, skill_id),
    )
    return get(conn, skill_id)


def retire(conn: Connection, skill_id: str, now: datetime) -> Skill:
    """Ends the use of an approved skill; it is kept."""
    conn.execute(
        "UPDATE skills SET state = 'retired', updated_at = ? WHERE id = ? AND state = 'approved'",
        (micros(now), skill_id),
    )
    return get(conn, skill_id)


def use_again(conn: Connection, skill_id: str, now: datetime) -> Skill:
    """Uses a retired skill again, in the version that it had; one that waits for approval goes on waiting."""
    conn.execute(
        "UPDATE skills SET state = 'approved', updated_at = ? WHERE id = ? AND state = 'retired'",
        (micros(now), skill_id),
    )
    return get(conn, skill_id)


def erase(conn: Connection, skill_ids: Collection[str]) -> tuple[str, ...]:
    """Deletes skills with everything made from them, including text in prompts. Replies stay.

    Returns the sessions whose prompts contained one of them.
    """
    ids = json.dumps(list(skill_ids))
    touched = context.forget_recalled(conn, skill_ids, gone=skill_ids)
    conn.execute(f"DELETE FROM skill_uses WHERE skill_id IN {_LISTED}", (ids,))
    conn.execute(f"DELETE FROM skills WHERE id IN {_LISTED}", (ids,))
    return touched


def digest_of(source_ids: Iterable[str]) -> bytes:
    """Returns the digest by which a set of sources is known after its draft was rejected."""
    return hashlib.sha256("\n".join(sorted(set(source_ids))).encode()).digest()


def was_rejected(conn: Connection, source_ids: Iterable[str]) -> bool:
    row = conn.execute("SELECT 1 FROM rejected_drafts WHERE digest = ?", (digest_of(source_ids),)).fetchone()
    return row is not None


def drafted_from(conn: Connection) -> frozenset[str]:
    """Returns the messages and memories that some version of a skill was drafted from."""
    return frozenset(row[0] for row in conn.execute("SELECT DISTINCT source_id FROM skill_sources"))


def forget_sources(conn: Connection, source_ids: Collection[str]) -> tuple[str, ...]:
    """Deletes the versions by Atlas that are based on one of these messages or memories: they quote each
    source.

    A skill that then has neither an approved nor a waiting version is deleted. What the user wrote stays.
    Returns the sessions whose prompts contained such a skill.
    """
    ids = json.dumps(list(source_ids))
    affected = conn.execute(
        f"SELECT DISTINCT skill_id, version FROM skill_sources WHERE source_id IN {_LISTED}", (ids,)
    ).fetchall()
    if not affected:
        return ()
    conn.execute(f"DELETE FROM skill_sources WHERE source_id IN {_LISTED}", (ids,))
    for skill_id, version in affected:
        conn.execute(
            "DELETE FROM skill_versions WHERE skill_id = ? AND version = ? AND author = 'atlas'",
            (skill_id, version),
        )
    return _repaired(conn, sorted({skill_id for skill_id, _ in affected}))


def _repaired(conn: Connection, skill_ids: Sequence[str]) -> tuple[str, ...]:
    """Gives skills whose versions were deleted one that is left, or deletes them; returns the sessions whose
    prompts contained one of those versions."""
    touched: list[str] = []
    for skill_id in skill_ids:
        row = conn.execute("SELECT state, current, pending FROM skills WHERE id = ?", (skill_id,)).fetchone()
        left = versions(conn, skill_id)
        numbers = {one.version for one in left}
        approved = [one.version for one in left if one.approved_at is not None]
        state, current, pending = row
        pending = pending if pending in numbers else None
        if current in numbers:
            if state != "draft":
                conn.execute("UPDATE skills SET pending = ? WHERE id = ?", (pending, skill_id))
            continue
        if state == "draft" and left:
            newest = left[0].version
            conn.execute("UPDATE skills SET current = ?1, pending = ?1 WHERE id = ?2", (newest, skill_id))
            touched += context.forget_recalled(conn, [skill_id], gone=())
        elif approved:
            conn.execute(
                "UPDATE skills SET current = ?, pending = ? WHERE id = ?", (approved[0], pending, skill_id)
            )
            touched += context.forget_recalled(conn, [skill_id], gone=())
        elif pending is not None:
            conn.execute(
                """
                UPDATE skills SET state = 'draft', current = ?1, pending = ?1, approved_at = NULL
                WHERE id = ?2
                """,
                (pending, skill_id),
            )
            touched += context.forget_recalled(conn, [skill_id], gone=())
        else:
            touched += erase(conn, [skill_id])
    return tuple(dict.fromkeys(touched))


# --- vectors ----------------------------------------------------------------------------------------


def vectors(conn: Connection, model: str) -> dict[tuple[str, int], bytes]:
    """Returns the vectors of the current versions made by a model, by skill and version."""
    rows = conn.execute(
        """
        SELECT w.skill_id, w.version, w.data FROM skill_vectors AS w
        JOIN skills AS s ON s.id = w.skill_id AND s.current = w.version WHERE w.model = ?
        """,
        (model,),
    )
    return {(row[0], row[1]): row[2] for row in rows}


def put_vector(conn: Connection, skill_id: str, version: int, model: str, data: bytes) -> None:
    """Stores the vector of a version, unless the version is gone; those of other models are deleted."""
    conn.execute("DELETE FROM skill_vectors WHERE skill_id = ? AND version = ?", (skill_id, version))
    conn.execute(
        """
        INSERT INTO skill_vectors (skill_id, version, model, data)
        SELECT ?1, ?2, ?3, ?4 FROM skill_versions WHERE skill_id = ?1 AND version = ?2
        """,
        (skill_id, version, model, data),
    )


# --- uses -------------------------------------------------------------------------------------------


def begin_use(conn: Connection, session_id: str, reply_id: str, used: UsedSkill) -> None:
    """Records that the prompt of a reply contains a skill. It counts once the reply is complete."""
    conn.execute(
        """
        INSERT OR IGNORE INTO skill_uses
            (reply_id, session_id, skill_id, version, name, message_id, tokens)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        (reply_id, session_id, used.skill, used.version, used.name, used.message, used.tokens),
    )


def drop_uses(conn: Connection, reply_id: str) -> None:
    """Deletes the uses of a reply whose prompt had no room for a skill after all."""
    conn.execute("DELETE FROM skill_uses WHERE reply_id = ? AND counted = 0", (reply_id,))


def count_uses(conn: Connection, reply_id: str) -> None:
    """Counts the uses of a reply that is complete, once."""
    conn.execute(
        """
        UPDATE skills SET uses = uses + 1 WHERE id IN (
            SELECT skill_id FROM skill_uses WHERE reply_id = ? AND counted = 0
        )
        """,
        (reply_id,),
    )
    conn.execute("UPDATE skill_uses SET counted = 1 WHERE reply_id = ?", (reply_id,))


def used_in(conn: Connection, reply_ids: Collection[str]) -> dict[str, tuple[UsedSkill, ...]]:
    """Returns the skills that replies used, by reply."""
    rows = conn.execute(
        f"SELECT reply_id, {_USED} FROM skill_uses WHERE reply_id IN {_LISTED} ORDER BY reply_id, name",
        (json.dumps(list(reply_ids)),),
    )
    found: dict[str, tuple[UsedSkill, ...]] = {}
    for reply_id, *row in rows:
        found[reply_id] = (*found.get(reply_id, ()), _used(row))
    return found


def used_in_session(conn: Connection, session_id: str) -> list[UsedSkill]:
    """Returns the skills in the prompts of a session, in the order of their replies."""
    rows = conn.execute(
        f"SELECT {_USED} FROM skill_uses WHERE session_id = ? ORDER BY reply_id, name", (session_id,)
    )
    return [_used(row) for row in rows]


def _used(row: Sequence[Any]) -> UsedSkill:
    skill_id, name, version, message_id, tokens, verdict = row
    return UsedSkill(
        skill_id, name, version, message_id, tokens, None if verdict is None else Verdict(verdict)
    )


def uses_of(conn: Connection, skill_id: str, limit: int) -> list[SkillUse]:
    """Returns the replies that used a skill, latest first."""
    rows = conn.execute(
        """
        SELECT reply_id, session_id, version, verdict FROM skill_uses
        WHERE skill_id = ? AND counted = 1 ORDER BY reply_id DESC LIMIT ?
        """,
        (skill_id, limit),
    )
    return [SkillUse(row[0], row[1], row[2], None if row[3] is None else Verdict(row[3])) for row in rows]


def judge(conn: Connection, reply_ref: str, verdict: Verdict | None) -> list[str]:
    """Records whether the skills of a reply helped, in place of what was recorded before; returns their ids.

    `reply_ref` is an id or a unique prefix of one. Raises `MessageNotFound` for a reply that used no skill,
    `AmbiguousId`.
    """
    bounds = id_range(reply_ref)
    rows = conn.execute(
        "SELECT DISTINCT reply_id FROM skill_uses WHERE counted = 1 AND reply_id BETWEEN ? AND ?",
        bounds or ("", ""),
    ).fetchall()
    if not rows:
        raise MessageNotFound(reply_ref)
    if len(rows) > 1:
        raise AmbiguousId(reply_ref, len(rows))
    reply_id = rows[0][0]
    own = conn.execute(
        "SELECT skill_id, verdict FROM skill_uses WHERE reply_id = ? AND counted = 1", (reply_id,)
    ).fetchall()
    for skill_id, before in own:
        for name, step in ((before, -1), (None if verdict is None else verdict.value, 1)):
            if name is not None:
                conn.execute(f"UPDATE skills SET {name} = {name} + {step} WHERE id = ?", (skill_id,))
    conn.execute(
        "UPDATE skill_uses SET verdict = ? WHERE reply_id = ? AND counted = 1",
        (None if verdict is None else verdict.value, reply_id),
    )
    return [skill_id for skill_id, _ in own]


class SkillStore:
    """The skills of one room. A `ref` is a name, an id, or a unique prefix of either.

    Raises `SkillNotFound`, `AmbiguousId`, and the errors of `Store`. A call that has returned is durable.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    # --- reading ----------------------------------------------------------------------------------

    async def list(self, states: Collection[SkillState] | None = None) -> Sequence[Skill]:
        """Returns skills by name, all or those in these states."""
        return await self._database.read(lambda conn: select(conn, states))

    async def get(self, ref: str) -> Skill:
        return await self._database.read(lambda conn: get(conn, ref))

    async def named(self, name: str) -> Skill | None:
        """Returns the skill with exactly this name."""
        return await self._database.read(lambda conn: named(conn, name))

    async def versions(self, ref: str) -> Sequence[SkillVersion]:
        """Returns the kept versions, newest first."""
        return await self._database.read(lambda conn: versions(conn, get(conn, ref).id))

    # --- writing ----------------------------------------------------------------------------------

    async def add(self, new: NewSkill, *, approved: bool) -> Skill:
        """Stores a skill, approved or as a draft. Raises `SkillNameTaken`."""
        now = self._clock.now()
        return await self._database.write(lambda conn: add(conn, new, now, approved=approved))

    async def write(self, ref: str, new: NewSkill, *, in_effect: bool) -> Skill:
        """Adds a version, which is in effect at once or waits for approval; if the skill is a draft, it
        always waits.
        """
        now = self._clock.now()

        def work(conn: Connection) -> Skill:
            return write(conn, get(conn, ref).id, new, now, in_effect=in_effect)

        return await self._database.erase(work)

    async def rename(self, ref: str, name: str) -> Skill:
        """Raises `SkillNameTaken`."""
        now = self._clock.now()
        return await self._database.write(lambda conn: rename(conn, get(conn, ref).id, name, now))

    async def approve(self, ref: str) -> Skill:
        """Puts the waiting version into effect. Raises `SkillHasNoDraft`."""
        now = self._clock.now()
        return await self._database.write(lambda conn: approve(conn, get(conn, ref).id, now))

    async def reject(self, ref: str) -> Skill | None:
        """Deletes the waiting version; returns the skill, if it has others. Raises `SkillHasNoDraft`."""
        now = self._clock.now()
        return await self._database.erase(lambda conn: reject(conn, get(conn, ref).id, now))

    async def roll_back(self, ref: str, version: int | None = None) -> Skill:
        """Puts an earlier approved version into effect. Raises `SkillVersionNotFound`."""
        now = self._clock.now()
        return await self._database.write(lambda conn: roll_back(conn, get(conn, ref).id, version, now))

    async def retire(self, ref: str) -> Skill:
        """Ends the use of an approved skill; it is kept."""
        now = self._clock.now()
        return await self._database.write(lambda conn: retire(conn, get(conn, ref).id, now))

    async def use_again(self, ref: str) -> Skill:
        """Uses a retired skill again, in the version that it had."""
        now = self._clock.now()
        return await self._database.write(lambda conn: use_again(conn, get(conn, ref).id, now))

    async def erase(self, ref: str) -> tuple[str, ...]:
        """Deletes a skill with its versions, and its text in prompts; returns the sessions of these."""
        return await self._database.erase(lambda conn: erase(conn, [get(conn, ref).id]))

    # --- drafts -----------------------------------------------------------------------------------

    async def drafted_from(self) -> frozenset[str]:
        """Returns the messages and memories that some version of a skill was drafted from."""
        return await self._database.read(drafted_from)

    async def was_rejected(self, source_ids: Collection[str]) -> bool:
        """Whether a draft from exactly these messages and memories was rejected."""
        return await self._database.read(lambda conn: was_rejected(conn, source_ids))

    # --- vectors ----------------------------------------------------------------------------------

    async def vectors(self, model: str) -> dict[tuple[str, int], tuple[float, ...]]:
        """Returns the vectors of the current versions, by skill and version."""
        found = await self._database.read(lambda conn: vectors(conn, model))
        return {key: struct.unpack(f"<{len(data) // 4}f", data) for key, data in found.items()}

    async def put_vector(self, skill_id: str, version: int, model: str, vector: Sequence[float]) -> None:
        data = struct.pack(f"<{len(vector)}f", *vector)
        await self._database.write(lambda conn: put_vector(conn, skill_id, version, model, data))

    # --- uses -------------------------------------------------------------------------------------

    async def begin_use(self, session_id: str, reply_id: str, used: UsedSkill) -> None:
        """Records that the prompt of a reply contains a skill."""
        await self._database.write(lambda conn: begin_use(conn, session_id, reply_id, used))

    async def drop_uses(self, reply_id: str) -> None:
        """Deletes the uses of a reply whose prompt had no room for a skill after all."""
        await self._database.write(lambda conn: drop_uses(conn, reply_id))

    async def count_uses(self, reply_id: str) -> None:
        """Counts the uses of a reply that is complete, once."""
        await self._database.write(lambda conn: count_uses(conn, reply_id))

    async def used_in(self, reply_ids: Collection[str]) -> dict[str, tuple[UsedSkill, ...]]:
        """Returns the skills that replies used, by reply."""
        return await self._database.read(lambda conn: used_in(conn, reply_ids))

    async def used_in_session(self, session_id: str) -> Sequence[UsedSkill]:
        """Returns the skills in the prompts of a session, in the order of their replies."""
        return await self._database.read(lambda conn: used_in_session(conn, session_id))

    async def uses_of(self, skill_id: str, *, limit: int = 50) -> Sequence[SkillUse]:
        """Returns the replies that used a skill, latest first."""
        return await self._database.read(lambda conn: uses_of(conn, skill_id, limit))

    async def judge(self, reply_ref: str, verdict: Verdict | None) -> Sequence[str]:
        """Records whether the skills of a reply helped; None takes that back. Returns their ids.

        Raises `MessageNotFound` for a reply that used no skill.
        """
        return await self._database.write(lambda conn: judge(conn, reply_ref, verdict))
