"""What is compared of two sentences."""

import pytest

from memory.documents.statements import Day, Statement, contradicts


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("6,250 litres", "6250 litres", True),
        ("4.2 million euros", "€4,200,000", True),
        ("4.2 million", "4.2 billion", False),
        ("twenty-five people", "25 people", True),
        ("12 %", "12 percent", True),
        ("417", "471", False),
        ("40 bar", "40 psi", False),
        ("from 5", "to 5", False),
        ("at least 3", "at most 3", False),
        ("1 234 567", "1,234,567", True),
    ],
)
def test_numbers_are_compared_by_value_and_unit(one: str, other: str, same: bool) -> None:
    (first,), (second,) = Statement(one).quantities, Statement(other).quantities
    assert first.agrees(second) is second.agrees(first) is same


@pytest.mark.parametrize(
    "text",
    [
        "3 March 2024",
        "March 3rd, 2024",
        "2024-03-03",
        "am 3. März 2024",
        "le 3 mars 2024",
        "3 de marzo de 2024",
        "2024年3月3日",
        "3.3.2024",
    ],
)
def test_dates_are_read_in_words_and_digits(text: str) -> None:
    statement = Statement(f"It began {text}.")
    assert Day(2024, 3, 3) in statement.days[0]
    assert statement.quantities == ()


def test_a_date_is_within_a_more_exact_one() -> None:
    assert Day(2024, 3, None).within(Day(2024, 3, 5))
    assert not Day(2024, 3, 5).within(Day(2024, 3, None))
    assert Day(2024, 4, 3) in Statement("on 3/4/2024").days[0]
    assert Day(2024, 3, 4) in Statement("on 3/4/2024").days[0]


def test_opposites_contradict_each_other() -> None:
    assert contradicts(Statement("Revenue fell."), Statement("Revenue rose."))
    assert contradicts(Statement("Report it before delivery."), Statement("Report it after delivery."))
    assert not contradicts(Statement("Revenue rose."), Statement("Revenue rose after it fell."))
    assert not contradicts(Statement("Revenue rose."), Statement("Revenue was stable."))


def test_a_command_is_no_name() -> None:
    assert Statement("Download the archive.").names == ()
    assert Statement("Ada Berg leads the team.").names == ("ada", "berg")
