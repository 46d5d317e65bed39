"""What the events of turns change: the reply controller without a screen."""

from dataclasses import dataclass, field
from typing import Any, cast

from atlas_desktop.tui.chat.conversation import Conversation
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.tui.chat.message import CitationReader
from atlas_desktop.tui.chat.reply import ReplyController
from atlas_desktop.tui.chat.turns import TurnEnded, TurnGrew
from memory.errors import RoomClosed
from models.errors import NoModel
from models.messages import Role
from tests.tui.chat.states import conversation, message

LIVE = message("2", Role.ASSISTANT, "")


@dataclass
class Neighbours:
    """Takes the part of the application and of the other controllers, and notes what is asked of them."""

    leaving: bool = False
    calls: list[tuple[object, ...]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return lambda *args: self.calls.append((name, *args))

    @property
    def named(self) -> list[object]:
        return [call[0] for call in self.calls]


def reply_of(shown: Conversation) -> tuple[ReplyController, Neighbours]:
    others = cast("Any", Neighbours())
    nothing = lambda: None  # noqa: E731
    view = ConversationView(others, others, others, refresh=nothing, refresh_list=nothing)
    view.current = shown
    controller = ReplyController(
        others,
        view,
        composer=others,
        sessions=others,
        attachments=others,
        messages=others,
        citations=CitationReader(),
    )
    return controller, others


def test_a_reply_under_way_is_shown_with_its_text_so_far() -> None:
    shown = conversation(busy=True)
    shown.reply, shown.partial_text = LIVE, "Because the"
    controller, _ = reply_of(conversation())
    messages = controller.detach(shown, (message("1", Role.USER), LIVE))
    assert [one.content for one in messages] == ["words", "Because the"]


def test_a_finished_conversation_is_shown_as_it_is_stored() -> None:
    stored = (message("1", Role.USER), message("2", Role.ASSISTANT))
    controller, _ = reply_of(conversation())
    assert controller.detach(conversation(), stored) == stored


def test_text_of_a_conversation_that_is_not_shown_draws_nothing() -> None:
    controller, others = reply_of(conversation())
    controller.grew(TurnGrew(conversation(busy=True)))
    assert others.calls == []


async def test_an_error_of_a_conversation_that_is_not_shown_is_told_by_the_application() -> None:
    controller, others = reply_of(conversation())
    await controller.ended(TurnEnded(conversation(), error=NoModel("chat")))
    assert others.named == ["explain", "say_error"]


async def test_the_end_of_a_turn_because_its_room_closes_is_no_error() -> None:
    controller, others = reply_of(conversation())
    await controller.ended(TurnEnded(conversation(), error=RoomClosed()))
    assert others.calls == []


async def test_a_text_that_could_not_be_stored_is_given_back() -> None:
    controller, others = reply_of(conversation())
    elsewhere = conversation()
    await controller.ended(TurnEnded(elsewhere, error=RoomClosed(), unsent="lost"))
    assert others.calls == [("give_back", elsewhere, "lost")]


async def test_queued_messages_wait_when_the_reply_did_not_come() -> None:
    controller, others = reply_of(conversation())
    elsewhere = conversation(waiting=("next",))
    await controller.ended(TurnEnded(elsewhere, error=NoModel("chat")))
    assert elsewhere.waiting == ["next"]
    assert "say" not in others.named


async def test_nothing_is_shown_while_the_program_closes() -> None:
    controller, others = reply_of(conversation())
    others.leaving = True
    await controller.ended(TurnEnded(conversation(), error=NoModel("chat")))
    assert others.calls == []
