"""What a model adds to a report: an opening from the facts, whose sentences are checked, and a judgement."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import msgspec

from memory.documents.citations import Passage, SourceKind, cite
from memory.documents.statements import sentences
from memory.summaries.evidence import Evidence as Source
from memory.tasks.contexts import Count, estimated
from memory.tasks.facts import Sentence
from models.errors import ModelsError
from models.messages import ChatMessage, Completion, GenerationParams, Lane, Role, StopReason
from models.ports import ChatModel, TokenCounter

LEAST_TO_JUDGE = 1_000_000_000
"""Weights. A smaller model is not asked to judge a report: rules do that better."""
_MOST_FACTS = 14
_ASK = "Write the opening of a report in two or three short sentences. Use only these facts, and add nothing."
_GRAMMAR = (
    'root ::= "{\\"action\\": \\"" ("approve" | "revise") "\\", \\"reason\\": \\"" [^"\\\\\\n]{1,120} "\\"}"'
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model wrote: its text, the prompt, and what it cost. `stopped`: it ended by itself."""

    text: str
    prompt: str
    prompt_tokens: int
    tokens: int
    ms: float
    stopped: bool


@dataclass(frozen=True, slots=True)
class Opening:
    """Sentences of a model with the sentences of sources that each rests on; `left_out` stated figures or
    names that no source has."""

    told: tuple[tuple[str, tuple[Sentence, ...]], ...] = ()
    left_out: int = 0


class _Judged(msgspec.Struct):
    action: str
    reason: str


class Wording:
    """The model of a room as tasks use it: one request at a time, behind the user's turns."""

    def __init__(
        self,
        model: Callable[[], ChatModel],
        counter: Callable[[], TokenCounter],
        checkpoint: Callable[[], Awaitable[None]],
    ) -> None:
        self._model = model
        self._counter = counter
        self._checkpoint = checkpoint
        self._works = True

    @property
    def works(self) -> bool:
        """Whether the model worked when it was last needed."""
        return self._works

    def counting(self) -> Count:
        """Returns what counts tokens: the model's own counter, or an estimate without a working model."""

        async def count(texts: Sequence[str]) -> list[int]:
            if self._works:
                try:
                    return await self._counter().count(texts)
                except ModelsError:
                    self._works = False
            return estimated(texts)

        return count

    async def ready(self) -> bool:
        """Loads the model; returns whether it works."""
        try:
            await self._model().info()
        except ModelsError:
            self._works = False
        else:
            self._works = True
        return self._works

    async def parameters(self) -> int:
        """Returns the number of the model's weights, 0 if it is unknown. Raises `ModelsError`."""
        return (await self._model().info()).parameters

    async def ask(self, prompt: str, most: int, *, grammar: str | None = None) -> Answer:
        """Asks the model. Raises `ModelsError`."""
        await self._checkpoint()
        began = time.perf_counter()
        params = GenerationParams(
            max_tokens=most, temperature=0.0, seed=1, grammar=grammar, repeat_penalty=1.1
        )
        generation = self._model().generate((ChatMessage(Role.USER, prompt),), params, Lane.TASK)
        try:
            async for event in generation:
                if isinstance(event, Completion):
                    return Answer(
                        event.text,
                        prompt,
                        event.timings.prompt_tokens,
                        event.timings.prompt_tokens + event.timings.completion_tokens,
                        1000 * (time.perf_counter() - began),
                        event.stop_reason is StopReason.STOP,
                    )
        except BaseException:
            generation.cancel()
            raise
        raise RuntimeError("a generation ended without its completion")


def opening_prompt(brief: str, facts: Sequence[str]) -> str:
    """Returns what the model is asked for the opening of a report."""
    lines = [f"- {fact}" for fact in facts[:_MOST_FACTS]]
    return "\n".join([_ASK, "", f"Question: {brief}", "", "Facts:", *lines, "", "Opening:"])


async def checked(text: str, given: Sequence[Sentence], *, complete: bool) -> Opening:
    """Checks what a model wrote, sentence by sentence, against the sentences that it was given.

    A sentence with support gets it. One without is kept only if it states no figure and no name that the
    sources do not have; it is marked in the report then. An unfinished last sentence is left out.
    """
    return await asyncio.to_thread(_checked, text, given, complete=complete)


def _checked(text: str, given: Sequence[Sentence], *, complete: bool) -> Opening:
    passages = [
        Passage(
            marker=number,
            kind=SourceKind.DOCUMENT,
            document=one.evidence.source,
            title=one.evidence.title,
            page=None,
            lines=None,
            begin=0,
            end=len(one.text),
            text=one.text,
        )
        for number, one in enumerate(given, 1)
    ]
    source = Source("\n".join([*(one.text for one in given), *(one.evidence.title for one in given)]))
    plain = " ".join(text.replace("[", "(").replace("]", ")").replace("|", " ").split())
    ranges = sentences(plain)
    if ranges and not complete and not plain.rstrip().endswith((".", "!", "?")):
        ranges = ranges[:-1]
    found = cite(plain, passages)
    unsupported = set(found.unsupported)
    told: list[tuple[str, tuple[Sentence, ...]]] = []
    left_out = 0
    seen: set[str] = set()
    for begin, end in ranges[:4]:
        sentence = plain[begin:end]
        if sentence in seen:
            continue
        seen.add(sentence)
        support = [one.marker for one in found.citations if one.sentence == (begin, end) and one.verified]
        if (begin, end) not in unsupported and support:
            told.append((sentence, tuple(given[marker - 1] for marker in dict.fromkeys(support))))
        elif (begin, end) not in unsupported:
            # A greeting or a hedge: it claims nothing.
            continue
        elif source.unknown_numbers(sentence) or source.unknown_names(sentence) or _figures(sentence):
            left_out += 1
        else:
            told.append((sentence, ()))
    return Opening(tuple(told), left_out)


def _figures(sentence: str) -> bool:
    """Whether a sentence without support states a figure: put to the wrong thing, it would be false."""
    return any(char.isdigit() for char in sentence)


def judging_prompt(context: str, report: str) -> str:
    """Returns what a large model is asked about a finished report."""
    reply = '{"action": "approve" or "revise", "reason": "…"}'
    return f"{context}\n\nReport:\n{report}\n\nDoes the report answer the task? Reply as {reply}."


def judgement(text: str) -> str:
    """Returns the action that a model chose; "" if its answer is none."""
    try:
        return msgspec.json.decode(text, type=_Judged).action
    except (msgspec.ValidationError, msgspec.DecodeError):
        return ""


JUDGING_GRAMMAR = _GRAMMAR
