import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_desktop.services.sessions import number_of, numbered, without_number


@pytest.mark.parametrize(
    ("title", "taken", "made"),
    [
        ("Tides", [], "Tides (2)"),
        ("Tides", ["Tides (2)", "Tides (3)"], "Tides (4)"),
        ("Tides (2)", ["Tides (2)"], "Tides (3)"),
        ("The year (1984)", ["The year (1984)"], "The year (1984) (2)"),
        ("Tides (a draft)", [], "Tides (a draft) (2)"),
    ],
)
def test_a_title_gets_the_first_number_that_is_free(title: str, taken: list[str], made: str) -> None:
    assert numbered(title, taken) == made


@given(st.text(), st.integers(1, 20))
def test_each_copy_of_a_copy_has_a_title_of_its_own(title: str, copies: int) -> None:
    titles = [title]
    for _ in range(copies):
        titles.append(numbered(titles[-1], titles))
    assert len(set(titles)) == copies + 1
    assert all(without_number(each) + number_of(each) == each for each in titles)
