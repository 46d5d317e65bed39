"""Measures first tokens in a conversation of 300 turns: `python -m benchmarks.context`.

They are compared with bare llama.cpp that evaluates only a turn's new tokens after the same prompt, in a
separate process and in alternation; with a prompt that is rebuilt; and with the same turn without background
work. Every measured prompt is rebuilt from stored data and must be the same to the token.
"""

import argparse
import asyncio
import itertools
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from atlas_desktop.services.events import Replied
from benchmarks.talk import Place, default_chat_model, idle, place, say, scratch, small_talk
from benchmarks.turns import Bare, bare
from memory.entities import NewMessage
from models.messages import Role, hash_tokens

MARKS = (5, 50, 150, 300)
AROUND = 3
WELL_UNDER_WAY_S = 0.2
TRIES = 4


@dataclass(frozen=True)
class Measured:
    """One turn: milliseconds to its first token, here and bare; tokens evaluated, new, and held before."""

    turn: int
    ours: float
    bare: float
    evaluated: int
    new: int
    held: int

    @property
    def ratio(self) -> float:
        return self.ours / self.bare


async def exact_prompt(here: Place, replied: Replied) -> list[int]:
    """Returns the token ids of a reply's prompt, from stored data.

    Raises `RuntimeError` if they are not what was evaluated.
    """
    context = here.room.chat.context
    messages = await context.replay(replied.message.id)
    prefixes = here.desk.model.prefixes
    assert prefixes is not None
    tokens = await prefixes.render(messages)
    record = await here.room.store.context.turn(replied.message.id)
    if record is None or hash_tokens(tokens) != record.prompt_hash:
        raise RuntimeError("a turn's prompt cannot be made again from what is stored")
    return tokens


async def measured(here: Place, process: Bare, number: int, replied: Replied) -> Measured:
    timings = replied.completion.timings
    tokens = await exact_prompt(here, replied)
    held = tokens[: timings.cached_tokens]
    new = tokens[timings.cached_tokens :]
    base = await asyncio.to_thread(process.append, held, new)
    said = sum(t.tokens for t in replied.context if t.tier in ("user", "recall"))
    return Measured(number, timings.first_token_ms, base, timings.evaluated_tokens, said, len(held))


async def long_session(here: Place, process: Bare, turns: int) -> tuple[str, list[Measured], int]:
    """Runs a session of `turns` turns, with idle time after each; measures the turns around the marks."""
    session: str | None = None
    found: list[Measured] = []
    compactions = 0

    def count(_made: object) -> None:
        nonlocal compactions
        compactions += 1

    here.room.epochs.on_compaction = count
    over = []
    print("turn   held  new  evaluated   ours ms  bare ms  ratio", flush=True)
    for number in range(1, turns + 1):
        replied = await say(here, small_talk(number), session)
        session = replied.session.id
        timings = replied.completion.timings
        said = sum(t.tokens for t in replied.context if t.tier in ("user", "recall"))
        over.append(timings.evaluated_tokens - said)
        if any(abs(number - min(mark, turns - AROUND + 1)) < AROUND for mark in MARKS if mark <= turns):
            found.append(await measured(here, process, number, replied))
            report_one(found[-1])
        await idle(here)
    assert session is not None
    extra = sorted(over[1:])
    print(
        f"evaluated beyond a turn's new tokens: median {statistics.median(extra):.0f}, "
        f"p95 {extra[int(0.95 * len(extra))]}, most {extra[-1]} (goal 8)"
    )
    return session, found, compactions


def report_one(m: Measured) -> None:
    counts = f"{m.turn:>4}  {m.held:>5}  {m.new:>3}  {m.evaluated:>9}"
    print(f"{counts}  {m.ours:>8.0f}  {m.bare:>7.0f}  {m.ratio:>5.2f}", flush=True)


def report(found: list[Measured], compactions: int) -> None:
    ratios = sorted(m.ratio for m in found)
    p95 = ratios[min(len(ratios) - 1, int(0.95 * len(ratios)))]
    print(f"compactions    {compactions} (goal: at least 4)")
    print(
        f"first token    median {statistics.median(ratios):.2f} x bare (goal 1.15), p95 {p95:.2f} (goal 1.50)"
    )


async def beside_rebuilding(here: Place, session: str) -> None:
    """Measures turns with a prompt whose first line has changed, as in programs that rebuild it.

    One turn recalls nothing, the other reads recalled text.
    """
    for text in ("Go on.", small_talk(1001)):
        replied = await say(here, text, session)
        tokens = await exact_prompt(here, replied)
        appended = replied.completion.timings
        recalled = sum(part.tokens for part in replied.context if part.tier == "recall")
        cold = await asyncio.to_thread(bare, default_chat_model(), tokens[:1], tokens[1:])
        print(
            f"rebuilding     {len(tokens)} tokens: {cold:.0f} ms, appended {appended.evaluated_tokens}, "
            f"{recalled} of them recalled: {appended.first_token_ms:.0f} ms: "
            f"{cold / appended.first_token_ms:.0f} x faster (goal 30 at 2,500 tokens)"
        )
        await idle(here)


async def beside_work(here: Place, session: str, rounds: int = 5) -> None:
    """Compares turns sent while older turns are summarised with turns without other work."""
    quiet: list[float] = []
    busy: list[float] = []
    turns = itertools.count(2000)

    async def turn() -> float:
        return (await say(here, small_talk(next(turns)), session)).completion.timings.first_token_ms

    for _ in range(TRIES * rounds):
        idle_ms = await turn()
        work = asyncio.create_task(here.room.epochs.summarise_now(session))
        await asyncio.sleep(WELL_UNDER_WAY_S)
        # Right after a new epoch of the prompt, nothing is old enough to be summarised.
        if not work.done():
            quiet.append(idle_ms)
            busy.append(await turn())
        await work
        await idle(here)
        if len(busy) == rounds:
            break
    else:
        raise RuntimeError(f"only {len(busy)} summaries were under way when a turn could be sent")
    working, still = statistics.median(busy), statistics.median(quiet)
    print(f"while it works {working:.0f} ms, idle {still:.0f} ms: {working / still:.2f} x (goal 1.30)")


async def ten_thousand(here: Place) -> None:
    """Measures how long it takes to assemble the prompt of a session of 10,000 messages."""
    first = await say(here, small_talk(1), None)
    session = first.session.id
    for number in range(9_998):
        role = (Role.USER, Role.ASSISTANT)[number % 2]
        await here.room.store.append_message(session, NewMessage(role, small_talk(number)))
    await say(here, small_talk(2), session)
    await idle(here)
    took = []
    for number in range(5):
        said = await here.room.store.append_message(session, NewMessage(Role.USER, small_talk(number)))
        current = await here.room.store.get_session(session)
        began = time.perf_counter()
        await here.room.chat.context.prepare(current, said.id, reply=16)
        took.append(1000 * (time.perf_counter() - began))
    print(f"assembly       10,000 messages: {statistics.median(took):.1f} ms (goal 10)")


async def run(turns: int, *, large: bool) -> None:
    with scratch() as folder:
        async with place(Path(folder) / "home") as here:
            if turns:
                with Bare(default_chat_model()) as process:
                    session, found, compactions = await long_session(here, process, turns)
                report(found, compactions)
                await beside_rebuilding(here, session)
                await beside_work(here, session)
            if large:
                await ten_thousand(here)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=300, help="0: only what does not need the long session")
    parser.add_argument("--large", action=argparse.BooleanOptionalAction, default=True)
    args = parser.parse_args()
    asyncio.run(run(args.turns, large=args.large))
    return 0


if __name__ == "__main__":
    sys.exit(main())
