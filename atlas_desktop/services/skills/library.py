"""The skills of one room: written, changed, approved, rolled back, judged, removed."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import unified_diff

from atlas_desktop.services.cleaning import clean, clean_line
from memory.errors import SkillHasNoDraft, SkillVersionNotFound
from memory.skills.entities import (
    NewSkill,
    Skill,
    SkillState,
    SkillText,
    SkillUse,
    SkillVersion,
    UsedSkill,
    Verdict,
)
from memory.skills.markdown import checked_name, checked_text, write_skill
from memory.storage.store import Store


class SkillService:
    """The skills of one room. Raises what the store raises, and `SkillInvalid`; texts are cleaned before they
    are stored. What the user writes is approved by that; what others write waits for approval."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # --- reading ----------------------------------------------------------------------------------

    async def list(self, state: SkillState | None = None) -> Sequence[Skill]:
        """Returns skills by name."""
        return await self._store.skills.list(None if state is None else [state])

    async def get(self, ref: str) -> Skill:
        return await self._store.skills.get(ref)

    async def versions(self, ref: str) -> Sequence[SkillVersion]:
        """Returns the kept versions, newest first."""
        return await self._store.skills.versions(ref)

    async def drafts(self) -> Sequence[Skill]:
        """Returns what waits for approval, each as it would be in effect."""
        waiting = [one for one in await self._store.skills.list() if one.pending is not None]
        return [await self.waiting(one) for one in waiting]

    async def waiting(self, skill: Skill) -> Skill:
        """Returns a skill as it would be with the version that waits. Raises `SkillHasNoDraft`."""
        if skill.pending is None:
            raise SkillHasNoDraft(skill.name)
        found = {one.version: one for one in await self._store.skills.versions(skill.id)}[skill.pending]
        return replace(
            skill,
            text=found.text,
            version=found.version,
            state=SkillState.DRAFT,
            author=found.author,
            approved_at=None,
            sources=found.sources,
        )

    async def uses(self, ref: str) -> Sequence[SkillUse]:
        """Returns the replies that used a skill, latest first."""
        return await self._store.skills.uses_of((await self.get(ref)).id)

    async def used_in(self, reply_id: str) -> tuple[UsedSkill, ...]:
        """Returns the skills that a reply used."""
        return (await self._store.skills.used_in([reply_id])).get(reply_id, ())

    async def diff(self, ref: str, older: int | None = None, newer: int | None = None) -> str:
        """Returns what changed from one version to another, as a unified diff of their files.

        By default: what approval would change; without a version that waits, what the newest version changed.
        A first version is compared with nothing. Raises `SkillVersionNotFound`.
        """
        skill = await self.get(ref)
        known = {one.version: one for one in await self._store.skills.versions(skill.id)}
        if newer is None:
            newer = skill.pending or skill.version
        if older is None:
            waits = skill.pending is not None and skill.pending != skill.version
            older = skill.version if waits else max((one for one in known if one < newer), default=0)
        numbers = (older, newer)
        for one in numbers:
            if one != 0 and one not in known:
                raise SkillVersionNotFound(one)
        before, after = (
            write_skill(skill.name, known[one].text).splitlines() if one in known else [] for one in numbers
        )
        names = [f"{skill.name} {one}" if one else "/dev/null" for one in numbers]
        return "\n".join(unified_diff(before, after, names[0], names[1], lineterm=""))

    # --- writing ----------------------------------------------------------------------------------

    async def new(self, name: str, description: str, body: str, *, draft: bool = False) -> Skill:
        """Stores a skill of the user's, approved unless it is to be a `draft`. Raises `SkillNameTaken`."""
        text = checked_text(SkillText(clean_line(description), clean(body)))
        new = NewSkill(checked_name(clean_line(name)), text)
        return await self._store.skills.add(new, approved=not draft)

    async def edit(
        self,
        ref: str,
        *,
        body: str | None = None,
        description: str | None = None,
        name: str | None = None,
    ) -> Skill:
        """Changes a skill; a changed text is a new version, in effect at once unless the skill is a draft.

        Returns the skill; a draft stays one. Raises `SkillNameTaken`.
        """
        skill = await self.get(ref)
        old = skill.text
        text = checked_text(
            SkillText(
                old.description if description is None else clean_line(description),
                old.body if body is None else clean(body),
                old.front,
            )
        )
        if name is not None and checked_name(clean_line(name)) != skill.name:
            skill = await self._store.skills.rename(skill.id, checked_name(clean_line(name)))
        if text == old:
            return skill
        return await self._store.skills.write(skill.id, NewSkill(skill.name, text), in_effect=True)

    async def edit_draft(self, ref: str, body: str) -> Skill:
        """Changes the instructions of the version that waits, and still waits. Raises `SkillHasNoDraft`."""
        skill = await self.get(ref)
        old = (await self.waiting(skill)).text
        text = checked_text(SkillText(old.description, clean(body), old.front))
        if text == old:
            return skill
        return await self._store.skills.write(skill.id, NewSkill(skill.name, text), in_effect=False)

    async def propose(self, new: NewSkill) -> Skill | None:
        """Stores what others wrote, to be approved: a new skill, or a new version of that of the same name.

        Returns None if the skill says that already.
        """
        known = await self._store.skills.named(new.name)
        if known is None:
            return await self._store.skills.add(new, approved=False)
        same = known if known.pending is None else await self.waiting(known)
        if new.text in (known.text, same.text):
            return None
        return await self._store.skills.write(known.id, new, in_effect=False)

    # --- what is decided --------------------------------------------------------------------------

    async def approve(self, ref: str) -> Skill:
        """Puts what waits into effect, or uses a retired skill again. Raises `SkillHasNoDraft`."""
        return await self._store.skills.approve(ref)

    async def reject(self, ref: str) -> Skill | None:
        """Deletes the version that waits; returns the skill if it has another. Raises `SkillHasNoDraft`."""
        return await self._store.skills.reject(ref)

    async def roll_back(self, ref: str, version: int | None = None) -> Skill:
        """Puts an earlier approved version into effect again. Raises `SkillVersionNotFound`."""
        return await self._store.skills.roll_back(ref, version)

    async def retire(self, ref: str) -> Skill:
        """Ends the use of a skill; it is kept, and `approve` brings it back."""
        return await self._store.skills.retire(ref)

    async def remove(self, ref: str) -> tuple[str, ...]:
        """Deletes a skill with its versions, and its text in prompts; returns the sessions of these."""
        return await self._store.skills.erase(ref)

    async def judge(self, reply_id: str, verdict: Verdict | None) -> Sequence[str]:
        """Records whether the skills of a reply helped; returns their ids.

        Raises `MessageNotFound` for a reply that used no skill.
        """
        return await self._store.skills.judge(reply_id, verdict)
