"""Guesses of the next tokens, and when they stop."""

from collections.abc import Sequence

import pytest

from models.llamacpp.speculation import BATCHES, BatchCosts, DraftRecord, PromptLookup, Speculation

PASSAGE = list(range(100, 140))


def cheap() -> BatchCosts:
    """A batch that takes hardly longer than one token."""
    costs = BatchCosts()
    for _ in range(5):
        costs.took(1, 1.0)
        for size in BATCHES:
            costs.took(size, 1.2)
    return costs


def write(speculation: Speculation, reply: Sequence[int]) -> list[int]:
    """Says a reply as the generation does; returns how many guesses were evaluated at each step."""
    sizes, at = [], 0
    speculation.said(reply[0])
    while at < len(reply) - 1:
        guessed = speculation.guess(len(reply) - at - 1)
        sizes.append(len(guessed))
        right = 0
        while right < len(guessed) and guessed[right] == reply[at + 1 + right]:
            right += 1
        for token in reply[at + 1 : at + 1 + right + 1]:
            speculation.said(token)
        speculation.accepted += right
        at += right + 1
    return sizes


def test_a_guess_is_what_followed_the_same_tokens() -> None:
    lookup = PromptLookup([1, 2, 3, 4, 5, 6, 9, 1, 2])
    assert lookup.guess(4) == []
    lookup.append(3)
    assert (lookup.agreed, lookup.guess(3)) == (3, [4, 5, 6])


def test_the_newest_place_counts_and_a_quotation_goes_on_at_its_place() -> None:
    lookup = PromptLookup([1, 2, 3, 4, 0, 1, 2, 3, 5, 6, 0, 1, 2, 3])
    assert lookup.guess(2) == [5, 6]
    lookup.append(5)
    assert (lookup.guess(1), lookup.agreed) == ([6], 5)
    lookup.append(7)
    assert lookup.guess(1) == []


def test_tokens_before_the_three_that_agree_are_counted_too() -> None:
    assert PromptLookup([*PASSAGE[:10], 7, *PASSAGE[2:8]]).agreed == 6


@pytest.mark.parametrize("tokens", [[], [1], [1, 1, 1], [1, 2, 3]])
def test_nothing_is_guessed_from_too_little(tokens: list[int]) -> None:
    assert PromptLookup(tokens).guess(5) == []


def test_a_loop_continues() -> None:
    assert PromptLookup([1, 2, 3, 1, 2, 3, 1]).guess(10) == [2, 3, 1]


def test_a_quotation_is_written_in_few_steps() -> None:
    speculation = Speculation([*PASSAGE, 1, 2], cheap())
    sizes = write(speculation, PASSAGE)
    assert len(sizes) <= 8
    assert speculation.accepted >= 28


def test_a_reply_that_repeats_nothing_is_written_token_by_token() -> None:
    speculation = Speculation(PASSAGE, cheap())
    assert set(write(speculation, range(500, 560))) == {0}


def test_guesses_that_are_always_wrong_end() -> None:
    """Three tokens of the passage return again and again, and something else follows."""
    speculation = Speculation(PASSAGE, cheap())
    reply = [token for at in range(30) for token in (*PASSAGE[at : at + 3], 1000 + at)]
    sizes = write(speculation, reply)
    assert sum(sizes[-40:]) == 0
    assert speculation.accepted < 30


def test_nothing_is_guessed_where_batches_cost_as_much_as_single_tokens() -> None:
    costs = BatchCosts()
    for _ in range(5):
        costs.took(1, 1.0)
        for size in BATCHES:
            costs.took(size, float(size))
    assert set(write(Speculation([*PASSAGE, 1], costs), PASSAGE)) == {0}


def test_one_slow_batch_does_not_end_the_guesses() -> None:
    costs = BatchCosts()
    costs.took(1, 1.0)
    costs.took(8, 50.0)
    assert costs.of(8) < 8
    costs.took(8, 50.0)
    assert costs.of(8) == 50


def test_no_more_is_guessed_than_asked_for() -> None:
    speculation = Speculation([*PASSAGE, 1, *PASSAGE[:14]], cheap())
    assert speculation.guess(15) == PASSAGE[14:29]
    assert speculation.guess(5) == PASSAGE[14:17]
    assert speculation.guess(2) == []


def drafted(record: DraftRecord, *, right: bool, times: int = 40) -> DraftRecord:
    for _ in range(times):
        record.judged(right=right)
    return record


def test_a_draft_model_that_is_right_guesses_more() -> None:
    costs = cheap()
    assert drafted(DraftRecord(), right=True).length(costs, 15) == 15
    assert drafted(DraftRecord(), right=True).length(costs, 6) == 3
    assert drafted(DraftRecord(), right=False).length(costs, 15) == 0


def test_a_slow_draft_model_does_not_guess() -> None:
    record = drafted(DraftRecord(), right=True)
    for _ in range(20):
        record.took(0.9)
    assert record.length(cheap(), 15) == 0


def test_a_draft_model_that_was_given_up_is_tried_again_after_some_replies() -> None:
    record, costs = drafted(DraftRecord(), right=False), cheap()
    replies = 0
    while not record.length(costs, 15):
        Speculation([1, 2, 3], costs, record)
        replies += 1
        assert replies < 40
    assert replies > 2


def test_what_was_guessed_after_a_wrong_token_is_not_judged() -> None:
    record, expected = DraftRecord(), DraftRecord()
    speculation = Speculation([1, 2, 3], cheap(), record)
    expected.begin()
    for _ in range(30):
        speculation.guessed([7, 8, 9])
        # The second is wrong, and the third is right by chance.
        for token in (7, 5, 9):
            speculation.said(token)
        expected.judged(right=True)
        expected.judged(right=False)
    assert record == expected
