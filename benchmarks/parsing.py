"""Measures how fast documents are read by the confined processes: `python -m benchmarks.parsing`.

Reads one PDF of 1,000 pages, which ReportLab makes, and 1,000 small Markdown files, as the program does:
through `DocumentParser`, with the start of its processes counted in. Figures are wall clock.
"""

import argparse
import asyncio
import io
import random
import resource
import time

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
    texts = [markdown(number) for number in range(files)]
    parser = DocumentParser()
    try:
        began = time.perf_counter()
        parsed = await parser.parse(data, "benchmark.pdf")
        took = time.perf_counter() - began
        print(f"PDF: {len(parsed.pages):,} pages, {len(parsed.text):,} characters, {len(data) / 1e6:.1f} MB")
        print(f"  {took:.2f} s; {pages / took:,.0f} pages/s")
        began = time.perf_counter()
        for at in range(0, files, _AT_A_TIME):
            await asyncio.gather(*(parser.parse(text, "a.md") for text in texts[at : at + _AT_A_TIME]))
        took = time.perf_counter() - began
        print(f"Markdown: {files:,} files of {sum(map(len, texts)) / files:,.0f} bytes")
        print(f"  {took:.2f} s; {files / took:,.0f} files/s")
    finally:
        await parser.close()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    print(f"at most {peak:,.0f} MB of resident memory in a process")


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
