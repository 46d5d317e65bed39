"""PDF by PDFium: text page by page, bookmarks as headings."""

import re

import pypdfium2
from pypdfium2.raw import FPDF_ERR_PASSWORD

from atlas_desktop.errors import DocumentRefused, Refusal
from atlas_desktop.parsing.building import MOST_PAGES, TextBuilder, tidy
from atlas_desktop.services.cleaning import clean_line
from memory.documents.entities import ParsedText

_MOST_BOOKMARKS = 20_000
_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?")
_NO_TITLE = re.compile(
    r"(?:untitled|unknown|microsoft \w+ -.*|.*\.(?:docx?|pdf|indd|tex|dvi|pptx?|xlsx?|qxd))", re.IGNORECASE
)
# PDFium marks a hyphen at the end of a line, where the word goes on in the next.
_HYPHEN = re.compile("[\x02\ufffe]\n?(?=[a-zß-öø-ÿ])")


def read_pdf(data: bytes, name: str) -> ParsedText:
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        encrypted = getattr(error, "err_code", None) == FPDF_ERR_PASSWORD
        raise DocumentRefused(name, Refusal.ENCRYPTED if encrypted else Refusal.DAMAGED) from None
    pages = len(document)
    if pages > MOST_PAGES:
        raise DocumentRefused(name, Refusal.TOO_MANY_PAGES, MOST_PAGES)
    if not pages:
        raise DocumentRefused(name, Refusal.EMPTY)
    builder = TextBuilder(name)
    bookmarks = _bookmarks(document)
    for number in range(pages):
        builder.page()
        text = _page(document, number)
        for level, title in bookmarks.get(number, ()):
            builder.mark(level, title, max(text.find(title), 0))
        builder.paragraph(text)
    about = document.get_metadata_dict()
    title = about.get("Title", "").strip()
    date = _DATE.match(about.get("CreationDate", ""))
    author = about.get("Author", "")
    return builder.result(
        title="" if _NO_TITLE.fullmatch(title) else title,
        author="" if author == "anonymous" else author,
        created="-".join(part for part in date.groups() if part) if date else "",
    )


def _page(document: "pypdfium2.PdfDocument", number: int) -> str:
    """Returns the text of a page; empty if the page cannot be read."""
    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return ""
    text_page = page.get_textpage()
    text = text_page.get_text_range().replace("\r\n", "\n")
    text_page.close()
    page.close()
    return tidy(_HYPHEN.sub("", text).replace("\ufffe", "-").replace("\x02", "-"))


def _bookmarks(document: "pypdfium2.PdfDocument") -> dict[int, list[tuple[int, str]]]:
    """Returns the levels and titles of bookmarks, by the page that they lead to, from 0."""
    found: dict[int, list[tuple[int, str]]] = {}
    try:
        for count, (one, level) in enumerate(_levels(document)):
            destination = one.get_dest()
            title = clean_line(one.get_title())
            page = None if destination is None else destination.get_index()
            if page is not None and title:
                found.setdefault(page, []).append((level + 1, title))
            if count >= _MOST_BOOKMARKS:
                break
    except pypdfium2.PdfiumError:
        # A broken outline: the text counts.
        return {}
    return found


def _levels(document: "pypdfium2.PdfDocument") -> "list[tuple[pypdfium2.PdfBookmark, int]]":
    return [(one, one.level) for one in document.get_toc()]
