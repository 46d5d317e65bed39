"""Every action, once: it feeds the key bindings, the footer, the help and the command palette."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum, auto

from textual.binding import Binding

from atlas_desktop.words.catalogue import texts, tr


class Where(StrEnum):
    """The part of the interface that an action belongs to."""

    CHAT = auto()
    VIEWS = auto()
    SESSIONS = auto()
    MESSAGES = auto()
    MEMORIES = auto()
    HISTORY = auto()
    INSIGHTS = auto()
    SETTINGS = auto()
    MODELS = auto()
    EVERYWHERE = auto()

    @property
    def label(self) -> str:
        """As people call it."""
        return tr(f"actions.where.{self}")


@dataclass(frozen=True, slots=True)
class Action:
    """`run` is the name of the method (`action_…`), `key` the default keys.

    `priority` keys work while the user is typing. `slash` is the command that runs the action; with `words`,
    the rest of the line is passed to it. Its name is in `words.en.actions`, by its id.
    """

    id: str
    where: Where
    run: str
    key: str = ""
    priority: bool = False
    in_palette: bool = True
    slash: str = ""
    words: bool = False

    @property
    def name(self) -> str:
        return tr(f"actions.{self.id}.name")

    @property
    def label(self) -> str:
        """Its word in the footer; empty: it is not shown there."""
        return texts("actions").get(f"{self.id}.label", "")

    @property
    def help(self) -> str:
        """What the action does, in a sentence or two."""
        return tr(f"actions.{self.id}.help")


# --- What is done with a conversation, its messages, and the list of conversations --------

_CONVERSATION: tuple[Action, ...] = (
    Action("chat.send", Where.CHAT, "send", "enter", in_palette=False),
    Action("chat.stop", Where.CHAT, "stop", "escape"),
    Action("chat.back", Where.CHAT, "back", "escape", in_palette=False),
    Action("session.new", Where.CHAT, "new_session", "ctrl+n", priority=True, slash="/new"),
    Action("session.list", Where.CHAT, "focus_sessions", "ctrl+o", priority=True),
    Action("chat.regenerate", Where.CHAT, "regenerate", "ctrl+r", priority=True, slash="/regenerate"),
    Action("session.rename", Where.CHAT, "rename", "ctrl+t", priority=True, slash="/rename", words=True),
    Action("session.delete", Where.CHAT, "delete"),
    Action("session.export", Where.CHAT, "export", slash="/export"),
    Action("session.import", Where.CHAT, "import_conversations", slash="/import", words=True),
    Action("session.delete_marked", Where.SESSIONS, "delete_marked", "delete,d", in_palette=False),
    Action("session.undo", Where.CHAT, "undo", "ctrl+z", priority=True),
    Action("session.undo_in_list", Where.SESSIONS, "undo", "u", in_palette=False),
    Action("context.show", Where.CHAT, "show_context", "f5", priority=True, slash="/context"),
    Action("context.summarise", Where.CHAT, "summarise", slash="/summarise"),
    Action("chat.split", Where.CHAT, "split", slash="/split", words=True),
    Action("chat.earlier_variant", Where.CHAT, "earlier_variant", "alt+left", priority=True),
    Action("chat.later_variant", Where.CHAT, "later_variant", "alt+right", priority=True),
)

# --- What is done with one message: the selected one, else the newest that it can be done with --------

_MESSAGES: tuple[Action, ...] = (
    Action("messages.select", Where.CHAT, "select_message", "alt+up", priority=True, slash="/messages"),
    Action("message.edit", Where.MESSAGES, "message_edit", "e", slash="/edit"),
    Action("message.continue", Where.MESSAGES, "message_continue", "c", slash="/continue"),
    Action("message.fork", Where.MESSAGES, "message_fork", "f", slash="/fork"),
    Action("message.copy", Where.MESSAGES, "message_copy", "y", slash="/copy"),
    Action("message.whole", Where.MESSAGES, "message_whole", "o", slash="/whole"),
    Action("message.copy_code", Where.MESSAGES, "message_copy_code", "Y", slash="/code"),
    Action("message.important", Where.MESSAGES, "message_important", "i", slash="/important"),
    Action("message.why", Where.MESSAGES, "message_why", "w", slash="/why"),
    Action("message.branches", Where.MESSAGES, "message_branches", "b", slash="/branches"),
    Action("message.forget", Where.MESSAGES, "message_forget", "delete"),
    Action("message.earlier", Where.MESSAGES, "message_earlier", "left"),
    Action("message.later", Where.MESSAGES, "message_later", "right"),
    Action("message.previous", Where.MESSAGES, "message_previous", "up,k", in_palette=False),
    Action("message.next", Where.MESSAGES, "message_next", "down,j", in_palette=False),
    Action("message.first", Where.MESSAGES, "message_first", "home", in_palette=False),
    Action("message.last", Where.MESSAGES, "message_last", "end", in_palette=False),
    Action("message.back", Where.MESSAGES, "message_back", "escape,tab", in_palette=False),
)

# --- What a conversation is given (files, instructions, prompts to fill in), and how it is filed --------

_TOOLS: tuple[Action, ...] = (
    Action("tools.attach", Where.CHAT, "attach", slash="/attach", words=True),
    Action("tools.detach", Where.CHAT, "detach", slash="/detach", words=True),
    Action("tools.documents", Where.CHAT, "documents", slash="/documents"),
    Action("tools.persona", Where.CHAT, "persona", "f7", priority=True, slash="/persona", words=True),
    Action("tools.instruct", Where.CHAT, "instruct", slash="/system", words=True),
    Action("tools.use_template", Where.CHAT, "use_template", slash="/template", words=True),
    Action("tools.resume", Where.CHAT, "resume", slash="/resume", words=True),
    Action("tools.star", Where.CHAT, "star", slash="/star"),
    Action("tools.tag", Where.CHAT, "tag", slash="/tag", words=True),
)

# --- What is done in the history browser --------

_HISTORY: tuple[Action, ...] = (
    Action("history.show", Where.VIEWS, "show_history", "f2", priority=True, slash="/search", words=True),
    Action("project.choose", Where.CHAT, "project", slash="/project", words=True),
    Action("history.open", Where.HISTORY, "history_open", "enter", in_palette=False),
    Action("history.select", Where.HISTORY, "history_select", "space", in_palette=False),
    Action("history.extend_up", Where.HISTORY, "history_extend_up", "shift+up", in_palette=False),
    Action("history.extend_down", Where.HISTORY, "history_extend_down", "shift+down", in_palette=False),
    Action("history.all", Where.HISTORY, "history_all", "ctrl+a", in_palette=False),
    Action("history.tag", Where.HISTORY, "history_tag", "t", in_palette=False),
    Action("history.star", Where.HISTORY, "history_star", "s", in_palette=False),
    Action("history.important", Where.HISTORY, "history_important", "i", in_palette=False),
    Action("history.pin", Where.HISTORY, "history_pin", "p", in_palette=False),
    Action("history.archive", Where.HISTORY, "history_archive", "a", in_palette=False),
    Action("history.project", Where.HISTORY, "history_project", "g", in_palette=False),
    Action("history.private", Where.HISTORY, "history_private", "v", in_palette=False),
    Action("history.room", Where.HISTORY, "history_room", "ctrl+g", in_palette=False),
    Action("history.merge", Where.HISTORY, "history_merge", "m", in_palette=False),
    Action("history.export", Where.HISTORY, "history_export", "x", in_palette=False),
    Action("history.delete", Where.HISTORY, "history_delete", "delete,d", in_palette=False),
    Action("history.restore", Where.HISTORY, "history_restore", "r", in_palette=False),
    Action("history.undo", Where.HISTORY, "history_undo", "u,ctrl+z", in_palette=False),
    Action("history.bin", Where.HISTORY, "history_bin", "b", in_palette=False),
    Action("history.order", Where.HISTORY, "history_order", "o", in_palette=False),
    Action("history.filters", Where.HISTORY, "history_filters", "f", in_palette=False),
    Action("history.save", Where.HISTORY, "history_save", "ctrl+s", in_palette=False),
    Action("history.search", Where.HISTORY, "history_search", "slash", in_palette=False),
    Action("history.only_starred", Where.HISTORY, "history_only_starred", "1", in_palette=False),
    Action("history.only_important", Where.HISTORY, "history_only_important", "2", in_palette=False),
    Action("history.only_pinned", Where.HISTORY, "history_only_pinned", "3", in_palette=False),
    Action("history.only_archived", Where.HISTORY, "history_only_archived", "4", in_palette=False),
    Action("history.only_week", Where.HISTORY, "history_only_week", "5", in_palette=False),
    Action("history.only_code", Where.HISTORY, "history_only_code", "6", in_palette=False),
    Action("history.back", Where.HISTORY, "history_back", "escape", in_palette=False),
)

# --- What is done on the screen of insights --------

_INSIGHTS: tuple[Action, ...] = (
    Action("insights.show", Where.VIEWS, "show_insights", "f4", priority=True, slash="/insights"),
    Action("insights.next", Where.INSIGHTS, "insights_next", "right", in_palette=False),
    Action("insights.previous", Where.INSIGHTS, "insights_previous", "left", in_palette=False),
    Action("insights.span", Where.INSIGHTS, "insights_span", "s", in_palette=False),
    Action("insights.words", Where.INSIGHTS, "insights_words", "w", in_palette=False),
    Action("insights.back", Where.INSIGHTS, "insights_back", "escape", in_palette=False),
)

# --- What is done with memories --------

_MEMORIES: tuple[Action, ...] = (
    Action("memory.show", Where.VIEWS, "show_memories", "f3", priority=True, slash="/memories"),
    Action("memory.remember", Where.CHAT, "remember", in_palette=False, slash="/remember", words=True),
    Action("memory.forget", Where.CHAT, "forget", slash="/forget", words=True),
    Action("memory.pin_latest", Where.CHAT, "pin_memory", slash="/pin", words=True),
    Action("memories.accept", Where.MEMORIES, "memory_accept", "a", in_palette=False),
    Action("memories.edit", Where.MEMORIES, "memory_edit", "e", in_palette=False),
    Action("memories.reject", Where.MEMORIES, "memory_reject", "r", in_palette=False),
    Action("memories.accept_all", Where.MEMORIES, "memory_accept_all", "A", in_palette=False),
    Action("memories.rescue", Where.MEMORIES, "memory_rescue", "s", in_palette=False),
    Action("memories.pin", Where.MEMORIES, "memory_pin", "p", in_palette=False),
    Action("memories.forget", Where.MEMORIES, "memory_forget", "delete", in_palette=False),
    Action("memories.undo", Where.MEMORIES, "memory_undo", "u", in_palette=False),
    Action("memories.search", Where.MEMORIES, "memory_search", "slash", in_palette=False),
    Action("memories.open", Where.MEMORIES, "memory_open", "enter", in_palette=False),
    Action("memories.why", Where.MEMORIES, "memory_why", "w", in_palette=False),
    Action("memories.next", Where.MEMORIES, "memory_next", "right", in_palette=False),
    Action("memories.previous", Where.MEMORIES, "memory_previous", "left", in_palette=False),
    Action("memories.back", Where.MEMORIES, "memory_back", "escape", in_palette=False),
)

# --- Where a conversation is kept, and what memory does in it --------

_ROOMS: tuple[Action, ...] = (
    Action("room.make_private", Where.CHAT, "make_private", slash="/private"),
    Action("room.make_open", Where.CHAT, "make_open", slash="/open"),
    Action("room.close_private", Where.CHAT, "close_private", "ctrl+g", priority=True, slash="/close"),
    Action("room.keep", Where.CHAT, "keep", slash="/keep"),
    Action("room.go_off_record", Where.CHAT, "go_off_record", slash="/off"),
    Action("room.use_reads", Where.CHAT, "use_reads", slash="/reads"),
    Action("room.use_blank", Where.CHAT, "use_blank", slash="/blank"),
    Action("room.use_normal", Where.CHAT, "use_normal", slash="/normal"),
)

# --- What is done with models --------

_MODELS: tuple[Action, ...] = (
    Action("models.show", Where.EVERYWHERE, "show_models", "f6", priority=True),
    Action("models.named", Where.EVERYWHERE, "use_model", in_palette=False, slash="/model", words=True),
    Action("models.choose", Where.MODELS, "model_choose", "enter,space", in_palette=False),
    Action("models.pause", Where.MODELS, "model_pause", "p", in_palette=False),
    Action("models.cancel", Where.MODELS, "model_cancel", "x", in_palette=False),
    Action("models.import", Where.MODELS, "model_import", "i", in_palette=False),
    Action("models.bench", Where.MODELS, "model_bench", "b", in_palette=False),
    Action("models.tune", Where.MODELS, "model_tune", "t", in_palette=False),
    Action("models.verify", Where.MODELS, "model_verify", "v", in_palette=False),
    Action("models.remove", Where.MODELS, "model_remove", "delete", in_palette=False),
    Action("models.back", Where.MODELS, "model_back", "escape,f6", in_palette=False),
)

# --- What is set, and how --------

_SETTINGS: tuple[Action, ...] = (
    Action("settings.show", Where.EVERYWHERE, "show_settings", "f9", priority=True, slash="/settings"),
    Action("settings.change", Where.SETTINGS, "setting_change", "enter,space", in_palette=False),
    Action("settings.reset", Where.SETTINGS, "setting_reset", "r,delete", in_palette=False),
    Action("settings.search", Where.SETTINGS, "setting_search", "slash", in_palette=False),
    Action("settings.sections", Where.SETTINGS, "setting_sections", "left", in_palette=False),
    Action("settings.rows", Where.SETTINGS, "setting_rows", "right", in_palette=False),
    Action("settings.back", Where.SETTINGS, "setting_back", "escape", in_palette=False),
)

# --- What is shown, and the program itself --------

_VIEWS: tuple[Action, ...] = (
    Action("view.sidebar", Where.CHAT, "toggle_sidebar", "ctrl+b", priority=True),
    Action("view.aside", Where.CHAT, "toggle_aside", "alt+m", priority=True, slash="/here"),
    Action("view.up", Where.CHAT, "page_up", "pageup,ctrl+up", priority=True, in_palette=False),
    Action("view.down", Where.CHAT, "page_down", "pagedown,ctrl+down", priority=True, in_palette=False),
    Action("view.end", Where.CHAT, "follow", "ctrl+end", priority=True),
    Action("view.theme", Where.EVERYWHERE, "choose_theme", "f8", priority=True, slash="/theme"),
    Action("app.palette", Where.EVERYWHERE, "command_palette", "ctrl+p", priority=True, in_palette=False),
    Action("app.help", Where.EVERYWHERE, "help", "f1", priority=True, slash="/help"),
    Action("app.demo", Where.EVERYWHERE, "demo", "f10", slash="/demo"),
    Action("app.lock", Where.EVERYWHERE, "lock", "ctrl+l", priority=True, slash="/lock"),
    Action("app.quit", Where.EVERYWHERE, "quit", "ctrl+q", priority=True),
)

ACTIONS: tuple[Action, ...] = (
    *_CONVERSATION,
    *_MESSAGES,
    *_TOOLS,
    *_HISTORY,
    *_INSIGHTS,
    *_MEMORIES,
    *_ROOMS,
    *_MODELS,
    *_SETTINGS,
    *_VIEWS,
)
"""Within one part of the interface the footer keeps this order."""

BY_ID = {action.id: action for action in ACTIONS}
SLASH = {action.slash: action for action in ACTIONS if action.slash}


def bindings(*places: Where, hidden: bool = False) -> Iterator[Binding]:
    """Returns the key bindings of parts of the interface; `hidden` ones are not in the footer. Their ids let
    a keymap replace the keys."""
    for action in ACTIONS:
        if action.where in places and action.key:
            # An action of a list is carried out by the screen that the list is on.
            prefix = "screen." if action.where in (Where.SESSIONS, Where.MESSAGES) else ""
            yield Binding(
                action.key,
                prefix + action.run,
                action.label or action.name,
                show=bool(action.label) and not hidden,
                priority=action.priority,
                id=action.id,
                tooltip=action.help,
            )


def typed(text: str) -> tuple[Action, tuple[str, ...]] | None:
    """Returns the action that a typed line stands for, and its arguments; None for a message."""
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
    "question_mark": "?",
    "plus": "+",
    "minus": "-",
    "full_stop": ".",
    "comma": ",",
}


def key_words(key: str) -> str:
    """Returns keys as people write them: `ctrl+n` is `Ctrl+N`, and `b`, typed without Shift, is `b`."""

    def one(part: str) -> str:
        if len(part) == 1:
            return f"Shift+{part}" if part.isupper() else part.upper()
        return _WORDS.get(part, part.upper() if part[1:].isdigit() else part.capitalize())

    def together(each: str) -> str:
        return each if len(each) == 1 and each.islower() else "+".join(map(one, each.split("+")))

    return " or ".join(together(each) for each in key.split(",") if each)
