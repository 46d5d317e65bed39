"""Lines in, lines out: what is understood, what is left out, and that nothing is lost on the way."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atlas_desktop.exporting.lines import Exporter
from atlas_desktop.importing.entities import ImportOptions, ImportReport, Unreadable
from atlas_desktop.importing.formats import FORMATS
from atlas_desktop.importing.importer import Importer
from atlas_desktop.importing.lines import read_line
from memory.entities import NewMessage, NewSession, SessionPatch
from memory.storage.room import open_off_record
from memory.storage.store import Store
from models.messages import Role
from tests.contract.talk import assistant, begin
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore

LINE: dict[str, Any] = {
    "id": "conv/1",
    "title": "T ünï",
    "project": "P",
    "created_at": "2024-02-03T04:05:06+01:00",
    "tags": ["a", "b"],
    "colour": {"deep": [1, 2]},
    "messages": [
        {
            "id": "m1",
            "role": "user",
            "speaker": "Dana",
            "content": "x = '1'\n漢字 😀",
            "created_at": "2024-02-03T04:06:06Z",
        },
        {"id": "m2", "role": "assistant", "content": "yes", "mood": None},
    ],
}  # fmt: skip


def line(**changes: Any) -> bytes:
    return json.dumps({**LINE, **changes}).encode()


async def take(store: Store, path: Path, **options: Any) -> ImportReport:
    return await Importer(store.transfer).take([path], ImportOptions(FORMATS["jsonl"], **options))


async def lines_of(store: Store) -> list[str]:
    return [text async for text in Exporter(store.transfer).jsonl()]


def test_a_line_is_read_with_its_times_and_its_unknown_fields() -> None:
    session = read_line(line())
    assert session.created_at.isoformat() == "2024-02-03T03:05:06+00:00"
    assert json.loads(session.meta) == {"colour": {"deep": [1, 2]}}
    first, second = session.messages
    assert (first.parent, second.parent) == (None, "m1")
    assert first.created_at.isoformat() == "2024-02-03T04:06:06+00:00"
    # A message without a time has that of its session.
    assert second.created_at == session.created_at
    assert json.loads(second.meta) == {"mood": None}
    assert session.updated_at == first.created_at


@pytest.mark.parametrize("time", [1706929506, 1706929506000.0, "1706929506.0", "2024-02-03T03:05:06"])
def test_times_may_be_numbers(time: object) -> None:
    assert read_line(line(created_at=time)).created_at.isoformat() == "2024-02-03T03:05:06+00:00"
    assert read_line(line(created_at="2024-02-03")).created_at.isoformat() == "2024-02-03T00:00:00+00:00"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"not json", "not a JSON object"),
        (b'{"id": "x"}', "Object missing required field `messages`"),
        (
            line(messages=[{"id": "m", "role": "robot", "content": "secret"}]),
            "Unexpected content at $.role",
        ),
        (line(created_at="yesterday"), "at $.created_at"),
        (line(created_at="\ud800"), "incomplete character"),
        (line(memory_mode="\udfff"), "incomplete character"),
        (line(messages=[{"id": "m", "role": "\ud800", "content": "x"}]), "incomplete character"),
        (line(id=""), "at $.id"),
        (line(created_at=None, messages=[]), "no time"),
        (line(messages=[LINE["messages"][0]] * 2), "two messages with the same id"),
        (b"[" * 100_000, "nested too deeply"),
        (b"\xff\xfe", "not"),
    ],
)
def test_what_cannot_be_read_is_told_without_its_words(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_line(data)
    assert why in caught.value.why
    assert "secret" not in caught.value.why
    assert "yesterday" not in caught.value.why


def test_a_file_is_attached_when_its_text_came_along_and_named_otherwise() -> None:
    whole = {
        "name": "a\nb",
        "type": "text/plain",
        "bytes": 3,
        "added_at": "2024-02-03T04:05:06Z",
        "text": "x\x1b",
    }
    changed = ({"bytes": 2**63}, {"text": ""}, {"more": 1}, {"added_at": "soon"})
    for left in ({"name": "c.png"}, 7, *({**whole, **one} for one in changed)):
        read = read_line(line(attachments=[left, whole]))
        assert [(one.name, one.text, one.size) for one in read.attachments] == [("a b", "x", 3)]
        assert json.loads(read.meta)["attachments"] == [left]
    assert "attachments" not in json.loads(read_line(line(attachments=[whole])).meta)


async def test_good_lines_come_in_and_bad_ones_are_named(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    orphan = line(id="s3", messages=[{"id": "a", "role": "user", "content": "x", "parent": "nobody"}])
    file.write_bytes(b"\n".join([line(), b"", b"broken", orphan, line(id="s2")]))
    store = InMemoryStore()
    tried = await take(store, file, dry_run=True)
    assert (tried.sessions, tried.messages) == (2, 4)
    assert await lines_of(store) == []
    report = await take(store, file)
    assert (report.sessions, report.messages, report.already_there) == (2, 4, 0)
    assert [one.where for one in report.skipped] == ["in.jsonl:3", "in.jsonl:4"]
    again = await take(store, file)
    assert (again.sessions, again.messages, again.already_there) == (0, 0, 4)


async def test_a_project_may_be_given(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_bytes(line())
    store = InMemoryStore()
    await take(store, file, project="Other")
    assert [session.project for session in await store.list_sessions()] == ["Other"]


async def test_a_line_that_is_too_long_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atlas_desktop.importing.lines.LONGEST_LINE", 1000)
    file = tmp_path / "in.jsonl"
    file.write_bytes(b"x" * 5000 + b"\n" + line())
    report = await take(InMemoryStore(), file)
    assert report.sessions == 1
    assert [one.where for one in report.skipped] == ["in.jsonl:1"]


async def test_out_and_in_and_out_again_is_the_same(tmp_path: Path) -> None:
    source, target = await open_off_record(FakeClock()), await open_off_record(FakeClock())
    given_file = tmp_path / "given.jsonl"
    given_file.write_bytes(line() + b"\n" + line(id="s2", starred=True, memory_mode="reads"))
    await take(source, given_file)
    session, asked = await begin(source, "own words", "Own")
    await source.append_message(session.id, assistant("one answer"))
    await source.append_message(session.id, NewMessage(Role.ASSISTANT, "another"), parent_id=asked.id)
    first = await lines_of(source)
    out = tmp_path / "out.jsonl"
    out.write_text("\n".join(first), encoding="utf-8")
    report = await take(target, out)
    assert (report.sessions, report.skipped) == (3, [])
    assert await lines_of(target) == first
    assert (await take(source, out)).messages == 0
    await source.close()
    await target.close()


async def test_a_usual_session_is_written_as_the_format_says() -> None:
    store = InMemoryStore()
    await store.transfer.take(read_line(line()))
    (text,) = await lines_of(store)
    written = json.loads(text)
    assert list(written) == [
        "id", "title", "project", "created_at", "updated_at", "tags", "colour", "messages",
    ]  # fmt: skip
    assert [list(message) for message in written["messages"]] == [
        ["id", "role", "speaker", "content", "created_at"],
        ["id", "role", "speaker", "content", "created_at", "mood"],
    ]


WORDS = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant", "system"]),
            "content": WORDS,
            "speaker": WORDS,
            "important": st.booleans(),
        },
        optional={"mood": st.none() | st.integers() | WORDS},
    ),
    max_size=4,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=WORDS, messages=MESSAGES, starred=st.booleans())
async def test_any_session_survives_the_way_out_and_in(
    title: str, messages: list[dict[str, Any]], starred: bool
) -> None:
    numbered = [{"id": f"m{n}", **message} for n, message in enumerate(messages)]
    first, second = InMemoryStore(), InMemoryStore()
    await first.transfer.take(read_line(line(title=title, messages=numbered, starred=starred)))
    (text,) = await lines_of(first)
    await second.transfer.take(read_line(text.encode()))
    assert await lines_of(second) == [text]


async def test_titles_tags_and_names_come_in_as_one_line(tmp_path: Path) -> None:
    """In a list each of them is a row: a line end in one of them would forge others."""
    forged = "Trip\n01a2f0c1  Another conversation\x1b[31m\u2028\ttail"
    file = tmp_path / "in.jsonl"
    file.write_bytes(
        line(
            title=forged,
            project=forged,
            tags=[forged, "\n"],
            messages=[{"id": "1", "role": "user", "content": "a\nb", "speaker": forged}],
        )
        + b"\n"
    )
    store = await open_off_record(FakeClock())
    await Importer(store.transfer).take([file], ImportOptions(FORMATS["jsonl"]))
    (session,) = await store.list_sessions()
    given = await store.transfer.give(session.id)
    tags = await store.organising.tags()
    names = [
        given.title,
        given.project or "",
        *given.tags,
        *(one.tag for one in tags),
        given.messages[0].speaker,
    ]
    assert all(name == "Trip 01a2f0c1  Another conversation[31m  tail" for name in names), names
    assert len(given.tags) == 1
    assert given.messages[0].content == "a\nb"
    await store.close()


async def test_the_store_keeps_no_line_ends_in_names_whoever_gives_them() -> None:
    store = await open_off_record(FakeClock())
    new = NewSession("a\nb\x1b[1m", project="p\nq")
    session, _ = await store.create_session(new, NewMessage(Role.USER, "hello"))
    assert (session.title, session.project) == ("a b [1m", "p q")
    session = await store.update_session(session.id, SessionPatch(title="c\r\nd\u202e"))
    assert session.title == "c d"
    await store.close()
