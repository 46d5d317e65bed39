"""Links and quotations as they are written in notes, read by the rules that store them."""

from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from atlas_desktop.tui.notes.adding import (
    Source,
    addition,
    link_of_words,
    link_spans,
    link_to,
    marked,
    opened_link,
    quotation,
    written,
)
from atlas_desktop.tui.notes.editor import with_links
from memory.notes.entities import LinkKind, LinkTarget, NoteLink
from memory.notes.markup import folded, read_markup

ID = "0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
titles = st.text(
    st.characters(blacklist_categories=["Cs", "Cc", "Cf", "Co", "Zl", "Zp"]), min_size=1, max_size=30
)


def test_the_name_of_a_link_is_being_typed_after_two_brackets() -> None:
    assert opened_link("See [[Har") == "Har"
    assert opened_link("See [[") == ""
    assert opened_link("See [[Harbours]] and") is None
    assert opened_link("See [[Harbours|the") is None
    assert opened_link("See [Har") is None


def test_a_title_that_finds_one_thing_is_the_link() -> None:
    tides = LinkTarget("1", LinkKind.NOTE, "Tides")
    assert written(tides, [tides]) == "[[Tides]]"
    assert written(LinkTarget("1", LinkKind.NOTE, "Tides", "Ebb"), [tides]) == "[[Ebb]]"


def test_a_title_that_finds_several_things_is_linked_by_id() -> None:
    tides = LinkTarget(ID, LinkKind.NOTE, "Tides")
    paper = LinkTarget("2", LinkKind.DOCUMENT, "tides")
    assert written(tides, [tides, paper]) == f"[[note:{ID}|Tides]]"


@given(titles)
def test_every_title_makes_one_link_that_is_read_again(title: str) -> None:
    target = LinkTarget(ID, LinkKind.NOTE, title)
    (link,) = read_markup(written(target, [target])).links
    assert link.target == ID or folded(link.target) == folded(title)


@given(titles, titles)
def test_words_that_become_a_link_stay_readable(title: str, words: str) -> None:
    links = read_markup(link_of_words(title, ID, words)).links
    assert len(links) == 1


@given(st.sampled_from(LinkKind), titles)
def test_a_link_by_id_leads_to_the_id(kind: LinkKind, shown: str) -> None:
    (link,) = read_markup(link_to(kind, ID, shown)).links
    assert (link.kind, link.target) == (kind, ID)


@given(st.text(max_size=200))
def test_a_quotation_is_quoted_in_every_line(text: str) -> None:
    assert all(line.startswith(">") for line in quotation(text).split("\n"))


def test_what_is_added_to_a_note_quotes_and_links_back() -> None:
    source = Source(LinkKind.MESSAGE, ID, "The bread, 12 March", "An hour.\n\nOr two.")
    added = addition(source)
    assert added == f"> An hour.\n>\n> Or two.\n>\n> — [[message:{ID}|The bread, 12 March]]\n"
    assert [link.target for link in read_markup(added).links] == [ID]


def test_links_are_shown_by_title_and_keep_their_style() -> None:
    text = "See **[[Tides]]** and [[Whales]]."
    links = [
        NoteLink("1", LinkKind.NOTE, "Tides", 6, 15, "High tides"),
        NoteLink(None, LinkKind.NOTE, "Whales", 22, 32),
    ]
    source = marked(text, links)
    shown, spans, removed = link_spans(source)
    assert shown == "See **High tides** and Whales."
    assert [shown[begin:end] for begin, end, _number in spans] == ["High tides", "Whales"]
    assert len(removed) == 6
    drawn = with_links(Content.styled(source, "bold"), links)
    assert drawn.plain == shown
    styles = {
        str(span.style): drawn.plain[span.start : span.end] for span in drawn.spans if "." in str(span.style)
    }
    assert styles == {".link": "High tides", ".nowhere": "Whales"}
    bold = next(span for span in drawn.spans if str(span.style) == "bold")
    assert (bold.start, bold.end) == (0, len(shown))
