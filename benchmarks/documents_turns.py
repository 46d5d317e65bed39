"""Measures first tokens in a session about documents: `python -m benchmarks.documents_turns [--turns N]`.

Each turn asks about a made-up report, so that the prompt gets passages of it. The earlier turns are in the
model's context. Bare llama.cpp, in a separate process, evaluates the new tokens after the same prompt; the
two take turns. The first token may take at most 1.3 times as long. Of every turn it is checked that its
prompt begins with the whole prompt and reply of the turn before, and that only the rest was evaluated, unless
an epoch of the context ended between them.
"""

import argparse
import asyncio
import statistics
from pathlib import Path

from benchmarks.context import Measured, exact_prompt, measured, report_one
from benchmarks.reports import Report, reports
from benchmarks.talk import default_chat_model, place, say, scratch
from benchmarks.turns import Bare

SLACK = 8
"""Tokens that may be evaluated again: the end of the last reply."""


def write(folder: Path, one: Report) -> Path:
    path = folder / "report.md"
    path.write_text("\n\n".join(one.pages), "utf-8")
    return path


async def run(turns: int) -> None:
    one = reports(1)[0]
    found: list[Measured] = []
    renewed = 0
    with scratch() as folder:
        async with place(Path(folder) / "home") as here:
            added = await here.room.documents.add([write(Path(folder), one)])
            await here.room.documents.search.load()
            session: str | None = None
            earlier: list[int] = []
            print("turn   held  new  evaluated   ours ms  bare ms  ratio", flush=True)
            with Bare(default_chat_model()) as process:
                for number in range(1, turns + 1):
                    question = one.questions[number % len(one.questions)].text
                    replied = await say(here, question, session, documents=tuple(added.documents))
                    session = replied.session.id
                    timings = replied.completion.timings
                    prompt = await exact_prompt(here, replied)
                    if number > 1 and prompt[: len(earlier)] == earlier:
                        fresh = len(prompt) - len(earlier)
                        if timings.evaluated_tokens > fresh + SLACK:
                            raise SystemExit(
                                f"turn {number} evaluated {timings.evaluated_tokens} tokens, "
                                f"but only {fresh} are new"
                            )
                        found.append(await measured(here, process, number, replied))
                        report_one(found[-1])
                    elif number > 1:
                        renewed += 1
                    earlier = prompt + list(replied.completion.tokens[:-1])
    if len(found) < turns // 2:
        raise SystemExit(f"only {len(found)} of {turns} turns appended to the prompt")
    ratios = sorted(one.ratio for one in found)
    print(
        f"{len(found)} turns appended, {renewed} began another epoch; new tokens, median: "
        f"{statistics.median(one.evaluated for one in found):.0f}\n"
        f"first token    median {statistics.median(ratios):.2f} x bare (goal 1.30), most {ratios[-1]:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=24)
    asyncio.run(run(parser.parse_args().turns))


if __name__ == "__main__":
    main()
