"""Whether a model can read a script is told by how alike unrelated sentences are to it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memory.recall.entities import QueryVector
from memory.recall.question import LATIN, SCRIPTS, QueryEmbedder, readable, script_of


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("What did I buy?", None),
        ("¿Qué compré?", None),
        ("", None),
        ("12345 ?!", None),
        ("我买了什么？", "han"),
        ("私のiPhoneはどこですか", "kana"),
        ("iPhone 13 Pro Max 在哪", None),
        ("iPhone在哪里买的呢", "han"),
        ("학교에 갔어요", "hangul"),
        ("ไปไหนมา", "thai"),
        ("Где книга?", "cyrillic"),
        ("हम कहाँ गए", "devanagari"),
        ("أين كتابي", "arabic"),
        ("איפה הספר", "hebrew"),
        ("πού πήγα", "greek"),
    ],
)
def test_the_script_of_most_letters(text: str, script: str | None) -> None:
    assert script_of(text) == script


def test_the_sentences_of_a_script_are_of_that_script() -> None:
    assert {script_of(sentence) for sentence in LATIN} == {None}
    for name, (_, sentences) in SCRIPTS.items():
        assert len(sentences) == len(LATIN)
        # Some Japanese sentences have more kanji than kana.
        assert {script_of(sentence) for sentence in sentences} - {"han"} == {name} - {"han"}


@given(arrays(float, (4, 8), elements=st.floats(-1, 1)))
def test_a_script_as_clear_as_latin_letters_is_read(
    rows: "np.ndarray[tuple[int, int], np.dtype[np.float64]]",
) -> None:
    rows = rows + 0.01 * np.eye(4, 8)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert readable(rows, rows) or np.allclose(rows, rows[0])
    assert not readable(np.repeat(np.eye(1, 8), 4, 0), np.eye(4, 8))


class Blind:
    """Sees nothing but the sign for the unknown in texts that are not ASCII."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def vector(self, text: str) -> QueryVector | None:
        self.asked.append(text)
        place = LATIN.index(text) if text in LATIN else 5
        return QueryVector("m", tuple(np.eye(6)[place].tolist()))


async def test_a_question_in_an_unreadable_script_has_no_vector() -> None:
    blind = Blind()
    embedder = QueryEmbedder(blind)
    assert await embedder.of("我买了什么？", "m") is None
    assert await embedder.of("What did I buy?", "m") is not None
    asked = len(blind.asked)
    assert await embedder.of("我住哪？", "m") is None
    assert len(blind.asked) == asked
    assert await embedder.of("我住哪？", "another") is None
    assert await QueryEmbedder(blind, refined=False).of("我住哪？", "m") is not None
