import pytest

from atlas_desktop.parsing import protocol
from atlas_desktop.parsing.child import _PARSERS
from atlas_desktop.parsing.protocol import HEAD, is_current, is_readable, media_type_of, parser_of
from tests.unit.parsing.samples import FILES, archive


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("report.PDF", protocol.PDF),
        ("notes.md", protocol.MARKDOWN),
        ("main.rs", protocol.CODE),
        ("Makefile", protocol.CODE),
        ("LICENSE", protocol.PLAIN),
        ("data.yml", "application/yaml"),
        ("app.log", protocol.PLAIN),
        ("mail.eml", protocol.MAIL),
        ("photo.jpg", None),
        ("program", None),
        ("archive.zip", None),
    ],
)
def test_a_name_tells_a_format(name: str, media_type: str | None) -> None:
    assert media_type_of(name, b"") == media_type
    assert is_readable(name) == (media_type is not None)


@pytest.mark.parametrize("name", FILES)
def test_every_sample_is_recognised_by_its_name(name: str) -> None:
    assert media_type_of(name, FILES[name][:HEAD]) == media_type_of(name, b"")


@pytest.mark.parametrize(
    "name", ["a.pdf", "a.docx", "a.pptx", "a.xlsx", "a.odt", "a.epub", "a.rtf", "a.html"]
)
@pytest.mark.parametrize("disguise", ["", "other.unknown", "no_ending"])
def test_content_tells_a_format_when_the_name_does_not(name: str, disguise: str) -> None:
    assert media_type_of(disguise, FILES[name][:HEAD]) == media_type_of(name, b"")


def test_content_counts_more_than_a_name_that_lies() -> None:
    assert media_type_of("a.txt", FILES["a.pdf"][:HEAD]) == protocol.PDF
    assert media_type_of("a.pptx", FILES["a.docx"][:HEAD]) == protocol.DOCX
    assert media_type_of("a.md", FILES["a.epub"][:HEAD]) == protocol.EPUB
    assert media_type_of("a.txt", archive({"something": "else"})) is None
    assert media_type_of("a.docx", archive({"something": "else"})) == protocol.DOCX


def test_an_unknown_ending_is_read_if_it_is_text() -> None:
    assert media_type_of("notes.xyz", b"plain words\n") == protocol.PLAIN
    assert media_type_of("notes", "Grüße".encode("utf-16")) == protocol.PLAIN
    assert media_type_of("image.xyz", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR") is None


def test_a_parser_has_a_version_by_which_old_texts_are_read_again() -> None:
    assert parser_of(protocol.PDF) == "pdf-1"
    assert parser_of("text/x-code") == "plain-1"
    assert all(is_current(parser_of(media_type)) for media_type in _PARSERS)
    assert not is_current("pdf-0")
