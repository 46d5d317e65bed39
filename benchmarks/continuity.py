"""Measures whether facts are in sight when asked for 200 turns later: `python -m benchmarks.continuity`.

No judgement is involved: a fact is found in the exact messages that the model is given, outside the question,
or it is not. Everything is real (store, recall with vectors, summaries by the model) except the replies of
the chat, which are short and say nothing. Compared, at the same turns, with a window of the same size that
slides over the newest messages, and with the same prompts without recalled text.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from atlas_desktop.services.events import Replied
from atlas_desktop.services.models import Model
from benchmarks.talk import Place, idle, place, say, scratch
from benchmarks.telling import WEIGHTY, Case, Kind, Said, Talk, holds, talk
from memory.entities import Message
from memory.memories.profile import line_of
from models.messages import (
    ChatMessage,
    Completion,
    GenerationParams,
    Lane,
    ModelInfo,
    StopReason,
    Timings,
    TokenDelta,
    hash_tokens,
)
from models.ports import ChatModel, Generation

QUICK_CASES = 60


class Reply:
    """A `Generation` of one delta."""

    def __init__(self, text: str, tokens: int) -> None:
        self._text = text
        self._timings = Timings(completion_tokens=tokens)

    async def __aiter__(self) -> AsyncIterator[TokenDelta | Completion]:
        yield TokenDelta(self._text, ())
        yield Completion(self._text, (), StopReason.STOP, self._timings, prompt_hash=hash_tokens(()))

    def cancel(self) -> None:
        """Does nothing: the generation has already ended."""


class Talker:
    """A `ChatModel` that says `next_reply` in the chat and passes tasks to `real`.

    With `tasks` False it says nothing to tasks, so that summaries consist of the source's own sentences. With
    `wide` its size is not reported, so that only its context bounds the working memory.
    """

    def __init__(self, real: ChatModel, *, tasks: bool, wide: bool) -> None:
        self._real = real
        self._tasks = tasks
        self._wide = wide
        self.next_reply = ""
        self.prompt: tuple[ChatMessage, ...] = ()

    async def info(self) -> ModelInfo:
        info = await self._real.info()
        return replace(info, parameters=0) if self._wide else info

    def generate(
        self, messages: Sequence[ChatMessage], params: GenerationParams, lane: Lane = Lane.CHAT
    ) -> Generation:
        if lane is Lane.CHAT:
            self.prompt = tuple(messages)
            return Reply(self.next_reply, len(self.next_reply.split()))
        return self._real.generate(messages, params, lane) if self._tasks else Reply("", 0)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was in sight when a case was asked for; `ways` are the tiers that contained it, empty if none."""

    case: Case
    ways: tuple[str, ...]
    window: bool


@dataclass(frozen=True, slots=True)
class Turned:
    """What a turn recalled (messages and tokens), and the milliseconds to make its prompt."""

    said: Said
    hits: int
    tokens: int
    took_ms: float


@dataclass(frozen=True, slots=True)
class Outcome:
    asked: tuple[Asked, ...]
    turned: tuple[Turned, ...]
    compactions: int
    fallbacks: tuple[int, int]
    working: int


async def run_session(here: Place, talker: Talker, given: Talk) -> Outcome:
    """Runs all turns of one session, with idle time after each."""
    session: str | None = None
    asked: list[Asked] = []
    turned: list[Turned] = []
    made = 0

    def count(_made: object) -> None:
        nonlocal made
        made += 1

    here.room.epochs.on_compaction = count
    for said, reply in zip(given.turns, given.replies, strict=True):
        talker.next_reply = reply
        replied = await say(here, said.text, session)
        session = replied.session.id
        branch = await here.room.store.branch(session)
        newest = branch[-2]
        turned.append(await _turned(here, said, newest, replied))
        if said.case is not None and said.asks:
            asked.append(
                Asked(
                    said.case,
                    await _ways(here, said.case, talker.prompt, newest, replied),
                    await _in_window(here, said.case, branch[:-2]),
                )
            )
        elif said.kind is Kind.MARKED:
            await here.room.sessions.mark_important(session, newest.id, important=True)
        await idle(here)
    summaries = await here.room.store.context.summaries(session or "")
    view = await here.room.chat.context.view(session or "", reply=0)
    assert view is not None
    fallbacks = sum(s.fallback for s in summaries), len(summaries)
    return Outcome(tuple(asked), tuple(turned), made, fallbacks, view.budget.working)


async def _turned(here: Place, said: Said, newest: Message, replied: Replied) -> Turned:
    recalled = newest.preface
    if recalled.startswith("["):
        recalled = recalled.partition("\n")[2]
    (tokens,) = await here.desk.model.counter.count([recalled.strip()])
    return Turned(said, len(replied.recalled), tokens, replied.prepare_ms)


async def _ways(
    here: Place, case: Case, prompt: Sequence[ChatMessage], newest: Message, replied: Replied
) -> tuple[str, ...]:
    """Returns the tiers of the prompt that contain the answer.

    Raises `RuntimeError` if they disagree with the messages of the prompt.
    """
    store = here.room.store
    ids = {tier.tier: tier.ids for tier in replied.context}
    branch = {m.id: m for m in await store.branch(replied.session.id)}
    texts = {
        "verbatim": [branch[id_].content for id_ in ids.get("recent", ())],
        "pinned": [branch[id_].content for id_ in ids.get("pinned", ())],
        "profile": [line_of(await store.memories.get(id_)) for id_ in ids.get("profile", ())],
        "summary": [(await store.context.summary(id_)).text for id_ in ids.get("summary", ())],
        "recalled": [newest.preface],
        "recalled before": [branch[id_].preface for id_ in ids.get("recent", ())],
    }
    ways = tuple(way for way, held in texts.items() if any(holds(text, case.answer) for text in held))
    whole = [m.content.removesuffix(newest.content) if m is prompt[-1] else m.content for m in prompt]
    if any(holds(text, case.answer) for text in whole) != bool(ways):
        raise RuntimeError("the tiers do not say what the prompt holds")
    return ways


async def _in_window(here: Place, case: Case, before: Sequence[Message]) -> bool:
    """Returns whether the newest messages alone, in the same budget, would contain the answer."""
    context = here.room.chat.context
    view = await context.view((await here.room.store.get_session("last")).id, reply=0)
    assert view is not None
    left = view.budget.working - view.budget.system
    sizes = await here.desk.model.counter.count([m.content for m in before])
    for message, size in zip(reversed(before), reversed(sizes), strict=True):
        left -= size + view.info.shape.overhead[message.role]
        if left < 0:
            return False
        if holds(message.content, case.answer):
            return True
    return False


def report(name: str, found: Outcome) -> None:
    asked = found.asked
    print(
        f"\n{name}: {len(asked)} cases in {len(found.turned)} turns, working memory {found.working} tokens, "
        f"{found.compactions} compactions, ",
        end="",
    )
    print(f"{found.fallbacks[0]} of {found.fallbacks[1]} summaries without a model")
    tiers = "verbatim  pinned  summary  profile  recalled"
    print(f"                            n  in sight  {tiers} | no recall  window")
    for kind in (Kind.MARKED, Kind.DECISION, Kind.NUMBER, Kind.PLAIN):
        _line(kind.value, [one for one in asked if one.case.kind is kind])
    _line("marked, decision, number", [one for one in asked if one.case.kind in WEIGHTY], goal=95)
    _line("plain", [one for one in asked if one.case.kind is Kind.PLAIN], goal=85)
    print("tokens recalled             n   mean    p95  turns with any")
    groups: tuple[tuple[str, Callable[[Turned], bool]], ...] = (
        ("asked for something told", lambda t: t.said.asks),
        ("told something", lambda t: t.said.case is not None and not t.said.asks),
        ("small talk", lambda t: t.said.kind is Kind.SMALL_TALK),
        ("other requests", lambda t: t.said.kind is Kind.REQUEST),
    )
    for label, wanted in groups:
        tokens = sorted(t.tokens for t in found.turned if wanted(t))
        if tokens:
            p95 = tokens[int(0.95 * (len(tokens) - 1))]
            some = sum(n > 0 for n in tokens) / len(tokens)
            print(f"{label:<26} {len(tokens):>3}  {statistics.mean(tokens):>5.0f}  {p95:>5}  {some:>6.0%}")
    print(f"making a prompt             median {statistics.median(t.took_ms for t in found.turned):.0f} ms")


def _line(label: str, some: Sequence[Asked], *, goal: int | None = None) -> None:
    if not some:
        return

    def share(held: Callable[[Asked], bool]) -> str:
        return f"{sum(map(held, some)) / len(some):.0%}"

    def way(name: str) -> str:
        return share(lambda one: name in one.ways)

    tiers = f"{way('verbatim'):>8}  {way('pinned'):>6}  {way('summary'):>7}  "
    tiers += f"{way('profile'):>7}  {way('recalled'):>8}"
    without = share(lambda one: bool({"verbatim", "pinned", "summary", "profile"}.intersection(one.ways)))
    window = share(lambda one: one.window)
    end = "" if goal is None else f"  (goal {goal} %)"
    seen = share(lambda one: bool(one.ways))
    print(f"{label:<26} {len(some):>3}  {seen:>8}  {tiers} | {without:>9}  {window:>6}{end}")


async def run(names: Sequence[str], *, quick: bool, misses: bool, wide: bool) -> None:
    talkers: list[Talker] = []

    def instead(model: Model) -> Model:
        talkers.append(Talker(model.chat, tasks=not quick, wide=wide))
        return replace(model, chat=talkers[-1], prefixes=None)

    with scratch() as folder:
        async with place(Path(folder) / "home", model=instead) as here:
            for name in names:
                began = time.perf_counter()
                given = talk(name, at_most=QUICK_CASES if quick else None)
                here.desk.settings_file.set("sessions.new_session", "off")
                await here.room.recall.load()
                found = await run_session(here, talkers[-1], given)
                report(name, found)
                print(f"took {time.perf_counter() - began:.0f} s")
                if misses:
                    for one in found.asked:
                        if not one.ways:
                            print(f"  not in sight: {one.case.kind}: {one.case.asked} <- {one.case.told}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer cases, summaries without a model")
    parser.add_argument("--cases", action="append", choices=("first", "second"), help="only these")
    parser.add_argument("--wide", action="store_true", help="the working memory that larger models have")
    parser.add_argument("--misses", action="store_true", help="tell what was not in sight")
    args = parser.parse_args()
    names = args.cases or (["first"] if args.quick else ["first", "second"])
    asyncio.run(run(names, quick=args.quick, misses=args.misses, wide=args.wide))
    return 0


if __name__ == "__main__":
    sys.exit(main())
