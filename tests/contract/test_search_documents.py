"""What every store finds in its documents by the language of queries."""

from datetime import datetime, timedelta

import pytest

from memory.documents.chunking import chunks
from memory.documents.entities import DocumentMatch, DocumentState, ParsedText
from memory.entities import NewMessage, NewSession
from memory.notes.entities import NewNote
from memory.notes.markup import read_markup
from memory.search.entities import ItemKind, Order, Page, Snippet
from memory.search.language import parse
from memory.storage.store import Store
from models.messages import Role
from tests.contract.reading import read
from tests.fakes.clock import FakeClock

NOW = FakeClock().now()


async def found(
    store: Store, text: str, *, order: Order = Order.RECENT, limit: int = 50
) -> Page[DocumentMatch]:
    return await store.find.documents(parse(text, NOW), order=order, limit=limit)


async def titles(store: Store, text: str, *, order: Order = Order.RECENT) -> list[str]:
    return [hit.title.text for hit in (await found(store, text, order=order)).hits]


@pytest.fixture
async def shelf(store: Store) -> Store:
    """Three documents about ferries, tides and baking; the last one belongs to a project."""
    await store.documents.put(
        [
            read(
                "/a/ferries.md", "The ferry leaves at eight.", "In winter no ferry leaves.", title="Ferries"
            ),
            read("/a/tides.md", "The moon raises the tides.", "A ferry waits for the tide.", title="Tides"),
            read(
                "/a/bread.md", "Rye bread needs sourdough.", "面包很好吃", title="Baking", project="Kitchen"
            ),
        ]
    )
    return store


async def test_words_find_documents_at_the_chunk_that_matches(shelf: Store) -> None:
    (hit,) = (await found(shelf, "moon raises")).hits
    assert hit.chunk is not None
    assert hit.chunk.text == "The moon raises the tides."
    assert hit.snippet is not None
    assert [hit.snippet.text[a:b] for a, b in hit.snippet.marks] == ["moon", "raises"]
    assert (hit.chunk.lines, hit.matches, hit.room) == ((1, 1), 1, shelf.room)


async def test_forms_phrases_beginnings_and_letters_without_spaces_are_found(shelf: Store) -> None:
    assert await titles(shelf, "leave") == ["Ferries"]
    assert await titles(shelf, '"ferry waits"') == ["Tides"]
    assert await titles(shelf, "sourd*") == ["Baking"]
    assert await titles(shelf, "面包很") == ["Baking"]
    assert await titles(shelf, "面") == ["Baking"]


async def test_a_note_has_the_date_of_its_last_change(shelf: Store) -> None:
    def note(title: str, changed: datetime) -> NewNote:
        text = f"# {title}\n\nThe ferry again.\n"
        parsed = ParsedText(text, title=title)
        pieces = tuple(chunks(parsed, "text/markdown"))
        return NewNote(title, parsed, read_markup(text), pieces, created_at=changed, updated_at=changed)

    old, new = NOW - timedelta(days=90), NOW - timedelta(days=2)
    await shelf.notes.put([note("Newer", new), note("Older", old)])

    async def notes(text: str) -> list[tuple[str, datetime]]:
        page = await shelf.find.documents(parse(text, NOW), kind=ItemKind.NOTE)
        return [(hit.title.text, hit.dated) for hit in page.hits]

    assert await notes("ferry") == [("Newer", new), ("Older", old)]
    month = f"{NOW - timedelta(days=30):%Y-%m-%d}"
    assert await notes(f"ferry after:{month}") == [("Newer", new)]
    assert await notes(f"before:{month}") == [("Older", old)]


async def test_a_single_letter_is_no_beginning_of_words(shelf: Store) -> None:
    assert await titles(shelf, "m*") == []


async def test_the_title_counts_as_text_of_each_chunk(shelf: Store) -> None:
    (hit,) = (await found(shelf, "baking")).hits
    assert hit.title == Snippet("Baking", ((0, 6),))
    assert hit.matches == 2


async def test_all_conditions_hold_and_what_is_excluded_is_nowhere_in_the_document(shelf: Store) -> None:
    assert await titles(shelf, "ferry", order=Order.BEST) == ["Ferries", "Tides"]
    assert await titles(shelf, "ferry -winter") == ["Tides"]
    assert await titles(shelf, "ferry -(moon OR winter)") == []
    assert sorted(await titles(shelf, "winter OR rye")) == ["Baking", "Ferries"]


async def test_a_document_has_a_project_and_a_date_but_no_tags_or_marks(shelf: Store) -> None:
    assert await titles(shelf, "bread project:kitchen") == ["Baking"]
    assert await titles(shelf, "ferry project:kitchen") == []
    assert await titles(shelf, "bread project:*") == ["Baking"]
    # The files of these tests were changed in 1970.
    assert await titles(shelf, "bread before:1971") == ["Baking"]
    assert await titles(shelf, "bread after:1971") == []
    for condition in ("tag:x", "is:starred", "role:user", "has:code", "model:llama", "category:food"):
        assert await titles(shelf, f"bread {condition}") == []
        assert await titles(shelf, f"bread -{condition}") == ["Baking"]
    assert await titles(shelf, "bread is:private") == []


async def test_without_words_all_documents_are_listed_without_a_chunk(shelf: Store) -> None:
    listed = await found(shelf, "kind:document")
    assert sorted(hit.title.text for hit in listed.hits) == ["Baking", "Ferries", "Tides"]
    assert [hit.chunk for hit in listed.hits] == [None, None, None]
    assert await titles(shelf, "kind:document -ferry") == ["Baking"]
    assert await titles(shelf, "kind:message") == []


async def test_the_best_document_comes_first_and_a_limit_keeps_the_total(shelf: Store) -> None:
    page = await found(shelf, "ferry", order=Order.BEST, limit=1)
    assert ([hit.title.text for hit in page.hits], page.total, page.more) == (["Ferries"], 2, False)


async def test_what_is_archived_or_removed_is_not_found(shelf: Store) -> None:
    (hit,) = (await found(shelf, "bread")).hits
    await shelf.documents.set_state([hit.document.id], DocumentState.ARCHIVED)
    assert await titles(shelf, "bread") == []
    assert "Baking" not in await titles(shelf, "kind:document")


async def test_a_kind_keeps_messages_and_documents_apart(shelf: Store) -> None:
    await shelf.create_session(NewSession("Trip"), NewMessage(Role.USER, "Which ferry do we take?"))
    for text, sessions, documents in (
        ("ferry winter", 0, 1),
        ("ferry kind:document", 0, 2),
        ("ferry kind:message", 1, 0),
        ("ferry -kind:document", 1, 0),
    ):
        query = parse(text, NOW)
        assert (await shelf.find.sessions(query)).total == sessions
        assert (await shelf.find.messages(query)).total == sessions
        assert (await shelf.find.documents(query)).total == documents


async def test_chunks_are_checked_against_the_rest_of_a_query(shelf: Store) -> None:
    chunks = [
        one for document in await shelf.documents.list() for one in await shelf.documents.chunks(document.id)
    ]
    ids = [one.id for one in chunks]
    fitting = await shelf.find.chunks_among(parse("ferry -winter", NOW), ids)
    assert [one.text for one in chunks if one.id in fitting] == ["A ferry waits for the tide."]
    assert await shelf.find.chunks_among(parse("kind:message", NOW), ids) == frozenset()
