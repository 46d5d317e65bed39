"""The language of a question, its small words, and the other forms of its words."""

import numpy as np
import pytest

from memory.entities import NewMessage, NewSession
from memory.memories.entities import MemoryKind, MemoryOrigin, MemoryState, MemoryTier, NewMemory
from memory.recall.engine import RecallEngine
from memory.recall.entities import RecallQuery
from memory.recall.feature_builder import Places, merged
from memory.recall.words import beginning, forms, language_of, without_small_words
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wo wohnt meine Schwester?", "de"),
        ("Was habe ich über die Katzen gesagt?", "de"),
        ("¿Dónde vive mi hermana?", "es"),
        ("¿Qué dije de los gatos?", "es"),
        ("Où habite ma sœur ?", "fr"),
        ("Qu'est-ce que j'ai dit des chats ?", "fr"),
        ("Where does my sister live?", None),
        ("What was it that I said about the cats in the garden?", None),
        ("Which die did I use, and was the mold any good?", None),
        ("Tromsø", None),
        ("我住在哪里？", None),
        ("", None),
    ],
)
def test_the_language_of_a_question(text: str, language: str | None) -> None:
    assert language_of(text) == language


def test_small_words_are_left_out_unless_there_is_nothing_else() -> None:
    assert without_small_words("Wo schläft meine Katze?", "de").split() == ["schläft", "Katze?"]
    assert without_small_words("Wer bist du?", "de") == "Wer bist du?"


def test_forms_have_one_stem_in_the_language() -> None:
    known = ["katz", "katzen", "katalog", "katharina"]
    assert forms("katzen", known, "de") == ("katz",)
    assert forms("hermana", ["hermano", "hermoso"], "es") == ("hermano",)
    assert beginning("katzen", "de") == "kat"
    assert beginning("ei", "de") is None
    assert beginning("a1b2", "de") is None


def test_places_of_forms_count_together() -> None:
    def at(term: str, *rows: int, common: bool = False) -> Places:
        return Places(term, np.array(rows), np.ones(len(rows)), common)

    found = merged([at("katzen", 1, 3), at("katz", 3, 5), at("hund", 2)], {"katzen": ("katz",)})
    known = {one.term: one for one in found}
    assert set(known) == {"katzen", "hund"}
    assert known["katzen"].rows.tolist() == [1, 3, 5]
    assert known["katzen"].counts.tolist() == [1, 2, 1]
    absent = merged([at("katz", 5)], {"katzen": ("katz",)})
    assert [(one.term, one.rows.tolist()) for one in absent] == [("katzen", [5])]


async def test_a_question_finds_other_forms_of_its_words() -> None:
    store = InMemoryStore()
    for text in (
        "Unsere Katzen schlafen auf dem Dachboden.",
        "Wo ist mein Ladekabel, das ist schon wieder weg.",
        "The garden needs water, and I have no time.",
    ):
        await store.create_session(NewSession("a"), NewMessage(Role.USER, text))
    engine = RecallEngine(store.evidence, FakeClock())
    hits = await engine.recall(RecallQuery("Wo schläft meine Katze?", k=3))
    assert hits[0].text.startswith("Unsere Katzen")


async def test_memories_are_found_by_other_forms_as_well() -> None:
    store = InMemoryStore()
    for text in ("Meine Katzen heißen Otto und Ida.", "Mein Rechner ist wieder da."):
        await store.memories.add(
            NewMemory(
                kind=MemoryKind.FACT,
                text=text,
                origin=MemoryOrigin.PERSON,
                tier=MemoryTier.LONG_TERM,
                state=MemoryState.KEPT,
            ),
            action="test",
        )
    engine = RecallEngine(store.evidence, FakeClock())
    hits = await engine.recall(RecallQuery("Wie heißt meine Katze?", k=2, kinds=frozenset({"memory"})))
    assert hits[0].text == "Meine Katzen heißen Otto und Ida."
