"""Dates as people say them."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from atlas_desktop.tui.calendar import GROUPS, group_of, long, short

NOW = datetime(2026, 3, 12, 15, 30, tzinfo=UTC)


def ago(**span: float) -> datetime:
    return NOW - timedelta(**span)


def test_groups_follow_the_calendar_not_the_clock() -> None:
    assert group_of(ago(hours=15), NOW) == "Today"
    assert group_of(ago(hours=16), NOW) == "Yesterday"
    assert group_of(ago(days=2), NOW) == "This week"
    assert group_of(ago(days=6), NOW) == "This week"
    assert group_of(ago(days=7), NOW) == "Older"
    assert group_of(NOW + timedelta(hours=30), NOW) == "Today"


def test_groups_are_those_of_the_persons_time_zone() -> None:
    tokyo = timezone(timedelta(hours=9))
    moment = datetime(2026, 3, 11, 16, tzinfo=UTC)
    assert group_of(moment, NOW) == "Yesterday"
    assert group_of(moment, datetime(2026, 3, 12, 12, tzinfo=tokyo)) == "Today"


def test_short_and_long_forms() -> None:
    assert short(ago(hours=2), NOW) == "13:30"
    assert short(ago(days=1), NOW) == "Wed"
    assert short(ago(days=40), NOW) == "31 Jan"
    assert short(ago(days=400), NOW) == "Feb 2025"
    assert long(ago(hours=2), NOW) == "13:30"
    assert long(ago(days=1), NOW) == "Yesterday 15:30"
    assert long(ago(days=3), NOW) == "Mon 15:30"
    assert long(ago(days=400), NOW) == "5 Feb 2025 15:30"


@given(st.integers(min_value=-(30 * 365 * 86_400), max_value=30 * 365 * 86_400))
def test_every_moment_has_a_group_and_a_short_form(seconds: int) -> None:
    moment = NOW + timedelta(seconds=seconds)
    assert group_of(moment, NOW) in GROUPS
    assert 1 <= len(short(moment, NOW)) <= 8
