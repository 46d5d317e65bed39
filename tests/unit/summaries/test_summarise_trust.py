from memory.summaries.summarise import Trust


def asked(trust: Trust, passes: list[bool], model: str = "m") -> list[bool]:
    """Which of a row of summaries the model was asked for; `passes` is how it would have answered."""
    found = []
    for passed in passes:
        found.append(trust.worth_asking(model))
        if found[-1]:
            trust.note(model, passed=passed)
    return found


def test_a_model_that_fails_is_asked_ever_so_often_only() -> None:
    assert asked(Trust(patience=2, rest=4), [False] * 10) == [
        True,
        True,
        *[False] * 3,
        True,
        *[False] * 3,
        True,
    ]


def test_one_answer_that_passes_makes_it_worth_asking_again() -> None:
    passes = [False, False, False, False, False, True, False, True]
    assert asked(Trust(patience=2, rest=4), passes) == [True, True, False, False, False, True, True, True]


def test_models_are_judged_apart() -> None:
    trust = Trust(patience=1, rest=100)
    assert asked(trust, [False, False], "one") == [True, False]
    assert asked(trust, [False], "two") == [True]
