"""Whether an action of the chat screen is available, and why not.

Keys, footer, palette, help and typed commands all use this module.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from atlas_desktop.locale import N_, _
from atlas_desktop.tui.actions import Action, Where
from atlas_desktop.tui.chat.conversation import Conversation
from atlas_desktop.tui.chat.messages import MountedMessages
from atlas_desktop.tui.keymap import Keymap, how_to
from memory.entities import MessageStatus, RoomKind
from models.messages import Role

_WHY_NOT_TEXTS = {
    "no_door": N_("there is nothing to lock here."),
    "no_other_room": N_("Atlas was started off the record, so no room is open. /keep opens one."),
    "open_already": N_("it is already in the open room."),
    "nothing_said_yet": N_("there are no messages yet."),
    "reply_is_coming": N_("stop the current reply first ({stop})."),
    "message_waits": N_("a message is queued. Enter sends it, {stop} edits it."),
    "reply_is_whole": N_("only the latest reply can be continued, and it is complete."),
    "forgotten": N_("your latest message was forgotten. Write a new one or replace it (/edit)."),
    "being_written": N_("the reply is still being written."),
    "no_words": N_("this message has no stored text."),
    "nothing_of_yours": N_("there is no message of yours to edit."),
    "no_skill": N_("this reply used no skill."),
    "nowhere_kept": N_("no room is open to save to."),
}

OBVIOUS = ""
"""A reason that the screen makes obvious, so that no message is shown."""


@dataclass(frozen=True, slots=True)
class ChatState:
    """The facts that the rules check.

    `room` is where the conversation is kept, None while the program or that room closes; `keeps` says whether
    any open room stores messages. `target` is the conversation that an action of the list applies to,
    `marked` the one under the cursor of the list. `variants` is the number of variants of the newest reply.
    """

    conversation: Conversation
    room: RoomKind | None = RoomKind.OPEN
    begun_off_record: bool = False
    keeps: bool = True
    messages: MountedMessages = field(default_factory=MountedMessages)
    target: str | None = None
    marked: str | None = None
    variants: int = 0
    can_undo: bool = False
    list_has_focus: bool = False
    list_covers: bool = False
    transcript_has_focus: bool = False


Rule = Callable[[ChatState], str | None]
"""Returns the reason why an action is not available, or None if the rule allows it."""


def _room_is_open(state: ChatState) -> str | None:
    return OBVIOUS if state.room is None else None


def _begun(state: ChatState) -> str | None:
    return "nothing_said_yet" if state.conversation.id is None else None


def _exists(state: ChatState) -> str | None:
    return OBVIOUS if state.conversation.id is None else None


def _idle(state: ChatState) -> str | None:
    return "reply_is_coming" if state.conversation.busy else None


def _nothing_waits(state: ChatState) -> str | None:
    return "message_waits" if state.conversation.waiting else None


def _can_stop(state: ChatState) -> str | None:
    goes_on = state.conversation.busy or state.conversation.waiting
    return None if goes_on and not state.list_covers else OBVIOUS


def _not_forgotten(state: ChatState) -> str | None:
    newest = state.messages.newest_of_user
    return "forgotten" if newest is not None and not newest.content.strip() else None


def _has_target(state: ChatState) -> str | None:
    return None if state.target else _begun(state) or OBVIOUS


def _has_variants(state: ChatState) -> str | None:
    return None if state.variants > 1 and not state.conversation.busy else OBVIOUS


def _can_undo(state: ChatState) -> str | None:
    return None if state.can_undo else OBVIOUS


def _is_marked(state: ChatState) -> str | None:
    return OBVIOUS if state.marked is None else None


def _transcript_scrolls(state: ChatState) -> str | None:
    return OBVIOUS if state.list_has_focus else None


def _can_enter_transcript(state: ChatState) -> str | None:
    return OBVIOUS if state.transcript_has_focus or not state.messages.messages else None


def _has_other_rooms(state: ChatState) -> str | None:
    return "no_other_room" if state.begun_off_record else None


def _is_not_open(state: ChatState) -> str | None:
    return "open_already" if state.room is RoomKind.OPEN else None


def _something_is_kept(state: ChatState) -> str | None:
    return None if state.keeps else "nowhere_kept"


def _shows_messages(state: ChatState) -> str | None:
    return OBVIOUS if state.room is None or not state.messages.messages else None


def _is_unfinished(state: ChatState) -> str | None:
    return None if state.messages.unfinished is not None else "reply_is_whole"


def _has_message_of_user(state: ChatState) -> str | None:
    return None if state.messages.meant(Role.USER) is not None else "nothing_of_yours"


def _used_a_skill(state: ChatState) -> str | None:
    meant = state.messages.meant_unless_selected(Role.ASSISTANT)
    return None if meant is not None and meant.id in state.messages.with_skills else "no_skill"


def _has_words(*roles: Role) -> Rule:
    """Requires stored text in the selected message or, without a selection, the newest of these roles
    (any)."""

    def rule(state: ChatState) -> str | None:
        meant = state.messages.meant_unless_selected(*roles)
        if meant is not None and meant.status is MessageStatus.STREAMING:
            return "being_written"
        return None if meant is not None and meant.content.strip() else "no_words"

    return rule


_CHANGE: tuple[Rule, ...] = (_has_other_rooms, _room_is_open, _idle, _nothing_waits)
_MESSAGE: tuple[Rule, ...] = (_begun, _shows_messages)
_RULES: dict[str, tuple[Rule, ...]] = {
    "stop": (_can_stop,),
    "regenerate": (_begun, _not_forgotten, _idle, _nothing_waits),
    "rename": (_has_target,),
    "export": (_has_target,),
    "make_document": (_begun,),
    "delete": (_exists,),
    "delete_marked": (_is_marked,),
    "undo": (_can_undo,),
    "import_conversations": (_something_is_kept,),
    "show_context": (_begun,),
    "find_here": (_begun, _room_is_open),
    "earlier_prompts": (_room_is_open,),
    "summarise": (_begun,),
    "split": (_begun, _idle),
    "earlier_variant": (_has_variants,),
    "later_variant": (_has_variants,),
    "page_up": (_transcript_scrolls,),
    "page_down": (_transcript_scrolls,),
    "show_history": (_room_is_open,),
    "show_insights": (_room_is_open,),
    "show_documents": (_room_is_open,),
    "show_notes": (_room_is_open,),
    "project": (_room_is_open,),
    "show_project": (_room_is_open,),
    "tasks": (_room_is_open,),
    **dict.fromkeys(("attach", "detach", "persona", "instruct", "use_template", "resume"), (_room_is_open,)),
    "star": (_begun, _room_is_open),
    "tag": (_begun, _room_is_open),
    "make_private": _CHANGE,
    "make_open": (_has_other_rooms, _is_not_open, _room_is_open, _idle, _nothing_waits),
    "close_private": _CHANGE,
    "keep": (_room_is_open, _idle, _nothing_waits),
    **dict.fromkeys(("go_off_record", "use_reads", "use_blank", "use_normal"), _CHANGE),
    "select_message": (_begun, _can_enter_transcript),
    "message_continue": (*_MESSAGE, _idle, _is_unfinished),
    "message_edit": (*_MESSAGE, _idle, _has_message_of_user),
    **dict.fromkeys(
        ("message_fork", "message_forget", "message_earlier", "message_later", "message_branches"),
        (*_MESSAGE, _idle),
    ),
    "message_copy": (*_MESSAGE, _has_words()),
    "message_note": (*_MESSAGE, _has_words()),
    "message_notes": _MESSAGE,
    "message_whole": (*_MESSAGE, _has_words()),
    "message_copy_code": (*_MESSAGE, _has_words(Role.ASSISTANT)),
    "message_important": (*_MESSAGE, _has_words(Role.USER)),
    "message_why": (*_MESSAGE, _has_words(Role.ASSISTANT)),
    **dict.fromkeys(("message_helped", "message_harmed"), (*_MESSAGE, _used_a_skill)),
    "message_support": (*_MESSAGE, _has_words(Role.ASSISTANT)),
}
_HIDDEN = frozenset(
    (
        "stop",
        "delete",
        "delete_marked",
        "undo",
        "earlier_variant",
        "later_variant",
        "page_up",
        "page_down",
        "select_message",
    )
)
"""Actions that the footer leaves out while they are not available; others are dimmed."""


def disabled_reason(run: str, state: ChatState, given: tuple[object, ...] = ()) -> str | None:
    """Returns the reason why an action is not available: a key of `_WHY_NOT_TEXTS`, or `OBVIOUS`; else None.

    A reason that waiting does not remove comes first. `given` is what was typed after the command.
    """
    rules = _RULES.get(run, ())
    if run == "split" and any(given):
        rules = (_idle,)
    return next((reason for rule in rules if (reason := rule(state)) is not None), None)


def is_hidden(run: str, reason: str) -> bool:
    """Whether the footer leaves out an action that is not available for this reason."""
    return run in _HIDDEN or (run == "regenerate" and reason in ("nothing_said_yet", "forgotten"))


def refused_key(action: Action, reason: str, keymap: Keymap) -> str:
    """Returns the notice for a key whose action is not available; empty if the reason is obvious."""
    return (
        _("“{action}” is not available now: {why}", action=action.name, why=_words(reason, keymap))
        if reason
        else ""
    )


def refused_command(action: Action, reason: str, keymap: Keymap) -> str:
    """Returns the notice for a typed command that is not available."""
    if action.where is Where.EVERYWHERE and action.run in ("lock", "demo"):
        reason = "no_door"
    if not reason:
        return _("{command} is not available now.", command=action.slash)
    return _("{command} is not available now: {why}", command=action.slash, why=_words(reason, keymap))


def _words(reason: str, keymap: Keymap) -> str:
    return _(_WHY_NOT_TEXTS[reason], stop=how_to("chat.stop", keymap))
