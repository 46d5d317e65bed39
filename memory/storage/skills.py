"""The skills of one room: procedures with their versions, vectors and uses."""

import struct
from collections.abc import Collection, Sequence

from memory.clock import Clock
from memory.skills.entities import (
    NewSkill,
    Skill,
    SkillState,
    SkillUse,
    SkillVersion,
    UsedSkill,
    Verdict,
)
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import skills


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
        return await self._database.read(lambda conn: skills.select(conn, states))

    async def get(self, ref: str) -> Skill:
        return await self._database.read(lambda conn: skills.get(conn, ref))

    async def named(self, name: str) -> Skill | None:
        """Returns the skill with exactly this name."""
        return await self._database.read(lambda conn: skills.named(conn, name))

    async def versions(self, ref: str) -> Sequence[SkillVersion]:
        """Returns the kept versions, newest first."""
        return await self._database.read(lambda conn: skills.versions(conn, skills.get(conn, ref).id))

    # --- writing ----------------------------------------------------------------------------------

    async def add(self, new: NewSkill, *, approved: bool) -> Skill:
        """Stores a skill, approved or as a draft. Raises `SkillNameTaken`."""
        now = self._clock.now()
        return await self._database.write(lambda conn: skills.add(conn, new, now, approved=approved))

    async def write(self, ref: str, new: NewSkill, *, in_effect: bool) -> Skill:
        """Adds a version, which is in effect at once or waits for approval; of a draft, it always waits."""
        now = self._clock.now()

        def work(conn: Connection) -> Skill:
            return skills.write(conn, skills.get(conn, ref).id, new, now, in_effect=in_effect)

        return await self._database.erase(work)

    async def rename(self, ref: str, name: str) -> Skill:
        """Raises `SkillNameTaken`."""
        now = self._clock.now()
        return await self._database.write(
            lambda conn: skills.rename(conn, skills.get(conn, ref).id, name, now)
        )

    async def approve(self, ref: str) -> Skill:
        """Puts the version that waits into effect. Raises `SkillHasNoDraft`."""
        now = self._clock.now()
        return await self._database.write(lambda conn: skills.approve(conn, skills.get(conn, ref).id, now))

    async def reject(self, ref: str) -> Skill | None:
        """Deletes the version that waits; returns the skill, if it has others. Raises `SkillHasNoDraft`."""
        now = self._clock.now()
        return await self._database.erase(lambda conn: skills.reject(conn, skills.get(conn, ref).id, now))

    async def roll_back(self, ref: str, version: int | None = None) -> Skill:
        """Puts an earlier approved version into effect. Raises `SkillVersionNotFound`."""
        now = self._clock.now()
        return await self._database.write(
            lambda conn: skills.roll_back(conn, skills.get(conn, ref).id, version, now)
        )

    async def retire(self, ref: str) -> Skill:
        """Ends the use of an approved skill; it is kept."""
        now = self._clock.now()
        return await self._database.write(lambda conn: skills.retire(conn, skills.get(conn, ref).id, now))

    async def erase(self, ref: str) -> tuple[str, ...]:
        """Deletes a skill with its versions, and its text in prompts; returns the sessions of these."""
        return await self._database.erase(lambda conn: skills.erase(conn, [skills.get(conn, ref).id]))

    # --- drafts -----------------------------------------------------------------------------------

    async def drafted_from(self) -> frozenset[str]:
        """Returns the messages and memories that some version of a skill was drafted from."""
        return await self._database.read(skills.drafted_from)

    async def was_rejected(self, source_ids: Collection[str]) -> bool:
        """Whether a draft from exactly these messages and memories was rejected."""
        return await self._database.read(lambda conn: skills.was_rejected(conn, source_ids))

    # --- vectors ----------------------------------------------------------------------------------

    async def vectors(self, model: str) -> dict[tuple[str, int], tuple[float, ...]]:
        """Returns the vectors of the current versions, by skill and version."""
        found = await self._database.read(lambda conn: skills.vectors(conn, model))
        return {key: struct.unpack(f"<{len(data) // 4}f", data) for key, data in found.items()}

    async def put_vector(self, skill_id: str, version: int, model: str, vector: Sequence[float]) -> None:
        data = struct.pack(f"<{len(vector)}f", *vector)
        await self._database.write(lambda conn: skills.put_vector(conn, skill_id, version, model, data))

    # --- uses -------------------------------------------------------------------------------------

    async def begin_use(self, session_id: str, reply_id: str, used: UsedSkill) -> None:
        """Records that the prompt of a reply contains a skill."""
        await self._database.write(lambda conn: skills.begin_use(conn, session_id, reply_id, used))

    async def drop_uses(self, reply_id: str) -> None:
        """Deletes the uses of a reply whose prompt had no room for a skill after all."""
        await self._database.write(lambda conn: skills.drop_uses(conn, reply_id))

    async def count_uses(self, reply_id: str) -> None:
        """Counts the uses of a reply that is there, once."""
        await self._database.write(lambda conn: skills.count_uses(conn, reply_id))

    async def used_in(self, reply_ids: Collection[str]) -> dict[str, tuple[UsedSkill, ...]]:
        """Returns the skills that replies used, by reply."""
        return await self._database.read(lambda conn: skills.used_in(conn, reply_ids))

    async def used_in_session(self, session_id: str) -> Sequence[UsedSkill]:
        """Returns what the prompts of a session contain of skills, in the order of their replies."""
        return await self._database.read(lambda conn: skills.used_in_session(conn, session_id))

    async def uses_of(self, skill_id: str, *, limit: int = 50) -> Sequence[SkillUse]:
        """Returns the replies that used a skill, latest first."""
        return await self._database.read(lambda conn: skills.uses_of(conn, skill_id, limit))

    async def judge(self, reply_ref: str, verdict: Verdict | None) -> Sequence[str]:
        """Records whether the skills of a reply helped; None takes that back. Returns their ids.

        Raises `MessageNotFound` for a reply that used no skill.
        """
        return await self._database.write(lambda conn: skills.judge(conn, reply_ref, verdict))
