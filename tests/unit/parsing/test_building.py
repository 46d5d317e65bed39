import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing import building
from atlas_desktop.parsing.building import TextBuilder, one_line, tidy
from atlas_desktop.parsing.protocol import Unreadable
from atlas_desktop.services.cleaning import clean
from memory.documents.entities import Table

ANY_TEXT = st.text(st.characters() | st.sampled_from("\n\r\t \f\v\0\x1b\u2028\ud800"))


@given(ANY_TEXT)
def test_tidy_text_follows_all_rules(text: str) -> None:
    tidied = tidy(text)
    assert clean(tidied) == tidied
    assert "\r" not in tidied
    assert re.search(r"[^\S\n](\n|\Z)", tidied) is None
    assert "\n\n\n\n" not in tidied
    assert tidied.strip("\n") == tidied
    assert tidy(tidied) == tidied
    assert tidied.encode().decode() == tidied


def test_tidying_keeps_words_lines_and_letters() -> None:
    assert (
        tidy("\n\ufeffa \t\r\nb\rc\fd\n\n\n\n\n  e\t|\u00a0\n\ud800\n")
        == "\ufeffa\nb\nc\nd\n\n\n  e\t|\n\ufffd"
    )
    assert tidy("e\u0301 \u00e9") == "e\u0301 \u00e9"


def test_many_spaces_are_tidied_in_linear_time() -> None:
    assert tidy(" " * 2_000_000 + "x \n") == " " * 2_000_000 + "x"


def test_a_title_is_one_short_line() -> None:
    assert one_line(" a\n\x1bb \u202e") == "a b"
    assert len(one_line("x" * 10_000_000)) == 300


def test_pages_headings_and_tables_have_exact_places() -> None:
    builder = TextBuilder()
    builder.page()
    builder.page()
    builder.heading(1, "One")
    builder.paragraph("a")
    builder.paragraph("b", close=True)
    builder.page()
    builder.page()
    builder.table([["", ""], ["h", "i"], ["x \n y", "", ""], ["|"]])
    builder.page()
    text = builder.result()
    assert text.text == "One\n\na\nb\n\nh | i\nx y\n|"
    assert text.pages == (0, 0, 10, 10, 21)
    assert text.blank_pages == (1, 3, 5)
    assert text.tables == (Table(10, 21, 15),)
    assert (text.headings[0].begin, text.title) == (0, "One")


def test_of_a_long_heading_no_text_is_lost() -> None:
    builder = TextBuilder()
    builder.heading(1, "word " * 1_000)
    text = builder.result()
    assert text.text == ("word " * 1_000).rstrip()
    assert len(text.headings[0].text) <= 300
    assert text.text.startswith(text.headings[0].text)


@given(st.lists(st.lists(ANY_TEXT, max_size=3), min_size=1, max_size=8))
def test_every_page_begins_with_its_first_text(pages: list[list[str]]) -> None:
    builder = TextBuilder()
    firsts: list[str] = []
    for texts in pages:
        builder.page()
        for text in texts:
            builder.paragraph(text)
        firsts.append(next((tidy(text) for text in texts if tidy(text).strip()), ""))
    if not any(firsts):
        with pytest.raises(Unreadable):
            builder.result()
        return
    made = builder.result()
    assert len(made.pages) == len(pages)
    assert list(made.pages) == sorted(made.pages)
    assert made.blank_pages == tuple(n for n, first in enumerate(firsts, 1) if not first)
    for begin, first in zip(made.pages, firsts, strict=True):
        assert made.text[begin:].startswith(first)


def test_there_is_an_end_to_text_and_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "MOST_CHARACTERS", 10)
    monkeypatch.setattr(building, "MOST_PAGES", 2)
    builder = TextBuilder()
    builder.page()
    builder.page()
    with pytest.raises(Unreadable) as pages:
        builder.page()
    builder.paragraph("12345")
    with pytest.raises(Unreadable) as text:
        builder.paragraph("6789")
    assert (pages.value.reason, pages.value.limit) == (Refusal.TOO_MANY_PAGES, 2)
    assert (text.value.reason, text.value.limit) == (Refusal.TOO_MUCH_TEXT, 10)
