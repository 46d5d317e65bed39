"""Compares embedding of documents with bare llama.cpp: `python -m benchmarks.documents_embedding`.

The chunks of 1,000 pages of made-up reports are embedded by the background job of a room, which reads them
from the store, sends them to the model's process, and stores the vectors; and by llama-cpp-python alone,
which gets the same texts in a list and throws the vectors away. The two take turns, report by report, with
the same model and number of threads. The program must reach 85 % of the bare speed.

On a busy machine, compare with `--threads 1`: several threads of bare llama.cpp wait for each other there,
while the program uses fewer.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from atlas_desktop.bootstrap import build_host, model_library
from atlas_desktop.paths import Paths, find_home
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.documents.search import ChunkEmbedder
from atlas_desktop.settings.schema import JobSettings, ModelSettings, Settings
from benchmarks.documents import parsed_report
from benchmarks.documents_speed import document
from benchmarks.reports import reports
from memory.clock import SystemClock
from memory.jobs.foreground_gate import ForegroundGate
from memory.storage.room import open_off_record
from models.tuning.kernels import real_cores


class Bare:
    """llama-cpp-python in a separate process."""

    def __init__(self, model: Path, threads: int) -> None:
        own = str(Path(__file__).with_name("bare.py"))
        self._process = subprocess.Popen(
            [sys.executable, own, "embed", str(model), str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def embed(self, texts: list[str]) -> float:
        """Returns the seconds that the embedding of these texts takes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(texts) + "\n")
        self._process.stdin.flush()
        return float(json.loads(self._process.stdout.readline())["seconds"])

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


async def run(pages: int, threads: int) -> None:
    paths = Paths(find_home())
    model = next(iter(sorted(paths.models.glob("all-minilm*.gguf"))))
    store = await open_off_record(SystemClock())
    host = build_host(paths, model_library(paths), Settings(models=ModelSettings(threads=threads)))
    background = BackgroundService(store, SystemClock(), ForegroundGate(), JobSettings())
    job = ChunkEmbedder(store.documents, lambda: host, background)
    bare = Bare(model, threads or await asyncio.to_thread(real_cores))
    ours: list[float] = []
    theirs: list[float] = []
    read = count = 0
    try:
        await host.embed(["The first call loads the model."])
        await asyncio.to_thread(bare.embed, ["The first call loads the model."])
        for number, one in enumerate(reports(max(pages // 80, 1))):
            await store.documents.put([document(number, parsed_report(one), "application/pdf")])
            model_id = await host.embedding_fingerprint()
            waiting = await store.documents.vectors.unembedded(model_id, limit=10_000)
            texts = [f"{chunk.context}\n{chunk.text}" for chunk in waiting]

            async def mine() -> None:
                await job.queue()
                began = time.perf_counter()
                await background.run()
                ours.append(time.perf_counter() - began)

            async def other(texts: list[str] = texts) -> None:
                theirs.append(await asyncio.to_thread(bare.embed, texts))

            for work in (mine, other) if number % 2 else (other, mine):
                await work()
            if await store.documents.vectors.unembedded(model_id, limit=1):
                raise RuntimeError("some chunks have no vector")
            read += len(one.pages)
            count += len(texts)
            share = theirs[-1] / ours[-1]
            print(
                f"{len(texts):>6} chunks  ours {ours[-1]:6.2f} s  bare {theirs[-1]:6.2f} s  {share:6.1%}",
                flush=True,
            )
    finally:
        bare.close()
        await host.close()
        await store.close()
    shares = [base / own for own, base in zip(ours, theirs, strict=True)]
    print(
        f"{read:,} pages, {count:,} chunks: {sum(theirs) / sum(ours):.1%} of the bare speed, "
        f"median {statistics.median(shares):.1%} (goal 85 %); {count / sum(ours):.0f} chunks/s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=0, help="0: one for each core")
    args = parser.parse_args()
    asyncio.run(run(args.pages, args.threads))


if __name__ == "__main__":
    main()
