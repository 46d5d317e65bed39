"""What the readers of JSON formats have in common."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from atlas_desktop.services.importing.entities import Talk, Unreadable
from atlas_desktop.services.importing.scanning import Note, objects
from atlas_desktop.services.importing.sources import Part
from atlas_desktop.services.importing.tree import session_of
from memory.transfer.entities import TravellingSession


def sessions(
    parts: Sequence[Part], note: Note, talk_of: Callable[[Any], Talk | None]
) -> Iterator[tuple[str, TravellingSession]]:
    """The sessions of files whose objects are a conversation each; `talk_of` gives None for one that is none.

    `talk_of` may raise `Unreadable`, which is noted. Raises `Unreadable`, `OSError`.
    """
    for part in parts:
        for where, value in objects(part, note):
            try:
                talk = talk_of(value)
                session = None if talk is None else session_of(talk, otherwise=part.changed_at)
            except Unreadable as fault:
                note(where, fault.why)
                continue
            if session is not None:
                yield where, session
