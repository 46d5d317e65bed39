"""What the attacks came to: a table at the end of a run. They travel with the reports of the tests that
passed, so they arrive also from tests that another process ran."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

_PROPERTY = "attack"


class Figures:
    """What one test counts. A test that fails adds nothing to the table."""

    def __init__(self, properties: list[tuple[str, Any]]) -> None:
        self._properties = properties

    def add(self, attack: str, *, attempts: int, survived: int | None = None, **found: int) -> None:
        """`survived` are the attempts after which all was as it has to be (all of them, unless given);
        `found` are other counts that have a column of their own, such as `hits` and `lost`."""
        counts = {"attempts": attempts, "survived": attempts if survived is None else survived, **found}
        self._properties.append((_PROPERTY, {"attack": attack, "counts": counts}))


def table(properties: Iterable[tuple[str, Any]]) -> list[str]:
    """The sums by attack, in plain text; no lines when nothing was counted."""
    rows: dict[str, Counter[str]] = {}
    for name, value in properties:
        if name == _PROPERTY:
            rows.setdefault(value["attack"], Counter()).update(value["counts"])
    if not rows:
        return []
    columns = ["attempts", "survived"]
    columns += sorted({name for row in rows.values() for name in row} - set(columns))
    width = max(map(len, rows))
    head = f"{'attack':<{width}}" + "".join(f"{name:>{len(name) + 3}}" for name in columns)
    return [
        head,
        *(
            f"{attack:<{width}}" + "".join(f"{row.get(name, ''):>{len(name) + 3}}" for name in columns)
            for attack, row in sorted(rows.items())
        ),
    ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = table(
        entry for report in terminalreporter.stats.get("passed", []) for entry in report.user_properties
    )
    if lines:
        terminalreporter.section("attacks")
        for line in lines:
            terminalreporter.line(line)
