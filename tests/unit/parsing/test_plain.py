"""Plain text, CSV, Markdown, HTML, mail, RTF and notebooks."""

import json

import pytest

from atlas_desktop.errors import Refusal
from tests.unit.parsing.samples import (
    CSV,
    HTML,
    HTML_MAIL,
    MAIL,
    MARKDOWN,
    NOTEBOOK,
    RTF,
    headings,
    parsed,
    place,
    refusal,
    tables,
)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Grüße, naïve café – “€5”", "utf-8"),
        ("Grüße", "utf-8-sig"),
        ("Grüße\nfür alle", "utf-16"),
        ("Grüße", "utf-32"),
        ("Straße in München, größer als üblich.", "latin-1"),
        ("l'été à la plage, où ça? garçon", "cp1252"),
        ("Łódź jest pięknym miastem w Polsce, żółć", "cp1250"),
        ("Привет мир, это русский текст о погоде", "cp1251"),
        ("Привет мир, это русский текст о погоде", "koi8-r"),
        ("日本語のテキストです。これは長い文章です。", "shift_jis"),
        ("中文文本，这是一个测试。", "gbk"),
        ("x" * 300_000 + " größer", "latin-1"),
    ],
)
def test_text_is_decoded(text: str, encoding: str) -> None:
    assert parsed(text.encode(encoding), "a.txt").text == text


def test_xml_and_html_may_name_their_encoding() -> None:
    assert (
        parsed('<?xml version="1.0" encoding="iso-8859-7"?><a>α</a>'.encode("iso-8859-7"), "a.xml").text[-5:]
        == "α</a>"
    )
    page = parsed('<meta charset="iso-8859-7"><p>α'.encode("iso-8859-7"), "a.html")
    assert page.text == "α"
    assert parsed('<meta charset="no-such"><p>é'.encode("latin-1"), "a.html").text == "é"


def test_code_and_data_stay_as_they_are() -> None:
    source = 'def f():\n\treturn "| # x"\n\n\n# end\n'
    assert parsed(source.encode(), "a.py").text == source.rstrip("\n")
    assert parsed(b'{"a": [1, 2]}', "a.json").text == '{"a": [1, 2]}'


def test_markdown() -> None:
    text = parsed(MARKDOWN, "a.md")
    assert headings(text) == [(1, "Garden notes"), (2, "Beds")]
    assert text.headings[0].begin == place(text, "# Garden")
    assert tables(text) == [("| Plant | Weight |\n|-------|--------|", "| Bean  | 2 kg   |")]
    assert (text.title, text.author, text.created) == ("Garden", "Ada", "2024-02-29")
    assert "Text\nwith" in text.text


def test_markdown_takes_its_title_from_the_first_main_heading() -> None:
    text = parsed(b"## Small\n\nBig [link](http://x) `code`\n===\n\n> # Quoted\n\n#\n", "a.md")
    assert text.title == "Big link code"
    assert [(one.level, one.text) for one in text.headings] == [
        (2, "Small"),
        (1, "Big link code"),
        (1, "Quoted"),
    ]
    assert parsed(b"just words", "a.md").title == ""


def test_csv_is_a_table_whatever_separates_its_columns() -> None:
    text = parsed(CSV, "a.csv")
    assert tables(text) == [("Name | Amount", "Rope | 12,50\nHook; big | 3")]
    for delimiter in ",;\t|":
        rows = f"Name{delimiter}Size\nRope{delimiter}3\nHook{delimiter}4\n".encode()
        assert tables(parsed(rows, "a.csv")) == [("Name | Size", "Rope | 3\nHook | 4")]
    assert tables(parsed(b"a, b\tc\n1, 2\t3", "a.tsv")) == [("a, b | c", "1, 2 | 3")]
    assert parsed(b"only\none\ncolumn", "a.csv").text == "only\none\ncolumn"


def test_html() -> None:
    text = parsed(HTML, "a.html")
    assert headings(text) == [(1, "Garden notes"), (2, "Side")]
    assert "Water the roses daily.\nTwice.\n\n- dig\n- sow\n1. beans\n\na\n   b\n\nYield" in text.text
    assert tables(text) == [("Plant | Weight", "Bean | 2 kg")]
    assert text.text.endswith("- x\n\narranged")
    assert (text.title, text.author, text.created) == ("A page", "Ada", "2024-02-29")
    for left_out in ("Home", "alert", "example.org", "p {}"):
        assert left_out not in text.text


def test_what_html_separates_is_not_run_together() -> None:
    first = b"<tr><td><p>x</p><p>y</p><td colspan=3>H<sub>2</sub>O<td>z</tr>"
    page = b"<h1>A<br>B</h1><table>" + first + b"<tr><td>1</table>"
    text = parsed(page, "a.html")
    assert text.text == "A B\n\nx y | H2O |  |  | z\n1"


def test_mail() -> None:
    text = parsed(MAIL, "a.eml")
    assert text.text == (
        "From: Ada <ada@example.org>\nTo: Ben <ben@example.org>\nDate: Thu, 29 Feb 2024 12:30:00 +0000\n\n"
        "Grüße\n\nHello Ben,\nsee below.\n\nAttachment: plan.pdf"
    )
    assert (text.title, text.author) == ("Grüße", "Ada <ada@example.org>")
    assert text.created == "2024-02-29T12:30:00+00:00"


@pytest.mark.parametrize("header", ["", "Content-Type: text/plain; charset=x-unknown\n"])
def test_mail_without_a_known_charset_is_read_by_its_bytes(header: str) -> None:
    mail = f"From: ada@example.org\n{header}\nThe guest house on Öckerö is booked, 92 € a night."
    assert "on Öckerö is booked, 92 € a" in parsed(mail.encode(), "a.eml").text


def test_mail_in_html_is_converted() -> None:
    text = parsed(HTML_MAIL, "a.eml")
    assert text.text == "From: ada@example.org\n\nNews\n\nBig\n\nNews today"
    assert headings(text) == [(1, "News"), (2, "Big")]


def test_rtf() -> None:
    text = parsed(RTF, "a.rtf")
    assert text.text == "Café € bold\nsecond"
    assert (text.title, text.author, text.created) == ("My notes", "Ada", "2024-02-29")


def test_notebook() -> None:
    text = parsed(NOTEBOOK, "a.ipynb")
    assert text.text == "# Study\n\nText\n## Part\n\nprint(1)\n# no heading\n\n1\n\n" + "y" * 2_000
    assert headings(text) == [(1, "Study"), (2, "Part")]
    assert (text.title, text.author) == ("Study", "Ada")


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (b"", "a.txt", Refusal.EMPTY),
        (b" \n\t\r\n", "a.md", Refusal.EMPTY),
        (b"\xef\xbb\xbf \n", "a.txt", Refusal.EMPTY),
        (b"\x00\x01\x02binary" * 9, "a.txt", Refusal.NOT_TEXT),
        (b"word " * 30_000 + b"\0", "a.txt", Refusal.NOT_TEXT),
        (bytes(range(1, 256)) * 4, "a.csv", Refusal.NOT_TEXT),
        (b"{", "a.ipynb", Refusal.DAMAGED),
        (b"[]", "a.ipynb", Refusal.DAMAGED),
        (json.dumps({"cells": []}).encode(), "a.ipynb", Refusal.NO_TEXT),
        (b'{"cells": [], "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "a.ipynb", Refusal.TOO_DEEP),
        (b"<html><body><img src=x></body></html>", "a.html", Refusal.NO_TEXT),
        (b"<div>" * 5_000 + b"deep", "a.html", Refusal.TOO_DEEP),
        (b"words only", "a.rtf", Refusal.DAMAGED),
        (b"words only, no header", "a.eml", Refusal.DAMAGED),
    ],
)
def test_what_cannot_be_read_is_refused_for_its_reason(data: bytes, name: str, reason: Refusal) -> None:
    assert refusal(data, name) is reason


def test_too_much_text_is_refused() -> None:
    assert refusal(b"x" * 20_000_001, "a.txt") is Refusal.TOO_MUCH_TEXT
    assert refusal(b"x" * 80_000_001, "a.md") is Refusal.TOO_MUCH_TEXT
    assert len(parsed(b"x" * 20_000_000, "a.txt").text) == 20_000_000
