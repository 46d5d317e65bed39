import io

import pytest
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.pdf import draw_page
from atlas_desktop.parsing.protocol import MOST_PIXELS, PagePicture, PageView, Unreadable
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


# --- pictures of pages ------------------------------------------------------------------------------

YELLOW = bytes((255, 235, 110))


def marked_rows(picture: PagePicture) -> list[int]:
    """The rows of a picture in which something is marked."""
    pixels = picture.pixels
    size = 3 * pixels.width
    return [row for row in range(pixels.height) if YELLOW in pixels.rgb[row * size : (row + 1) * size]]


def test_a_page_is_drawn_at_the_width_that_is_asked_for() -> None:
    picture = draw_page(pdf([["one"], ["two"]]), PageView(2, 600))
    assert (picture.pixels.width, picture.pages, picture.marked) == (600, 2, None)
    assert picture.pixels.height == pytest.approx(600 * 842 / 595, abs=2)
    assert len(picture.pixels.rgb) == 3 * picture.pixels.width * picture.pixels.height
    assert min(picture.pixels.rgb) < 100 < max(picture.pixels.rgb) == 255
    assert not marked_rows(picture)


def test_a_quotation_is_marked_where_it_stands() -> None:
    lines = ["The moon raises", "the tides twice", "a day, and they", "fall twice."]
    data = pdf([lines])
    # A text has other spaces and line ends than the page.
    picture = draw_page(data, PageView(1, 1190, "the  tides twice a day"))
    assert picture.marked is not None
    rows = marked_rows(picture)
    # Points are two pixels; the second line is 72 + 14.4 points below the top.
    top, bottom = 2 * (842 - 770), 2 * (842 - 770 + 3 * 14.4)
    assert top < picture.marked <= rows[0] < rows[-1] < bottom
    assert draw_page(data, PageView(1, 1190, "nothing of the kind")).marked is None


def test_lines_that_a_text_has_in_another_order_are_marked_one_by_one() -> None:
    data = drawn((72, 400, "The last line is at the bottom"), (72, 700, "The heading was drawn last"))
    quote = "The heading was drawn last\nThe last line is at the bottom"
    rows = marked_rows(draw_page(data, PageView(1, 595, quote)))
    assert min(rows) < 842 - 690
    assert max(rows) > 842 - 410


def test_a_picture_has_a_limit_and_a_page_must_exist() -> None:
    data = pdf([["one"]])
    pixels = draw_page(data, PageView(1, 100_000)).pixels
    assert pixels.width * pixels.height <= MOST_PIXELS + pixels.width + pixels.height
    for page in (0, 2, -1):
        with pytest.raises(Unreadable):
            draw_page(data, PageView(page, 100))
    with pytest.raises(Unreadable) as caught:
        draw_page(b"%PDF-1.7 nothing", PageView(1, 100))
    assert caught.value.reason is Refusal.DAMAGED
