"""What replies cite of documents, in exports of every format, and after an import."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader

from atlas_desktop.exporting.document import citations
from atlas_desktop.exporting.lines import line_of
from atlas_desktop.exporting.markdown import parser
from atlas_desktop.exporting.redaction import Redaction, Redactor
from atlas_desktop.exporting.service import Chosen, ExportService, Order, StreamTarget
from atlas_desktop.importing.lines import read_line
from memory.transfer import TravellingMessage
from models.messages import Role
from tests.contract.reading import asked_about, read, shelved
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.unit.exporting.talks import TEXTS, THEN, said, written

QUOTE = "Herons of Dana Whitfield wade."


async def exported(store: InMemoryStore, session: str, form: str, *redacted: str) -> str:
    out = io.BytesIO()
    redaction = Redaction(frozenset({"words"}), redacted) if redacted else None
    service = ExportService([Chosen(store, (session,))])
    await service.write(Order(form, redaction=redaction), StreamTarget(out))
    return out.getvalue().decode()


async def cited() -> tuple[InMemoryStore, str, str]:
    store = InMemoryStore(FakeClock())
    document = await shelved(store, read("/home/me/birds.txt", QUOTE, title="All [birds] <b>"))
    session, *_ = await asked_about(store, document)
    return store, session.id, document


@pytest.mark.parametrize("form", ["md", "html", "txt"])
async def test_a_reader_sees_the_sources_after_the_reply(form: str) -> None:
    store, session, _ = await cited()
    text = await exported(store, session, form)
    shown = {
        "md": f"- \\[1\\] All \\[birds\\] \\<b\\>: “{QUOTE}”",
        "html": f"<li>[1] All [birds] &lt;b&gt;: “{QUOTE}”</li>",
        "txt": f"    [1] All [birds] <b>: “{QUOTE}”",
    }[form]
    assert text.index("As it says") < text.index("Sources:") < text.index(shown)
    assert text.count(QUOTE) == 1


async def test_a_pdf_has_them_too() -> None:
    store, session, _ = await cited()
    out = io.BytesIO()
    await ExportService([Chosen(store, (session,))]).write(Order("pdf"), StreamTarget(out))
    text = PdfReader(io.BytesIO(out.getvalue())).pages[0].extract_text()
    assert text.index("As it says") < text.index("Sources:") < text.index(QUOTE)


async def test_lines_contain_citations_and_an_import_keeps_them() -> None:
    store, session, document = await cited()
    line = await exported(store, session, "jsonl")
    reply = json.loads(line)["messages"][1]
    assert reply["citations"] == [
        {
            "marker": 1,
            "document": document,
            "title": "All [birds] <b>",
            "page": None,
            "lines": [1, 1],
            "chars": [0, len(QUOTE)],
            "quote": QUOTE,
            "verified": True,
        }
    ]
    assert reply["unsupported"] == [[0, 5]]
    elsewhere = InMemoryStore(FakeClock())
    arrived = (await elsewhere.transfer.take(read_line(line.encode()))).session_id
    assert await exported(elsewhere, arrived, "jsonl") == line
    assert QUOTE in await exported(elsewhere, arrived, "md")


async def erased_and_imported(store: InMemoryStore, session: str, line: str) -> tuple[str, str]:
    """Returns the session and the reply that come back."""
    await store.erase_session(session)
    back = (await store.transfer.take(read_line(line.encode()))).session_id
    return back, (await store.branch(back))[-1].id


async def test_where_the_documents_are_an_import_brings_the_sources_back() -> None:
    store, session, document = await cited()
    (before,) = (await store.documents.cited((await store.branch(session))[-1].id)).citations
    line = await exported(store, session, "jsonl")
    back, reply = await erased_and_imported(store, session, line)
    found = await store.documents.cited(reply)
    assert found.citations == (before,)
    assert found.unsupported == ((0, 5),)
    assert await exported(store, back, "jsonl") == line
    # With the document goes what is cited of it.
    await store.documents.erase([document])
    assert QUOTE not in await exported(store, back, "jsonl")


async def test_a_document_with_another_text_brings_no_sources_back() -> None:
    store, session, _ = await cited()
    line = (await exported(store, session, "jsonl")).replace("wade", "swim")
    back, reply = await erased_and_imported(store, session, line)
    assert (await store.documents.cited(reply)).citations == ()
    assert await exported(store, back, "jsonl") == line


async def test_titles_and_quotes_are_redacted_and_ids_are_not() -> None:
    store, session, document = await cited()
    for form in ("jsonl", "md", "html", "txt"):
        text = await exported(store, session, form, "birds", "Dana Whitfield")
        assert "Whitfield" not in text
        assert "birds" not in text.replace("birds.txt", "")
    assert json.loads(await exported(store, session, "jsonl", "1"))["messages"][1]["citations"][0][
        "document"
    ] == (document)


@pytest.mark.parametrize("form", ["md", "html", "txt"])
async def test_what_the_source_does_not_say_does_not_look_like_a_quotation(form: str) -> None:
    content = "The door is red. It was painted in May."
    found = [{"marker": 1, "title": "Lease", "page": None, "quote": "Red", "verified": False}] * 2
    meta = json.dumps({"citations": found, "unsupported": [[17, 39]]})
    session = said("a", "b")
    reply = TravellingMessage("m1", "m0", Role.ASSISTANT, "", content, THEN, meta=meta)
    session = type(session)("s1", "A door", THEN, THEN, (session.messages[0], reply))
    text = written(form, session).decode().replace("\\", "")
    assert text.count("[1] Lease, ✗ not found there: “Red”") == 1
    assert "✗ not in the sources: “It was painted in May.”" in text


def test_the_places_of_redacted_sentences_move_with_them() -> None:
    content = "Dana Whitfield paid. It was painted in May."
    meta = json.dumps({"citations": [], "unsupported": [[21, 43], [0, 20]]})
    session = said("a", "b")
    reply = TravellingMessage("m1", "m0", Role.ASSISTANT, "", content, THEN, meta=meta)
    session = type(session)("s1", "A door", THEN, THEN, (session.messages[0], reply))
    redactor = Redactor(Redaction(frozenset({"words"}), ("Dana Whitfield",)))
    made = redactor.session(session).messages[1]
    places = json.loads(made.meta)["unsupported"]
    shown = [made.content[begin:end] for begin, end in places]
    assert shown[0] == "It was painted in May."
    assert shown[1].endswith(" paid.")
    assert "Dana" not in made.content


def replying(meta: object) -> TravellingMessage:
    return TravellingMessage("r", None, Role.ASSISTANT, "", "So.", THEN, meta=json.dumps(meta))


@given(st.recursive(st.none() | st.integers() | st.text(), st.lists).map(lambda x: {"citations": x}))
def test_what_another_program_calls_citations_is_no_error(meta: object) -> None:
    assert citations(replying(meta)) == []


@given(TEXTS, TEXTS)
def test_a_title_and_a_quote_are_no_part_of_the_document_around_them(title: str, quote: str) -> None:
    found = [{"marker": 1, "title": title, "page": 2, "quote": quote}]
    session = said("a", "b")
    reply = TravellingMessage(
        "m1", "m0", Role.ASSISTANT, "", "b", THEN, meta=json.dumps({"citations": found})
    )
    session = type(session)("s1", "A trip", THEN, THEN, (session.messages[0], reply))
    plain = [one.tag for one in parser().parse(written("md", said("a", "b")).decode()) if one.tag[:1] == "h"]
    tokens = parser().parse(written("md", session).decode())
    assert [one.tag for one in tokens if one.tag[:1] == "h"] == plain
    assert not [one for one in tokens if one.type == "html_block"]
    assert written("html", session).count(b"<li>") == 1
    assert read_line(line_of(session).encode()) == session
