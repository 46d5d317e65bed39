"""Tables, plain text, JSON and PDF, each opened by somebody else's reader."""

import csv
import io
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader

from atlas_desktop.exporting.formats import FORMATS, format_of
from atlas_desktop.exporting.lines import line_of
from atlas_desktop.services.cleaning import clean
from memory.entities import MessageStatus
from memory.transfer import TravellingMessage, TravellingSession
from models.messages import Role
from tests.unit.exporting.talks import MEMORY, TEXTS, THEN, said, written


def branched() -> TravellingSession:
    def one(name: str, parent: str | None, role: Role, text: str) -> TravellingMessage:
        return TravellingMessage(name, parent, role, "", text, THEN)

    messages = (
        one("q", None, Role.USER, "asked"),
        one("a1", "q", Role.ASSISTANT, "first answer"),
        one("a2", "q", Role.ASSISTANT, "second answer"),
    )
    return TravellingSession("s", "Branches", THEN, THEN, messages, head="a1")


@pytest.mark.parametrize("name", ["md", "html", "txt"])
def test_readable_formats_hold_the_branch_that_is_shown_and_say_so(name: str) -> None:
    text = written(name, branched()).decode()
    assert "first answer" in text
    assert "second answer" not in text
    assert "1 message is on other branches" in text


@pytest.mark.parametrize("name", ["md", "html", "txt"])
def test_readable_formats_leave_out_a_reply_of_which_nothing_came(name: str) -> None:
    session = said("asked", "", "asked again", "answered")
    asked, nothing, *others = session.messages
    nothing = replace(nothing, status=MessageStatus.FAILED, stop_reason="cancelled")
    text = written(name, replace(session, messages=(asked, nothing, *others))).decode()
    assert text.count("Assistant") == 1
    assert "failed" not in text
    assert "other branches" not in text
    # As another variant it is none that would be missed, either.
    aside = replace(nothing, parent="m2")
    beside = replace(session, messages=(asked, replace(others[0], parent="m0"), aside, others[1]))
    assert "other branches" not in written(name, beside).decode()


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS)
def test_a_table_holds_every_message_and_no_formula(texts: list[str], title: str) -> None:
    data = written("csv", said(*texts, title=title)).decode()
    rows = list(csv.DictReader(io.StringIO(data, newline="")))
    assert [row["content"].removeprefix("'") for row in rows] == [
        clean(text).removeprefix("'") for text in texts
    ]
    for row in rows:
        for cell in row.values():
            assert not cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))


def test_a_table_marks_what_is_shown_and_memories_have_their_own() -> None:
    rows = list(csv.DictReader(io.StringIO(written("csv", branched()).decode(), newline="")))
    assert [(row["message"], row["shown"]) for row in rows] == [("q", "yes"), ("a1", "yes"), ("a2", "no")]
    (memory,) = csv.DictReader(io.StringIO(written("csv", memories=[MEMORY]).decode(), newline=""))
    assert (memory["text"], memory["pinned"], memory["project"]) == (MEMORY.text, "no", "Home")


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=3), TEXTS)
def test_json_holds_the_fields_of_the_lines_and_steers_nothing(texts: list[str], title: str) -> None:
    session = said(*texts, title=title)
    data = written("json", session, session, memories=[MEMORY])
    whole = json.loads(data)
    assert whole["sessions"] == [json.loads(line_of(session))] * 2
    assert [message["content"] for message in whole["sessions"][0]["messages"]] == texts
    assert whole["memories"][0]["text"] == MEMORY.text
    lines = written("jsonl", session, session)
    assert [json.loads(line) for line in lines.splitlines()] == whole["sessions"]
    text = data.decode() + lines.decode()
    assert not {char for char in text if "\x7f" <= char <= "\x9f" or "\u202a" <= char <= "\u202e"}


def test_json_of_nothing_is_json() -> None:
    assert json.loads(written("json"))["sessions"] == []


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_in_plain_text_only_the_document_begins_at_the_margin(texts: list[str]) -> None:
    lines = written("txt", said(*texts, title="T")).decode().split("\n")
    spoken = [line for line in lines if line.startswith("[2024-")]
    assert [line.split("] ")[1] for line in spoken] == [
        "You:" if at % 2 == 0 else "Assistant:" for at in range(len(texts))
    ]
    assert not [line for line in lines[3:] if line and not line.startswith(("[2024-", "    "))]


def pdf(*texts: str, title: str = "A trip") -> PdfReader:
    return PdfReader(io.BytesIO(written("pdf", said(*texts, title=title))))


def test_pdf_text_can_be_read_back() -> None:
    code = "def f():\n    return 'x' * 3"
    reader = pdf(
        "Hello Élise — naïve <b>&amp;", f"## Plan\nSee:\n```python\n{code}\n```\n漢字 Привет", title="Grüße"
    )
    text = "\n".join(page.extract_text() for page in reader.pages)
    for part in (
        "Hello Élise — naïve <b>&amp;",
        "Plan",
        "def f():",
        "return 'x' * 3",
        "Привет",
        "You",
        "Assistant",
    ):
        assert part in text
    assert "```" not in text
    assert reader.metadata is not None
    assert reader.metadata.title == "Grüße"
    assert ["/Title" in entry for entry in reader.outline] == [True]


def test_long_words_and_many_lines_stay_on_the_page() -> None:
    reader = pdf("x" * 5000 + " end", "\n".join(f"line {n}" for n in range(200)))
    text = "".join(page.extract_text() for page in reader.pages)
    assert len(reader.pages) > 3
    assert text.count("x") == 5000
    assert "line 199" in text


@settings(max_examples=15, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=3), TEXTS)
def test_any_text_makes_a_pdf(texts: list[str], title: str) -> None:
    assert len(pdf(*texts, title=title).pages) >= 1


def test_what_has_no_glyph_is_counted() -> None:
    out = io.BytesIO()
    from atlas_desktop.exporting.document import About
    from atlas_desktop.exporting.pdf import PdfWriter

    writer = PdfWriter(out, About(THEN, 1))
    writer.session(said("cuneiform \U00012000\U00012001 and a\u200dz"))
    writer.end()
    assert writer.missing == 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.md", "md"),
        ("A.HTM", "html"),
        ("x.pdf.age", "pdf"),
        ("x.tar.age", None),
        ("x.jsonl", "jsonl"),
        ("x", None),
    ],
)
def test_a_name_tells_its_format(name: str, expected: str | None) -> None:
    assert format_of(name) == expected
    assert expected is None or expected in FORMATS


def test_a_pdf_shows_markdown_without_its_signs() -> None:
    reader = pdf(
        "Take **two warm layers** and `wool`:\n* socks\n\n| Thing | Weight |\n|---|---|\n| **Tent** | 1 kg |"
    )
    text = reader.pages[0].extract_text()
    assert "Take two warm layers and wool:" in text
    assert "•" in text
    assert "Thing │ Weight" in text
    assert "Tent  │ 1 kg" in text
    assert "*" not in text
    assert "|" not in text
