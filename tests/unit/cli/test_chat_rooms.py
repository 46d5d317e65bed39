"""Rooms and memory modes by the slash commands of `atlas chat`."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.cli.chat import ChatCommands
from atlas_desktop.cli.context import Context
from atlas_desktop.cli.conversation import Conversation
from atlas_desktop.cli.sessions import make_open, make_private
from atlas_desktop.paths import Paths
from atlas_desktop.services.room import RoomServices
from atlas_desktop.services.turns import TurnOptions
from memory.entities import MemoryMode, RoomKind
from models.messages import GenerationParams
from tests.contract.reading import asked_about, read, shelved
from tests.unit.services.two_rooms import PASSPHRASE, TwoRooms

OPTIONS = TurnOptions(params=GenerationParams(max_tokens=50), continues=True)


class Talk:
    """A line-mode conversation on rooms in dictionaries, and what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str], two: TwoRooms, talk: Conversation) -> None:
        self.two, self.talk = two, talk
        self._capsys = capsys

    async def take(self, *lines: str) -> list[dict[str, Any]]:
        for line in lines:
            await self.talk.take(line)
        return [json.loads(line) for line in self._capsys.readouterr().out.splitlines()]

    @property
    def here(self) -> RoomKind:
        return self.talk.room.store.room


@pytest.fixture
async def talk(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Talk:
    two = TwoRooms(tmp_path)
    secret = tmp_path / "passphrase"
    secret.write_text(PASSPHRASE)
    ctx = Context(Paths(tmp_path), json=True, jsonl=True, passphrase_file=str(secret), _desk=two.desk)
    conversation = Conversation(ctx, await two.open(), OPTIONS, None)
    conversation.commands = ChatCommands(conversation).by_name()
    return Talk(capsys, two, conversation)


def codes(events: list[dict[str, Any]]) -> list[str]:
    return [event.get("code", event["type"]) for event in events if event["type"] in ("notice", "error")]


async def test_to_the_private_room_and_back(talk: Talk) -> None:
    await talk.take("the red kayak")
    session = talk.talk.session
    assert session is not None
    assert codes(await talk.take("/private")) == ["consequence", "private"]
    assert (talk.here, talk.talk.session) == (RoomKind.PRIVATE, session)
    await talk.take("and the paddle")
    assert len(await talk.talk.room.store.branch(session)) == 4
    (listed,) = await talk.take("/sessions")
    assert "[private] the red kayak" in listed["text"]
    assert codes(await talk.take("/open")) == ["consequence"]
    assert talk.here is RoomKind.PRIVATE
    assert codes(await talk.take("/open yes")) == ["consequence", "open"]
    assert (talk.here, (await talk.two.rooms.find(session))[1].room) == (RoomKind.OPEN, RoomKind.OPEN)


async def test_a_closed_private_room_is_left_and_its_sessions_are_not_found(talk: Talk) -> None:
    await talk.take("the red kayak")
    session = talk.talk.session
    assert session is not None
    await talk.take("/private")
    assert codes(await talk.take("/close")) == ["leaving", "closed"]
    assert (talk.here, talk.talk.session) == (RoomKind.OPEN, None)
    events = await talk.take(f"/resume {session}", "/sessions")
    assert events[0]["error"]["code"] == "session_not_found"
    assert "kayak" not in events[1]["text"]


async def test_off_the_record_and_kept(talk: Talk) -> None:
    events = await talk.take("/off", "nobody knows", "/save")
    assert (talk.here, events[-1]["text"].startswith("Nothing is saved")) == (RoomKind.OFF_RECORD, True)
    assert await talk.two.desk.at(RoomKind.OPEN).sessions.recent() == []
    assert codes(await talk.take("/normal")) == ["consequence"]
    assert talk.here is RoomKind.OFF_RECORD
    assert codes(await talk.take("/keep")) == ["kept"]
    (kept,) = await talk.two.desk.at(RoomKind.OPEN).sessions.recent()
    assert (kept.id, kept.memory_mode) == (talk.talk.session, MemoryMode.NORMAL)
    assert codes(await talk.take("/keep")) == ["kept"]


async def test_the_memory_mode_changes_with_the_next_words_or_at_once(talk: Talk) -> None:
    await talk.take("/reads", "I like tea")
    session = talk.talk.session
    assert session is not None
    store = talk.two.desk.at(RoomKind.OPEN).store
    assert (await store.get_session(session)).memory_mode is MemoryMode.READS
    events = await talk.take("/blank", "/blank")
    assert codes(events) == ["consequence", "memory", "consequence"]
    assert (await store.get_session(session)).memory_mode is MemoryMode.BLANK
    assert codes(await talk.take("/off")) == ["consequence", "memory"]
    assert (talk.here, talk.talk.session == session) == (RoomKind.OFF_RECORD, False)
    await talk.take("a secret")
    assert len(await store.branch(session)) == 2
    assert codes(await talk.take("/blank yes")) == ["consequence", "memory"]
    assert (talk.here, len(await store.list_sessions())) == (RoomKind.OPEN, 2)


async def test_a_wrong_passphrase_moves_nothing(talk: Talk, tmp_path: Path) -> None:
    (tmp_path / "passphrase").write_text("another one")
    events = await talk.take("the red kayak", "/private")
    assert events[-1]["error"]["code"] == "wrong_passphrase"
    assert talk.here is RoomKind.OPEN
    assert [one.room for one in await talk.talk.room.sessions.recent()] == [RoomKind.OPEN]


async def test_a_move_tells_of_the_documents_that_stay(talk: Talk) -> None:
    document = await shelved(talk.talk.room.store, read("/heron.txt", "Herons wade."))
    await talk.take("the red kayak")
    session = talk.talk.session
    assert session is not None
    await talk.talk.room.store.documents.bind(session, [document])
    events = await talk.take("/private")
    (told,) = [event["text"] for event in events if event.get("code") == "consequence"]
    assert "A document in use stays in the open room" in told


class Unlocked(Context):
    """The context of a command whose rooms are open already."""

    async def unlock(self) -> RoomServices:
        return self.desk.at(RoomKind.OPEN)


async def test_the_command_that_moves_a_session_says_what_it_lost(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    two = TwoRooms(tmp_path)
    opened, _private = await two.both()
    document = await shelved(opened.store, read("/heron.txt", "Herons wade."))
    session, _asked, _reply = await asked_about(opened.store, document)
    ctx = Unlocked(Paths(tmp_path), _desk=two.desk)
    for command in (make_private, make_open):
        assert await command(ctx, argparse.Namespace(session=session.id)) == 0
    to, back = capsys.readouterr().out.splitlines()
    assert "A document in use stayed in the open room: the session lost the link to it" in to
    assert "document" not in back
