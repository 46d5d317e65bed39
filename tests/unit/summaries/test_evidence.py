import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.summaries.evidence import Evidence, names, numbers
from memory.summaries.languages import language, script


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000", "1000"),
        ("1.000", "1000"),
        ("1 000", "1000"),
        ("1'000", "1000"),
        ("1,234,567", "1234567"),
        ("1,234.50", "1234.5"),
        ("1.234,50", "1234.5"),
        ("3.5", "3,5"),
        ("007", "7"),
        ("１２", "12"),
        ("18:30", "18:30"),
        ("12", "twelve"),
        ("3", "drei"),
        ("555-0147", "5550147"),
        ("47-555-0147", "475550147"),
        ("B12", "b12"),
        ("1st", "1"),
        ("10km", "10 km"),
    ],
)
def test_one_number_written_in_two_ways(one: str, other: str) -> None:
    assert Evidence(f"it is {one} there").unknown_numbers(f"so {other} is it") == []


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("it costs 1,000", "it costs 100"),
        ("it costs 3.5", "it costs 35"),
        ("on 2026-11-22", "on 2026-11-23"),
        ("at 18:30", "at 18:45"),
        ("room B12", "room B13"),
        ("three cats", "four cats"),
        ("call 555-0147", "call 555-0148"),
        ("in 3 days at 5", "at 3:5"),
        ("nothing", "7"),
    ],
)
def test_numbers_that_are_not_in_the_source(source: str, text: str) -> None:
    assert len(Evidence(source).unknown_numbers(text)) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I went with Dana to Bergen.", ["Dana", "Bergen"]),
        ("Bob is ill. The dog is fine.", ["Bob"]),
        ("Planning is hard. Discussed the trip.", []),
        ("We read J. L. Carr", ["J", "L", "Carr"]),
        ("the NASA report, OK?", ["NASA"]),
        ("- Trip to Oslo\n- Food", ["Oslo"]),
        ("I'm sure I'll do it. Then I did.", []),
        ("Anna Berg asked", ["Anna", "Berg"]),
        (
            "Ich habe mit der Tante über die Wohnung von Inge geredet, sie ist nicht da.",
            ["Inge"],
        ),
    ],
)
def test_names_are_told_from_other_capitals(text: str, found: list[str]) -> None:
    assert names(text) == found


@pytest.mark.parametrize(
    ("source", "text", "unknown"),
    [
        ("my sister Dana comes", "User's sister Dana comes.", []),
        ("my sister Dana comes", "His sister Anna comes.", ["Anna"]),
        ("my sister dana comes", "The person said that DANA comes.", []),
        ("Dana’s dog", "The dog of Dana", []),
        ("on 3 Nov", "It is on November 3.", []),
        ("on 3 Nov", "It is in December.", ["December"]),
        ("a trip to Åland", "They go to Åland.", []),
        ("Straße", "die STRASSE", []),
        ("we plan", "- The Planning", []),
    ],
)
def test_names_are_looked_up_in_the_source(source: str, text: str, unknown: list[str]) -> None:
    assert Evidence(source, also="User").unknown_names(text) == unknown


@given(st.text(max_size=200))
def test_a_text_holds_its_own_names_and_numbers(text: str) -> None:
    own = Evidence(text)
    assert own.unknown_numbers(text) == []
    assert own.unknown_names(text) == []


@given(st.integers(0, 10**9), st.sampled_from([",", ".", " ", "'", "\u00a0", "\u202f"]))
def test_groups_of_thousands_change_nothing(value: int, mark: str) -> None:
    grouped = f"{value:,}".replace(",", mark)
    assert Evidence(f"it is {grouped} in all").unknown_numbers(f"all {value}") == []
    assert Evidence(f"it is {value} in all").unknown_numbers(f"all {grouped} of it") == []
    assert Evidence(f"it is {grouped} in all").unknown_numbers(f"all {value + 1}") != []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I have been to the sea and it was cold, but we are happy with what we saw", "en"),
        ("Ich habe nicht gewusst, dass der Zug auch am Sonntag fährt und wir ihn nehmen", "de"),
        ("Je ne sais pas si le train est là pour nous, mais les billets sont chers", "fr"),
        ("Bergen", None),
        ("", None),
    ],
)
def test_languages_are_told_by_their_small_words(text: str, found: str | None) -> None:
    assert language(text) == found


@pytest.mark.parametrize(
    ("text", "found"), [("hello", "LATIN"), ("привет", "CYRILLIC"), ("こんにちは世界", "CJK"), ("123", None)]
)
def test_scripts(text: str, found: str | None) -> None:
    assert script(text) == found


def test_numbers_of_a_text() -> None:
    assert numbers("two of 1,000") == [frozenset({"1000", "1.000"}), frozenset({"2"})]
