"""Reading files that are attached: what is refused, and why."""

import io
from pathlib import Path

import pytest

from atlas_desktop.error_table import explain
from atlas_desktop.errors import AttachmentRefused, Refusal
from atlas_desktop.parsing import client
from atlas_desktop.parsing.client import DocumentParser
from atlas_desktop.parsing.protocol import media_type_of
from atlas_desktop.services import attachments
from atlas_desktop.services.attachments import pasted_file, read_attachment, typed_path
from tests.security.hostile_pdfs import HOSTILE
from tests.unit.parsing.samples import FILES


def pdf(*pages: str, password: str = "") -> bytes:
    from pypdf import PdfReader, PdfWriter
    from reportlab.pdfgen import canvas

    made = io.BytesIO()
    drawing = canvas.Canvas(made)
    for page in pages:
        drawing.drawString(72, 720, page)
        drawing.showPage()
    drawing.save()
    if not password:
        return made.getvalue()
    writer = PdfWriter(clone_from=PdfReader(made))
    writer.encrypt(password)
    locked = io.BytesIO()
    writer.write(locked)
    return locked.getvalue()


async def refusal(path: Path) -> Refusal:
    with pytest.raises(AttachmentRefused) as caught:
        await read_attachment(path)
    words = explain(caught.value)
    assert words.code == f"attachment_{caught.value.reason.value}"
    assert path.name in words.message
    return caught.value.reason


async def test_text_is_read_and_cleaned(tmp_path: Path) -> None:
    file = tmp_path / "no\x1b[31mte.md"
    file.write_bytes("\ufeffOne\r\ntwo \x1b]0;title\x07three".encode())
    made = await read_attachment(file)
    assert made.media_type == "text/markdown"
    assert "\x1b" not in made.name + made.text
    assert made.text.startswith("One\ntwo")
    wide = tmp_path / "wide.txt"
    wide.write_text("été", encoding="utf-16")
    assert (await read_attachment(wide)).text == "été"


async def test_what_cannot_be_read_is_refused_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def file(name: str, data: bytes) -> Path:
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    assert await refusal(tmp_path / "nothing.txt") is Refusal.MISSING
    assert await refusal(tmp_path) is Refusal.NOT_A_FILE
    assert await refusal(file("empty.txt", b" \n")) is Refusal.EMPTY
    assert await refusal(file("picture.png", b"\x89PNG\r\n\x1a\n\0\0")) is Refusal.NOT_TEXT
    assert await refusal(file("zeros.txt", b"a\0b")) is Refusal.NOT_TEXT
    monkeypatch.setattr(attachments, "MOST_CHARACTERS", 10)
    assert await refusal(file("long.txt", b"word " * 10)) is Refusal.TOO_MUCH_TEXT
    monkeypatch.setattr(attachments, "MOST_BYTES", 10)
    assert await refusal(file("large.txt", b"word " * 10)) is Refusal.TOO_LARGE


async def test_a_pdf_is_read_by_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ferries.pdf"
    file.write_bytes(pdf("The ferry leaves at seven.", "The last one at nine."))
    made = await read_attachment(file)
    assert (made.media_type, made.text) == (
        "application/pdf",
        "The ferry leaves at seven.\n\nThe last one at nine.",
    )
    monkeypatch.setattr(client, "seconds_for", lambda _size: 0)
    assert await refusal(file) is Refusal.TOO_SLOW


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.odt", "a.epub"])
async def test_the_text_of_an_office_document_is_attached(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(FILES[name])
    parser = DocumentParser(ahead=False)
    expected = await parser.parse(FILES[name], name)
    await parser.close()
    made = await read_attachment(file)
    assert made.text == expected.text.strip("\n")
    assert made.media_type == media_type_of(name, FILES[name])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (pdf("x", password="secret"), Refusal.ENCRYPTED),
        (pdf("x")[:300], Refusal.DAMAGED),
        (pdf(""), Refusal.PICTURES),
        (HOSTILE["a million pages"], Refusal.TOO_MANY_PAGES),
        (b"PK\x03\x04 not an archive", Refusal.DAMAGED),
    ],
    ids=["encrypted", "damaged", "pictures", "too many pages", "no archive"],
)
async def test_a_file_without_text_for_us_says_why(content: bytes, reason: Refusal, tmp_path: Path) -> None:
    file = tmp_path / ("a.docx" if content.startswith(b"PK") else "a.pdf")
    file.write_bytes(content)
    assert await refusal(file) is reason


def test_paths_as_people_type_them(tmp_path: Path) -> None:
    assert typed_path(" '/a b/c.txt' ") == "/a b/c.txt"
    assert typed_path("/a\\ b/c.txt") == "/a b/c.txt"
    assert typed_path("file:///a%20b/c.txt") == "/a b/c.txt"
    assert typed_path("/a b/c.txt") == "/a b/c.txt"
    assert typed_path("it's") == "it's"
    file = tmp_path / "a b.txt"
    file.write_text("x")
    assert pasted_file(f"'{file}'\n") == file
    assert pasted_file(str(file) + " and more") is None
    assert pasted_file("a b.txt") is None
    assert pasted_file("/\0") is None
