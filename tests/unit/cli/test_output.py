"""The shapes of the command line."""

from hypothesis import given
from hypothesis import strategies as st

from atlas_desktop.cli.output import SHORTEST_ID, short_ids

IDS = st.lists(st.text("0123456789abcdef-", min_size=20, max_size=20), unique=True, max_size=30)


@given(IDS, st.text("01a2", max_size=18))
def test_the_id_of_a_list_names_one_only(endings: list[str], beginning: str) -> None:
    ids = [beginning + one for one in endings]
    short = short_ids(ids)
    assert set(short) == set(ids)
    for one, shown in short.items():
        assert len(shown) >= SHORTEST_ID
        assert [other for other in ids if other.startswith(shown)] == [one]
