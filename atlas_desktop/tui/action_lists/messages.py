"""What is done with one message: the selected one, else the newest that it can be done with."""

from collections.abc import Iterator

from atlas_desktop.tui.action import Action, Where

_MOVES = (
    ("previous", "Message above", "up,k", "Select the message above."),
    ("next", "Message below", "down,j", "Select the message below."),
    ("first", "First message here", "home", "Select the oldest message that is loaded; older ones follow."),
    ("last", "Newest message", "end", "Go to the newest message and select it."),
    ("back", "Back to typing", "escape,tab", "Leave the messages and go on typing."),
)

# What is done, its name, key, word in the footer, what can be typed, and the help.
_DEEDS = (
    (
        "edit",
        "Edit a message",
        "e",
        "Edit",
        "/edit",
        "Say other words in its place, and have them answered: a branch. What was said stays, as a variant.",
    ),
    (
        "continue",
        "Continue a reply",
        "c",
        "Continue",
        "/continue",
        "Go on with a reply that was stopped or cut, from its last word.",
    ),
    (
        "fork",
        "Fork from here",
        "f",
        "Fork",
        "/fork",
        "Begin a new conversation with a copy of this one up to the message.",
    ),
    ("copy", "Copy a message", "y", "Copy", "/copy", "Put its words on the clipboard, as Markdown."),
    ("copy_code", "Copy code", "Y", "Code", "/code", "Put a block of code of the message on the clipboard."),
    (
        "important",
        "Mark as important",
        "i",
        "Important",
        "/important",
        "Your newest message, or the selected one, stays word for word in sight longest. Again: no longer.",
    ),
    (
        "why",
        "Why?",
        "w",
        "Why",
        "/why",
        "What a reply was made from: memories told and left out with their scores, and the prompt by tier.",
    ),
    (
        "branches",
        "Branches",
        "b",
        "Branches",
        "/branches",
        "Show the tree of this conversation; Enter goes there.",
    ),
    (
        "forget",
        "Forget a message",
        "delete",
        "Forget",
        "",
        "Erase it for good, with what was made from it; first you see what goes.",
    ),
    ("earlier", "Variant before", "left", "", "", "Show an earlier answer, or what was said before an edit."),
    ("later", "Variant after", "right", "", "", "Show the variant after."),
)


def _actions() -> Iterator[Action]:
    yield Action(
        "messages.select",
        "Messages",
        "Select a message: copy, edit, continue, fork or forget it, or ask why. The keys are below then.",
        Where.CHAT,
        "select_message",
        "alt+up",
        priority=True,
        slash="/messages",
    )
    for run, name, key, label, slash, text in _DEEDS:
        yield Action(f"message.{run}", name, text, Where.MESSAGES, f"message_{run}", key, label, slash=slash)
    for run, name, key, text in _MOVES:
        yield Action(f"message.{run}", name, text, Where.MESSAGES, f"message_{run}", key, in_palette=False)


ACTIONS: tuple[Action, ...] = tuple(_actions())
