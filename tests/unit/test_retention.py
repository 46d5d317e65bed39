"""Which conversations have been kept for long enough."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memory.clock import LONGEST_STEP, Seen
from memory.retention import Candidate, ExpiryReason, RetentionPolicy, expired

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ages = st.integers(0, 4000)
policies = st.builds(
    RetentionPolicy,
    days=st.integers(0, 1000),
    bin_days=st.integers(0, 1000),
    projects=st.dictionaries(st.sampled_from("abc"), st.integers(0, 1000)),
)


def candidate(
    name: str, age: int, *, project: str | None = None, binned: int | None = None, exempt: bool = False
) -> Candidate:
    return Candidate(
        name,
        "t",
        project,
        1,
        NOW - timedelta(days=age),
        None if binned is None else NOW - timedelta(days=binned),
        exempt,
    )


def names(found: list[Candidate], policy: RetentionPolicy) -> list[tuple[str, ExpiryReason]]:
    return [(one.candidate.session_id, one.why) for one in expired(found, policy, NOW)]


def test_the_project_goes_before_the_room_and_the_bin_before_both() -> None:
    found = [
        candidate("old", 40),
        candidate("young", 20),
        candidate("exempt", 400, exempt=True),
        candidate("kept", 400, project="kept"),
        candidate("short", 8, project="short"),
        candidate("binned", 1, binned=31, exempt=True),
        candidate("just binned", 400, binned=29),
    ]
    policy = RetentionPolicy(days=30, projects={"kept": 0, "short": 7})
    assert set(names(found, policy)) == {
        ("old", ExpiryReason.UNUSED),
        ("short", ExpiryReason.UNUSED),
        ("binned", ExpiryReason.BIN),
    }
    assert names(found, RetentionPolicy()) == [("binned", ExpiryReason.BIN)]
    assert names(found, RetentionPolicy(bin_days=0)) == []


@given(age=ages, policy=policies, project=st.sampled_from(["a", "b", "c", None]))
def test_nothing_goes_before_its_time_and_nothing_exempt_goes(
    age: int, policy: RetentionPolicy, project: str | None
) -> None:
    days = policy.days_for(project)
    goes = bool(names([candidate("x", age, project=project)], policy))
    assert goes == (0 < days <= age)
    assert not names([candidate("x", age, project=project, exempt=True)], policy)


# --- whether the clock is believed ------------------------------------------------------------------

steps = st.lists(st.timedeltas(-timedelta(days=9000), timedelta(days=9000)), max_size=30)


def looked(steps: list[timedelta]) -> list[Seen]:
    found = [Seen(NOW, NOW)]
    for step in steps:
        found.append(found[-1].looked(found[-1].at + step))
    return found


@given(steps=steps)
def test_time_passes_by_no_more_than_a_week_between_two_looks_and_never_back(steps: list[timedelta]) -> None:
    found = looked(steps)
    for before, after in pairwise(found):
        assert before.passed <= after.passed <= before.passed + LONGEST_STEP
        assert after.passed <= max(one.at for one in found)


@given(days=st.lists(st.timedeltas(timedelta(0), LONGEST_STEP), max_size=50))
def test_with_a_look_a_week_all_of_it_has_passed(days: list[timedelta]) -> None:
    last = looked(days)[-1]
    assert (last.passed, last.ahead) == (last.at, timedelta(0))


@given(jump=st.timedeltas(-timedelta(days=9000), timedelta(days=9000)), days=st.integers(0, 60))
def test_a_clock_that_is_set_right_again_is_believed_from_there_on(jump: timedelta, days: int) -> None:
    """It was wrong for an hour; then it was looked at every day."""
    hour, day = timedelta(hours=1), timedelta(days=1)
    last = looked([jump, hour, -jump, *[day] * days])[-1]
    assert last.passed <= last.at + LONGEST_STEP
    assert last.ahead <= hour + (LONGEST_STEP if jump < timedelta(0) else timedelta(0))
