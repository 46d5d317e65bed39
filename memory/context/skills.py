"""Selects the skills for a prompt: names in the head of an epoch, one body with the newest turn.

Names and descriptions of approved skills are part of the head, as many as fit. A head is frozen, so a changed
set is in it from the next epoch on. Which skill goes with a turn is chosen among those approved now, by words
and meaning, without asking the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.context.entities import Budget, WholeDocument
from memory.context.recalling import needs_nothing
from memory.documents.statements import sentences
from memory.entities import Message
from memory.recall.entities import QueryVector, QueryVectors
from memory.recall.question import LONGEST_QUESTION
from memory.recall.words import carries_meaning, content_words
from memory.skills.choosing import Candidate, Fit, asks_for_work, chosen, fits
from memory.skills.entities import Skill, SkillState, UsedSkill
from memory.storage.store import Store
from models.ports import TokenCounter

_SHARE = 4
"""The body of a skill takes at most a quarter of the working memory."""
_LONGEST_LINE = 300
"""Characters of a description in the head."""
_COMPARED = 2000
"""Characters of a body that messages are compared with."""
_SENTENCES = 8
"""Sentences of a message that are compared one by one."""
_LEAST_WORDS = 3


@dataclass(frozen=True, slots=True)
class ToldSkills:
    """The text before the user's message with the body of a skill, and the skills that the reply uses.

    `standing` are the tokens of bodies in earlier prefaces of the prompt. `too_long` is the name of a skill
    that fits the message, but not into the prompt.
    """

    text: str = ""
    tokens: int = 0
    standing: int = 0
    uses: tuple[UsedSkill, ...] = ()
    too_long: str = ""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(use.skill for use in self.uses)


NO_SKILLS = ToldSkills()


def head_line(skill: Skill) -> str:
    """Returns the line of a head about a skill."""
    text = skill.description
    if len(text) > _LONGEST_LINE:
        text = text[:_LONGEST_LINE].rpartition(" ")[0] + " …"
    return f"- {skill.name}: {text}"


def body_text(skill: Skill) -> str:
    """Returns a skill as the model reads it before the user's message."""
    return f'Follow these instructions ("{skill.name}"):\n{skill.body.strip()}\n\n'


def reminder(skill: Skill) -> str:
    """Returns the text that replaces the body of a skill if the prompt already contains it."""
    return f'(Follow the instructions "{skill.name}" given above.)\n\n'


class SkillContext:
    """The skills of one room in prompts."""

    def __init__(self, store: Store, counter: TokenCounter, vectors: QueryVectors) -> None:
        self._store = store
        self._counter = counter
        self._vectors = vectors

    async def head(self, budget: Budget) -> list[WholeDocument]:
        """Returns name and description of the approved skills, most used first, as many as fit."""
        known = await self.approved()
        known.sort(key=lambda skill: (-skill.uses, skill.name))
        lines = [head_line(skill) for skill in known]
        counts = await self._counter.count([f"{line}\n" for line in lines]) if lines else []
        left = budget.most("skill")
        found = []
        for skill, line, tokens in zip(known, lines, counts, strict=True):
            if tokens <= left:
                left -= tokens
                found.append(WholeDocument(skill.id, line))
        return found

    async def tell(
        self, session_id: str, messages: Sequence[Message], budget: Budget, used: int
    ) -> ToldSkills:
        """Returns the skill for the newest of `messages`; `used` tokens of the prompt are taken.

        A message that was answered before keeps its preface.
        """
        said = messages[-1]
        uses = await self._store.skills.used_in_session(session_id)
        shown = {message.id for message in messages[:-1] if message.preface}
        earlier = {use.message: use for use in uses if use.message in shown}
        standing = sum(use.tokens for use in earlier.values())
        own = {use.skill: use for use in uses if use.message == said.id}
        if said.preface and own:
            tokens = sum(use.tokens for use in own.values())
            return ToldSkills(tokens=tokens, standing=standing, uses=tuple(own.values()))
        skill = None if said.preface else await self.choose(said.content)
        if skill is None:
            return ToldSkills(standing=standing)
        there = any(use.skill == skill.id and use.version == skill.version for use in earlier.values())
        text = reminder(skill) if there else body_text(skill)
        tokens = (await self._counter.count([text]))[0]
        if tokens > min(budget.working // _SHARE, budget.limit - used):
            return ToldSkills(standing=standing, too_long=skill.name)
        return ToldSkills(
            text, tokens, standing, (UsedSkill(skill.id, skill.name, skill.version, said.id, tokens),)
        )

    async def choose(self, text: str) -> Skill | None:
        """Returns the approved skill that fits a message; usually none does."""
        known = await self.approved()
        best = chosen(await self.fits(text, known), request=asks_for_work(text))
        return next((one for one in known if one.id == best), None)

    async def fits(self, text: str, known: Sequence[Skill]) -> list[Fit]:
        """Returns how well skills fit a message, best first; none for greetings and the like."""
        if not known or needs_nothing(text):
            return []
        asked = text[:LONGEST_QUESTION]
        stems, *of_skills = await self._store.evidence.stems_of([asked, *(whole_of(one) for one in known)])
        if not carries_meaning(stems):
            return []
        cosines = await self._cosines(asked, known)
        candidates = [
            Candidate(one.id, frozenset(content_words(words)), cosines.get(one.id))
            for one, words in zip(known, of_skills, strict=True)
        ]
        return fits(frozenset(content_words(stems)), candidates)

    async def approved(self) -> list[Skill]:
        """Returns the skills that messages can get."""
        return list(await self._store.skills.list([SkillState.APPROVED]))

    async def _cosines(self, text: str, known: Sequence[Skill]) -> dict[str, float]:
        """Returns how close the meaning of a text, or of the closest of its sentences, is to that of each
        skill; empty without a model."""
        asked = await self._asked(text)
        if not asked:
            return {}
        model = asked[0].model
        stored = await self._store.skills.vectors(model)
        found = {}
        for skill in known:
            vector = stored.get((skill.id, skill.version)) or await self._made(skill)
            if vector is None:
                return {}
            found[skill.id] = max(_cosine(one, vector) for one in asked if one.model == model)
        return found

    async def _asked(self, text: str) -> list[QueryVector]:
        """Returns the vectors of a text and of its first sentences: in a long message, a single one may ask
        for what a skill is for."""
        parts = [text[begin:end] for begin, end in sentences(text)]
        long = [part for part in parts if len(part.split()) >= _LEAST_WORDS]
        texts = [text, *(long[:_SENTENCES] if len(parts) > 1 else [])]
        vectors = [await self._vectors.vector(one) for one in texts]
        return [one for one in vectors if one is not None]

    async def _made(self, skill: Skill) -> tuple[float, ...] | None:
        """Makes and stores the vector of a skill; None if no model is available.

        It is the mean of two, so its product with a message is the mean of two cosines.
        """
        head = await self._vectors.vector(head_of(skill))
        whole = await self._vectors.vector(whole_of(skill))
        if head is None or whole is None:
            return None
        vector = tuple((a + b) / 2 for a, b in zip(head.numbers, whole.numbers, strict=True))
        await self._store.skills.put_vector(skill.id, skill.version, head.model, vector)
        return vector


def _cosine(asked: QueryVector, vector: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(asked.numbers, vector, strict=True))


def head_of(skill: Skill) -> str:
    """Returns what a skill is about, as a text to compare messages with."""
    return f"{skill.name.replace('-', ' ')}: {skill.description}"


def whole_of(skill: Skill) -> str:
    """Returns the same with the beginning of its instructions."""
    return f"{head_of(skill)}\n{skill.body[:_COMPARED]}"
