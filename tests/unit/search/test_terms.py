"""The piece of a text that shows best why it was found."""

from hypothesis import given
from hypothesis import strategies as st

from memory.search.terms import merged, snippet

_TEXTS = st.text(alphabet="abc \n\t京́", max_size=400)
_RANGES = st.lists(st.tuples(st.integers(0, 400), st.integers(1, 20)), max_size=12)


def test_the_stretch_with_most_marks_is_shown() -> None:
    text = f"heron {'x ' * 200}heron and\n\n heron again {'y ' * 200}"
    marks = tuple((at, at + 5) for at in range(len(text)) if text.startswith("heron", at))
    found = snippet(text, marks)
    assert "heron and heron again" in found.text
    assert found.text[0] == found.text[-1] == "…"
    assert [found.text[a:b] for a, b in found.marks] == ["heron", "heron"]


def test_a_short_text_is_shown_whole() -> None:
    assert snippet("one\ntwo", ((4, 7),)).text == "one two"
    assert snippet("one\ntwo", ((4, 7),)).marks == ((4, 7),)
    assert snippet("", ()).text == ""


@given(_TEXTS, _RANGES)
def test_marks_show_the_same_words_on_one_line(text: str, given_marks: list[tuple[int, int]]) -> None:
    marks = merged([(at, min(at + width, len(text))) for at, width in given_marks if at < len(text)])
    found = snippet(text, marks, 80)
    assert len(found.text) <= 80 + 2
    assert "\n" not in found.text
    ends = [place for mark in found.marks for place in mark]
    assert ends == sorted(ends)
    assert all(0 <= a < b <= len(found.text) for a, b in found.marks)
    shown = ["".join(found.text[a:b].split()) for a, b in found.marks]
    meant = ["".join(text[a:b].split()) for a, b in marks]
    assert all(any(one in whole for whole in meant) for one in shown)
