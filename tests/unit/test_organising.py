"""Tags are suggested by what a person has tagged herself, categories by meaning, groups by both."""

import numpy as np

from memory.insights import clusters
from memory.organising import Filed, Tagger, examples, nearest

GARDEN = ("planting tomatoes in spring soil", "soil and compost for tomatoes", "tomatoes need water and soil")
CODE = ("python function raises exception", "exception in python import", "python exception traceback import")


def filed(
    number: int, words: str, *tags: str, rejected: tuple[str, ...] = (), at: int | None = None
) -> Filed:
    """`at` says which of a few directions the session's vector points to."""
    vector = None
    if at is not None:
        numbers = np.full(8, 0.05, dtype="<f4")
        numbers[at] = 1.0
        numbers[7] = 0.02 * number
        vector = (numbers / np.linalg.norm(numbers)).astype("<f4").tobytes()
    return Filed(str(number), words, tags, "", locked=False, vector=vector, rejected=rejected)


TAGGED = [filed(n, words, "garden") for n, words in enumerate(GARDEN)]
TAGGED += [filed(10 + n, words, "code") for n, words in enumerate(CODE)]


def test_a_session_gets_the_tag_of_those_that_are_like_it() -> None:
    tagger = Tagger(TAGGED)
    assert list(tagger.suggest(filed(20, "which soil for my tomatoes"))) == ["garden"]
    assert list(tagger.suggest(filed(21, "import fails with an exception in python"))) == ["code"]
    assert tagger.suggest(filed(22, "a film for tonight")) == {}
    assert tagger.suggest(filed(23, "")) == {}


def test_meaning_counts_where_no_word_is_the_same() -> None:
    tagged = [filed(n, words, "garden", at=0) for n, words in enumerate(GARDEN)]
    tagged += [filed(10 + n, words, "code", at=1) for n, words in enumerate(CODE)]
    assert list(Tagger(tagged).suggest(filed(20, "rosen", at=0))) == ["garden"]


def test_what_it_has_or_was_rejected_is_not_suggested() -> None:
    tagger = Tagger(TAGGED)
    words = "which soil for my tomatoes"
    assert tagger.suggest(filed(20, words, "garden")) == {}
    assert tagger.suggest(filed(20, words, rejected=("garden",))) == {}


def test_a_session_does_not_speak_for_itself() -> None:
    alone = filed(30, "knitting a scarf", "wool")
    assert "wool" not in Tagger([*TAGGED, alone]).suggest(filed(30, "knitting a scarf"))
    assert Tagger([]).suggest(alone) == {}


def test_a_category_must_lead() -> None:
    known = {"a": [[1.0, 0.0], [0.9, 0.4359]], "b": [[0.0, 1.0]], "": [[-1.0, 0.0]]}
    assert nearest(np.array([1.0, 0.0], dtype=np.float32), known) == "a"
    assert nearest(np.array([-1.0, 0.0], dtype=np.float32), known) == ""
    assert nearest(np.array([0.6, 0.8], dtype=np.float32), {"a": [[0.6, 0.8]], "b": [[0.61, 0.79]]}) == ""
    assert nearest(np.array([0.0, -1.0], dtype=np.float32), known) == ""
    assert nearest(np.array([1.0, 0.0], dtype=np.float32), {}) == ""


def test_every_category_has_examples() -> None:
    found = examples()
    assert len(found) > 10
    assert all(len(texts) >= 4 for texts in found.values())
    assert "" in found


def test_groups_are_named_by_their_own_words() -> None:
    sessions = [filed(n, GARDEN[n % 3], at=0) for n in range(6)]
    sessions += [filed(10 + n, CODE[n % 3], at=1) for n in range(5)]
    first, second = clusters(sessions)
    assert set(first.session_ids) == {str(n) for n in range(6)}
    assert first.words[:2] == ("soil", "tomatoes")
    assert len(second.session_ids) == 5
    assert "python" in second.words
    assert clusters(sessions) == clusters(sessions)
    assert clusters(sessions[:5]) == []
    assert clusters([filed(n, "no vector") for n in range(20)]) == []
