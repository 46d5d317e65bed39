"""DOCX, PPTX, XLSX, ODT and EPUB."""

import io
import re
from datetime import date, datetime, time, timedelta
from pathlib import Path
from zipfile import ZipFile

import docx
import openpyxl
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from pptx import Presentation
from pptx.util import Inches

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.office import shown
from tests.unit.parsing.samples import (
    ODT_BODY,
    XHTML,
    archive,
    entries,
    epub,
    headings,
    odt,
    parsed,
    refusal,
    saved,
    sheets,
    slides,
    tables,
    word,
)

OFFICE = {"a.docx": word(), "a.pptx": slides(), "a.xlsx": sheets(), "a.odt": odt()}


def test_docx() -> None:
    text = parsed(word(), "a.docx")
    assert (
        text.text == "Report\n\nResults\n\nWe grew.\n\nYear | Profit\n2024 | 12\n\nOutlook\n\nWe will\tgrow."
    )
    assert headings(text) == [(1, "Report"), (1, "Results"), (2, "Outlook")]
    assert tables(text) == [("Year | Profit", "2024 | 12")]
    assert (text.title, text.author, text.created[:19]) == ("Annual report", "Ada", "2024-02-29T12:30:00")


def test_docx_keeps_what_was_inserted_and_drops_what_was_deleted() -> None:
    document = docx.Document()
    document.core_properties.title = ""
    body = document.element.body
    for part in (
        (
            "<w:p {}><w:r><w:t>a</w:t></w:r><w:ins><w:r><w:t>b</w:t></w:r></w:ins>"
            "<w:del><w:r><w:t>c</w:t></w:r></w:del></w:p>"
        ),
        "<w:sdt {}><w:sdtContent><w:p><w:r><w:t>controlled</w:t></w:r></w:p></w:sdtContent></w:sdt>",
        '<w:p {}><w:pPr><w:outlineLvl w:val="2"/></w:pPr><w:r><w:t>outlined</w:t></w:r></w:p>',
        "<w:p {}><w:pPr><w:numPr/></w:pPr><w:r><w:t>one</w:t></w:r></w:p>",
        "<w:p {}><w:pPr><w:numPr/></w:pPr><w:r><w:t>two</w:t></w:r></w:p>",
        (
            '<w:tbl {}><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>'
            "<w:p><w:r><w:t>wide</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>z</w:t></w:r></w:p><w:p><w:r><w:t>zz</w:t></w:r></w:p></w:tc>"
            "</w:tr></w:tbl>"
        ),
    ):
        body.insert(len(body) - 1, parse_xml(part.format(nsdecls("w"))))
    text = parsed(saved(document.save), "a.docx")
    assert text.text == "ab\n\ncontrolled\n\noutlined\n\n- one\n- two\n\nwide |  | z zz"
    assert headings(text) == [(3, "outlined")]


def test_pictures_in_office_files_take_no_memory() -> None:
    parts = entries(word())
    grown = archive({**parts, "word/media/film.bin": bytes(1_000_000)})
    assert parsed(grown, "a.docx").text == parsed(word(), "a.docx").text


def test_pptx() -> None:
    text = parsed(slides(), "a.pptx")
    assert text.text == "Welcome\n\nOne\nTwo\n\nSay hello.\n\nFigures\n\nYear | Profit\n2024 | 12"
    assert text.pages == (0, text.text.index("Figures"), text.text.index("Figures"))
    assert text.blank_pages == (2,)
    assert headings(text) == [(1, "Welcome"), (1, "Figures")]
    assert tables(text) == [("Year | Profit", "2024 | 12")]
    assert (text.title, text.author, text.created) == ("Deck", "Ada", "2024-02-29T12:30:00")


def test_pptx_reads_shapes_in_groups() -> None:
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(Inches(1), Inches(1), Inches(1), Inches(1)).text_frame.text = "grouped"
    assert parsed(saved(deck.save), "a.pptx").text == "grouped"


def test_xlsx() -> None:
    text = parsed(sheets(), "a.xlsx")
    assert headings(text) == [(1, "Costs"), (1, "Notes")]
    assert tables(text) == [
        (
            "Item | Price | Bought | Paid",
            "Rope | 12.5 | 2024-03-01 | TRUE\nHook | 3 | 2024-02-29 12:30:00\nSum",
        ),
        ("only one", ""),
    ]
    assert (text.title, text.author, text.created) == ("Budget", "Ada", "2024-02-29T12:30:00")


def test_xlsx_shows_the_values_of_formulas() -> None:
    parts = entries(sheets())
    sheet = parts["xl/worksheets/sheet1.xml"]
    assert isinstance(sheet, bytes)
    parts["xl/worksheets/sheet1.xml"] = re.sub(rb"<v ?/>|<v></v>", b"<v>15.5</v>", sheet)
    assert "Sum | 15.5" in parsed(archive(parts), "a.xlsx").text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (False, "FALSE"),
        (12, "12"),
        (1e21, "1e+21"),
        (0.1 + 0.2, "0.3"),
        (-7.0, "-7"),
        (datetime(2024, 2, 29), "2024-02-29"),  # noqa: DTZ001
        (datetime(2024, 2, 29, 1, 2, 3), "2024-02-29 01:02:03"),  # noqa: DTZ001
        (date(2024, 2, 29), "2024-02-29"),
        (time(8, 30), "08:30:00"),
        (timedelta(hours=26), "1 day, 2:00:00"),
        ("text", "text"),
    ],
)
def test_cells_are_shown_plainly(value: object, text: str) -> None:
    assert shown(value) == text


def test_odt() -> None:
    text = parsed(odt(), "a.odt")
    assert text.text == "Plan\n\nTwo  spaces\ttab\nnext\n\n- one\n- two\n\nDetails\n\nA | B\n1"
    assert headings(text) == [(1, "Plan"), (2, "Details")]
    assert tables(text) == [("A | B", "1")]
    assert (text.title, text.author, text.created) == ("Plans", "Ada", "2024-02-29T12:30:00")


def test_odt_puts_notes_in_brackets() -> None:
    body = "<text:note-body><text:p>see</text:p></text:note-body>"
    note = f"<text:note><text:note-citation>1</text:note-citation>{body}</text:note>"
    assert parsed(odt(f"<text:p>word{note} on</text:p>"), "a.odt").text == "word (see) on"


def test_epub() -> None:
    text = parsed(epub(), "a.epub")
    assert text.text == "Chapter 1\n\nIt was a dark night.\n\nEnd\n\nThey lived happily."
    assert headings(text) == [(1, "Chapter 1"), (1, "End")]
    assert (text.title, text.author, text.created) == ("The book", "Ada", "2024-02-29")


def test_epub_reads_pages_that_are_no_proper_xml() -> None:
    parts = {**entries(epub()), "OEBPS/text/b.xhtml": b"<html><body><h2>Last<p>open & <br>ended"}
    assert parsed(archive(parts), "a.epub").text.endswith("open &\nended")


def encryption(path: str) -> str:
    return f'<encryption><EncryptedData><CipherReference URI="{path}"/></EncryptedData></encryption>'


def test_an_encrypted_book_is_refused_but_not_one_with_encrypted_fonts() -> None:
    assert refusal(epub(encryption=encryption("OEBPS/text/b.xhtml")), "a.epub") is Refusal.ENCRYPTED
    assert parsed(epub(encryption=encryption("OEBPS/font.otf")), "a.epub").title == "The book"


def test_encrypted_office_files_are_refused() -> None:
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500)
    encrypted = ole + "EncryptedPackage".encode("utf-16-le") + bytes(500)
    for name in ("a.docx", "a.xlsx", "a.pptx"):
        assert refusal(encrypted, name) is Refusal.ENCRYPTED
        assert refusal(ole, name) is Refusal.UNKNOWN_FORMAT
    assert refusal(odt(manifest="<m><encryption-data/></m>"), "a.odt") is Refusal.ENCRYPTED


@pytest.mark.parametrize("name", [*OFFICE, "a.epub"])
def test_damaged_archives_are_refused(name: str) -> None:
    whole = OFFICE.get(name) or epub()
    assert refusal(whole[: len(whole) // 2], name) is Refusal.DAMAGED
    assert refusal(b"PK\x03\x04 and nothing else", name) is Refusal.DAMAGED
    assert refusal(archive({"word/other.xml": "<a/>"}), "a.docx") is Refusal.DAMAGED


@pytest.mark.parametrize("name", OFFICE)
def test_files_without_text_are_refused(name: str) -> None:
    empty = {
        "a.docx": lambda: saved(docx.Document().save),
        "a.xlsx": lambda: saved(openpyxl.Workbook().save),
        "a.odt": lambda: odt(""),
        "a.pptx": blank_deck,
    }[name]()
    assert refusal(empty, name) is (Refusal.PICTURES if name == "a.pptx" else Refusal.NO_TEXT)


def blank_deck() -> bytes:
    deck = Presentation()
    deck.slides.add_slide(deck.slide_layouts[6])
    return saved(deck.save)


LAUGHS = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;"><!ENTITY file SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("a.docx", "word/document.xml"),
        ("a.docx", "docProps/core.xml"),
        ("a.pptx", "ppt/slides/slide1.xml"),
        ("a.xlsx", "xl/worksheets/sheet1.xml"),
        ("a.xlsx", "xl/workbook.xml"),
        ("a.odt", "content.xml"),
        ("a.odt", "meta.xml"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_that_declares_entities_is_refused(name: str, part: str, encoding: str) -> None:
    parts = entries(OFFICE[name])
    before = parts[part]
    assert isinstance(before, bytes)
    content = re.sub(r"\A<\?xml[^>]*\?>", "", before.decode())
    parts[part] = f'<?xml version="1.0" encoding="{encoding}"?>{LAUGHS}{content}'.encode(encoding)
    assert refusal(archive(parts), name) is Refusal.XML_ENTITIES


def test_a_book_that_declares_entities_is_refused() -> None:
    page = XHTML.format("<p>&file;</p>").replace("<!DOCTYPE html>", LAUGHS)
    assert refusal(archive({**entries(epub()), "OEBPS/text/b.xhtml": page}), "a.epub") is Refusal.XML_ENTITIES


def test_deep_nesting_is_refused() -> None:
    deep = "<text:section>" * 2_000 + "<text:p>x</text:p>" + "</text:section>" * 2_000
    assert refusal(odt(deep), "a.odt") is Refusal.TOO_DEEP
    part = entries(word())["word/document.xml"]
    assert isinstance(part, bytes)
    runs = part.replace(b"<w:body>", b"<w:body>" + b"<w:sdt>" * 2_000 + b"</w:sdt>" * 2_000)
    assert refusal(archive({**entries(word()), "word/document.xml": runs}), "a.docx") is Refusal.TOO_DEEP
    page = XHTML.format("<div>" * 2_000 + "x" + "</div>" * 2_000)
    assert refusal(archive({**entries(epub()), "OEBPS/text/b.xhtml": page}), "a.epub") is Refusal.TOO_DEEP


@pytest.mark.parametrize("name", [*OFFICE, "a.epub"])
def test_archives_that_unpack_to_too_much_are_refused_before_they_do(name: str) -> None:
    parts = entries(OFFICE.get(name) or epub())
    bomb = archive({**parts, "zeros.xml": bytes(20_000_000)})
    assert refusal(bomb, name) is Refusal.UNPACKS_TOO_LARGE
    many = archive({**parts, **{f"x/{n}": b"" for n in range(20_001)}})
    assert refusal(many, name) is Refusal.UNPACKS_TOO_LARGE


def test_the_sum_of_all_entries_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atlas_desktop.parsing.building.MOST_UNPACKED", 10_000)
    assert refusal(word(), "a.docx") is Refusal.UNPACKS_TOO_LARGE


def test_an_entry_that_lies_about_its_size_is_refused() -> None:
    data = bytearray(odt(ODT_BODY * 50))
    with ZipFile(io.BytesIO(data)) as file:
        size = file.getinfo("content.xml").file_size
    for place in [found.start() for found in re.finditer(re.escape(size.to_bytes(4, "little")), bytes(data))]:
        data[place : place + 4] = (100).to_bytes(4, "little")
    assert refusal(bytes(data), "a.odt") is Refusal.DAMAGED


@pytest.mark.parametrize("row", ["1048576", "999999999999"])
def test_rows_that_are_only_stated_are_limited(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atlas_desktop.parsing.office.MOST_ROWS", 10_000)
    parts = entries(sheets())
    parts["xl/worksheets/sheet1.xml"] = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        f'<row r="{row}"><c r="A{row}" t="inlineStr"><is><t>far</t></is></c></row></sheetData></worksheet>'
    )
    assert refusal(archive(parts), "a.xlsx") is Refusal.TOO_MANY_ROWS


def test_external_links_of_office_files_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.xml"
    secret.write_text("<note>secret</note>")
    parts = entries(word())
    rels = parts["word/_rels/document.xml.rels"]
    assert isinstance(rels, bytes)
    link = (
        '<Relationship Id="rIdX" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"'
        f' Target="file://{secret}" TargetMode="External"/></Relationships>'
    )
    parts["word/_rels/document.xml.rels"] = rels.replace(b"</Relationships>", link.encode())
    assert "secret" not in parsed(archive(parts), "a.docx").text
