"""Whether an action of the chat screen can be done, and what is said when it cannot."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_desktop.tui.actions import ACTIONS, BY_ID, Action, Where
from atlas_desktop.tui.chat.availability import (
    OBVIOUS,
    ChatState,
    disabled_reason,
    is_hidden,
    refused_command,
    refused_key,
)
from atlas_desktop.tui.chat.messages import MountedMessages
from atlas_desktop.tui.chat.screen import ChatScreen
from memory.entities import MessageStatus, RoomKind
from models.messages import Role
from tests.tui.chat.states import conversation, message

HERS, REPLY = message("1", Role.USER), message("2", Role.ASSISTANT)
PARTIAL = message("2", Role.ASSISTANT, status=MessageStatus.PARTIAL)
COMING = message("2", Role.ASSISTANT, "", MessageStatus.STREAMING)
TALK = MountedMessages((HERS, REPLY))
READY = ChatState(conversation(), messages=TALK, target="s")
ON_SCREEN = [one for one in ACTIONS if one.where in (Where.CHAT, Where.VIEWS, Where.SESSIONS, Where.MESSAGES)]

rooms = st.none() | st.sampled_from(RoomKind)
conversations = st.builds(
    conversation, begun=st.booleans(), busy=st.booleans(), waiting=st.sampled_from([(), ("later",)])
)
mounted = st.sampled_from(
    [
        MountedMessages(),
        TALK,
        MountedMessages((HERS, PARTIAL)),
        MountedMessages((HERS, COMING)),
        MountedMessages((HERS, REPLY), HERS),
        MountedMessages((HERS, REPLY), REPLY, at_the_newest=False),
        MountedMessages((replace(HERS, content=""), replace(REPLY, content=""))),
    ]
)
states = st.builds(
    ChatState,
    conversations,
    rooms,
    begun_off_record=st.booleans(),
    keeps=st.booleans(),
    messages=mounted,
    target=st.sampled_from([None, "s"]),
    marked=st.sampled_from([None, "s"]),
    variants=st.integers(0, 3),
    can_undo=st.booleans(),
    list_has_focus=st.booleans(),
    list_covers=st.booleans(),
    transcript_has_focus=st.booleans(),
)


@given(st.sampled_from(ON_SCREEN), states)
def test_every_reason_has_words_or_is_obvious(action: Action, state: ChatState) -> None:
    run = action.run
    reason = disabled_reason(run, state)
    if reason:
        assert refused_key(BY_ID["chat.stop"], reason, {})
        assert refused_command(BY_ID["chat.regenerate"], reason, {}).endswith(".")


@pytest.mark.parametrize("action", ON_SCREEN, ids=lambda one: one.id)
def test_the_screen_has_a_method_for_every_action(action: Action) -> None:
    assert callable(getattr(ChatScreen, f"action_{action.run}"))


@given(states)
def test_nothing_changes_the_room_while_a_reply_is_coming_or_a_message_waits(state: ChatState) -> None:
    shown = state.conversation
    for run in ("make_private", "make_open", "close_private", "keep", "go_off_record", "use_normal"):
        if shown.busy or shown.waiting or state.room is None:
            assert disabled_reason(run, state) is not None


@pytest.mark.parametrize(
    ("run", "state", "reason"),
    [
        ("regenerate", READY, None),
        ("regenerate", replace(READY, conversation=conversation(begun=False, busy=True)), "nothing_said_yet"),
        ("regenerate", replace(READY, conversation=conversation(busy=True)), "reply_is_coming"),
        ("regenerate", replace(READY, conversation=conversation(waiting=("x",))), "message_waits"),
        (
            "regenerate",
            replace(READY, messages=MountedMessages((replace(HERS, content=" "), REPLY))),
            "forgotten",
        ),
        ("make_private", replace(READY, begun_off_record=True), "no_other_room"),
        ("keep", replace(READY, begun_off_record=True, room=RoomKind.OFF_RECORD), None),
        ("make_open", READY, "open_already"),
        ("make_open", replace(READY, room=RoomKind.PRIVATE), None),
        ("make_private", replace(READY, room=None), OBVIOUS),
        ("message_continue", READY, "reply_is_whole"),
        ("message_continue", replace(READY, messages=MountedMessages((HERS, PARTIAL))), None),
        (
            "message_continue",
            replace(READY, conversation=conversation(busy=True), messages=MountedMessages((HERS, PARTIAL))),
            "reply_is_coming",
        ),
        ("message_edit", replace(READY, messages=MountedMessages((REPLY,))), "nothing_of_yours"),
        ("message_edit", replace(READY, messages=MountedMessages((HERS, REPLY), REPLY)), None),
        ("message_why", replace(READY, messages=MountedMessages((HERS,))), "no_words"),
        ("message_why", replace(READY, messages=MountedMessages((HERS,), HERS)), None),
        ("message_why", replace(READY, messages=MountedMessages((HERS, COMING))), "being_written"),
        ("message_copy", replace(READY, messages=MountedMessages((HERS, COMING))), "being_written"),
        ("message_copy", replace(READY, messages=MountedMessages((HERS, COMING), HERS)), None),
        ("import_conversations", replace(READY, keeps=False), "nowhere_kept"),
        ("rename", replace(READY, target=None), OBVIOUS),
        ("rename", replace(READY, target=None, conversation=conversation(begun=False)), "nothing_said_yet"),
        ("stop", READY, OBVIOUS),
        ("stop", replace(READY, conversation=conversation(busy=True)), None),
        ("stop", replace(READY, conversation=conversation(busy=True), list_covers=True), OBVIOUS),
        ("new_session", replace(READY, conversation=conversation(busy=True)), None),
    ],
)
def test_why_an_action_cannot_be_done(run: str, state: ChatState, reason: str | None) -> None:
    assert disabled_reason(run, state) == reason


def test_a_text_behind_split_needs_no_message() -> None:
    fresh = replace(READY, conversation=conversation(begun=False), messages=MountedMessages())
    assert disabled_reason("split", fresh) == "nothing_said_yet"
    assert disabled_reason("split", fresh, ("a long text",)) is None


def test_the_footer_dims_what_waiting_makes_possible_and_leaves_out_the_rest() -> None:
    assert is_hidden("stop", OBVIOUS)
    assert is_hidden("regenerate", "nothing_said_yet")
    assert not is_hidden("regenerate", "reply_is_coming")
    assert not is_hidden("export", "nothing_said_yet")


def test_lock_and_demo_say_that_there_is_nothing_to_open_again() -> None:
    assert "nothing to lock here" in refused_command(BY_ID["app.lock"], OBVIOUS, {})


def test_what_an_action_is_about_when_no_message_is_selected() -> None:
    assert TALK.meant() == REPLY
    assert TALK.meant(Role.USER) == HERS
    assert TALK.meant_unless_selected(Role.USER) == HERS
    assert MountedMessages().meant() is None


def test_what_an_action_is_about_when_a_message_is_selected() -> None:
    first = MountedMessages((HERS, REPLY, message("3", Role.USER)), HERS)
    assert first.meant() == HERS
    assert first.meant(Role.ASSISTANT) == REPLY
    assert first.meant_unless_selected(Role.ASSISTANT) == HERS


def test_only_the_newest_reply_can_be_unfinished() -> None:
    assert MountedMessages((HERS, PARTIAL)).unfinished == PARTIAL
    assert MountedMessages((HERS, PARTIAL), at_the_newest=False).unfinished is None
    assert MountedMessages((PARTIAL, HERS)).unfinished is None
    assert MountedMessages((HERS, replace(PARTIAL, content=" "))).unfinished is None
