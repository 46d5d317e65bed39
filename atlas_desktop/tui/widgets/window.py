"""Which of a long conversation's messages are mounted: a window on the list of their ids. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Window:
    """`ids` are those of the whole branch; those from `first` up to, but not with, `end` are mounted."""

    ids: list[str] = field(default_factory=list)
    first: int = 0
    end: int = 0

    @property
    def older(self) -> int:
        """Messages above the window."""
        return self.first

    @property
    def newer(self) -> int:
        """Messages below the window."""
        return len(self.ids) - self.end

    def at(self, message_id: str) -> int | None:
        """The place of a message in the branch; the newest are looked through first."""
        for place in range(len(self.ids) - 1, -1, -1):
            if self.ids[place] == message_id:
                return place
        return None

    def show(self, ids: Sequence[str], mounted: Sequence[str]) -> None:
        """Begins anew at the end of `ids`. Where these do not end as what is mounted (something was said
        meanwhile), what is mounted is the end."""
        self.ids = list(ids)
        if mounted and self.ids[-len(mounted) :] != list(mounted):
            known = set(mounted)
            self.ids = [*(one for one in self.ids if one not in known), *mounted]
        self.end = len(self.ids)
        self.first = self.end - len(mounted)

    def add(self, message_id: str) -> None:
        """A message is mounted below all others."""
        self.ids.append(message_id)
        self.end = len(self.ids)

    def cut_after(self, place: int) -> None:
        """What stood below a place is gone."""
        del self.ids[place + 1 :]
        self.end = min(self.end, len(self.ids))
        self.first = min(self.first, self.end)

    def replace(self, old: str, new: str) -> None:
        """Another variant stands in the place of a message."""
        place = self.at(old)
        if place is not None:
            self.ids[place] = new

    def around(self, place: int, before: int, after: int) -> tuple[int, int]:
        """From where up to where (not including) to mount, to show a place."""
        return max(0, place - before), min(len(self.ids), place + after + 1)
