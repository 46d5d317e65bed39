"""Documents that are made to harm their reader: each ends soon, in words, and costs only itself."""

import asyncio
import io
import random
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from atlas_desktop.error_table import explain
from atlas_desktop.errors import DocumentRefused, Refusal
from atlas_desktop.parsing.client import DocumentParser
from atlas_desktop.parsing.protocol import MOST_PIXELS, PageView
from tests.security.figures import Figures
from tests.security.hostile_pdfs import HARMLESS, HOSTILE
from tests.unit.parsing.samples import FILES, archive, entries

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
async def parser() -> AsyncIterator[DocumentParser]:
    parser = DocumentParser()
    yield parser
    await parser.close()


async def outcome(parser: DocumentParser, data: bytes, name: str) -> Refusal | str:
    """Why a document is refused, or the text that is read from it."""
    try:
        return (await parser.parse(data, name)).text
    except DocumentRefused as error:
        refused = error
    assert explain(refused).message.startswith(f"{name}: ")
    return refused.reason


async def test_hostile_pdfs_are_refused_or_read_and_the_next_is_read(parser: DocumentParser) -> None:
    outcomes = await asyncio.gather(*(outcome(parser, data, "a.pdf") for data in HOSTILE.values()))
    by_name = dict(zip(HOSTILE, outcomes, strict=True))
    assert Refusal.TOO_SLOW not in outcomes, by_name
    # Repairing a file brings its few words to light; nothing else does.
    assert all(isinstance(one, Refusal) or len(one) < 1_000_000 for one in outcomes), by_name
    assert by_name["a million pages"] is Refusal.TOO_MANY_PAGES
    assert by_name["a lock that takes long"] is Refusal.ENCRYPTED
    assert isinstance(await outcome(parser, FILES["a.pdf"], "a.pdf"), str)


async def test_hostile_pdfs_are_drawn_or_refused(parser: DocumentParser) -> None:
    async def outcome_of(data: bytes) -> Refusal | int:
        try:
            picture = await parser.draw(data, "a.pdf", PageView(1, 800))
        except DocumentRefused as error:
            return error.reason
        return picture.pixels.width * picture.pixels.height

    outcomes = await asyncio.gather(*map(outcome_of, [*HOSTILE.values(), *HARMLESS.values()]))
    by_name = dict(zip([*HOSTILE, *HARMLESS], outcomes, strict=True))
    assert all(isinstance(one, Refusal) or one <= 1.01 * MOST_PIXELS for one in outcomes), by_name
    assert isinstance(await outcome(parser, FILES["a.pdf"], "a.pdf"), str)


@pytest.mark.parametrize("name", HARMLESS)
async def test_of_a_strange_pdf_only_the_words_are_taken(name: str, parser: DocumentParser) -> None:
    # PDFium draws forms that draw themselves until its memory is used up, and ends.
    expected = Refusal.CRASHED if name == "forms that draw themselves" else "words"
    assert await outcome(parser, HARMLESS[name], "a.pdf") == expected


def styled(rows: int) -> bytes:
    """A spreadsheet of many small cells, each of which becomes an object."""
    row = b'<row><c t="inlineStr"><is><t>%d</t></is></c></row>'
    sheet = b"".join(row % n for n in range(rows))
    names = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    parts = {
        **entries(FILES["a.xlsx"]),
        "xl/worksheets/sheet1.xml": names + sheet + b"</sheetData></worksheet>",
    }
    return archive(parts)


def huge_xml(name: str, part: str, element: bytes) -> bytes:
    """An archive in which a part has millions of elements that are hard to pack tightly."""
    chance = random.Random(4711)
    numbers = b"".join(element % chance.randrange(10**9) for _ in range(3_000_000))
    whole = entries(FILES[name])
    before = whole[part]
    assert isinstance(before, bytes)
    at = before.rindex(b"</")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for entry, content in whole.items():
            file.writestr(entry, before[:at] + numbers + before[at:] if entry == part else content)
    return out.getvalue()


async def test_memory_is_limited_and_the_next_document_is_read(parser: DocumentParser) -> None:
    large = huge_xml("a.odt", "content.xml", b"<x a='%d'/>")
    assert await outcome(parser, large, "a.odt") is Refusal.TOO_MUCH_MEMORY
    notebook = b'{"cells": [' + b'{"source": "x"},' * 8_000_000 + b'{"source": "x"}]}'
    # Not every library survives that there is no memory.
    assert await outcome(parser, notebook, "a.ipynb") in (Refusal.TOO_MUCH_MEMORY, Refusal.CRASHED)
    assert await outcome(parser, b"words", "a.txt") == "words"


async def test_many_rows_are_read_in_time(parser: DocumentParser) -> None:
    text = await outcome(parser, styled(100_000), "a.xlsx")
    assert isinstance(text, str)
    assert "99999\n\nNotes" in text


PATTERNS = {
    "brackets.md": b"[" * 300_000,
    "quotes.md": b"> " * 300_000 + b"# x",
    "lists.md": b"- " * 300_000 + b"# x",
    "table.md": b"|a" * 100_000 + b"\n" + b"|-" * 100_000 + b"\n" + b"|b" * 100_000,
    "emphasis.md": b"# " + b"*a_ " * 100_000,
    "spaces.md": b"#" + b" " * 1_000_000 + b"x",
    "quotes.csv": b'"' * 1_000_001,
    "commas.csv": b"," * 1_000_000,
    "spans.html": b"<table><tr>" + b"<td colspan=99999999>x" * 20_000 + b"</table>",
    "open.html": b"<b>" * 200_000,
    "tables.html": b"<table><tr><td>" * 100_000,
    "entities.html": b"&#0;&#xD800;&amp" * 100_000,
    "groups.rtf": b"{\\rtf1" + b"{" * 500_000,
    "controls.rtf": b"{\\rtf1" + b"\\'" * 500_000 + b"\\u-99999999 ",
    "parts.eml": b"Subject: x\nContent-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\n" * 100_000,
    "address.eml": b"From: " + b"<(" * 20_000 + b"\nSubject: " + b"=?utf-8?q?" * 20_000 + b"\n\nx",
}


@pytest.mark.parametrize("name", PATTERNS)
async def test_a_pattern_that_is_hard_to_read_ends_in_time(name: str, parser: DocumentParser) -> None:
    found = await outcome(parser, PATTERNS[name], name)
    assert found not in (Refusal.CRASHED, Refusal.TOO_SLOW)


READ_ALL = """
import random, resource, sys
from atlas_desktop.parsing import child, client, protocol as limits, protocol
import msgspec
resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000,) * 2)
chance = random.Random(int(sys.argv[2]))
sound = [(name, bytes.fromhex(data)) for name, data in map(str.split, sys.stdin)]
refused = 0
for number in range(int(sys.argv[1])):
    name, data = sound[number % len(sound)]
    content = bytearray(data)
    for _ in range(chance.choice((1, 3, 10))):
        at = chance.randrange(len(content) + 1)
        match chance.randrange(5):
            case 0 if at < len(content): content[at] ^= 1 << chance.randrange(8)
            case 1: del content[at:at + chance.randrange(1, 60)]
            case 2: content[at:at] = content[at:at + chance.randrange(60)]
            case 3: content[at:at] = chance.choice((b"<", b"</", b"{", b"99999", b"-1", b"\\0", b"&x;"))
            case 4: content[at:at + 4] = chance.randbytes(4)
    kind = protocol.media_type_of(name, bytes(content[:protocol.HEAD]))
    if kind is None:
        continue
    try:
        parsed = child.read(kind, bytes(content))
    except limits.Unreadable:
        refused += 1
    else:
        client._decoded(msgspec.msgpack.encode(protocol.Answer(parsed=parsed)))
print(refused)
"""


def unpacked_and_changed(data: bytes, chance: random.Random) -> bytes:
    """An archive with a change in an entry: a change of the archive itself mostly ends at its checksum."""
    parts = {
        name: bytearray(content) for name, content in entries(data).items() if isinstance(content, bytes)
    }
    part = parts[chance.choice([name for name in parts if name != "mimetype"])]
    for _ in range(chance.choice((1, 3, 10))):
        at = chance.randrange(len(part) + 1)
        part[at : at + chance.randrange(20)] = chance.choice(
            (b"", b"<", b"/>", b"-1", b"999999999999", b"\0", b"&x;")
        )
    return archive({name: bytes(content) for name, content in parts.items()})


def assert_none_kills(count: int, names: list[str]) -> None:
    """In one process for all: none of them ends it, and its time bounds them together."""
    chance = random.Random(count)
    sound = [(name, FILES[name]) for name in names]
    zipped = [(name, data) for name, data in sound if data.startswith(b"PK")]
    sound += [(name, unpacked_and_changed(data, chance)) for name, data in zipped for _ in range(10)]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", READ_ALL, str(count), str(chance.randrange(1 << 30))],
        cwd=ROOT,
        input="\n".join(f"{name} {data.hex()}" for name, data in sound),
        capture_output=True,
        text=True,
        timeout=120 + count,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert 0 < int(done.stdout) < count


def test_no_changed_document_is_more_than_an_answer(figures: Figures) -> None:
    assert_none_kills(500, list(FILES))
    figures.add("changed documents", attempts=500)


@pytest.mark.soak
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("name", FILES)
def test_no_changed_document_is_more_than_an_answer_in_a_long_run(name: str, figures: Figures) -> None:
    assert_none_kills(10_000, [name])
    figures.add(f"changed documents: {name}", attempts=10_000)
