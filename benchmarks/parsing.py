"""Measures how fast documents are read by the confined processes: `python -m benchmarks.parsing`.

Reads one PDF of 1,000 pages, which ReportLab makes, and 1,000 small Markdown files, as the program does:
through `DocumentParser`, with the start of its processes counted in. Figures are wall clock, and processor
time of all processes, which a busy machine changes less.
"""

import argparse
import asyncio
import io
import random
import resource
import time
from collections.abc import Sequence

from reportlab.pdfgen.canvas import Canvas

from atlas_desktop.parsing.client import DocumentParser

_SENTENCE = "the garden needs water before noon because rain is late while beans climb over everything"
_WORDS = _SENTENCE.split()
_LINES = 50
_AT_A_TIME = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--files", type=int, default=1000)
    args = parser.parse_args()
    asyncio.run(run(args.pages, args.files))


async def run(pages: int, files: int) -> None:
    data = pdf(pages)
    print(f"PDF: {pages:,} pages, {len(data) / 1e6:.1f} MB")
    await measure([(data, "benchmark.pdf")], pages, "pages")
    texts = [(markdown(number), "note.md") for number in range(files)]
    print(f"Markdown: {files:,} files of {sum(len(text) for text, _ in texts) / files:,.0f} bytes")
    await measure(texts, files, "files")


async def measure(documents: Sequence[tuple[bytes, str]], count: int, unit: str) -> None:
    parser = DocumentParser()
    wall, used = time.perf_counter(), processor_time()
    try:
        for at in range(0, len(documents), _AT_A_TIME):
            await asyncio.gather(*(parser.parse(*one) for one in documents[at : at + _AT_A_TIME]))
        wall = time.perf_counter() - wall
    finally:
        await parser.close()
    used = processor_time() - used
    print(f"  {wall:.2f} s, {count / wall:,.0f} {unit}/s; {count / used:,.0f} a second of processor time")


def processor_time() -> float:
    """Returns the seconds that this process and its ended children have used."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def pdf(pages: int) -> bytes:
    """Returns a PDF of text pages with a bookmark every ten pages; always the same."""
    chance = random.Random(4711)
    out = io.BytesIO()
    canvas = Canvas(out, invariant=True)
    for number in range(pages):
        if number % 10 == 0:
            canvas.bookmarkPage(str(number))
            canvas.addOutlineEntry(f"Chapter {number // 10}", str(number))
        text = canvas.beginText(72, 770)
        for line in range(_LINES):
            text.textLine(f"Chapter {number // 10}" if line == 0 else " ".join(chance.choices(_WORDS, k=14)))
        canvas.drawText(text)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def markdown(number: int) -> bytes:
    """Returns a note with headings, a list and a table."""
    chance = random.Random(number)
    blocks = [f"# Note {number}"]
    for section in range(4):
        blocks.append(f"## Section {section}")
        blocks += [" ".join(chance.choices(_WORDS, k=60)) for _ in range(2)]
        blocks.append("\n".join(f"- {word}" for word in chance.choices(_WORDS, k=4)))
    blocks.append("| a | b |\n|---|---|\n| 1 | 2 |")
    return "\n\n".join(blocks).encode()


if __name__ == "__main__":
    main()
