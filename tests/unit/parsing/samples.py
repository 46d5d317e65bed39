"""Files of every format, made by libraries or literally, and what is read from them."""

import io
import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import docx
import openpyxl
from pptx import Presentation
from pptx.util import Inches
from reportlab.pdfgen.canvas import Canvas

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.child import read
from atlas_desktop.parsing.protocol import HEAD, Unreadable, media_type_of
from memory.documents.entities import ParsedText

CREATED = datetime(2024, 2, 29, 12, 30)  # noqa: DTZ001 - office files have no time zone


def parsed(data: bytes, name: str) -> ParsedText:
    """What the process for parsing returns, without the process."""
    media_type = media_type_of(name, data[:HEAD])
    assert media_type is not None
    return read(media_type, data)


def refusal(data: bytes, name: str) -> Refusal:
    try:
        parsed(data, name)
    except Unreadable as error:
        return error.reason
    raise AssertionError(f"{name} was read")


def place(text: ParsedText, part: str) -> int:
    """Where a part stands in a text, in which it stands once."""
    assert text.text.count(part) == 1, (part, text.text)
    return text.text.index(part)


def headings(text: ParsedText) -> list[tuple[int, str]]:
    """Level and title of all headings; each stands where it says, in Markdown with its marks."""
    for one in text.headings:
        line = text.text[one.begin :].partition("\n")[0]
        assert re.sub(r"^#+ |[*`]", "", line).startswith(one.text), one
    return [(one.level, one.text) for one in text.headings]


def tables(text: ParsedText) -> list[tuple[str, str]]:
    """Header and rows of all tables."""
    return [
        (text.text[one.begin : one.header_end], text.text[one.header_end : one.end].strip("\n"))
        for one in text.tables
    ]


def archive(entries: dict[str, bytes | str], stored: Sequence[str] = ("mimetype",)) -> bytes:
    out = io.BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as file:
        for name, content in entries.items():
            file.writestr(name, content, ZIP_STORED if name in stored else ZIP_DEFLATED)
    return out.getvalue()


def entries(data: bytes) -> dict[str, bytes | str]:
    with ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def pdf(
    pages: Sequence[Sequence[str]],
    bookmarks: Sequence[tuple[str, int, int]] = (),
    encrypt: str | None = None,
    title: str | None = None,
) -> bytes:
    """A PDF with the lines of each page; bookmarks are title, page from 0 and level from 0."""
    out = io.BytesIO()
    canvas = Canvas(out, invariant=True, encrypt=encrypt, pageCompression=0)
    if title is not None:
        canvas.setTitle(title)
        canvas.setAuthor("Ada")
    for number, lines in enumerate(pages):
        for at, (name, page, level) in enumerate(bookmarks):
            if page == number:
                canvas.bookmarkPage(f"bookmark {at}")
                canvas.addOutlineEntry(name, f"bookmark {at}", level)
        text = canvas.beginText(72, 770)
        for line in lines:
            text.textLine(line)
        canvas.drawText(text)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def word() -> bytes:
    document = docx.Document()
    document.core_properties.title = "Annual report"
    document.core_properties.author = "Ada"
    document.core_properties.created = CREATED
    document.add_heading("Report", 0)
    document.add_heading("Results", 1)
    document.add_paragraph("We grew.")
    table = document.add_table(2, 2)
    for row, values in zip(table.rows, (("Year", "Profit"), ("2024", "12")), strict=True):
        for cell, value in zip(row.cells, values, strict=True):
            cell.text = value
    document.add_heading("Outlook", 2)
    document.add_paragraph("We will\tgrow.")
    return saved(document.save)


def slides() -> bytes:
    deck = Presentation()
    deck.core_properties.title = "Deck"
    deck.core_properties.author = "Ada"
    deck.core_properties.created = CREATED
    first = deck.slides.add_slide(deck.slide_layouts[1])
    first.shapes.title.text = "Welcome"
    first.placeholders[1].text = "One\nTwo"
    first.notes_slide.notes_text_frame.text = "Say hello."
    deck.slides.add_slide(deck.slide_layouts[6])
    third = deck.slides.add_slide(deck.slide_layouts[5])
    third.shapes.title.text = "Figures"
    table = third.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for row, values in enumerate((("Year", "Profit"), ("2024", "12"))):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    return saved(deck.save)


def sheets() -> bytes:
    book = openpyxl.Workbook()
    book.properties.title = "Budget"
    book.properties.creator = "Ada"
    book.properties.created = CREATED
    first = book.active
    assert first is not None
    first.title = "Costs"
    first.append([])
    first.append(["Item", "Price", "Bought", "Paid"])
    first.append(["Rope", 12.5, datetime(2024, 3, 1), True])  # noqa: DTZ001
    first.append(["Hook", 3.0, CREATED, None])
    first.append([None, None, None])
    first.append(["Sum", "=B3+B4"])
    book.create_sheet("Notes").append(["only one"])
    return saved(book.save)


def saved(save: Callable[[io.BytesIO], object]) -> bytes:
    out = io.BytesIO()
    save(out)
    return out.getvalue()


ODT_NAMES = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
ODT_BODY = """
<text:h text:outline-level="1">Plan</text:h>
<text:p>Two<text:s text:c="2"/>spaces<text:tab/>tab<text:line-break/>next</text:p>
<text:list><text:list-item><text:p>one</text:p></text:list-item>
<text:list-item><text:p>two</text:p></text:list-item></text:list>
<text:h text:outline-level="2">Details</text:h>
<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>A</text:p></table:table-cell>
<table:table-cell><text:p>B</text:p></table:table-cell></table:table-row></table:table-header-rows>
<table:table-row table:number-rows-repeated="1000000"><table:table-cell><text:p>1</text:p></table:table-cell>
<table:table-cell table:number-columns-repeated="999999999"/></table:table-row></table:table>
"""


def odt(body: str = ODT_BODY, manifest: str = "<manifest/>") -> bytes:
    meta = (
        "<meta:initial-creator>Ada</meta:initial-creator>"
        "<meta:creation-date>2024-02-29T12:30:00</meta:creation-date>"
    )
    return archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"<office:document-content {ODT_NAMES}><office:body><office:text>{body}"
            "</office:text></office:body></office:document-content>",
            "meta.xml": f"<office:document-meta {ODT_NAMES}><office:meta><dc:title>Plans</dc:title>{meta}"
            "</office:meta></office:document-meta>",
            "META-INF/manifest.xml": manifest,
        }
    )


XHTML = (
    '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">'
    "<head><title/></head><body>{}</body></html>"
)


def epub(**more: bytes | str) -> bytes:
    package = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">
    <metadata><dc:title>The book</dc:title>
    <dc:creator>Ada</dc:creator><dc:date>2024-02-29</dc:date></metadata>
    <manifest><item id="b" href="text/b.xhtml" media-type="application/xhtml+xml"/>
    <item id="a" href="text/a%20one.xhtml" media-type="application/xhtml+xml"/>
    <item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest>
    <spine toc="n"><itemref idref="a"/><itemref idref="b"/><itemref idref="gone"/></spine></package>"""
    contents = """<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>
    <navPoint><navLabel><text>Beginning</text></navLabel><content src="text/a%20one.xhtml"/></navPoint>
    <navPoint><navLabel><text>End</text></navLabel><content src="text/b.xhtml#top"/></navPoint>
    </navMap></ncx>"""
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
            "OEBPS/book.opf": package,
            "OEBPS/toc.ncx": contents,
            "OEBPS/text/a one.xhtml": XHTML.format("<h1>Chapter&nbsp;1</h1><p>It was a dark night.</p>"),
            "OEBPS/text/b.xhtml": XHTML.format("<p>They lived happily.</p>"),
            **{f"META-INF/{name}.xml": content for name, content in more.items()},
        }
    )


HTML = b"""<!DOCTYPE html><html><head><title>A  page</title><meta name="author" content="Ada">
<meta property="article:published_time" content="2024-02-29"><style>p {}</style></head><body>
<nav><a href="/">Home</a></nav><h1>Garden <em>notes</em></h1><p>Water   the
<a href="http://example.org">roses</a>&nbsp;daily.<br>Twice.</p><script>alert(1)</script>
<ul><li>dig<li>sow<ol><li>beans</ol></ul><pre>a
   b</pre>
<table><caption>Yield</caption><tr><th>Plant<th>Weight</tr><tr><td>Bean<td>2 kg</tr></table>
<table><tr><td><h2>Side</h2><ul><li>x</ul><td>arranged</tr></table></body></html>"""

MARKDOWN = b"""\
---
title: "Garden"
author: Ada
date: 2024-02-29
---

# Garden *notes*

Text  \x20
with `# no heading`

```
# no heading either
```

Beds
----

| Plant | Weight |
|-------|--------|
| Bean  | 2 kg   |

after
"""

MAIL = (
    b"From: Ada <ada@example.org>\r\nTo: Ben <ben@example.org>\r\nDate: Thu, 29 Feb 2024 12:30:00 +0000\r\n"
    b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nMIME-Version: 1.0\r\n"
    b'Content-Type: multipart/mixed; boundary="x"\r\n\r\n'
    b"--x\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHello Ben,\r\nsee below.\r\n"
    b"--x\r\nContent-Type: application/pdf\r\n"
    b'Content-Disposition: attachment; filename="plan.pdf"\r\n\r\n%PDF\r\n'
    b"--x--\r\n"
)
HTML_MAIL = (
    b"From: ada@example.org\r\nSubject: News\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
    b"<h2>Big</h2><p>News <b>today</b></p><script>x</script>"
)

RTF = (
    rb"{\rtf1\ansi\ansicpg1252{\info{\title My notes}{\author Ada}{\creatim\yr2024\mo2\dy29\hr12}}"
    rb"{\fonttbl{\f0 Arial;}}\f0 Caf\'e9 \u8364? \b bold\b0\par second\par}"
)

NOTEBOOK = json.dumps(
    {
        "nbformat": 4,
        "metadata": {"authors": [{"name": "Ada"}]},
        "cells": [
            {"cell_type": "markdown", "source": ["# Study\n", "\n", "Text\n", "## Part"]},
            {
                "cell_type": "code",
                "source": "print(1)\n# no heading",
                "outputs": [
                    {"output_type": "stream", "text": ["1\n"]},
                    {"data": {"text/plain": "y" * 3_000, "image/png": "AAAA"}},
                ],
            },
        ],
    }
).encode()

CSV = b'Name;Amount\r\n\r\nRope;"12,50"\r\n"Hook; big";3\r\n'

FILES: dict[str, bytes] = {
    "a.pdf": pdf([["Garden", "Water the roses."], [], ["Beans"]], [("Garden", 0, 0), ("Beans", 2, 1)]),
    "a.docx": word(),
    "a.pptx": slides(),
    "a.xlsx": sheets(),
    "a.odt": odt(),
    "a.epub": epub(),
    "a.html": HTML,
    "a.md": MARKDOWN,
    "a.eml": MAIL,
    "b.eml": HTML_MAIL,
    "a.rtf": RTF,
    "a.ipynb": NOTEBOOK,
    "a.csv": CSV,
    "a.txt": "Grüße\n\nund mehr".encode("latin-1"),
}
"""A small file of every format."""
