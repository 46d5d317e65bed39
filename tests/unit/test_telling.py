"""The sessions by which continuity is measured are what they say they are."""

import pytest

from benchmarks.telling import GAP, WEIGHTY, Kind, Talk, holds, talk


@pytest.fixture(scope="module", params=["first", "second"])
def given(request: pytest.FixtureRequest) -> Talk:
    return talk(request.param)


def test_what_is_told_is_asked_for_so_many_turns_later(given: Talk) -> None:
    asked = [(at, said.case) for at, said in enumerate(given.turns) if said.asks]
    assert len(asked) == len({case for _, case in asked})
    for at, case in asked:
        told = given.turns[at - GAP]
        assert case is not None
        assert told.case is case
        assert holds(told.text, case.answer)
        assert not holds(case.asked, case.answer)


def test_an_answer_is_said_once(given: Talk) -> None:
    for case in {said.case for said in given.turns if said.case}:
        assert sum(holds(said.text, case.answer) for said in given.turns) == 1
        assert not any(holds(reply, case.answer) for reply in given.replies)


def test_there_are_enough_of_each_kind() -> None:
    cases = [said.case for said in talk("first").turns if said.asks and said.case]
    assert len(cases) >= 120
    assert sum(case.kind in WEIGHTY for case in cases) >= 60
    assert sum(case.kind is Kind.PLAIN for case in cases) >= 40


def test_the_same_seed_gives_the_same_session() -> None:
    assert talk("first") == talk("first")
    assert talk("first") != talk("first", seed=8)


@pytest.mark.parametrize(
    ("text", "answer", "held"),
    [
        ("It costs 7450 euros.", "7,450", True),
        ("It costs 17,450 euros.", "7,450", False),
        ("ask  the HOFFMANNS", "the Hoffmanns", True),
        ("the corks", "cork", False),
    ],
)
def test_holds(text: str, answer: str, held: bool) -> None:
    assert holds(text, answer) is held
