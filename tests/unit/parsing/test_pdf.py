import io

from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from atlas_desktop.errors import Refusal
from memory.documents.entities import Heading
from tests.unit.parsing.samples import headings, parsed, pdf, refusal


def drawn(*texts: tuple[int, int, str]) -> bytes:
    """One page with texts at places from the lower left corner, in the order in which they are drawn."""
    out = io.BytesIO()
    canvas = Canvas(out, invariant=True)
    for x, y, text in texts:
        canvas.drawString(x, y, text)
    canvas.showPage()
    canvas.save()
    return out.getvalue()


def test_pages_have_exact_places_and_blank_ones_begin_where_the_next_does() -> None:
    text = parsed(pdf([[], ["one", "two"], [], ["three"], []], title="A PDF"), "a.pdf")
    assert text.text == "one\ntwo\n\nthree"
    assert text.pages == (0, 0, 9, 9, 14)
    assert text.blank_pages == (1, 3, 5)
    assert (text.title, text.author, text.created[:10]) == ("A PDF", "Ada", "2000-01-01")


def test_bookmarks_are_headings_where_their_titles_stand() -> None:
    pages = [
        ["Contents", "Growth  of", "beans"],
        ["on and on", "Growth of beans", "Growth of beans"],
        [],
        ["end"],
    ]
    bookmarks = [
        ("Contents", 0, 0),
        ("growth of BEANS", 0, 1),
        ("Growth of beans", 1, 0),
        ("Elsewhere", 2, 1),
    ]
    text = parsed(pdf(pages, bookmarks), "a.pdf")
    second, end = text.pages[1], text.pages[3]
    assert text.headings == (
        Heading(1, "Contents", 0),
        Heading(2, "growth of BEANS", text.text.index("Growth")),
        Heading(1, "Growth of beans", second + len("on and on\n")),
        Heading(2, "Elsewhere", end),
    )
    assert text.title == "Contents"


def test_without_bookmarks_there_are_no_headings() -> None:
    text = parsed(pdf([["Heading", "text"]]), "a.pdf")
    assert headings(text) == []
    assert text.title == ""


def test_lines_stand_in_the_order_of_reading() -> None:
    page = drawn(
        (72, 40, "page 1"), (72, 700, "first"), (72, 680, "second"), (300, 680, "beside"), (72, 780, "title")
    )
    assert parsed(page, "a.pdf").text == "title\nfirst\nsecond beside\npage 1"


def test_columns_are_read_one_after_another() -> None:
    left = [(72, y, f"left {y}") for y in (700, 680, 660)]
    right = [(320, y, f"right {y}") for y in (700, 680, 660)]
    text = parsed(drawn((72, 750, "title"), *left, *right), "a.pdf").text
    assert text.split("\n") == ["title", *(one for *_, one in left), *(one for *_, one in right)]


def test_a_broken_word_is_joined_only_if_it_occurs_in_one_piece() -> None:
    lines = ["It is an exam-", "ple of a well-", "known rule, for example", "Anglo-", "Saxon Anglosaxon"]
    assert parsed(pdf([lines, ["wellness"]]), "a.pdf").text == (
        "It is an example of a well-\nknown rule, for example\nAnglo-\nSaxon Anglosaxon\n\nwellness"
    )


def test_scanned_pages_are_refused_or_named() -> None:
    assert refusal(pdf([[], []]), "a.pdf") is Refusal.PICTURES
    assert parsed(pdf([["text"], []]), "a.pdf").blank_pages == (2,)


def test_encrypted_and_damaged_files_are_refused() -> None:
    locked = pdf([["secret"]], encrypt="password")
    assert refusal(locked, "a.pdf") is Refusal.ENCRYPTED
    whole = pdf([["text"]])
    assert refusal(b"%PDF-1.7 and nothing else", "a.pdf") is Refusal.DAMAGED
    assert refusal(b"no PDF at all", "a.pdf") is Refusal.DAMAGED
    assert refusal(whole[:100], "a.pdf") is Refusal.DAMAGED


def test_a_file_that_only_restricts_its_use_is_read() -> None:
    out = io.BytesIO()
    canvas = Canvas(out, encrypt=StandardEncryption("", ownerPassword="owner", canPrint=0))
    canvas.drawString(72, 700, "open to all")
    canvas.save()
    assert parsed(out.getvalue(), "a.pdf").text == "open to all"
