from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memory.context.entities import Summary, SummaryState
from memory.entities import Message
from memory.summaries.planning import tiers
from models.messages import Role

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def branch(count: int, name: str = "m") -> list[Message]:
    roles = (Role.USER, Role.ASSISTANT)
    return [Message(f"{name}{n}", "s", None, roles[n % 2], "", f"text {n}", NOW) for n in range(count)]


def summary(messages: list[Message], state: SummaryState = SummaryState.CURRENT, level: int = 0) -> Summary:
    covers = tuple(m.id for m in messages)
    return Summary(f"{covers[0]}+{len(covers)}", "s", level, "text", covers, NOW, NOW, state)


@given(st.integers(0, 60), st.lists(st.integers(1, 12), max_size=6), st.integers(0, 60))
def test_every_message_is_in_one_tier(count: int, widths: list[int], view: int) -> None:
    messages = branch(count)
    made, at = [], 0
    for width in widths:
        if messages[at : at + width]:
            made.append(summary(messages[at : at + width]))
        at += width
    found = tiers(messages, made, max_archived_in_view=view)
    active = {m.id for m in found.active}
    covered = {id_ for s in found.summaries for id_ in s.covers}
    assert active | covered == {m.id for m in messages}
    assert not active & covered
    assert found.archived_total == len(covered)
    assert len(found.archived) == min(view, len(covered))
    assert [m for m in messages if m in found.archived] == list(found.archived)
    assert set(messages[-4:]) <= set(found.active)


def test_the_archive_shows_its_newest() -> None:
    messages = branch(80)
    found = tiers(messages, [summary(messages[:70])])
    assert [m.id for m in found.archived] == [f"m{n}" for n in range(20, 70)]
    assert found.archived_total == 70


def test_a_merged_summary_stands_on_a_branch_that_left_earlier() -> None:
    messages = branch(30)
    parts = [summary(messages[:10], SummaryState.MERGED), summary(messages[10:20], SummaryState.MERGED)]
    wide = summary(messages[:20], level=1)
    assert tiers(messages, [*parts, wide]).summaries == (wide,)
    fork = [*messages[:14], *branch(10, "f")]
    found = tiers(fork, [*parts, wide])
    assert found.summaries == (parts[0],)
    assert [m.id for m in found.active][:4] == ["m10", "m11", "m12", "m13"]


def test_a_hole_between_two_summaries_stays_in_sight() -> None:
    messages = branch(30)
    found = tiers(messages, [summary(messages[:6]), summary(messages[8:20])])
    assert [m.id for m in found.active][:2] == ["m6", "m7"]
    assert found.archived_total == 18
