"""Why a command that was typed, or a key, cannot be done now: said instead of only that it cannot."""

from atlas_desktop.tui.turns import Conversation
from memory.entities import RoomKind

_ROOMS = (
    "make_private",
    "make_open",
    "close_private",
    "go_off_record",
    "use_reads",
    "use_blank",
    "use_normal",
)
_OF_WHAT_WAS_SAID = (
    "regenerate",
    "show_context",
    "summarise",
    "split",
    "export",
    "rename",
    "star",
    "tag",
    "select_message",
)
_AT_REST = (*_ROOMS, "keep", "regenerate", "split")
_MESSAGES = "message_"
_OF_WORDS = tuple(_MESSAGES + deed for deed in ("copy", "copy_code", "important", "why"))
_MESSAGES_AT_REST = tuple(_MESSAGES + deed for deed in ("edit", "fork", "forget", "branches", "continue"))


def why_not(
    run: str, shown: Conversation, here: RoomKind, *, begun_off_record: bool, forgotten: bool = False
) -> str:
    """The name of the reason, in `words.en.chat`, for what `check_action` has refused; empty for none that
    is known. What no waiting changes comes first. `forgotten`: their newest words are."""
    if run in ("lock", "demo"):
        return "no_door"
    if begun_off_record and run in _ROOMS:
        return "no_other_room"
    if run == "make_open" and here is RoomKind.OPEN:
        return "open_already"
    of_what_was_said = run in _OF_WHAT_WAS_SAID or run.startswith(_MESSAGES)
    if of_what_was_said and shown.id is None:
        return "nothing_said_yet"
    if run == "regenerate" and forgotten:
        return "forgotten"
    if run in _AT_REST or run in _MESSAGES_AT_REST:
        if shown.busy:
            return "reply_is_coming"
        if shown.waiting:
            return "message_waits"
    return {
        "message_continue": "reply_is_whole",
        "message_edit": "nothing_of_yours",
        **dict.fromkeys(_OF_WORDS, "no_words"),
        "import_conversations": "nowhere_kept",
    }.get(run, "")
