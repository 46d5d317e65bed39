"""Compares a model as downloaded with another layout of it, in alternation in one run; prints JSON.

`python -m benchmarks.tuning [--layout q8_0] [--rounds 5] [--threads N]` takes the default chat model and what
`atlas models tune` made of it. If there is nothing yet, or with `--layout`, the layout is made for the run,
outside the home.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
from pathlib import Path

from atlas_desktop.paths import Paths, find_home
from models.library.catalog import ModelRole, load_catalog
from models.library.installed import ModelLibrary
from models.tuning.bench import Bench
from models.tuning.kernels import KernelsNote, real_cores, this_processor
from models.tuning.plan import LAYOUTS, Round, RunSettings, TunedStore, TuningPlan, gain, median


async def compare(
    original: Path, tuned: Path, start: RunSettings, best: RunSettings, plan: TuningPlan, rounds: int
) -> dict[str, object]:
    """Returns the tokens per second of both, their ratios, and both perplexities on the fixed text."""
    kernels = KernelsNote.beside(Paths(find_home()).models).read()
    benches = Bench(original, kernels), Bench(tuned, kernels)
    try:
        taken = [
            (await benches[0].measure(start, plan), await benches[1].measure(best, plan))
            for _ in range(rounds)
        ]
        before, after = [a for a, _ in taken], [b for _, b in taken]
        losses = (
            await benches[0].perplexity(start, plan),
            await benches[1].perplexity(best, plan),
        )
        found = gain(before, after)
        return {
            "processor": this_processor(),
            "kernels": str(kernels),
            "buffers": [list((await bench.open()).buffers) for bench in benches],
            "as_downloaded": figures(median(before)),
            "tuned": figures(median(after)),
            "prefill_ratio": round(found.prefill, 2),
            "prefill_ratios": [round(b.prefill / a.prefill, 2) for a, b in taken],
            "decode_ratio": round(statistics.median(b.decode / a.decode for a, b in taken), 2),
            "decode_ratio_at_best": round(max(b.decode for b in after) / max(a.decode for a in before), 2),
            "perplexities": [round(loss, 4) for loss in losses],
            "perplexity_ratio": round(losses[1] / losses[0], 5),
        }
    finally:
        for bench in benches:
            await bench.close()


def figures(one: Round) -> dict[str, float]:
    return {
        "prefill_at_the_start": round(one.near, 1),
        "prefill_far_on": round(one.far, 1),
        "decode": round(one.decode, 1),
    }


async def run(arguments: argparse.Namespace) -> dict[str, object]:
    paths = Paths(find_home())
    model = ModelLibrary(paths.models, load_catalog()).default(ModelRole.CHAT)
    start = RunSettings(threads=arguments.threads or real_cores())
    plan = TuningPlan(tokens=arguments.tokens, held=arguments.held)
    known = TunedStore(paths.models).for_file(model.id, model.path)
    if known is not None and known.file and not arguments.layout:
        tuned = paths.models / known.file
        return await compare(model.path, tuned, start, known.settings, plan, arguments.rounds)
    layout = next(one for one in LAYOUTS if one.name == (arguments.layout or "q8_0"))
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "model.part"
        writer = Bench(model.path, KernelsNote.beside(paths.models).read())
        await writer.quantise(part, layout, start.threads)
        await writer.close()
        return await compare(model.path, part, start, start, plan, arguments.rounds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layout", choices=[layout.name for layout in LAYOUTS])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--held", type=int, default=1500)
    print(json.dumps(asyncio.run(run(parser.parse_args())), indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
