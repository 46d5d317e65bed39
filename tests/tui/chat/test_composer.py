"""What is typed is sent, carried out or held back: the composer without a screen."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from atlas_desktop.tui.actions import Action
from atlas_desktop.tui.chat.composer import ComposerController
from atlas_desktop.tui.chat.conversation import Conversation
from atlas_desktop.tui.chat.conversation_view import ConversationView
from models.messages import Role
from tests.tui.chat.states import conversation, message


@dataclass
class FakePrompt:
    text: str = ""
    is_attached: bool = True
    sent: list[str] = field(default_factory=list)
    title: str = ""

    def put(self, text: str) -> None:
        self.text = text

    def remember(self, text: str) -> None:
        self.sent.append(text)

    def entitle(self, title: str) -> None:
        self.title = title

    def focus(self) -> None: ...


@dataclass
class FakeApp:
    """Takes the part of the turns and the drafts, too."""

    told: list[str] = field(default_factory=list)
    turned: list[tuple[str, ...]] = field(default_factory=list)
    work: list[asyncio.Task[Any]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)

    @property
    def turns(self) -> "FakeApp":
        return self

    @property
    def drafts(self) -> "FakeApp":
        return self

    def changed(self, conversation: Conversation) -> None:
        self.kept.append(conversation.draft)

    def send(self, conversation: Conversation, text: str) -> None:
        self.turned.append((text,))

    def edit(self, conversation: Conversation, message_id: str, text: str) -> None:
        self.turned.append((message_id, text))

    def say(self, text: str) -> None:
        self.told.append(text)

    warn = say

    def say_stop_first(self) -> None:
        self.say("Stop the reply first")

    def attempt(self, work: Callable[[], Coroutine[Any, Any, Any]], *, group: str) -> None:
        self.work.append(asyncio.ensure_future(work()))


class Place:
    """A composer with what it works on. `room` is where the conversation is kept."""

    def __init__(self) -> None:
        self.app, self.prompt = FakeApp(), FakePrompt()
        self.commands: list[tuple[str, ...]] = []
        self.room = "open"

        class View(ConversationView):
            destination = property(lambda _: self.room)

        nothing = lambda: None  # noqa: E731
        transcript: Any = None
        self.view = View(
            cast("Any", self.app), transcript, cast("Any", self.prompt), refresh=nothing, refresh_list=nothing
        )
        self.composer = ComposerController(cast("Any", self.app), self.view, run_command=self.run)

    async def run(self, action: Action, given: tuple[str, ...]) -> None:
        self.commands.append((action.id, *given))

    def type(self, text: str) -> None:
        self.prompt.text = text
        self.composer.text_changed()

    def enter(self) -> None:
        self.composer.send_typed(self.prompt.text)

    async def rest(self) -> None:
        while self.app.work:
            await self.app.work.pop(0)


@pytest.fixture
def place() -> Place:
    return Place()


async def test_a_text_is_sent_and_the_prompt_is_empty(place: Place) -> None:
    place.type("  How deep is the fjord?\n")
    place.enter()
    assert place.app.turned == [("How deep is the fjord?",)]
    assert place.prompt.text == ""
    assert place.prompt.sent == ["How deep is the fjord?"]


async def test_what_is_sent_while_a_reply_is_coming_waits(place: Place) -> None:
    place.view.current = conversation(busy=True)
    place.type("and then?")
    place.enter()
    assert place.app.turned == []
    assert place.view.current.waiting == ["and then?"]
    place.type("or")
    place.composer.take_back()
    assert place.prompt.text == "and then?\n\nor"
    assert place.view.current.waiting == []


async def test_a_command_is_carried_out(place: Place) -> None:
    place.type("/rename A trip")
    place.enter()
    await place.rest()
    assert place.commands == [("session.rename", "A trip")]
    assert place.app.turned == []


async def test_an_unknown_command_is_sent_the_second_time(place: Place) -> None:
    place.type("/nonsense")
    place.enter()
    assert place.app.turned == []
    assert "/nonsense" in place.prompt.title
    place.enter()
    assert place.app.turned == [("/nonsense",)]
    assert place.prompt.title == ""


async def test_an_unknown_command_names_the_one_that_was_meant(place: Place) -> None:
    place.type("/tasc the trip")
    place.enter()
    assert "/tasc" in place.prompt.title
    assert "/task?" in place.prompt.title


async def test_another_text_must_be_confirmed_again(place: Place) -> None:
    place.type("/nonsense")
    place.enter()
    place.type("/nonsenses")
    assert place.prompt.title == ""
    place.type("/nonsense")
    place.enter()
    assert place.app.turned == []
    assert "/nonsense" in place.prompt.title


async def test_what_is_sent_while_the_room_changes_waits_for_the_end(place: Place) -> None:
    gate = asyncio.Event()

    async def change() -> None:
        await gate.wait()
        place.room = "private"

    place.composer.gate.change(change, "make_private", group="rooms", asked_for=True)
    assert place.composer.gate.changes == ["make_private"]
    place.type("a secret")
    place.enter()
    assert place.app.turned == []
    gate.set()
    await place.rest()
    assert place.app.turned == [("a secret",)]
    assert not place.composer.gate.closed


async def test_what_was_sent_is_in_the_prompt_again_when_the_change_is_refused(place: Place) -> None:
    async def refused() -> None:
        place.type("a secret")
        place.enter()
        place.type("one more")

    place.composer.gate.change(refused, "make_private", group="rooms", asked_for=True)
    await place.rest()
    assert place.app.turned == []
    assert place.prompt.text == "a secret\n\none more"


async def test_what_waits_at_the_gate_is_kept_when_the_program_ends(place: Place) -> None:
    gate = asyncio.Event()
    place.composer.gate.change(lambda: cast("Any", gate.wait()), "", group="command", asked_for=False)
    place.type("first")
    place.enter()
    place.type("second")
    place.composer.keep_typed()
    assert place.app.kept[-1] == "first\n\nsecond"
    gate.set()
    await place.rest()


async def test_an_edited_message_is_sent_in_its_place_and_the_draft_comes_back(place: Place) -> None:
    place.view.current = conversation()
    place.type("a draft")
    place.composer.edit(message("1", Role.USER, "How hihg is it?"))
    assert place.prompt.text == "How hihg is it?"
    place.type("How high is it?")
    place.enter()
    assert place.app.turned == [("1", "How high is it?")]
    assert place.prompt.text == "a draft"
    assert place.composer.editing is None


async def test_an_edit_waits_for_the_reply(place: Place) -> None:
    place.view.current = conversation(busy=True)
    place.composer.edit(message("1", Role.USER, "before"))
    place.type("after")
    place.enter()
    assert place.app.turned == []
    assert place.prompt.text == "after"
    assert place.composer.editing is not None


async def test_words_that_could_not_be_stored_come_back_or_wait(place: Place) -> None:
    shown = place.view.current
    place.composer.give_back(shown, "lost")
    assert place.prompt.text == "lost"
    place.composer.give_back(shown, "also lost")
    assert shown.waiting == ["also lost"]
