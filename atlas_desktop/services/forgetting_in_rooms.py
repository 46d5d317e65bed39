"""Operations across all open rooms: forgetting with one plan, and using personas of the open room
elsewhere."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypedDict

from atlas_desktop.services.forgetting import Receipt
from atlas_desktop.services.room import RoomServices
from memory.entities import Affected, RoomKind, Session, Target
from memory.errors import (
    AmbiguousId,
    MemoryNotFound,
    MessageNotFound,
    PersonaNotFound,
    ProjectNotFound,
    SessionNotFound,
    TemplateNotFound,
)
from memory.personas import Persona, Template
from models.messages import Role

if TYPE_CHECKING:
    from memory.entities import Erased


_OF_IDS, _LEAST_ID = frozenset("0123456789abcdef-"), 8
"""The letters of an ID, and the length from which they can no longer be a word."""
_REFS = ("ids", "messages", "sessions", "memories")


class Elsewhere(TypedDict):
    """Where something may still be: in backups, and in a locked private room."""

    backups: int
    open_only: bool


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a target that is in one room, and what it affects."""

    room: "RoomServices"
    target: Target
    affected: Affected


@dataclass(frozen=True, slots=True)
class ForgettingPlan:
    """What would be erased, room by room and, as `affected`, in total. `backups` may contain it, and stay.
    `open_only`: it was searched for, but not in a private room, which is locked or does not exist."""

    shares: tuple[Share, ...]
    backups: int = 0
    open_only: bool = False

    @property
    def elsewhere(self) -> Elsewhere:
        """What is said of places that are left out."""
        return {"backups": self.backups, "open_only": self.open_only}

    @property
    def affected(self) -> Affected:
        return _together([share.affected for share in self.shares])


class RoomsForgetting:
    """`ForgettingService` for all rooms that are open now; a closed one is treated as absent.

    `backups` returns how many there are in the folder of backups. Raises what `ForgettingService` raises.
    After an interruption between two rooms, call it again.
    """

    def __init__(
        self, rooms: "Callable[[], Sequence[RoomServices]]", backups: Callable[[], int] = lambda: 0
    ) -> None:
        self._rooms = rooms
        self._backups = backups

    async def preview(self, target: Target) -> ForgettingPlan:
        """Returns what would be erased; changes nothing.

        Content named by id is in one room, the rest in any.
        """
        shares = []
        for room, share in await self._divided(target):
            shares.append(Share(room, share, await room.forgetting.preview(share)))
        private = any(room.store.room is RoomKind.PRIVATE for room in self._rooms())
        return ForgettingPlan(
            tuple(shares), await asyncio.to_thread(self._backups), target.by_criteria and not private
        )

    async def forget(self, plan: ForgettingPlan) -> Receipt:
        """Erases what was previewed; no reply may be in progress in it."""
        receipts = [
            await share.room.forgetting.forget(share.target, previewed=share.affected)
            for share in plan.shares
        ]
        return Receipt(
            _sum([receipt.erased for receipt in receipts]),
            sum(receipt.snapshots for receipt in receipts),
            all(receipt.verified for receipt in receipts),
            sum(receipt.rewritten for receipt in receipts),
            plan.backups,
            plan.open_only,
        )

    async def _divided(self, target: Target) -> "list[tuple[RoomServices, Target]]":
        """Returns the part of the target to look for in each room.

        Raises ValueError when the target is empty, and `ProjectNotFound`: a misspelt project must not be
        reported as an empty one.
        """
        if target.empty:
            raise ValueError("nothing to forget was specified")
        rooms = list(self._rooms())
        projects = [target.project for _ in rooms]
        if target.project is not None:
            spelt = [await room.projects.spelt(target.project) for room in rooms]
            if not any(spelt):
                raise ProjectNotFound(target.project)
            projects = [one or target.project for one in spelt]
        if len(rooms) == 1:
            return [(rooms[0], replace(target, project=projects[0]))]
        named: list[dict[str, Any]] = [dict.fromkeys(_REFS, ()) for _ in rooms]
        for kind in _REFS:
            for ref in getattr(target, kind):
                at = await _where(rooms, kind, ref)
                named[at][kind] += (ref,)
        shares = [
            (room, replace(target, project=project, **refs))
            for room, project, refs in zip(rooms, projects, named, strict=True)
        ]
        return [(room, share) for room, share in shares if not share.empty]


async def _where(rooms: "Sequence[RoomServices]", kind: str, ref: str) -> int:
    """Returns the index of the room in which something has this id. Raises what one room raises, and
    `AmbiguousId`."""
    found: list[int] = []
    missing: MemoryNotFound | MessageNotFound | SessionNotFound = MemoryNotFound(ref)
    wanted: Any = {kind: (ref,)}
    for at, room in enumerate(rooms):
        try:
            await room.forgetting.preview(Target(**wanted))
        except (MemoryNotFound, MessageNotFound, SessionNotFound) as error:
            missing = error
        else:
            found.append(at)
    if not found:
        raise missing
    if len(found) > 1:
        raise AmbiguousId(ref, len(found))
    return found[0]


async def target_of(forgetting: RoomsForgetting, words: str) -> Target:
    """Returns the target that words name: the item with this ID, otherwise everything that contains the
    words.

    For text that can only be an ID, raises what `RoomsForgetting` raises.
    """
    if len(words) >= _LEAST_ID and set(words.lower()) <= _OF_IDS:
        return Target(ids=(words,))
    if len(words.split()) == 1:
        try:
            await forgetting.preview(by_id := Target(ids=(words,)))
        except (MemoryNotFound, MessageNotFound, SessionNotFound):
            return Target(about=words)
        return by_id
    return Target(about=words)


async def newest_words(room: "RoomServices", session_id: str) -> tuple[str, ...]:
    """Returns the ids of the user's newest message and the replies to it; empty if there is none."""
    said = (await room.sessions.view(session_id)).messages
    own = [at for at, message in enumerate(said) if message.role is Role.USER and message.content]
    return tuple(message.id for message in said[own[-1] :]) if own else ()


def _together(parts: Sequence[Affected]) -> Affected:
    return Affected(
        _sum([part.erased for part in parts]),
        sum(part.whole_sessions for part in parts),
        tuple(one for part in parts for one in part.sessions),
        tuple(one for part in parts for one in part.messages),
        tuple(one for part in parts for one in part.memories),
        tuple(one for part in parts for one in part.documents),
        tuple(one for part in parts for one in part.touched),
        tuple(one for part in parts for one in part.notes),
    )


def _sum(parts: "Sequence[Erased]") -> "Erased":
    """Adds numbers and joins lists; `verified` only if all are."""
    total = parts[0]
    for part in parts[1:]:
        changes: dict[str, Any] = {
            field.name: getattr(total, field.name) + getattr(part, field.name)
            for field in fields(total)
            if field.name != "verified"
        }
        total = replace(total, **changes, verified=total.verified and part.verified)
    return total


def sharing_rooms(here: "RoomServices", rooms: "Sequence[RoomServices]") -> "list[RoomServices]":
    """Returns the room itself and the open one: personas of the private room are not used elsewhere."""
    others = [room for room in rooms if room is not here and room.store.room is RoomKind.OPEN]
    return [here, *others]


async def personas_for(here: "RoomServices", rooms: "Sequence[RoomServices]") -> list[Persona]:
    """Returns the personas usable in the room, by name; the room's own replace others of the same name."""
    known: dict[str, Persona] = {}
    for room in sharing_rooms(here, rooms):
        for one in await room.personas.personas():
            known.setdefault(one.name.casefold(), one)
    return [known[name] for name in sorted(known)]


async def persona_for(here: "RoomServices", rooms: "Sequence[RoomServices]", ref: str) -> Persona:
    """Returns a persona usable in the room. Raises `PersonaNotFound`, `AmbiguousId`."""
    for room in sharing_rooms(here, rooms):
        try:
            return await room.personas.persona(ref)
        except PersonaNotFound:
            continue
    raise PersonaNotFound(ref)


async def templates_for(here: "RoomServices", rooms: "Sequence[RoomServices]") -> list[Template]:
    """Returns the templates usable in the room, like `personas_for`."""
    known: dict[str, Template] = {}
    for room in sharing_rooms(here, rooms):
        for one in await room.personas.templates():
            known.setdefault(one.name.casefold(), one)
    return [known[name] for name in sorted(known)]


async def template_for(here: "RoomServices", rooms: "Sequence[RoomServices]", ref: str) -> Template:
    """Returns a template usable in the room. Raises `TemplateNotFound`, `AmbiguousId`."""
    for room in sharing_rooms(here, rooms):
        try:
            return await room.personas.template(ref)
        except TemplateNotFound:
            continue
    raise TemplateNotFound(ref)


async def temperature_for(
    here: "RoomServices", rooms: "Sequence[RoomServices]", system: str | None
) -> float | None:
    """Returns the temperature of the persona that has these instructions; None if it sets none."""
    if not system:
        return None
    known = await personas_for(here, rooms)
    return next((one.temperature for one in known if one.system_prompt == system), None)


async def persona_of(
    here: "RoomServices", rooms: "Sequence[RoomServices]", session: Session
) -> Persona | None:
    """Returns the persona with the instructions of a session, if it has not changed since."""
    if not session.system_prompt:
        return None
    known = await personas_for(here, rooms)
    return next((one for one in known if one.system_prompt == session.system_prompt), None)
