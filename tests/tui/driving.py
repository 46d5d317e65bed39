"""Ways of driving the application in tests."""

from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from atlas_desktop.tui.app import AtlasApp
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.setup.unlock import PassphraseScreen
from tests.tui.desk import PASSPHRASE, Stage


async def settle(pilot: Pilot[None], *, but: str = "") -> None:
    """Returns when no background work is left, except that of the group `but`."""
    app = pilot.app
    for _ in range(200):
        await processed(pilot)
        busy = [w for w in app.workers if not w.is_finished and w.group not in (but, "ahead")]
        if not busy:
            await pilot.pause()
            return
        if not but:
            await app.workers.wait_for_complete(busy)
    raise AssertionError("the application does not come to rest")


async def processed(pilot: Pilot[None]) -> None:
    """Returns when every message is processed. A pause alone ends when the process is idle, and on a machine
    that is busy with something else it seems to be idle too early."""
    for _ in range(100):
        await pilot.pause()
        nodes = pilot.app.screen.walk_children(with_self=True)
        if not any(node.is_running and node.message_queue_size for node in nodes):
            return


async def assert_until(pilot: Pilot[None], condition: Callable[[], object]) -> None:
    """Returns when `condition()` holds and is painted; fails when it does not come to hold."""
    for _ in range(2000):
        if condition():
            await processed(pilot)
            return
        await pilot.pause(0.005)
    app = pilot.app
    screens = ", ".join(type(screen).__name__ for screen in app.screen_stack)
    raise AssertionError(
        f"what was waited for did not happen; focus {app.focused}, screens: {screens}\n{painted(app)}"
    )


async def type_text(pilot: Pilot[None], text: str) -> None:
    await pilot.press(*("space" if c == " " else c for c in text))


async def say(pilot: Pilot[None], text: str) -> None:
    """Types a message and sends it."""
    await type_text(pilot, text)
    await pilot.press("enter")


async def command(pilot: Pilot[None], text: str) -> None:
    """Types a command and sends it; what it may ask for before it is done is not waited for."""
    await say(pilot, text)
    await settle(pilot, but="rooms")


async def open_private(pilot: Pilot[None], place: Stage, passphrase: str = PASSPHRASE) -> None:
    """Answers the question for the passphrase of the private room."""
    await assert_until(pilot, lambda: on(place.app, PassphraseScreen))
    await type_text(pilot, passphrase)
    await pilot.press("enter")


async def make_private(pilot: Pilot[None], place: Stage, session_id: str | None = None) -> None:
    """Moves a conversation (the one that is shown, or the one that is named) to the private room."""
    if session_id is not None:
        await turn_to(pilot, place, session_id)
    await command(pilot, "/private")
    await open_private(pilot, place)
    await settle(pilot)


async def turn_to(pilot: Pilot[None], place: Stage, session_id: str) -> ChatScreen:
    """Turns to a conversation."""
    chat(place.app).open_session(session_id)
    await settle(pilot)
    return chat(place.app)


def chat(app: AtlasApp) -> ChatScreen:
    screen = app.screen
    assert isinstance(screen, ChatScreen)
    return screen


def shown(place: Stage) -> str:
    """Everything on the screen as plain text."""
    return painted(place.app)


def painted(app: App[Any]) -> str:
    """Everything on the screen of an application as plain text."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def on(app: AtlasApp, kind: type[Screen[Any]]) -> bool:
    """Whether the screen that is shown is of a kind (an assert of it would narrow the type for good)."""
    return isinstance(app.screen, kind)
