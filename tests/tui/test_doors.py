"""The doors in the interface: programs with tokens, their log, the sign, the question, and the end."""

import asyncio
import http.client
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest
from textual.widgets import Button, Input

from atlas_desktop.cli.handing_over import open_room_only
from atlas_desktop.tui.dialogs.forms import FieldsScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.settings.dialogs import AccessLogScreen, ClientsScreen, TokenScreen
from memory.clients import Access, AccessKind, NewClient, Scope
from memory.entities import MemoryMode, NewMessage, NewSession, RoomKind
from memory.errors import SessionNotFound
from models.messages import Role
from tests.tui.desk import Stage
from tests.tui.driving import assert_until, on, say, settle, shown

Make = Callable[..., Stage]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def post(port: int, token: str, path: str, value: object) -> tuple[int, Any]:
    """Sends JSON and returns the status and the body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    try:
        connection.request("POST", path, json.dumps(value), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


async def test_a_program_is_added_with_a_token_that_is_shown_once(make: Make) -> None:
    place = make(theme="none")
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "/programs")
        await assert_until(pilot, lambda: on(place.app, ClientsScreen))
        assert "The door is closed." in shown(place)
        await pilot.press("a")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        fields = list(place.app.screen.query(Input))
        fields[0].value, fields[1].value = "editor", "chat,recall"
        fields[-1].focus()
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, TokenScreen))
        assert "atlas-" in shown(place)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ClientsScreen))
        await assert_until(pilot, lambda: "chat, recall · never used" in shown(place))
        assert "atlas-" not in shown(place)


async def test_a_program_s_log_is_shown_and_its_token_revoked(make: Make) -> None:
    place = make(theme="none")
    client = await place.store.clients.add(NewClient("editor", frozenset({Scope.RECALL})), bytes(32))
    await place.store.clients.record([Access(client.id, AccessKind.RECALL, items=4)])
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "/programs")
        await assert_until(pilot, lambda: on(place.app, ClientsScreen) and "editor" in shown(place))
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, AccessLogScreen))
        assert "memories · done · 1 request · 4 items" in shown(place)
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, ClientsScreen))
        await pilot.press("d")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        place.app.screen.query_one("#yes", Button).press()
        await assert_until(pilot, lambda: "No programs yet" in shown(place))
        assert await place.store.clients.list() == []


async def test_the_setting_opens_the_door_with_a_sign_and_the_end_closes_it(make: Make) -> None:
    place = make(theme="none")
    port = free_port()
    place.desk.settings_file.set("doors.port", port)
    async with place.app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        assert "door open" not in shown(place)
        await place.app.change_setting("doors.serve", True)
        await assert_until(pilot, lambda: "door open" in shown(place))
        assert answers(port)
        await place.app.change_setting("doors.serve", False)
        await assert_until(pilot, lambda: "door open" not in shown(place))
        assert not answers(port)
        await place.app.change_setting("doors.serve", True)
        await assert_until(pilot, lambda: "door open" in shown(place))
        await pilot.press("ctrl+q")
        await assert_until(pilot, lambda: not answers(port))


async def test_a_taken_port_is_explained_and_the_door_stays_closed(make: Make) -> None:
    place = make(theme="none")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place.desk.settings_file.set("doors.port", taken.getsockname()[1])
        async with place.app.run_test(size=(120, 30)) as pilot:
            await settle(pilot)
            await place.app.change_setting("doors.serve", True)
            await assert_until(pilot, lambda: "The address cannot be used" in shown(place))
            assert place.app.door_url is None


async def test_commands_of_other_terminals_never_reach_the_private_room(make: Make) -> None:
    place = make(theme="none")
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        desk = place.desk
        private = await desk.enter(place.vault.key, RoomKind.PRIVATE)
        said = NewMessage(Role.USER, "Brimstone")
        session, _message = await private.store.create_session(NewSession("Secret"), said)
        assert (await desk.rooms.find(session.id))[0] is private
        shared = open_room_only(desk)
        assert [room.store.room for room in shared.open_rooms] == [RoomKind.OPEN]
        assert shared.model is desk.model
        assert shared.rooms.private is None
        with pytest.raises(SessionNotFound):
            await shared.rooms.find(session.id)


async def test_a_program_gets_nothing_private_nothing_off_the_record_and_nothing_after_the_end(
    make: Make,
) -> None:
    place = make(theme="none")
    port = free_port()
    place.desk.settings_file.set("doors.port", port)
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        desk = place.desk
        private = await desk.enter(place.vault.key, RoomKind.PRIVATE)
        hidden = []
        for room, mode in (
            (private, MemoryMode.NORMAL),
            (await desk.rooms.off_record(), MemoryMode.OFF),
            (desk.at(RoomKind.OPEN), MemoryMode.BLANK),
        ):
            begun = NewSession("Brimstone", memory_mode=mode)
            session, _message = await room.store.create_session(
                begun, NewMessage(Role.USER, "Brimstone is my secret garden")
            )
            hidden.append(session.id)
        said = NewMessage(Role.USER, "My garden is called Zephyra")
        await desk.at(RoomKind.OPEN).store.create_session(NewSession("Garden"), said)
        scopes = frozenset(Scope)
        _client, token = await desk.at(RoomKind.OPEN).clients.add(NewClient("editor", scopes, None, 600))
        await place.app.change_setting("doors.serve", True)
        await assert_until(pilot, lambda: place.app.door_url is not None)

        async def ask(path: str, value: object) -> tuple[int, Any]:
            return await asyncio.to_thread(post, port, token, path, value)

        async def tool(name: str, **given: object) -> Any:
            params = {"name": name, "arguments": given}
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            status, told = await ask("/mcp", call)
            assert status == 200
            return told["result"]

        status, recalled = await ask("/atlas/recall", {"query": "my secret garden Brimstone", "k": 50})
        assert status == 200
        assert "Zephyra" in json.dumps(recalled)
        assert "Brimstone" not in json.dumps(recalled)
        listed = await tool("search_sessions", k=50)
        assert [one["title"] for one in listed["structuredContent"]["sessions"]] == ["Garden"]
        for session_id in hidden:
            refused = await tool("read_session", id=session_id)
            assert refused["isError"]
            assert "Brimstone" not in json.dumps(refused)
            chat = {
                "model": "atlas",
                "messages": [{"role": "user", "content": "hi"}],
                "metadata": {"session": session_id},
            }
            status, told = await ask("/v1/chat/completions", chat)
            assert (status, told["error"]["code"]) == (404, "door_not_its_own")
        await place.app.doors.close()
        assert not answers(port)


async def test_the_user_is_asked_before_another_terminal_adds_a_program(make: Make) -> None:
    place = make(theme="none")
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        for button, agreed in (("#yes", True), ("#no", False)):
            asked = asyncio.create_task(place.app.doors.consent("editor", frozenset({Scope.CHAT})))
            await assert_until(pilot, lambda: on(place.app, ConfirmScreen) and "editor" in shown(place))
            assert "use your models" in shown(place)
            place.app.screen.query_one(button, Button).press()
            assert await asked is agreed
            await settle(pilot)
