"""How much is learned in each language, from made-up dialogues whose facts are known."""

from datetime import UTC, datetime

import pytest

from benchmarks.dialogues import Half, dialogues
from memory.learning.entities import Utterance
from memory.learning.memory_writer import claim, supersedes
from memory.learning.reader import asked_to_remember, read

SAID_AT = datetime(2026, 3, 4, 15, tzinfo=UTC)
LEAST = 0.85
"""The F1 that each language reaches with phrasings that the patterns were not written for."""


def f1(language: str) -> float:
    told = facts = right = memories = 0
    for dialogue in dialogues(Half.HELD_OUT, 40, language=language):
        known = {fact.turn: fact for fact in dialogue.facts}
        for turn, said in enumerate(dialogue.said):
            found = [
                one.text.casefold() for one in read(Utterance("m", "s", said, SAID_AT)) if not one.only_ends
            ]
            fact = known.get(turn)
            words = [word.casefold() for word in fact.words] if fact else []
            facts += fact is not None
            told += any(words and all(word in text for word in words) for text in found)
            # The first half of an update is a fact as well, which the second replaces.
            if turn in dialogue.distractors or fact is not None:
                memories += len(found)
                right += sum(any(word in text for word in words) for text in found)
    precision, recall = right / memories, told / facts
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "zh"])
def test_what_is_told_in_a_language_is_learned(language: str) -> None:
    assert f1(language) >= LEAST


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Ich wohne in Graz.", "Wir sind von Graz nach Bergen gezogen."),
        ("Seit 2011 wohne ich in Graz.", "Ich wohne jetzt in Bergen."),
        ("Je suis jardinier.", "Je travaille maintenant comme traducteur."),
        ("Vivo en Quito.", "Nos mudamos de Quito a Bilbao."),
        ("我住在南京。", "我搬到成都了。"),
        ("我是一名园丁。", "我现在是一名护士。"),
    ],
)
def test_news_replaces_what_was_told_before(before: str, after: str) -> None:
    assert supersedes(claim(after), claim(before))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Ich wohne in Graz.", "Ich liebe Graz."),
        ("Je parle portugais.", "J'apprends le turc."),
        ("我住在成都。", "我喜欢成都。"),
    ],
)
def test_what_can_both_be_so_stays(before: str, after: str) -> None:
    assert not supersedes(claim(after), claim(before))


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("请帮我记一下，饼干要吃3片药。", "饼干要吃3片药。"),
        ("Denk daran, dass Otto 3 Tabletten bekommt.", "Otto 3 Tabletten bekommt."),
        ("Ten en cuenta que Otto toma 3 pastillas.", "Otto toma 3 pastillas."),
    ],
)
def test_wishes_to_remember(said: str, text: str) -> None:
    (one,) = asked_to_remember(Utterance("m", "s", said, SAID_AT))
    assert one.text == text
