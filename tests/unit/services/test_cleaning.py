from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_desktop.services.cleaning import clean, clean_line


@pytest.mark.parametrize(
    ("dirty", "tidy"),
    [
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("\x1b]52;c;cGF5bG9hZA==\x07", "]52;c;cGF5bG9hZA=="),
        ("a\x9b31mb", "a31mb"),
        ("over\u202eride", "override"),
        ("iso\u2066late\u2069", "isolate"),
        ("keep\ttab\nand line", "keep\ttab\nand line"),
        ("return\r\n", "return\n"),
        ("\x00\x7f\x08", ""),
        ("line\u2028next", "line\nnext"),
        ("lone \ud83d half", "lone  half"),
        ("👩‍💻 é 漢字 \u200bzero", "👩‍💻 é 漢字 \u200bzero"),
    ],
)
def test_what_is_dropped_and_what_stays(dirty: str, tidy: str) -> None:
    assert clean(dirty) == tidy


@given(st.text(alphabet=st.characters()))
def test_nothing_steers_the_terminal(text: str) -> None:
    out = clean(text)
    assert not any((ord(c) < 0x20 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 for c in out)
    assert out.encode("utf-8").decode("utf-8") == out
    assert clean(out) == out


@given(st.text(alphabet=st.characters()), st.lists(st.integers(0, 100), max_size=6))
def test_a_stream_is_cleaned_like_the_whole(text: str, places: list[int]) -> None:
    marks = sorted({min(p, len(text)) for p in places} | {0, len(text)})
    pieces = [text[a:b] for a, b in pairwise(marks)]
    assert "".join(map(clean, pieces)) == clean(text)


@given(st.text(alphabet=st.characters()))
def test_a_title_is_one_line(text: str) -> None:
    line = clean_line(text)
    assert "\n" not in line
    assert "  " not in line
    assert line == line.strip()
