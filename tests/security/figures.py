"""What the attacks came to, for the table at the end of a run."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Figures:
    """Sums by attack. Everything that is counted was asserted too: a failing attack adds nothing here."""

    rows: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, attack: str, *, attempts: int, survived: int | None = None, **found: int) -> None:
        """`survived` are the attempts after which all was as it has to be (all of them, unless given);
        `found` are other counts that have a column of their own, such as `hits` and `lost`."""
        row = self.rows.setdefault(attack, Counter())
        row.update(attempts=attempts, survived=attempts if survived is None else survived, **found)

    def lines(self) -> list[str]:
        """A table in plain text; no lines when nothing was counted."""
        if not self.rows:
            return []
        columns = ["attempts", "survived"]
        columns += sorted({name for row in self.rows.values() for name in row} - set(columns))
        width = max(map(len, self.rows))
        head = f"{'attack':<{width}}" + "".join(f"{name:>{len(name) + 3}}" for name in columns)
        body = [
            f"{attack:<{width}}" + "".join(f"{row.get(name, ''):>{len(name) + 3}}" for name in columns)
            for attack, row in sorted(self.rows.items())
        ]
        return [head, *body]
