from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.context.entities import Summary, SummaryState
from memory.entities import Message, MessageStatus
from memory.summaries.evidence import Importance, Reason
from memory.summaries.planning import (
    Foldable,
    PlanLimits,
    SummaryPlan,
    active_summaries,
    foldables,
    plan,
    plan_all,
    turn_starts,
)
from models.messages import Role

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SMALL = Importance(0.02, (Reason.SMALL_TALK,))
PLAIN = Importance(0.2)
KEY = Importance(0.9, (Reason.ASKED,))


def message(number: int, role: Role = Role.USER, tokens: int = 10, value: Importance = PLAIN) -> Foldable:
    return Foldable(f"m{number}", role, tokens, value)


def talk(turns: int, tokens: int = 10, value: Importance = PLAIN) -> list[Foldable]:
    roles = (Role.USER, Role.ASSISTANT)
    return [message(n, roles[n % 2], tokens, value) for n in range(2 * turns)]


def summary(covers: tuple[str, ...], level: int = 0, state: SummaryState = SummaryState.CURRENT) -> Summary:
    return Summary(f"s{level}-{covers[0]}-{len(covers)}", "s", level, "text", covers, NOW, NOW, state)


def carry_out(made: SummaryPlan, summaries: list[Summary]) -> list[Summary]:
    """As a store does: what a merge replaces becomes merged, what is stale is re-made."""
    stored = {s.covers: s for s in summaries}
    for covers, s in stored.items():
        if s.id in made.remake:
            stored[covers] = summary(covers, s.level)
    for fold in made.folds:
        stored[fold.covers] = summary(fold.covers)
    for merge in made.merges:
        for part in merge.parts:
            stored[part] = summary(part, stored[part].level, SummaryState.MERGED)
        stored[merge.covers] = summary(merge.covers, merge.level)
    return list(stored.values())


messages_ = st.lists(
    st.tuples(
        st.sampled_from([Role.USER, Role.ASSISTANT]),
        st.integers(1, 400),
        st.sampled_from([SMALL, SMALL, PLAIN, KEY]),
    ),
    max_size=120,
).map(lambda rows: [message(n, *row) for n, row in enumerate(rows)])
limits_ = st.builds(
    PlanLimits,
    target_tokens=st.integers(0, 6000),
    pinned_tokens=st.integers(0, 800),
    immediate_turns=st.integers(1, 20),
    summary_turns=st.integers(1, 10),
    max_summaries=st.integers(1, 5),
    recent_messages_min=st.integers(1, 10),
)


@settings(max_examples=300)
@given(messages_, limits_, st.lists(st.integers(1, 120), max_size=4), st.booleans())
def test_a_growing_branch_is_always_covered_once(
    messages: list[Foldable], limits: PlanLimits, growth: list[int], force: bool
) -> None:
    summaries: list[Summary] = []
    make = plan_all if force else plan
    for length in sorted({min(n, len(messages)) for n in (*growth, len(messages))}):
        branch = messages[:length]
        made = make(branch, summaries, limits)
        summaries = carry_out(made, summaries)
        ids = tuple(m.id for m in branch)
        stretches = active_summaries(ids, summaries, keep=limits.recent_messages_min)
        current = [s.summary for s in stretches if s.summary]
        # Every message before the verbatim ones is covered once, in order.
        assert tuple(id_ for s in current for id_ in s.covers) == ids[: made.start]
        assert {s.id for s in summaries if s.state is SummaryState.CURRENT} == {s.id for s in current}
        assert len(current) <= limits.max_summaries
        assert made.start == 0 or made.start <= length - limits.recent_messages_min
        # What is done is done.
        again = make(branch, summaries, limits)
        assert again.empty
        assert (again.start, again.pinned) == (made.start, made.pinned)


@given(messages_, limits_)
def test_what_stays_verbatim_is_within_the_limits_unless_it_may_not_fold(
    messages: list[Foldable], limits: PlanLimits
) -> None:
    start = plan(messages, [], limits).start
    rest = messages[start:]
    starts = turn_starts([m.role for m in messages])
    within = (
        sum(m.tokens for m in rest) <= limits.target_tokens
        and sum(at >= start for at in starts) <= limits.immediate_turns
    )
    foldable_ = [at for at in starts if start < at <= len(messages) - limits.recent_messages_min]
    assert within or not foldable_
    assert start == 0 or start in starts


@given(messages_, limits_)
def test_pinned_messages_are_important_covered_in_order_and_within_their_room(
    messages: list[Foldable], limits: PlanLimits
) -> None:
    made = plan_all(messages, [], limits)
    place = {m.id: n for n, m in enumerate(messages)}
    kept = [messages[place[id_]] for id_ in made.pinned]
    assert [place[m.id] for m in kept] == sorted(place[m.id] for m in kept)
    assert all(m.importance == KEY and place[m.id] < made.start for m in kept)
    assert sum(m.tokens for m in kept) <= limits.pinned_tokens


@given(messages_, limits_, st.integers(0, 119))
def test_a_fork_is_covered_once_by_the_summaries_it_still_has(
    messages: list[Foldable], limits: PlanLimits, cut: int
) -> None:
    summaries = carry_out(plan_all(messages, [], limits), [])
    fork = [*messages[:cut], *(message(1000 + n) for n in range(30))]
    made = plan(fork, summaries, limits)
    stored = carry_out(made, summaries)
    ids = tuple(m.id for m in fork)
    covered = [
        id_
        for s in active_summaries(ids, stored, keep=limits.recent_messages_min)
        if s.summary
        for id_ in s.summary.covers
    ]
    assert tuple(covered) == ids[: made.start]
    assert plan(fork, stored, limits).empty


def test_the_oldest_turns_fold_in_batches_and_only_when_there_are_too_many() -> None:
    limits = PlanLimits(target_tokens=10_000)
    assert plan(talk(10), [], limits) == SummaryPlan(0)
    made = plan(talk(11), [], limits)
    assert [len(fold.covers) for fold in made.folds] == [10]
    assert made.start == 10
    # The next ones stay until there are eleven again.
    kept = [summary(made.folds[0].covers)]
    assert plan(talk(15), kept, limits).empty
    assert plan(talk(16), kept, limits).folds[0].covers == tuple(f"m{n}" for n in range(10, 20))


def test_tokens_make_turns_fold_before_their_number_does() -> None:
    made = plan(talk(8, tokens=100), [], PlanLimits(target_tokens=700))
    assert made.start == 10
    assert plan(talk(8, tokens=100), [], PlanLimits(target_tokens=1600)).start == 0


def test_the_last_messages_stay_whatever_they_weigh() -> None:
    made = plan(talk(3, tokens=9000), [], PlanLimits(target_tokens=10, recent_messages_min=4))
    assert made.start == 2
    assert plan(talk(2, tokens=9000), [], PlanLimits(target_tokens=10)).start == 0


def test_a_run_of_small_talk_folds_with_its_batch() -> None:
    real, small = talk(3), talk(12, value=SMALL)
    messages = [message(n, m.role, m.tokens, m.importance) for n, m in enumerate([*real, *small, *talk(6)])]
    made = plan(messages, [], PlanLimits(target_tokens=10_000, summary_turns=3))
    # Three turns that say something and nine that do not; a batch holds nine turns at most.
    assert [len(fold.covers) for fold in made.folds] == [18, 18]
    assert not made.folds[0].small_talk
    only = plan(talk(30, value=SMALL), [], PlanLimits(target_tokens=10_000))
    assert only.folds[0].small_talk


def test_a_long_imported_talk_is_not_summarised_turn_by_turn() -> None:
    made = plan(talk(300), [], PlanLimits(target_tokens=10_000))
    assert len(made.folds) == 3
    assert made.merges == ()
    assert [len(fold.covers) for fold in made.folds[1:]] == [10, 10]


def test_neighbours_that_stand_for_about_as_much_merge_oldest_first() -> None:
    limits = PlanLimits(target_tokens=10_000, recent_messages_min=1, immediate_turns=1)

    def merged(*lengths: int) -> list[int]:
        """Which of summaries of these lengths are merged first."""
        messages = talk(sum(lengths) // 2 + 1)
        ids = [m.id for m in messages]
        ends = [sum(lengths[: n + 1]) for n in range(len(lengths))]
        parts = [tuple(ids[end - length : end]) for end, length in zip(ends, lengths, strict=True)]
        made = plan(messages, [summary(part, level=n) for n, part in enumerate(parts)], limits)
        assert made.merges[0].level == 1 + max(parts.index(part) for part in made.merges[0].parts)
        return [parts.index(part) for part in made.merges[0].parts]

    assert merged(10, 10, 10, 10) == [0, 1]
    assert merged(40, 20, 10, 10) == [2, 3]
    assert merged(40, 20, 10, 4) == [0, 1]
    assert merged(50, 10, 8, 2) == [1, 2]


def test_merging_is_seldom_repeated_for_the_same_message() -> None:
    limits = PlanLimits(target_tokens=100_000)
    summaries: list[Summary] = []
    times = 0
    for turns in range(1, 301):
        messages = talk(turns)
        made = plan(messages, summaries, limits)
        times += sum("m0" in m.covers for m in made.merges) + sum("m0" in f.covers for f in made.folds)
        summaries = carry_out(made, summaries)
    assert len(active_summaries([m.id for m in talk(300)], summaries)) == 3
    # Merging the oldest two every time would do it 57 times, and merging by levels 16 times.
    assert times <= 10
    assert sum(len(one.covers) for one in summaries) <= 10 * len(messages)


def test_stale_summaries_still_stand_and_are_to_be_made_again() -> None:
    messages = talk(12)
    old = summary(tuple(m.id for m in messages[:10]), state=SummaryState.STALE)
    made = plan(messages, [old], PlanLimits(target_tokens=10_000))
    assert made.remake == (old.id,)
    assert (made.folds, made.start) == ((), 10)


def test_messages_between_two_summaries_fold_at_once() -> None:
    messages = talk(12)
    ids = tuple(m.id for m in messages)
    made = plan(messages, [summary(ids[:4]), summary(ids[8:12])], PlanLimits(target_tokens=10_000))
    assert [fold.covers for fold in made.folds] == [ids[4:8]]
    assert made.start == 12


@pytest.mark.parametrize(
    ("roles", "starts"),
    [
        ("", []),
        ("ua", [0]),
        ("auaua", [0, 1, 3]),
        ("uuu", [0, 1, 2]),
        ("a" * 14, [0, 6, 12]),
    ],
)
def test_turns_begin_with_the_person(roles: str, starts: list[int]) -> None:
    names = {"u": Role.USER, "a": Role.ASSISTANT}
    assert turn_starts([names[r] for r in roles]) == starts


def test_a_failed_reply_weighs_nothing_but_has_its_place() -> None:
    failed = Message("a", "s", None, Role.ASSISTANT, "", "half", NOW, status=MessageStatus.FAILED)
    said = Message("b", "s", None, Role.USER, "", "Thursday at noon", NOW, important=True)
    found = foldables([failed, said], [12, 12])
    assert [m.tokens for m in found] == [0, 12]
    assert found[0].importance.small_talk
    assert found[1].importance.score == 1.0


def test_of_what_was_summarised_long_ago_only_what_was_asked_for_is_still_important() -> None:
    texts = ["Remember that the boiler is new", "My sister Dana is ill", "We decided on the red one"]
    branch = [Message(f"m{n}", "s", None, Role.USER, "", texts[n % 3], NOW) for n in range(300)]
    branch[4] = replace(branch[4], important=True)
    ids = tuple(m.id for m in branch)
    new = foldables(branch, [9] * 300)
    assert all(m.importance.score > 0.6 for m in new)
    old = foldables(branch, [9] * 300, [summary(ids[:90])])
    assert [n for n in range(90) if old[n].importance.score] == sorted({4, *range(0, 90, 3)})
    assert old[90:] == new[90:]
