from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from models.llamacpp.jobs import TextStream

texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    marks = sorted({min(p, len(data)) for p in places} | {0, len(data)})
    return [data[a:b] for a, b in pairwise(marks)]


@given(texts, st.lists(st.integers(0, 240), max_size=20))
def test_whole_text_comes_out_however_it_is_cut(text: str, places: list[int]) -> None:
    stream = TextStream()
    pieces = [stream.feed(part) for part in cut(text.encode(), places)]
    assert "".join(pieces) + stream.finish() == text
    assert all("\ufffd" not in piece for piece in pieces) or "\ufffd" in text


@given(
    st.text("ab<|>", max_size=40),
    st.lists(st.text("ab<|>", min_size=1, max_size=4), max_size=3),
    st.lists(st.integers(0, 40), max_size=20),
)
def test_nothing_past_the_first_stop_sequence_comes_out(
    text: str, stop: list[str], places: list[int]
) -> None:
    stream = TextStream(stop)
    said = "".join(stream.feed(part) for part in cut(text.encode(), places)) + stream.finish()
    assert text.startswith(said)
    assert not any(s in said for s in stop)
    if not any(s in text for s in stop):
        assert said == text
        assert not stream.stopped


def test_an_end_that_may_become_a_stop_sequence_is_held_back() -> None:
    stream = TextStream(["<end>"])
    assert stream.feed(b"hello <e") == "hello "
    assert stream.feed(b"gg>") == "<egg>"
    assert stream.feed(b"<end> more") == ""
    assert stream.stopped


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    stream = TextStream()
    assert stream.feed(b"a\xff\xfeb") == "a\ufffd\ufffdb"
    assert stream.feed("é".encode()[:1]) == ""
    assert stream.finish() == "\ufffd"
