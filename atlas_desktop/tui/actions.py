"""Every action, once: it feeds the key bindings, the footer, the help and the command palette."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from textual.binding import Binding


class Where(StrEnum):
    """Which part of the interface answers to an action."""

    CHAT = "Conversation"
    SESSIONS = "List of conversations"
    MEMORIES = "Memories"
    EVERYWHERE = "Everywhere"


@dataclass(frozen=True, slots=True)
class Action:
    """`run` is the name of the method (`action_…`); `key` the default keys, `label` its word in the footer.

    `priority` keys work while text is being typed. An action without a label is not shown in the footer.
    `slash` is what can be typed in place of a message to carry it out; with `words`, what follows it on the
    line is given to the action.
    """

    id: str
    name: str
    help: str
    where: Where
    run: str
    key: str = ""
    label: str = ""
    priority: bool = False
    in_palette: bool = True
    slash: str = ""
    words: bool = False


ACTIONS: tuple[Action, ...] = (
    Action(
        "chat.send",
        "Send",
        "Send what is typed; while a reply is coming it waits its turn. Shift+Enter or Ctrl+J: a new line.",
        Where.CHAT,
        "send",
        "enter",
        in_palette=False,
    ),
    Action(
        "chat.stop",
        "Stop the reply",
        "End the reply and keep what has come, marked as stopped. "
        "With nothing coming: take back a waiting message.",
        Where.CHAT,
        "stop",
        "escape",
        "Stop",
    ),
    Action(
        "chat.back",
        "Back to typing",
        "Close the list if it lies over the conversation, and go on typing.",
        Where.CHAT,
        "back",
        "escape",
        in_palette=False,
    ),
    Action(
        "session.new",
        "New conversation",
        "Start with an empty page. What you were typing is kept where it was.",
        Where.CHAT,
        "new_session",
        "ctrl+n",
        "New",
        priority=True,
        slash="/new",
    ),
    Action(
        "session.list",
        "Conversations",
        "Go to the list: type to filter by title and text, Enter opens.",
        Where.CHAT,
        "focus_sessions",
        "ctrl+o",
        "List",
        priority=True,
    ),
    Action(
        "chat.regenerate",
        "Answer again",
        "Ask the model for another answer to your newest message; the earlier one is kept.",
        Where.CHAT,
        "regenerate",
        "ctrl+r",
        "Again",
        priority=True,
        slash="/regenerate",
    ),
    Action(
        "session.rename",
        "Rename the conversation",
        "Give this conversation (or the one marked in the list) a title of your own.",
        Where.CHAT,
        "rename",
        "ctrl+t",
        "Rename",
        priority=True,
        slash="/rename",
    ),
    Action(
        "session.delete",
        "Delete the conversation",
        "Move this conversation (or the one marked in the list) to the bin. It can be undone.",
        Where.CHAT,
        "delete",
    ),
    Action(
        "session.delete_marked",
        "Delete the marked conversation",
        "In the list: move the marked conversation to the bin. It can be undone.",
        Where.SESSIONS,
        "delete_marked",
        "delete,d",
        "Delete",
        in_palette=False,
    ),
    Action(
        "session.undo",
        "Undo the deletion",
        "Bring back the conversation that was just deleted (for ten seconds).",
        Where.CHAT,
        "undo",
        "ctrl+z",
        priority=True,
    ),
    Action(
        "session.undo_in_list",
        "Undo the deletion",
        "In the list: bring back the conversation that was just deleted.",
        Where.SESSIONS,
        "undo",
        "u",
        in_palette=False,
    ),
    Action(
        "context.show",
        "What the model is given",
        "Show the tiers of the context, the summaries (to read and to edit), and the exact next prompt.",
        Where.CHAT,
        "show_context",
        "f5",
        priority=True,
        slash="/context",
    ),
    Action(
        "context.summarise",
        "Summarise older turns now",
        "Put summaries in the place of all but the newest messages of this conversation.",
        Where.CHAT,
        "summarise",
        slash="/summarise",
    ),
    Action(
        "message.important",
        "Mark your newest message as important",
        "It stays in the model's sight word for word longest.",
        Where.CHAT,
        "mark_important",
        slash="/important",
    ),
    Action(
        "memory.show",
        "Memories",
        "Show what Atlas remembers: the inbox, what it knows by kind, what fades, and the summaries.",
        Where.CHAT,
        "show_memories",
        "f3",
        priority=True,
        slash="/memories",
    ),
    Action(
        "memory.remember",
        "Remember something",
        "`/remember` and what is to be remembered: it is kept at once, in your words.",
        Where.CHAT,
        "remember",
        in_palette=False,
        slash="/remember",
        words=True,
    ),
    Action(
        "memory.pin_latest",
        "Pin the newest memory",
        "The memory that was learned last (or `/pin ID`) is always told to the model.",
        Where.CHAT,
        "pin_memory",
        slash="/pin",
        words=True,
    ),
    *(
        Action(f"memories.{run}", name, text, Where.MEMORIES, f"memory_{run}", key, label, in_palette=False)
        for run, name, key, label, text in (
            ("accept", "Accept", "a", "Accept", "Keep the marked memory of the inbox."),
            ("edit", "Edit", "e", "Edit", "Correct its words; the earlier ones are kept among its versions."),
            ("reject", "Reject", "r", "Reject", "Never use it, nor learn it again from the same words."),
            ("accept_all", "Accept all", "A", "All", "Keep everything in the inbox."),
            ("rescue", "Rescue", "s", "Rescue", "Keep for good what is fading."),
            (
                "pin",
                "Pin",
                "p",
                "Pin",
                "Always tell it to the model; it does not fade then. Again: unpin.",
            ),
            ("forget", "Forget", "delete", "Forget", "Erase it for good, after a question."),
            ("undo", "Undo", "u", "", "Take back what was done to memories last, by you or by itself."),
            ("search", "Search", "slash", "Search", "Show only what holds these words."),
            ("open", "Open", "enter", "", "Open the conversation that it comes from, at the message."),
            ("next", "Next tab", "right", "", "Go to the next kind of memories."),
            ("previous", "Tab before", "left", "", "Go to the kind of memories before."),
            ("back", "Back", "escape,f3", "Back", "Leave the search, then the memories."),
        )
    ),
    *(
        Action(f"room.{run}", name, text, Where.CHAT, run, key, slash=slash, priority=bool(key))
        for run, name, slash, key, text in (
            (
                "make_private",
                "Move to the private room",
                "/private",
                "",
                "With all that was learned from this conversation alone; the passphrase is asked for again.",
            ),
            (
                "make_open",
                "Move to the open room",
                "/open",
                "",
                "Out of the private room, with all that was learned from this conversation alone.",
            ),
            (
                "close_private",
                "Open or close the private room",
                "/close",
                "ctrl+g",
                "Open it to look into it, or close it: nothing shows then what is in it.",
            ),
            ("keep", "Keep this conversation", "/keep", "", "Save what was said off the record."),
            (
                "go_off_record",
                "Off the record",
                "/off",
                "",
                "Go on in memory alone: what was said so far stays saved, the rest ends with the program.",
            ),
            ("use_reads", "Memory: read only", "/reads", "", "Use memories and add none."),
            ("use_blank", "Memory: none", "/blank", "", "Neither use memories nor add any."),
            ("use_normal", "Memory: normal", "/normal", "", "Use memories, and learn."),
        )
    ),
    Action(
        "view.sidebar",
        "Show or hide the list",
        "Fold the list of conversations away, or bring it back.",
        Where.CHAT,
        "toggle_sidebar",
        "ctrl+b",
        priority=True,
    ),
    Action(
        "view.up",
        "Scroll up",
        "One page up in the conversation; older messages are loaded at the top.",
        Where.CHAT,
        "page_up",
        "pageup,ctrl+up",
        priority=True,
        in_palette=False,
    ),
    Action(
        "view.down",
        "Scroll down",
        "One page down in the conversation.",
        Where.CHAT,
        "page_down",
        "pagedown,ctrl+down",
        priority=True,
        in_palette=False,
    ),
    Action(
        "view.end",
        "Go to the newest message",
        "Jump to the end and follow the reply again.",
        Where.CHAT,
        "follow",
        "ctrl+end",
        priority=True,
    ),
    Action(
        "chat.earlier_variant",
        "Earlier answer",
        "Go back to the answer before this one, where the newest message was answered more than once.",
        Where.CHAT,
        "earlier_variant",
        "alt+left",
        priority=True,
    ),
    Action(
        "chat.later_variant",
        "Later answer",
        "Go on to the answer after this one.",
        Where.CHAT,
        "later_variant",
        "alt+right",
        priority=True,
    ),
    Action(
        "view.theme",
        "Light or dark",
        "Change between light and dark colours; the choice is kept.",
        Where.EVERYWHERE,
        "toggle_theme",
        "f8",
        priority=True,
    ),
    Action(
        "app.palette",
        "Commands",
        "Find any action by its name.",
        Where.EVERYWHERE,
        "command_palette",
        "ctrl+p",
        "Commands",
        priority=True,
        in_palette=False,
    ),
    Action(
        "app.help",
        "Help",
        "Show every action and its key.",
        Where.EVERYWHERE,
        "help",
        "f1",
        "Help",
        priority=True,
        slash="/help",
    ),
    Action(
        "app.lock",
        "Lock",
        "End the model, close everything, and show the locked door. What you are typing is kept, encrypted; "
        "a conversation off the record is not.",
        Where.EVERYWHERE,
        "lock",
        "ctrl+l",
        priority=True,
        slash="/lock",
    ),
    Action(
        "app.quit",
        "Quit",
        "Stop and save what is under way, lock everything and leave.",
        Where.EVERYWHERE,
        "quit",
        "ctrl+q",
        "Quit",
        priority=True,
    ),
)

BY_ID = {action.id: action for action in ACTIONS}
SLASH = {action.slash: action for action in ACTIONS if action.slash}


def bindings(where: Where) -> Iterator[Binding]:
    """The key bindings of one part of the interface. Their ids let a keymap replace the keys."""
    # An action of the list is carried out by the screen that the list is on.
    prefix = "screen." if where is Where.SESSIONS else ""
    for action in ACTIONS:
        if action.where is where and action.key:
            yield Binding(
                action.key,
                prefix + action.run,
                action.label or action.name,
                show=bool(action.label),
                priority=action.priority,
                id=action.id,
                tooltip=action.help,
            )


def typed(text: str) -> tuple[Action, tuple[str, ...]] | None:
    """The action that a line stands for, with what is given to it; None for a message."""
    slash, _, rest = text.partition(" ")
    action = SLASH.get(slash)
    if action is None or (rest.strip() and not action.words):
        return None
    return action, ((rest.strip(),) if action.words else ())


_WORDS = {
    "escape": "Esc",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "delete": "Del",
    "enter": "Enter",
    "slash": "/",
    "A": "Shift+A",
}


def key_words(key: str) -> str:
    """Keys as people write them: `ctrl+n` is `Ctrl+N`."""

    def one(part: str) -> str:
        return _WORDS.get(part, part.upper() if len(part) == 1 or part[:1] == "f" else part.capitalize())

    return " or ".join("+".join(one(part) for part in each.split("+")) for each in key.split(",") if each)
