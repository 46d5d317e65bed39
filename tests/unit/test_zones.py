"""Days, and what is said of them, are those of the computer: with summer times, and in zones off the hour."""

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from atlas_desktop.tui.calendar import GROUPS, group_of, long
from memory.clock import LocalZone
from memory.entities import NewMessage, NewSession
from memory.recall.moments import spans
from memory.search.terms import span_of
from memory.storage.room import open_off_record
from models.messages import Role
from tests.fakes.clock import FakeClock

pytestmark = pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process cannot be set")

ZONES = ["Europe/Berlin", "America/St_Johns", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"]


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ZoneInfo]:
    """The zone of this process, which the computer knows as its own."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield ZoneInfo(request.param)
    monkeypatch.undo()
    time.tzset()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seconds=st.integers(631_152_000, 2_082_758_400))
@example(1_792_888_200)
@example(1_792_891_800)
def test_a_moment_is_called_what_the_zone_calls_it_and_comes_back(zone: ZoneInfo, seconds: int) -> None:
    """The examples are both half past two in Berlin, on the day that has two of them."""
    moment = datetime.fromtimestamp(seconds, UTC)
    here, known = moment.astimezone(LocalZone()), moment.astimezone(zone)
    assert (here.replace(tzinfo=None), here.fold) == (known.replace(tzinfo=None), known.fold)
    assert here.astimezone(UTC) == moment


@pytest.mark.parametrize("zone", ["Europe/Berlin"], indirect=True)
@pytest.mark.usefixtures("zone")
def test_what_was_said_in_summer_is_shown_in_winter_as_it_was_then() -> None:
    now = datetime(2026, 10, 26, 12, tzinfo=UTC).astimezone(LocalZone())
    # 23:30 in Berlin on Saturday, in summer time; the clocks went back on Sunday.
    said = datetime(2026, 10, 24, 21, 30, tzinfo=UTC)
    assert "23:30" in long(said, now)
    assert group_of(said, now) == GROUPS[2]
    assert group_of(datetime(2026, 10, 24, 22, 30, tzinfo=UTC), now) == GROUPS[1]


@pytest.mark.parametrize("zone", ["Europe/Berlin"], indirect=True)
@pytest.mark.usefixtures("zone")
def test_days_that_are_searched_for_begin_at_their_own_midnight() -> None:
    now = datetime(2026, 11, 2, 12, tzinfo=UTC).astimezone(LocalZone())
    summer = datetime(2026, 7, 13, 22, tzinfo=UTC), datetime(2026, 7, 14, 22, tzinfo=UTC)
    found = span_of("2026-07-14", now)
    assert found is not None
    assert tuple(moment.astimezone(UTC) for moment in found) == summer
    (span,) = spans("on 14 July 2026", now)
    assert (span.start.astimezone(UTC), span.end.astimezone(UTC)) == summer
    long_day = span_of("2026-10-25", now)
    assert long_day is not None
    assert long_day[1].astimezone(UTC) - long_day[0].astimezone(UTC) == timedelta(hours=25)


@pytest.mark.parametrize("zone", ["Asia/Kolkata"], indirect=True)
async def test_days_of_the_statistics_begin_at_midnight_where_that_is_no_full_hour(zone: ZoneInfo) -> None:
    clock = FakeClock(datetime(2026, 5, 1, 18, 40, tzinfo=UTC))
    store = await open_off_record(clock)
    await store.create_session(NewSession("t"), NewMessage(Role.USER, "after midnight in Kolkata"))
    for where in (zone, None):
        assert [(one.day, one.messages) for one in await store.insights.days(where)] == [
            (date(2026, 5, 2), 1)
        ]
    await store.close()
