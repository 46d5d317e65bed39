"""How changes are resolved: the result depends only on the changes, not on their order or repetition."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.sync.entities import Stamp
from memory.sync.tables import ALL, Marks, RowChange, SyncedTable, resolve
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore

_COLUMNS = ("title", "text", "mark")
_times = st.integers(1, 12)
_devices = st.sampled_from(["a", "b", "c"])
_stamps = st.builds(Stamp, _times, _devices)


def _value(name: str, at: Stamp) -> str:
    """A device says one thing at one time."""
    return f"{name} by {at.by} at {at.at}"


@st.composite
def _changes(draw: st.DrawFn) -> RowChange:
    born = draw(st.none() | _stamps)
    gone = draw(st.none() | st.none() | _stamps)
    forgotten = draw(st.none() | st.none() | st.none() | st.none() | _stamps)
    base = {} if born is None else {name: _value(name, born) for name in _COLUMNS}
    names = draw(st.sets(st.sampled_from(_COLUMNS)))
    fields = {name: draw(_stamps) for name in sorted(names)}
    return RowChange(
        born, gone, forgotten, base, {name: (at, _value(name, at)) for name, at in fields.items()}
    )


def _resolved(changes: Sequence[RowChange]) -> tuple[Marks, Mapping[str, Any]]:
    """Carries out changes one after another, as a room does."""
    marks, values = Marks(), dict[str, Any]()
    waiting: list[RowChange] = []
    todo = list(changes)
    while todo:
        one = todo.pop(0)
        found = resolve(marks, one)
        held = {name: (at, values[name]) for name, at in found.kept.items()} | dict(found.waiting)
        values = {**values, **found.values} if found.marks.exists else {}
        came = found.marks.exists and not marks.exists
        marks = found.marks
        if held:
            waiting.append(RowChange(fields=held))
        if came:
            todo, waiting = [*waiting, *todo], []
    return marks, values


@given(st.lists(_changes(), max_size=6), st.randoms(use_true_random=False))
def test_changes_in_any_order_make_the_same_row(changes: list[RowChange], rnd: Any) -> None:
    shuffled = list(changes)
    rnd.shuffle(shuffled)
    one, other = _resolved(changes), _resolved(shuffled)
    assert one[0].exists == other[0].exists
    assert one[1] == other[1]


@given(st.lists(_changes(), max_size=5), st.randoms(use_true_random=False))
def test_changes_that_arrive_twice_change_nothing(changes: list[RowChange], rnd: Any) -> None:
    twice = [*changes, *rnd.sample(changes, len(changes))]
    assert _resolved(twice)[1] == _resolved(changes)[1]


@given(st.lists(_changes(), max_size=6), _stamps)
def test_what_was_forgotten_never_exists_again(changes: list[RowChange], at: Stamp) -> None:
    marks, values = _resolved([RowChange(forgotten=at), *changes])
    assert not marks.exists
    assert values == {}


def test_of_two_changes_that_wait_for_a_row_the_later_counts() -> None:
    late = RowChange(Stamp(1, "a"), base={"mark": "x"}, fields={"mark": (Stamp(3, "a"), "late")})
    early = RowChange(gone=Stamp(1, "b"), fields={"mark": (Stamp(2, "b"), "early")})
    again = RowChange(Stamp(1, "c"), base={"mark": "y"})
    assert _resolved([late, early, again])[1] == _resolved([early, again, late])[1] == {"mark": "late"}


def test_the_later_change_of_a_field_counts() -> None:
    born = RowChange(Stamp(1, "a"), base={"title": "first"})
    early = RowChange(fields={"title": (Stamp(2, "b"), "second")})
    late = RowChange(fields={"title": (Stamp(3, "a"), "third")})
    assert _resolved([born, late, early])[1] == {"title": "third"}


def test_the_device_decides_between_changes_of_one_time() -> None:
    born = RowChange(Stamp(1, "a"), base={"title": "first"})
    one = RowChange(fields={"title": (Stamp(2, "a"), "of a")})
    other = RowChange(fields={"title": (Stamp(2, "b"), "of b")})
    assert _resolved([born, one, other])[1] == _resolved([born, other, one])[1] == {"title": "of b"}


def test_a_removed_row_comes_back_only_by_being_written_again() -> None:
    born = RowChange(Stamp(1, "a"), base={"tag": "x"})
    gone = RowChange(gone=Stamp(2, "b"))
    again = RowChange(Stamp(3, "a"), base={"tag": "x"})
    assert not _resolved([gone, born])[0].exists
    assert _resolved([again, gone, born])[0].exists


# What each device counts, numbers or finds for itself, and what belongs to its own disk and programs.
_STAYS = {
    "sessions": {"message_count"},
    "messages": {"seq", "tokens", "token_model", "preface"},
    "summaries": {"seq"},
    "memories": {"seq", "proposed_by"},
    "attachments": {"seq"},
    "documents": {"seq", "folder_id", "location", "modified_ns", "device", "inode"},
    "chunks": {"seq"},
    "notes": {"note_folder_id", "disk_path", "disk_sha256"},
}


@pytest.mark.parametrize("table", ALL, ids=lambda table: table.name)
def test_every_column_of_a_synced_table_is_sent_or_stays_on_purpose(table: SyncedTable) -> None:
    rows = InMemoryStore(FakeClock())._connection.execute(f"PRAGMA table_info({table.name})")
    columns = {row[1] for row in rows}
    assert columns == {*table.key, *table.columns} | _STAYS.get(table.name, set())
