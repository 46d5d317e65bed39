"""The processes that read documents: what they share, what ends them, and what that costs."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator

import msgspec
import pytest

from atlas_desktop.error_table import explain
from atlas_desktop.errors import DocumentRefused, Refusal
from atlas_desktop.parsing import client
from atlas_desktop.parsing.client import DocumentParser, _decoded
from atlas_desktop.parsing.pdf import draw_page
from atlas_desktop.parsing.protocol import (
    MOST_BYTES,
    MOST_SECONDS,
    Answer,
    PagePicture,
    PageView,
    Pixels,
    seconds_for,
)
from memory.documents.entities import Heading, ParsedText, Table
from tests.unit.parsing.samples import FILES, parsed, pdf

# A parser that answers with the number of its process, and does to it what the document says.
ANSWERING = """
import os, signal, sys
from atlas_desktop.parsing import child, protocol as limits
from memory.documents.entities import ParsedText
def read(media_type, data):
    words = data.decode("latin-1")
    if "crash" in words: os.kill(os.getpid(), signal.SIGSEGV)
    if "exit" in words: os._exit(0)
    if "loop" in words:
        while True: pass
    if "garbage" in words: os.write(out, b"\\x00\\x00\\x00\\x02no")
    if "memory" in words: raise limits.Unreadable(child.Refusal.TOO_MUCH_MEMORY, 5)
    return ParsedText(str(os.getpid()))
child.read = read
out = os.dup(1)
child.main()
"""


@pytest.fixture
async def parser() -> AsyncIterator[DocumentParser]:
    parser = DocumentParser()
    yield parser
    await parser.close()


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_CHILD", (sys.executable, "-c", ANSWERING))


async def refused(parser: DocumentParser, data: bytes, name: str) -> DocumentRefused:
    with pytest.raises(DocumentRefused) as caught:
        await parser.parse(data, name)
    assert caught.value.name == name
    return caught.value


async def reader(parser: DocumentParser, name: str) -> int:
    """The process that reads a harmless document."""
    return int((await parser.parse(b"%PDF-" if name.endswith("pdf") else b"words", name)).text)


async def test_every_format_is_read_as_without_a_process(parser: DocumentParser) -> None:
    texts = await asyncio.gather(*(parser.parse(data, name) for name, data in FILES.items()))
    assert texts == [parsed(data, name) for name, data in FILES.items()]


async def test_a_large_document_gets_through(parser: DocumentParser) -> None:
    text = "Grüße\n" * 1_000_000
    assert (await parser.parse(text.encode(), "a.txt")).text == text.rstrip()


async def test_text_files_share_a_process_and_binary_ones_do_not(
    parser: DocumentParser, answering: None
) -> None:
    texts = {await reader(parser, "a.txt"), await reader(parser, "a.md"), await reader(parser, "a.txt")}
    binaries = [await reader(parser, "a.pdf") for _ in range(3)]
    assert len(texts) == 1
    assert len(texts | set(binaries)) == 4


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"crash", Refusal.CRASHED),
        (b"exit", Refusal.CRASHED),
        (b"garbage", Refusal.CRASHED),
        (b"memory", Refusal.TOO_MUCH_MEMORY),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.pdf"])
async def test_what_ends_a_process_costs_one_document(
    document: bytes, reason: Refusal, name: str, parser: DocumentParser, answering: None
) -> None:
    before = await reader(parser, name)
    data = b"%PDF-" + document if name == "a.pdf" else document
    many = [parser.parse(data, name), *(parser.parse(b"words", "b.txt") for _ in range(5))]
    first, *others = await asyncio.gather(*many, return_exceptions=True)
    assert isinstance(first, DocumentRefused)
    assert first.reason is reason
    assert len({one.text for one in others if isinstance(one, ParsedText)}) == 1
    assert await reader(parser, name) != before


@pytest.mark.parametrize("name", ["a.txt", "a.pdf"])
async def test_a_document_that_takes_too_long_is_given_up(
    name: str, parser: DocumentParser, answering: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    await reader(parser, name)
    monkeypatch.setattr(client, "seconds_for", lambda size: 1)
    error = await refused(parser, b"%PDF- loop" if name == "a.pdf" else b"loop", name)
    assert (error.reason, error.limit) == (Refusal.TOO_SLOW, 1)
    monkeypatch.undo()
    monkeypatch.setattr(client, "_CHILD", (sys.executable, "-c", ANSWERING))
    assert await reader(parser, name)


async def test_a_cancelled_document_does_not_confuse_the_next(
    parser: DocumentParser, answering: None
) -> None:
    before = await reader(parser, "a.txt")
    running = asyncio.create_task(parser.parse(b"loop", "a.txt"))
    await asyncio.wait([running], timeout=0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await reader(parser, "a.txt") != before


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_all_processes_end_when_the_parser_is_closed_or_idle(answering: None) -> None:
    for idle_s in (60.0, 0.0):
        parser = DocumentParser(idle_s=idle_s)
        await reader(parser, "a.pdf")
        shared = await reader(parser, "a.txt")
        if idle_s:
            await parser.close()
        else:
            while parser._resting is None:  # noqa: ASYNC110 - the loop's timer sets it
                await asyncio.sleep(0)
            await parser._resting
        with pytest.raises(ProcessLookupError):
            os.kill(shared, 0)
        assert parser._spare is None
        await parser.close()


async def test_what_is_being_read_when_the_parser_is_closed_is_cancelled(answering: None) -> None:
    for name in ("a.txt", "a.pdf"):
        parser = DocumentParser()
        before = await reader(parser, name)
        data = b"%PDF- loop" if name == "a.pdf" else b"loop"
        running = asyncio.create_task(parser.parse(data, name))
        await asyncio.wait([running], timeout=0.05)
        await parser.close()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await reader(parser, name) != before
        await parser.close()


async def test_a_closed_parser_can_be_used_again(parser: DocumentParser) -> None:
    assert (await parser.parse(b"one", "a.txt")).text == "one"
    await parser.close()
    assert (await parser.parse(b"two", "a.txt")).text == "two"


async def test_some_files_are_refused_without_a_process(parser: DocumentParser) -> None:
    assert (await refused(parser, b"", "a.docx")).reason is Refusal.EMPTY
    assert (await refused(parser, b"\x89PNG\0\0", "photo.png")).reason is Refusal.UNKNOWN_FORMAT
    large = await refused(parser, bytes(MOST_BYTES + 1), "a.pdf")
    assert (large.reason, large.limit) == (Refusal.TOO_LARGE, MOST_BYTES)
    assert parser._shared is None
    assert parser._spare is None


@pytest.mark.parametrize(
    "wrong",
    [
        ParsedText("escape \x1b]52;c;AAAA\x07"),
        ParsedText("text", title="\u202e"),
        ParsedText("text", pages=(0, 5)),
        ParsedText("text", pages=(2, 1)),
        ParsedText("text", headings=(Heading(1, "x", -1),)),
        ParsedText("text", tables=(Table(0, 3, 4),)),
        ParsedText("text", blank_pages=(1,)),
        ParsedText(""),
    ],
)
def test_an_answer_that_no_sound_process_gives_is_not_believed(wrong: ParsedText) -> None:
    with pytest.raises(ValueError):
        _decoded(msgspec.msgpack.encode(Answer(parsed=wrong)))


async def test_a_process_draws_a_page(parser: DocumentParser) -> None:
    data = pdf([["one"], ["two"]])
    picture = await parser.draw(data, "a.pdf", PageView(2, 300, "two"))
    assert picture == draw_page(data, PageView(2, 300, "two"))
    for wrong in (b"words", FILES["a.docx"]):
        with pytest.raises(DocumentRefused):
            await parser.draw(wrong, "a.pdf", PageView(1, 300))
    with pytest.raises(DocumentRefused):
        await parser.draw(data, "a.pdf", PageView(3, 300))


@pytest.mark.parametrize(
    "wrong",
    [
        PagePicture(Pixels(2, 2, b"123"), 1),
        PagePicture(Pixels(0, 0, b""), 1),
        PagePicture(Pixels(1, 1, b"123"), 0),
        PagePicture(Pixels(1, 1, b"123"), 1, 1),
        PagePicture(Pixels(4_000, 4_000, bytes(48_000_000)), 1),
    ],
)
def test_a_picture_that_no_sound_process_draws_is_not_believed(wrong: PagePicture) -> None:
    with pytest.raises(ValueError):
        _decoded(msgspec.msgpack.encode(Answer(picture=wrong)))


def test_large_files_get_more_time_but_not_without_end() -> None:
    assert [seconds_for(size) for size in (0, 999_999, 5_000_000, MOST_BYTES)] == [30, 30, 80, MOST_SECONDS]


@pytest.mark.parametrize("reason", Refusal)
def test_every_refusal_is_explained(reason: Refusal) -> None:
    words = explain(DocumentRefused("a.pdf", reason, 1_000_000))
    assert words.code == f"document_{reason.value}"
    assert words.message.startswith("a.pdf: ")
    assert words.message.endswith(".")
    assert "{" not in words.message
    assert words.next_step.endswith(".")


async def test_a_spare_process_waits_for_the_next_document(parser: DocumentParser, answering: None) -> None:
    await parser.parse(pdf([["words"]]), "a.pdf")
    waiting = parser._spare
    assert waiting is not None
    spare = (await waiting)._process.pid
    assert await reader(parser, "b.pdf") == spare
