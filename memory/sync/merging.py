"""The rules by which changes of a row from several devices are merged, whatever order they arrive in.

Each column has the value of its latest change; a removed row comes back only by being written again later; a
forgotten one never does. The result depends only on the set of changes: not on their order, nor on how often
each arrives.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memory.sync.clock import Stamp


@dataclass(frozen=True, slots=True)
class RowChange:
    """What one device says of a row. `base` are the columns as they were written at `born`, `fields` those
    that were changed at another time."""

    born: Stamp | None = None
    gone: Stamp | None = None
    forgotten: Stamp | None = None
    base: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, tuple[Stamp, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Marks:
    """The stamps of a row: `fields` has those of columns that were changed after it was born."""

    born: Stamp | None = None
    gone: Stamp | None = None
    forgotten: Stamp | None = None
    fields: Mapping[str, Stamp] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        if self.forgotten is not None or self.born is None:
            return False
        return self.gone is None or self.born > self.gone

    def of(self, name: str) -> Stamp | None:
        """Returns the stamp of a column's value."""
        return latest(self.fields.get(name), self.born)


@dataclass(frozen=True, slots=True)
class Merged:
    """The stamps after a merge, the columns that get a new value, and the fields that wait for the row.

    A change of a row that does not exist here waits: the row may be on its way. `kept` are columns of a row
    that is removed now whose present values wait as well, because they are newer than its removal.
    """

    marks: Marks
    values: Mapping[str, Any]
    waiting: Mapping[str, tuple[Stamp, Any]]
    kept: Mapping[str, Stamp] = field(default_factory=dict)


def latest(one: Stamp | None, other: Stamp | None) -> Stamp | None:
    if one is None or other is None:
        return one or other
    return max(one, other)


def merge(known: Marks, change: RowChange) -> Merged:
    """Returns what a change makes of a row with the stamps `known`."""
    forgotten = latest(known.forgotten, change.forgotten)
    born = latest(known.born, change.born)
    gone = latest(known.gone, change.gone)
    if forgotten is not None:
        return Merged(Marks(born, gone, forgotten), {}, {})
    if not Marks(born, gone).exists:
        kept = {name: at for name, at in known.fields.items() if gone is not None and at > gone}
        waiting = {
            name: (at, value)
            for name, (at, value) in _after(change.fields, born).items()
            if name not in kept or at > kept[name]
        }
        kept = {name: at for name, at in kept.items() if name not in waiting}
        return Merged(Marks(born, gone), {}, waiting, kept)
    values: dict[str, Any] = {}
    # Without the row, no value of it is known, so even an older one is better than none.
    there = known.exists
    for name, value in change.base.items():
        mine = known.of(name) if there else None
        if change.born is not None and change.born == born and (mine is None or change.born > mine):
            values[name] = value
    fields = {name: at for name, at in known.fields.items() if there and born is not None and at > born}
    for name, (at, value) in change.fields.items():
        mine = latest(fields.get(name), born)
        if mine is None or at > mine:
            values[name] = value
            fields[name] = at
    return Merged(Marks(born, gone, None, fields), values, {})


def _after(fields: Mapping[str, tuple[Stamp, Any]], born: Stamp | None) -> Mapping[str, tuple[Stamp, Any]]:
    return {name: (at, value) for name, (at, value) in fields.items() if born is None or at > born}
