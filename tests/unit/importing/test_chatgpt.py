"""ChatGPT: trees, what is hidden, and content of every kind as text."""
# ruff: noqa: E501  # what exports hold is long

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.importing.chatgpt import words_of
from memory.entities import MemoryMode, MessageStatus, TitleSource
from models.messages import Role
from tests.unit.importing.exports import SECOND, chatgpt, contents, node, taken


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "export"


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(SECOND + seconds, UTC)


async def test_a_conversation_keeps_its_ids_times_branches_and_models(file: Path) -> None:
    about = {"model_slug": "gpt-4o", "finish_details": {"type": "stop"}}
    given = chatgpt(
        node("u1", "root", "user", "Where to?", at=SECOND + 1.5),
        node("a1", "u1", "assistant", "Lofoten.", at=SECOND + 2, metadata=about),
        node("a2", "u1", "assistant", "Graz.", at=SECOND + 3, metadata={"model_slug": "o3"}),
        node("u2", "a1", "user", "Thanks.", at=SECOND + 4),
        current_node="a2",
        is_starred=True,
        is_archived=True,
        pinned_time=SECOND + 5,
    )
    (session,), report = await taken(file, [given])
    assert (report.sessions, report.messages, report.skipped) == (1, 4, [])
    assert (session.id, session.title, session.title_source) == ("c1", "A trip", TitleSource.IMPORTED)
    assert (session.created_at, session.updated_at) == (at(0), at(900))
    assert (session.head, session.starred, session.model) == ("a2", True, "o3")
    first, one, two, last = session.messages
    assert (first.id, first.role, first.created_at, first.parent) == ("u1", Role.USER, at(1.5), None)
    assert (one.parent, two.parent, last.parent) == ("u1", "u1", "a1")
    assert (one.model, one.stop_reason, two.model) == ("gpt-4o", "stop", "o3")
    assert (session.archived_at, session.pinned_at) == (at(900), at(900))


async def test_what_the_site_hides_is_left_out_but_for_custom_instructions(file: Path) -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    mine = {
        "content_type": "user_editable_context",
        "user_profile": "I am Ada.",
        "user_instructions": "Be brief.",
    }
    given = chatgpt(
        node("s", "root", "system", "", weight=0.0),
        node("i", "s", "user", content=mine, metadata=hidden),
        node(
            "m",
            "i",
            "assistant",
            content={"content_type": "model_editable_context", "model_set_context": "x"},
        ),
        node("h", "m", "tool", "secret", metadata=hidden),
        node("u", "h", "user", "Hello"),
        node("a", "u", "assistant", "Hi"),
    )
    (session,), _ = await taken(file, [given])
    assert contents(session) == ["Hello", "Hi"]
    assert session.messages[0].parent is None
    assert session.system_prompt == "About the person:\nI am Ada.\n\nHow to answer:\nBe brief."


async def test_newer_exports_have_the_instructions_in_the_metadata(file: Path) -> None:
    told = {"user_context_message_data": {"about_user_message": "", "about_model_message": "In French."}}
    given = chatgpt(node("s", "root", "system", "", metadata=told), node("u", "s", "user", "Hello"))
    (session,), _ = await taken(file, [given])
    assert session.system_prompt == "How to answer:\nIn French."


async def test_a_reply_that_was_cut_short_is_partial(file: Path) -> None:
    given = chatgpt(
        node("u", "root", "user", "Hello"),
        node("a", "u", "assistant", "Hel", status="in_progress"),
        node("b", "u", "assistant", "Hell", metadata={"finish_details": {"type": "interrupted"}}),
    )
    (session,), _ = await taken(file, [given])
    assert [one.status for one in session.messages] == [MessageStatus.COMPLETE, *[MessageStatus.PARTIAL] * 2]
    assert session.messages[-1].stop_reason == "cancelled"


CONTENTS: list[tuple[dict[str, Any], str]] = [
    ({"content": {"content_type": "text", "parts": ["one", "", "two"]}}, "one\n\ntwo"),
    ({"content": {"content_type": "text", "parts": None}}, ""),
    ({"content": {"content_type": "code", "language": "python", "text": "x = 1"}}, "```python\nx = 1\n```"),
    (
        {"content": {"content_type": "code", "language": "unknown", "text": "```"}, "recipient": "all"},
        "````\n```\n````",
    ),
    ({"content": {"content_type": "execution_output", "text": "2"}}, "```\n2\n```"),
    (
        {"content": {"content_type": "code", "language": "unknown", "text": "1+1"}, "recipient": "python"},
        "[Asked: python]\n\n```python\n1+1\n```",
    ),
    (
        {
            "content": {"content_type": "code", "text": '{"name":"Plan","type":"x","content":"# One"}'},
            "recipient": "canmore.create_textdoc",
        },
        "[Document: Plan]\n\n# One",
    ),
    (
        {"content": {"content_type": "text", "parts": ['{"prompt": "a cat"}']}, "recipient": "dalle.text2im"},
        '[Asked: dalle.text2im]\n\n```json\n{"prompt": "a cat"}\n```',
    ),
    (
        {
            "content": {
                "content_type": "multimodal_text",
                "parts": [
                    {"content_type": "image_asset_pointer", "width": 10, "height": 20},
                    {"content_type": "image_asset_pointer", "metadata": {"dalle": {"prompt": "a cat"}}},
                    {"content_type": "audio_transcription", "text": "said aloud"},
                    {"content_type": "real_time_user_audio_video_asset_pointer"},
                    "So?",
                ],
            },
            "metadata": {"attachments": [{"name": "cat.png"}, {"name": "a\x1b[31m.pdf"}, {}]},
        },
        "[Image: 10×20]\n\n[Image made: a cat]\n\nsaid aloud\n\n[Voice and video]\n\nSo?\n\n[Attached: cat.png, a[31m.pdf]",
    ),
    (
        {"content": {"content_type": "tether_quote", "title": "T", "url": "https://a", "text": "said"}},
        "[Source: T, https://a]\n\n> said",
    ),
    ({"content": {"content_type": "tether_browsing_display", "result": "R", "summary": ""}}, "R"),
    ({"content": {"content_type": "system_error", "name": "E", "text": "no"}}, "[Error: E]\n\nno"),
    (
        {"content": {"content_type": "thoughts", "thoughts": [{"summary": "S", "content": "a\nb"}]}},
        "> S\n>\n> a\n> b",
    ),
    ({"content": {"content_type": "reasoning_recap", "content": "Thought for 3s"}}, "> Thought for 3s"),
    ({"content": {"content_type": "of_tomorrow", "text": "new", "parts": ["parts"]}}, "parts\n\nnew"),
    (
        {
            "content": {"content_type": "text", "parts": ["So\ue200cite\ue202turn0\ue201. And\ue200x\ue201."]},
            "metadata": {
                "content_references": [
                    {"matched_text": "\ue200cite\ue202turn0\ue201", "alt": " ([A](https://a))"},
                    {"matched_text": "", "alt": "never"},
                ]
            },
        },
        "So ([A](https://a)). And.",
    ),
    ({"content": None}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("message", "words"), CONTENTS, ids=range(len(CONTENTS)))
def test_content_of_every_kind_is_readable(message: dict[str, Any], words: str) -> None:
    assert words_of(message) == words


async def test_a_tree_that_does_not_hold_together_is_mended(file: Path) -> None:
    given = chatgpt(
        node("late", "early", "assistant", "reply"),
        node("early", "gone", "user", "question"),
        node("x", "y", "user", "round"),
        node("y", "x", "assistant", "and round"),
        current_node="nobody",
    )
    (session,), report = await taken(file, [given])
    assert report.skipped == []
    parents = {one.id: one.parent for one in session.messages}
    assert parents["early"] is None
    assert parents["late"] == "early"
    assert sorted(str(parents[name]) for name in ("x", "y")) in (["None", "x"], ["None", "y"])
    ids = [one.id for one in session.messages]
    assert all(one.parent is None or ids.index(one.parent) < ids.index(one.id) for one in session.messages)
    assert session.head == ids[-1]


async def test_what_is_no_conversation_is_named_and_the_rest_goes_in(file: Path) -> None:
    good = [chatgpt(node("u", "root", "user", f"Hello {n}"), conversation_id=f"c{n}") for n in range(2)]
    empty = chatgpt(node("u", "root", "user", " "))
    sessions, report = await taken(file, [good[0], {"title": "secret"}, None, 42, empty, good[1]])
    assert [one.id for one in sessions] == ["c0", "c1"]
    assert [(one.where, one.why) for one in report.skipped] == [
        ("export:2", "not a conversation: no `mapping`, where ChatGPT stores messages"),
        ("export:3", "not conversations: 2 bare values"),
        ("export:5", "it contains no messages"),
    ]


@pytest.mark.parametrize(
    "time", [SECOND, int(SECOND * 1000), str(SECOND), "2023-11-14T22:13:20Z", None, -1, "soon"]
)
async def test_times_come_in_many_forms_and_may_be_missing(file: Path, time: Any) -> None:
    given = chatgpt(node("u", "root", "user", "Hello", at=time), create_time=time, update_time=None)
    (session,), _ = await taken(file, [given])
    known = time not in (None, -1, "soon")
    assert (session.created_at == at(0)) is known
    assert session.messages[0].created_at == session.created_at


async def test_what_steers_a_terminal_and_halves_of_letters_do_not_come_in(file: Path) -> None:
    given = chatgpt(node("u", "root", "user", "a\x00b\x1b]52;c;x\x07\ud800\u202e c"), title="T\x9bi\ntle")
    (session,), _ = await taken(file, [given])
    assert contents(session) == ["ab]52;c;x c"]
    assert session.title == "Ti tle"


async def test_a_conversation_without_a_title_is_called_by_its_first_words(file: Path) -> None:
    given = chatgpt(node("u", "root", "user", "Where shall we go?"), title=None)
    (session,), _ = await taken(file, [given], memory_mode=MemoryMode.BLANK)
    assert (session.title, session.title_source) == ("Where shall we go?", TitleSource.FIRST_WORDS)
    assert session.memory_mode is MemoryMode.BLANK
