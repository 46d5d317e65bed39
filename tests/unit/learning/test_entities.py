"""Evidence: no text passes that says more than the words it quotes."""

from hypothesis import assume, given
from hypothesis import strategies as st

from memory.learning.entities import Utterance, found, normal, supported
from memory.learning.reader import read
from tests.unit.learning.test_reader import SAID_AT

WORDS = st.sampled_from(
    [
        "harbour",
        "nurse",
        "Graz",
        "14",
        "olives",
        "hates",
        "bicycle",
        "quietly",
        "never",
        "Maja",
        "3.50",
        "lives",
        "in",
        "a",
    ]
)
PROSE = st.lists(WORDS, min_size=3, max_size=12).map(" ".join)
SPACE = st.sampled_from([" ", "  ", "\n", "\t "])


@given(PROSE, st.data())
def test_any_stretch_of_a_message_is_found_whatever_its_white_space(
    message: str, data: st.DataObject
) -> None:
    words = message.split()
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    quote = data.draw(SPACE).join(words[start:end])
    assert found(quote, message)
    assert supported(" ".join(words[start:end]), quote, message)


@given(PROSE, PROSE)
def test_what_is_found_stands_there_letter_by_letter(quote: str, message: str) -> None:
    assert found(quote, message) == (" ".join(quote.split()) in " ".join(message.split()))


@given(PROSE, st.sampled_from(["piano", "Oslo", "77", "twelve"]))
def test_a_word_a_name_or_a_number_that_was_not_said_is_refused(message: str, foreign: str) -> None:
    assume(foreign not in message)
    assert not supported(f"{message} {foreign}", message, message)


def test_what_was_denied_is_not_evidence_of_the_contrary() -> None:
    said = "I never live in Graz"
    assert supported(said, said, said)
    assert not supported("I live in Graz", said, said)
    assert not supported("", "", said)


@given(st.text(max_size=200) | PROSE.map(lambda text: f"I like {text}. My sister {text}!"))
def test_whatever_is_written_every_candidate_has_its_evidence(message: str) -> None:
    for one in read(Utterance("m", "s", message, SAID_AT)):
        assert found(one.quote, message)
        assert supported(one.text, one.quote, message)
        assert 0 < one.confidence <= 1
        assert 0 < one.importance <= 1


@given(PROSE)
def test_texts_are_compared_without_case_and_marks(text: str) -> None:
    assert normal(f"  {text.upper()}! ") == normal(text.lower())
