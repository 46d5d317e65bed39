"""Markdown: who speaks, however it is written, and this program's own export."""
# ruff: noqa: E501  # some transcripts are long

import asyncio
import io
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atlas_desktop.exporting.document import About
from atlas_desktop.exporting.markdown import MarkdownWriter
from atlas_desktop.importing.formats import FORMATS
from atlas_desktop.importing.markdown import front_matter, is_transcript, talks_of
from memory.entities import MemoryMode
from models.messages import Role
from tests.stores import InMemoryStore
from tests.unit.importing.exports import SECOND, chatgpt, contents, node, take, taken, write

STYLES = {
    "headings": "# A trip\n\n## User\n\nHello\n\n## Assistant\n\nHi",
    "numbered": "### You:\nHello\n### ChatGPT:\nHi",
    "with times": "## You (2024-05-01 10:00)\n\nHello\n\n## Claude · 2024-05-01T10:01:00+02:00\n\nHi",
    "marks": "## \U0001f464 User\n\nHello\n\n---\n\n## \U0001f916 Assistant\n\nHi\n\n---\n",
    "bold": "**You:**\n\nHello\n\n**Assistant:**\n\nHi",
    "bold on the line": "**Human**: Hello\n\n**AI**: Hi",
    "names and colons": "User: Hello\n\nAssistant: Hi",
    "said": "#### You said:\nHello\n#### ChatGPT said:\nHi",
    "windows": "## User\r\n\r\nHello\r\n\r\n## Assistant\r\n\r\nHi\r\n",
    "marked as UTF-8": "\ufeff## User\n\nHello\n\n## Assistant\n\nHi",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "holiday.md"


async def test_a_transcript_may_be_utf_16(file: Path) -> None:
    (session,), _ = await taken(file, STYLES["bold"].encode("utf-16"))
    assert contents(session) == ["Hello", "Hi"]


@pytest.mark.parametrize("style", STYLES)
async def test_speakers_are_known_however_they_are_written(file: Path, style: str) -> None:
    (session,), report = await taken(file, STYLES[style])
    assert report.formats == {"holiday.md": FORMATS["markdown"]}
    assert [(one.role, one.content) for one in session.messages] == [
        (Role.USER, "Hello"),
        (Role.ASSISTANT, "Hi"),
    ]
    assert session.title == ("A trip" if style == "headings" else "holiday")


async def test_code_and_headings_in_messages_stay_in_them(file: Path) -> None:
    code = "```md\n## User\nnot a message\n**You:** nor this\n```\n\n### A heading\n\ntext"
    (session,), _ = await taken(file, f"## User\n\nHello\n\n## Assistant\n\n{code}\n\n## User\n\nBye")
    assert contents(session) == ["Hello", code, "Bye"]


async def test_front_matter_tells_of_the_conversation(file: Path) -> None:
    known = (
        '---\nid: "own-id"\ntitle: "Caf\\u00e9: \\"x\\""\ndate: 2024-05-01\ntags: [one, \'two, three\']\nproject: P\n'
        "starred: true\nmodel: m\nmemory_mode: reads\nUnknown: {a: [b}\n---\n"
    )
    (session,), _ = await taken(file, known + STYLES["headings"])
    assert (session.id, session.title, session.project, session.model) == ("own-id", 'Café: "x"', "P", "m")
    assert (session.tags, session.starred) == (("one", "two, three"), True)
    assert session.memory_mode is MemoryMode.READS
    assert session.created_at == datetime(2024, 5, 1, tzinfo=UTC)


def test_front_matter_is_only_what_stands_between_its_lines() -> None:
    assert front_matter("no\n---\na: b\n---\n") == ({}, "no\n---\na: b\n---\n")
    assert front_matter("---\na: b\n") == ({}, "---\na: b\n")
    assert front_matter("---\ntags:\n  - x\n  - 'y'\nn: null\n...\nbody") == (
        {"tags": ["x", "y"], "n": None},
        "body",
    )


async def test_a_transcript_that_has_grown_gets_what_is_new(file: Path) -> None:
    (before,), _ = await taken(file, STYLES["headings"])
    (after,), _ = await taken(file, STYLES["headings"] + "\n\n## User\n\nMore")
    assert after.id == before.id
    assert [one.id for one in after.messages[:2]] == [one.id for one in before.messages]


@pytest.mark.parametrize(
    "words", ["", "Shopping: milk\n\nNote: bread", "# Title\n\ntext", "**Bold** words", "a: b"]
)
async def test_what_is_no_transcript_is_not_taken_for_one(file: Path, words: str) -> None:
    sessions, report = await taken(file, words)
    assert (sessions, [*report.unknown]) == ([], ["holiday.md"])


async def test_our_own_export_comes_back(tmp_path: Path) -> None:
    given = chatgpt(
        node("u1", "root", "user", "Hello\n\n## User\n\nnot a message", at=SECOND, name="Dana"),
        node("a1", "u1", "assistant", "```\n## You\n```", at=SECOND + 60),
        node("u2", "a1", "user", "Bye", at=SECOND + 120),
    )
    (session,), _ = await taken(tmp_path / "in", [given])
    out = io.BytesIO()
    writer = MarkdownWriter(out, About(datetime(2026, 1, 1, tzinfo=UTC), 1))
    writer.begin()
    writer.session(session)
    writer.end()
    (back,), report = await taken(tmp_path / "back.md", out.getvalue())
    assert report.skipped == []
    assert (back.id, back.title, back.created_at) == (session.id, session.title, session.created_at)
    assert [one.role for one in back.messages] == [one.role for one in session.messages]
    assert [one.speaker for one in back.messages] == ["Dana", "", ""]
    assert [one.created_at.replace(second=0) for one in back.messages] == [
        one.created_at.replace(second=0) for one in session.messages
    ]
    assert back.messages[1].content == session.messages[1].content


async def test_several_come_back_with_their_projects_and_tags(tmp_path: Path) -> None:
    given = [
        chatgpt(node(f"u{n}", "root", "user", f"Hello {n}", at=SECOND), conversation_id=f"talk-{n}")
        for n in (1, 2)
    ]
    sessions, _ = await taken(tmp_path / "in", given)
    first, second = sessions
    first = replace(first, project="Boat *Marthe*", tags=("winter plan", "sea"))
    out = io.BytesIO()
    writer = MarkdownWriter(out, About(datetime(2026, 1, 1, tzinfo=UTC), 2))
    writer.begin()
    writer.session(first)
    writer.session(second)
    writer.end()
    back, report = await taken(tmp_path / "back.md", out.getvalue())
    assert report.skipped == []
    assert {(one.project, frozenset(one.tags)) for one in back} == {
        ("Boat *Marthe*", frozenset({"winter plan", "sea"})),
        (None, frozenset()),
    }
    assert {one.created_at.replace(second=0) for one in back} == {first.created_at.replace(second=0)}


async def test_an_export_beside_what_it_is_of_changes_nothing(tmp_path: Path) -> None:
    store = InMemoryStore()
    talk = chatgpt(node("u1", "root", "user", "Hello"), conversation_id="own-id")
    write(tmp_path / "in.json", [talk])
    write(tmp_path / "out.md", '---\nid: "own-id"\n---\n## You\n\nHello\n')
    await take(store, tmp_path / "in.json")
    report = await take(store, tmp_path / "out.md")
    assert (report.messages, [one.where for one in report.skipped]) == (0, ["out.md:1"])
    # Where it came from the transcript itself, what was added to it comes in.
    other = InMemoryStore()
    await take(other, tmp_path / "out.md")
    write(tmp_path / "out.md", '---\nid: "own-id"\n---\n## You\n\nHello\n\n## Atlas\n\nHi\n')
    assert (await take(other, tmp_path / "out.md")).messages == 1


PIECES = st.sampled_from(
    ["## User", "## Assistant · 2024-05-01", "**You:** x", "User: a", "```", "~~~~", "---", "# T", "", "text", "id: x",
     "  ## User", "\x00", "\ud800", "tags:", " - a", "__AI__:", "\\", "* * *", "\u2028", "###### system"]
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(lines=st.lists(PIECES | st.text(max_size=8), max_size=14))
def test_any_text_is_a_transcript_or_not(lines: list[str]) -> None:
    words = "\n".join(lines)
    talks = list(talks_of(words, "t"))
    assert talks
    said = [one.content for talk in talks for one in talk.messages]
    assert bool(said) <= is_transcript(words)
    assert all(content in words for content in said)


async def test_a_hostile_line_does_not_take_long(file: Path) -> None:
    line = "# " + " " * 200_000 + "x"
    words = f"## User\n\nHello\n\n{line}\n**{'a' * 200_000}\n{'*' * 100_000}\n" + "\n" * 100_000
    async with asyncio.timeout(20):
        (session,), _ = await taken(file, words)
    assert session.messages[0].content.startswith("Hello")
