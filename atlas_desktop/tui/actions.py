"""The registry of actions: key bindings, footer, help and command palette are all built from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum, auto

from textual.binding import Binding

from atlas_desktop.locale import N_, _

_WHERE_TEXTS = {
    "chat": N_("Conversation"),
    "views": N_("Views"),
    "sessions": N_("Conversation list"),
    "messages": N_("Messages"),
    "memories": N_("Memories"),
    "history": N_("History"),
    "insights": N_("Insights"),
    "documents": N_("Documents"),
    "reader": N_("Reader"),
    "settings": N_("Settings"),
    "models": N_("Models"),
    "everywhere": N_("Everywhere"),
}


class Where(StrEnum):
    """The part of the interface that an action belongs to."""

    CHAT = auto()
    VIEWS = auto()
    SESSIONS = auto()
    MESSAGES = auto()
    MEMORIES = auto()
    HISTORY = auto()
    INSIGHTS = auto()
    DOCUMENTS = auto()
    READER = auto()
    SETTINGS = auto()
    MODELS = auto()
    EVERYWHERE = auto()

    @property
    def label(self) -> str:
        """The name that users see."""
        return _(_WHERE_TEXTS[self])


@dataclass(frozen=True, slots=True)
class Action:
    """An action that the user can run.

    `run` is the name of its method (`action_…`), `key` its default keys. A `priority` key works while the
    user is typing. `slash` is the command that runs the action; with `words`, the rest of the line is passed
    to it.
    """

    id: str
    where: Where
    run: str
    key: str = ""
    priority: bool = False
    in_palette: bool = True
    slash: str = ""
    words: bool = False
    name: str = ""
    help: str = ""
    """What the action does, in a sentence or two."""
    label: str = ""
    """Its label in the footer; empty to leave it out of the footer."""


# --- Conversations, their messages, and the list of conversations --------

_CONVERSATION: tuple[Action, ...] = (
    Action(
        "chat.send",
        Where.CHAT,
        "send",
        "enter",
        in_palette=False,
        name=_("Send"),
        help=_("Send your message. During a reply, it is queued. Shift+Enter or Ctrl+J: new line."),
    ),
    Action(
        "chat.stop",
        Where.CHAT,
        "stop",
        "escape",
        name=_("Stop the reply"),
        label=_("Stop"),
        help=_(
            "Stop the reply and keep the text so far, marked as stopped. With no reply "
            "running: take back a queued message."
        ),
    ),
    Action(
        "chat.back",
        Where.CHAT,
        "back",
        "escape",
        in_palette=False,
        name=_("Back to typing"),
        help=_("Close the list if it covers the conversation, and continue typing."),
    ),
    Action(
        "session.new",
        Where.CHAT,
        "new_session",
        "ctrl+n",
        priority=True,
        slash="/new",
        name=_("New conversation"),
        label=_("New"),
        help=_("Start a new conversation. Your draft stays in the previous one."),
    ),
    Action(
        "session.list",
        Where.CHAT,
        "focus_sessions",
        "ctrl+o",
        priority=True,
        name=_("Conversations"),
        label=_("List"),
        help=_("Go to the list. Type to filter by title and text; Enter opens."),
    ),
    Action(
        "chat.regenerate",
        Where.CHAT,
        "regenerate",
        "ctrl+r",
        priority=True,
        slash="/regenerate",
        name=_("Regenerate"),
        label=_("Retry"),
        help=_("Ask the model for another reply to your latest message. The earlier one is kept."),
    ),
    Action(
        "session.rename",
        Where.CHAT,
        "rename",
        "ctrl+t",
        priority=True,
        slash="/rename",
        words=True,
        name=_("Rename the conversation"),
        help=_("Give this conversation (or the one selected in the list) a new title."),
    ),
    Action(
        "session.delete",
        Where.CHAT,
        "delete",
        name=_("Delete the conversation"),
        help=_("Move this conversation (or the one selected in the list) to the bin. You can undo this."),
    ),
    Action(
        "session.export",
        Where.CHAT,
        "export",
        slash="/export",
        name=_("Export the conversation"),
        help=_(
            "Export this conversation (or the one selected in the list) as Markdown, web "
            "page, PDF or another format; without personal data, or encrypted, if you "
            "like."
        ),
    ),
    Action(
        "session.document",
        Where.CHAT,
        "make_document",
        slash="/document",
        name=_("Make a document of the conversation"),
        help=_(
            "Make a document of this conversation: its decisions, facts, code and open questions, each with "
            "a link to its message. `e` in the Documents view edits it."
        ),
    ),
    Action(
        "session.import",
        Where.CHAT,
        "import_conversations",
        slash="/import",
        words=True,
        name=_("Import conversations…"),
        help=_(
            "Import conversations from other apps (ChatGPT, Claude, Open WebUI, LM "
            "Studio, Jan, llm, Markdown). `/import PATH` checks it at once."
        ),
    ),
    Action(
        "session.delete_marked",
        Where.SESSIONS,
        "delete_marked",
        "delete,d",
        in_palette=False,
        name=_("Delete selected conversation"),
        label=_("Delete"),
        help=_("In the list: move the selected conversation to the bin. You can undo this."),
    ),
    Action(
        "session.undo",
        Where.CHAT,
        "undo",
        "ctrl+z",
        priority=True,
        name=_("Undo deletion"),
        help=_("Restore the conversation you just deleted (within ten seconds)."),
    ),
    Action(
        "session.undo_in_list",
        Where.SESSIONS,
        "undo",
        "u",
        in_palette=False,
        name=_("Undo deletion"),
        help=_("In the list: restore the conversation you just deleted."),
    ),
    Action(
        "context.show",
        Where.CHAT,
        "show_context",
        "f5",
        priority=True,
        slash="/context",
        name=_("What the model sees"),
        help=_("Show the context by tier, the summaries (to read and edit), and the exact next prompt."),
    ),
    Action(
        "context.summarise",
        Where.CHAT,
        "summarise",
        slash="/summarise",
        name=_("Summarise older messages"),
        help=_("Summarise all but the latest messages of this conversation now."),
    ),
    Action(
        "chat.split",
        Where.CHAT,
        "split",
        slash="/split",
        words=True,
        name=_("Send in parts"),
        help=_(
            "Send a text that is too long for the model in parts that fit: the text after "
            "`/split`, or your latest message. Each part is one turn; the model replies "
            "to the last one."
        ),
    ),
    Action(
        "chat.earlier_variant",
        Where.CHAT,
        "earlier_variant",
        "alt+left",
        priority=True,
        name=_("Earlier reply"),
        help=_("Show the previous reply, if your latest message has more than one."),
    ),
    Action(
        "chat.later_variant",
        Where.CHAT,
        "later_variant",
        "alt+right",
        priority=True,
        name=_("Later reply"),
        help=_("Show the next reply."),
    ),
)

# --- One message: the selected one, or the newest one that the action applies to --------

_MESSAGES: tuple[Action, ...] = (
    Action(
        "messages.select",
        Where.CHAT,
        "select_message",
        "alt+up",
        priority=True,
        slash="/messages",
        name=_("Messages"),
        help=_(
            "Select a message to copy, edit, continue, fork or forget it, or ask why. The "
            "footer shows the keys."
        ),
    ),
    Action(
        "message.edit",
        Where.MESSAGES,
        "message_edit",
        "e",
        slash="/edit",
        name=_("Edit a message"),
        label=_("Edit"),
        help=_("Replace its text and get a new reply, on a new branch. The original stays as a variant."),
    ),
    Action(
        "message.continue",
        Where.MESSAGES,
        "message_continue",
        "c",
        slash="/continue",
        name=_("Continue a reply"),
        label=_("Continue"),
        help=_("Continue a reply that was stopped or cut off, from its last word."),
    ),
    Action(
        "message.fork",
        Where.MESSAGES,
        "message_fork",
        "f",
        slash="/fork",
        name=_("Fork from here"),
        label=_("Fork"),
        help=_("Start a new conversation with a copy of this one up to the message."),
    ),
    Action(
        "message.copy",
        Where.MESSAGES,
        "message_copy",
        "y",
        slash="/copy",
        name=_("Copy a message"),
        label=_("Copy"),
        help=_("Copy its text to the clipboard, as Markdown."),
    ),
    Action(
        "message.whole",
        Where.MESSAGES,
        "message_whole",
        "o",
        slash="/whole",
        name=_("Show the full message"),
        label=_("Full"),
        help=_("Show a message in full. The conversation shows only the beginning of a very long one."),
    ),
    Action(
        "message.copy_code",
        Where.MESSAGES,
        "message_copy_code",
        "Y",
        slash="/code",
        name=_("Copy code"),
        label=_("Code"),
        help=_("Copy a code block of the message to the clipboard."),
    ),
    Action(
        "message.important",
        Where.MESSAGES,
        "message_important",
        "i",
        slash="/important",
        name=_("Mark as important"),
        label=_("Important"),
        help=_(
            "Keep your latest (or the selected) message in the context longest, word for "
            "word. Press again to unmark."
        ),
    ),
    Action(
        "message.why",
        Where.MESSAGES,
        "message_why",
        "w",
        slash="/why",
        name=_("Why?"),
        label=_("Why"),
        help=_(
            "Show how a reply was made: memories used and left out, with their scores, "
            "and the prompt by tier."
        ),
    ),
    Action(
        "message.branches",
        Where.MESSAGES,
        "message_branches",
        "b",
        slash="/branches",
        name=_("Branches"),
        label=_("Branches"),
        help=_("Show this conversation as a tree; Enter opens a branch."),
    ),
    Action(
        "message.forget",
        Where.MESSAGES,
        "message_forget",
        "delete",
        name=_("Forget a message"),
        label=_("Forget"),
        help=_("Erase it permanently, with everything derived from it. Shows a preview first."),
    ),
    Action(
        "message.earlier",
        Where.MESSAGES,
        "message_earlier",
        "left",
        name=_("Earlier variant"),
        help=_("Show an earlier reply, or the text before an edit."),
    ),
    Action(
        "message.later",
        Where.MESSAGES,
        "message_later",
        "right",
        name=_("Later variant"),
        help=_("Show the next variant."),
    ),
    Action(
        "message.previous",
        Where.MESSAGES,
        "message_previous",
        "up,k",
        in_palette=False,
        name=_("Message above"),
        help=_("Select the message above."),
    ),
    Action(
        "message.next",
        Where.MESSAGES,
        "message_next",
        "down,j",
        in_palette=False,
        name=_("Message below"),
        help=_("Select the message below."),
    ),
    Action(
        "message.first",
        Where.MESSAGES,
        "message_first",
        "home",
        in_palette=False,
        name=_("First message"),
        help=_("Select the oldest loaded message; older ones load next."),
    ),
    Action(
        "message.last",
        Where.MESSAGES,
        "message_last",
        "end",
        in_palette=False,
        name=_("Latest message"),
        help=_("Go to the latest message and select it."),
    ),
    Action(
        "message.citation",
        Where.MESSAGES,
        "message_citation",
        "tab",
        in_palette=False,
        name=_("Sources of a reply"),
        help=_("Go through the sources that the selected reply cites; without any, continue typing."),
    ),
    Action(
        "message.support",
        Where.MESSAGES,
        "message_support",
        "u",
        name=_("Show support"),
        help=_("Show or hide the sentences of a reply that no passage of its documents supports."),
    ),
    Action(
        "message.back",
        Where.MESSAGES,
        "message_back",
        "escape",
        in_palette=False,
        name=_("Back to typing"),
        help=_("Leave the messages and continue typing."),
    ),
)

# --- Files, instructions and templates of a conversation, and how it is filed --------

_TOOLS: tuple[Action, ...] = (
    Action(
        "tools.attach",
        Where.CHAT,
        "attach",
        slash="/attach",
        words=True,
        name=_("Attach a file"),
        help=_("Attach a text, Markdown, code or PDF file: type `/attach PATH`, or paste the path."),
    ),
    Action(
        "tools.detach",
        Where.CHAT,
        "detach",
        slash="/detach",
        words=True,
        name=_("Remove an attachment"),
        help=_("Remove an attachment from the context: `/detach NAME`."),
    ),
    Action(
        "tools.persona",
        Where.CHAT,
        "persona",
        "alt+p",
        priority=True,
        slash="/persona",
        words=True,
        name=_("Persona"),
        help=_("Choose a persona for this conversation (or `/persona NAME`), and manage personas."),
    ),
    Action(
        "tools.instruct",
        Where.CHAT,
        "instruct",
        slash="/system",
        words=True,
        name=_("Instructions"),
        help=_("Change the instructions for the model in this conversation: `/system TEXT`."),
    ),
    Action(
        "tools.use_template",
        Where.CHAT,
        "use_template",
        slash="/template",
        words=True,
        name=_("Prompt templates"),
        help=_("Choose a prompt (or `/template NAME`) and fill in its blanks. Manage templates."),
    ),
    Action(
        "tools.resume",
        Where.CHAT,
        "resume",
        slash="/resume",
        words=True,
        name=_("Resume a conversation"),
        help=_("Open one by id or title (`/resume WORDS`), or go to the list."),
    ),
    Action(
        "tools.star",
        Where.CHAT,
        "star",
        slash="/star",
        name=_("Star or unstar"),
        help=_("Star or unstar this conversation."),
    ),
    Action(
        "tools.tag",
        Where.CHAT,
        "tag",
        slash="/tag",
        words=True,
        name=_("Tag"),
        help=_("Tag this conversation: `/tag WORDS`; `-word` removes a tag."),
    ),
)

# --- The history browser --------

_HISTORY: tuple[Action, ...] = (
    Action(
        "history.show",
        Where.VIEWS,
        "show_history",
        "f2",
        priority=True,
        slash="/search",
        words=True,
        name=_("History"),
        label=_("History"),
        help=_(
            "Search, read and organise all conversations, many at once. Results appear as "
            "you type; `/search WORDS` starts a search."
        ),
    ),
    Action(
        "project.choose",
        Where.CHAT,
        "project",
        slash="/project",
        words=True,
        name=_("Projects"),
        help=_(
            "Choose a project for this conversation; create, rename or archive projects. "
            "`/project NAME` adds it (`none` removes it)."
        ),
    ),
    Action(
        "history.open",
        Where.HISTORY,
        "history_open",
        "enter",
        in_palette=False,
        name=_("Open"),
        label=_("Open"),
        help=_("Open the conversation at the matching message."),
    ),
    Action(
        "history.select",
        Where.HISTORY,
        "history_select",
        "space",
        in_palette=False,
        name=_("Select"),
        label=_("Select"),
        help=_("Select it to change several at once."),
    ),
    Action(
        "history.extend_up",
        Where.HISTORY,
        "history_extend_up",
        "shift+up",
        in_palette=False,
        name=_("Select upwards"),
        help=_("Select this one and the one above."),
    ),
    Action(
        "history.extend_down",
        Where.HISTORY,
        "history_extend_down",
        "shift+down",
        in_palette=False,
        name=_("Select downwards"),
        help=_("Select this one and the one below."),
    ),
    Action(
        "history.all",
        Where.HISTORY,
        "history_all",
        "ctrl+a",
        in_palette=False,
        name=_("Select all"),
        help=_("Select all results. Press again to clear."),
    ),
    Action(
        "history.tag",
        Where.HISTORY,
        "history_tag",
        "t",
        in_palette=False,
        name=_("Tag"),
        label=_("Tag"),
        help=_("Add tags, or accept suggested ones; `-word` removes a tag."),
    ),
    Action(
        "history.star",
        Where.HISTORY,
        "history_star",
        "s",
        in_palette=False,
        name=_("Star"),
        label=_("Star"),
        help=_("Star the selection. Press again to unstar."),
    ),
    Action(
        "history.important",
        Where.HISTORY,
        "history_important",
        "i",
        in_palette=False,
        name=_("Important"),
        label=_("Important"),
        help=_("Mark or unmark as important."),
    ),
    Action(
        "history.pin",
        Where.HISTORY,
        "history_pin",
        "p",
        in_palette=False,
        name=_("Pin"),
        help=_("Pin to the top of the lists, or unpin."),
    ),
    Action(
        "history.archive",
        Where.HISTORY,
        "history_archive",
        "a",
        in_palette=False,
        name=_("Archive"),
        help=_("Hide from lists; searches still find it. Press again to unarchive."),
    ),
    Action(
        "history.project",
        Where.HISTORY,
        "history_project",
        "g",
        in_palette=False,
        name=_("Project"),
        help=_("Add to a project, or remove from it."),
    ),
    Action(
        "history.private",
        Where.HISTORY,
        "history_private",
        "v",
        in_palette=False,
        name=_("Private or open"),
        label=_("Private"),
        help=_("Move to the private room, or from there to the open room."),
    ),
    Action(
        "history.room",
        Where.HISTORY,
        "history_room",
        "ctrl+g",
        in_palette=False,
        name=_("Open or close the private room"),
        help=_("Open it with the passphrase to list its conversations too, or close it."),
    ),
    Action(
        "history.merge",
        Where.HISTORY,
        "history_merge",
        "m",
        in_palette=False,
        name=_("Merge"),
        help=_("Merge the selected conversations into one."),
    ),
    Action(
        "history.export",
        Where.HISTORY,
        "history_export",
        "x",
        in_palette=False,
        name=_("Export"),
        label=_("Export"),
        help=_("Export the selection to files."),
    ),
    Action(
        "history.delete",
        Where.HISTORY,
        "history_delete",
        "delete,d",
        in_palette=False,
        name=_("Delete"),
        label=_("Delete"),
        help=_("Move to the bin. In the bin: delete permanently (asks first)."),
    ),
    Action(
        "history.restore",
        Where.HISTORY,
        "history_restore",
        "r",
        in_palette=False,
        name=_("Restore"),
        label=_("Restore"),
        help=_("Restore from the bin."),
    ),
    Action(
        "history.undo",
        Where.HISTORY,
        "history_undo",
        "u,ctrl+z",
        in_palette=False,
        name=_("Undo"),
        help=_("Undo the last change (within ten seconds)."),
    ),
    Action(
        "history.bin",
        Where.HISTORY,
        "history_bin",
        "b",
        in_palette=False,
        name=_("Bin"),
        help=_("Show or leave the bin."),
    ),
    Action(
        "history.order",
        Where.HISTORY,
        "history_order",
        "o",
        in_palette=False,
        name=_("Sort"),
        help=_("Sort by newest or by best match."),
    ),
    Action(
        "history.filters",
        Where.HISTORY,
        "history_filters",
        "f",
        in_palette=False,
        name=_("Filters"),
        help=_("Filter by tag, project or saved search."),
    ),
    Action(
        "history.save",
        Where.HISTORY,
        "history_save",
        "ctrl+s",
        in_palette=False,
        name=_("Saved searches"),
        help=_("Save the current search, or use a saved one."),
    ),
    Action(
        "history.search",
        Where.HISTORY,
        "history_search",
        "slash",
        in_palette=False,
        name=_("Search"),
        help=_("Go to the search field. Results appear as you type."),
    ),
    Action(
        "history.only_starred",
        Where.HISTORY,
        "history_only_starred",
        "1",
        in_palette=False,
        name=_("Only starred"),
        help=_("Show only starred; press again for all."),
    ),
    Action(
        "history.only_important",
        Where.HISTORY,
        "history_only_important",
        "2",
        in_palette=False,
        name=_("Only important"),
        help=_("Show only important; press again for all."),
    ),
    Action(
        "history.only_pinned",
        Where.HISTORY,
        "history_only_pinned",
        "3",
        in_palette=False,
        name=_("Only pinned"),
        help=_("Show only pinned; press again for all."),
    ),
    Action(
        "history.only_archived",
        Where.HISTORY,
        "history_only_archived",
        "4",
        in_palette=False,
        name=_("Only archived"),
        help=_("Show only archived; press again for all."),
    ),
    Action(
        "history.only_week",
        Where.HISTORY,
        "history_only_week",
        "5",
        in_palette=False,
        name=_("Last 7 days"),
        help=_("Show only the last 7 days; press again for all."),
    ),
    Action(
        "history.only_code",
        Where.HISTORY,
        "history_only_code",
        "6",
        in_palette=False,
        name=_("With code"),
        help=_("Show only those with code; press again for all."),
    ),
    Action(
        "history.back",
        Where.HISTORY,
        "history_back",
        "escape",
        in_palette=False,
        name=_("Back"),
        label=_("Back"),
        help=_("Leave the selection, the search, the bin, then the history."),
    ),
)

# --- The insights screen --------

_INSIGHTS: tuple[Action, ...] = (
    Action(
        "insights.show",
        Where.VIEWS,
        "show_insights",
        "f4",
        priority=True,
        slash="/insights",
        name=_("Insights"),
        help=_(
            "Show your own statistics: when you chat and about what, which memories are "
            "used, what takes up space, how fast the model is. Computed here, never "
            "saved."
        ),
    ),
    Action(
        "insights.next",
        Where.INSIGHTS,
        "insights_next",
        "right",
        in_palette=False,
        name=_("Next tab"),
        label=_("Next"),
        help=_("Go to the next tab."),
    ),
    Action(
        "insights.previous",
        Where.INSIGHTS,
        "insights_previous",
        "left",
        in_palette=False,
        name=_("Previous tab"),
        label=_("Prev"),
        help=_("Go to the previous tab."),
    ),
    Action(
        "insights.span",
        Where.INSIGHTS,
        "insights_span",
        "s",
        in_palette=False,
        name=_("Time range"),
        label=_("Time"),
        help=_("Show the last year, 12 weeks, 30 days, or all time."),
    ),
    Action(
        "insights.words",
        Where.INSIGHTS,
        "insights_words",
        "w",
        in_palette=False,
        name=_("As text"),
        label=_("Text"),
        help=_("Show text instead of charts. Press again for charts."),
    ),
    Action(
        "insights.back",
        Where.INSIGHTS,
        "insights_back",
        "escape",
        in_palette=False,
        name=_("Back"),
        label=_("Back"),
        help=_("Close the insights."),
    ),
)

# --- Memories --------

_MEMORIES: tuple[Action, ...] = (
    Action(
        "memory.show",
        Where.VIEWS,
        "show_memories",
        "f3",
        priority=True,
        slash="/memories",
        name=_("Memories"),
        label=_("Memory"),
        help=_("Show what Atlas remembers: the inbox, memories by kind, fading memories, and summaries."),
    ),
    Action(
        "memory.remember",
        Where.CHAT,
        "remember",
        in_palette=False,
        slash="/remember",
        words=True,
        name=_("Remember something"),
        help=_("Save a memory at once, in your own words: `/remember TEXT`."),
    ),
    Action(
        "memory.forget",
        Where.CHAT,
        "forget",
        slash="/forget",
        words=True,
        name=_("Forget"),
        help=_(
            "Permanently erase your latest message (or `/forget this`, `/forget ID`). Shows a preview first."
        ),
    ),
    Action(
        "memory.pin_latest",
        Where.CHAT,
        "pin_memory",
        slash="/pin",
        words=True,
        name=_("Pin the latest memory"),
        help=_("Always give the model the latest learned memory (or `/pin ID`)."),
    ),
    Action(
        "memories.accept",
        Where.MEMORIES,
        "memory_accept",
        "a",
        in_palette=False,
        name=_("Accept"),
        label=_("Accept"),
        help=_("Keep the selected inbox memory, or approve the draft of a skill."),
    ),
    Action(
        "memories.edit",
        Where.MEMORIES,
        "memory_edit",
        "e",
        in_palette=False,
        name=_("Edit"),
        label=_("Edit"),
        help=_("Edit its text. Earlier versions are kept."),
    ),
    Action(
        "memories.reject",
        Where.MEMORIES,
        "memory_reject",
        "r",
        in_palette=False,
        name=_("Reject"),
        label=_("Reject"),
        help=_("Never use it, and never learn it again from the same text."),
    ),
    Action(
        "memories.accept_all",
        Where.MEMORIES,
        "memory_accept_all",
        "A",
        in_palette=False,
        name=_("Accept all"),
        label=_("All"),
        help=_("Keep everything in the inbox."),
    ),
    Action(
        "memories.rescue",
        Where.MEMORIES,
        "memory_rescue",
        "s",
        in_palette=False,
        name=_("Rescue"),
        label=_("Rescue"),
        help=_("Stop a memory from fading."),
    ),
    Action(
        "memories.pin",
        Where.MEMORIES,
        "memory_pin",
        "p",
        in_palette=False,
        name=_("Pin"),
        label=_("Pin"),
        help=_("Always give it to the model; it will not fade. Press again to unpin."),
    ),
    Action(
        "memories.forget",
        Where.MEMORIES,
        "memory_forget",
        "delete",
        in_palette=False,
        name=_("Forget"),
        label=_("Forget"),
        help=_("Erase it permanently (asks first)."),
    ),
    Action(
        "memories.new_skill",
        Where.MEMORIES,
        "memory_new_skill",
        "n",
        in_palette=False,
        name=_("New skill"),
        label=_("New"),
        help=_("Write a skill: how Atlas should do something you ask for again and again."),
    ),
    Action(
        "memories.roll_back",
        Where.MEMORIES,
        "memory_roll_back",
        "b",
        in_palette=False,
        name=_("Earlier version"),
        label=_("Versions"),
        help=_("Use an earlier version of the selected skill again."),
    ),
    Action(
        "memories.retire",
        Where.MEMORIES,
        "memory_retire",
        "t",
        in_palette=False,
        name=_("Retire"),
        label=_("Retire"),
        help=_("Stop using the selected skill, and keep it. Press again to use it."),
    ),
    Action(
        "memories.undo",
        Where.MEMORIES,
        "memory_undo",
        "u",
        in_palette=False,
        name=_("Undo"),
        help=_("Undo the last change to memories, yours or an automatic one."),
    ),
    Action(
        "memories.search",
        Where.MEMORIES,
        "memory_search",
        "slash",
        in_palette=False,
        name=_("Search"),
        label=_("Search"),
        help=_("Show only matching entries."),
    ),
    Action(
        "memories.open",
        Where.MEMORIES,
        "memory_open",
        "enter",
        in_palette=False,
        name=_("Open"),
        help=_("Open the conversation it comes from, at that message."),
    ),
    Action(
        "memories.why",
        Where.MEMORIES,
        "memory_why",
        "w",
        in_palette=False,
        name=_("Why?"),
        label=_("Why"),
        help=_("Show the text it was learned from, the replies that used it, and other mentions of it."),
    ),
    Action(
        "memories.next",
        Where.MEMORIES,
        "memory_next",
        "right",
        in_palette=False,
        name=_("Next tab"),
        help=_("Go to the next tab."),
    ),
    Action(
        "memories.previous",
        Where.MEMORIES,
        "memory_previous",
        "left",
        in_palette=False,
        name=_("Previous tab"),
        help=_("Go to the previous tab."),
    ),
    Action(
        "memories.back",
        Where.MEMORIES,
        "memory_back",
        "escape",
        in_palette=False,
        name=_("Back"),
        label=_("Back"),
        help=_("Close the search, then the memories."),
    ),
)

# --- Documents --------

_DOCUMENTS: tuple[Action, ...] = (
    Action(
        "documents.show",
        Where.VIEWS,
        "show_documents",
        "f7",
        priority=True,
        slash="/documents",
        name=_("Documents"),
        help=_(
            "Show the library: add files, watch folders, read and search documents, ask about them. Also "
            "shows the files attached to conversations."
        ),
    ),
    Action(
        "documents.read",
        Where.DOCUMENTS,
        "documents_read",
        "enter",
        in_palette=False,
        name=_("Read"),
        label=_("Read"),
        help=_("Open the document in the reader, or a conversation with the attached file."),
    ),
    Action(
        "documents.ask",
        Where.DOCUMENTS,
        "documents_ask",
        "q",
        in_palette=False,
        name=_("Ask"),
        label=_("Ask"),
        help=_("Start a conversation about the selected documents. Replies cite their passages."),
    ),
    Action(
        "documents.add",
        Where.DOCUMENTS,
        "documents_add",
        "a",
        in_palette=False,
        name=_("Add"),
        label=_("Add"),
        help=_("Add a file, or everything below a folder, once."),
    ),
    Action(
        "documents.watch",
        Where.DOCUMENTS,
        "documents_watch",
        "w",
        in_palette=False,
        name=_("Watch a folder"),
        label=_("Watch"),
        help=_("Watch a folder and follow its changes. Shows first what would be read."),
    ),
    Action(
        "documents.search",
        Where.DOCUMENTS,
        "documents_search",
        "slash",
        in_palette=False,
        name=_("Search"),
        label=_("Search"),
        help=_("Filter by title and path. Enter searches the text of the documents."),
    ),
    Action(
        "documents.details",
        Where.DOCUMENTS,
        "documents_details",
        "right",
        in_palette=False,
        name=_("Details"),
        label=_("Details"),
        help=_("Go to the summary, the outline and the conversations of the document."),
    ),
    Action(
        "documents.select",
        Where.DOCUMENTS,
        "documents_select",
        "space",
        in_palette=False,
        name=_("Select"),
        label=_("Select"),
        help=_("Select the document, for actions on several."),
    ),
    Action(
        "documents.summarise",
        Where.DOCUMENTS,
        "documents_summarise",
        "s",
        in_palette=False,
        name=_("Summarise"),
        label=_("Summary"),
        help=_("Make the summary of the document, or make it again."),
    ),
    Action(
        "documents.edit",
        Where.DOCUMENTS,
        "documents_edit",
        "e",
        in_palette=False,
        name=_("Edit"),
        label=_("Edit"),
        help=_("Edit a document that was made from a conversation."),
    ),
    Action(
        "documents.use_here",
        Where.DOCUMENTS,
        "documents_use_here",
        "h",
        in_palette=False,
        name=_("Use here"),
        label=_("Use here"),
        help=_("Use the document in the conversation that is shown."),
    ),
    Action(
        "documents.remove",
        Where.DOCUMENTS,
        "documents_remove",
        "delete",
        in_palette=False,
        name=_("Remove"),
        label=_("Remove"),
        help=_("Remove the document and everything made from it (asks first). The file stays."),
    ),
    Action(
        "documents.rescan",
        Where.DOCUMENTS,
        "documents_rescan",
        "r",
        in_palette=False,
        name=_("Read again"),
        label=_("Rescan"),
        help=_("Look for changed files in the selected folder, or in all."),
    ),
    Action(
        "documents.unwatch",
        Where.DOCUMENTS,
        "documents_unwatch",
        "u",
        in_palette=False,
        name=_("Stop watching"),
        label=_("Unwatch"),
        help=_("Stop watching the folder; keep or remove its documents."),
    ),
    Action(
        "documents.attach",
        Where.DOCUMENTS,
        "documents_attach",
        "t",
        in_palette=False,
        name=_("Attach a file"),
        help=_("Attach a file to the conversation that is shown, without adding it to the library."),
    ),
    Action(
        "documents.back",
        Where.DOCUMENTS,
        "documents_back",
        "escape,left",
        in_palette=False,
        name=_("Back"),
        label=_("Back"),
        help=_("Return to the list, end the search, then close the documents."),
    ),
    Action(
        "reader.search",
        Where.READER,
        "reader_search",
        "slash",
        in_palette=False,
        name=_("Search"),
        label=_("Search"),
        help=_("Search in the text of the document."),
    ),
    Action(
        "reader.next",
        Where.READER,
        "reader_next",
        "n",
        in_palette=False,
        name=_("Next match"),
        label=_("Next"),
        help=_("Go to the next match."),
    ),
    Action(
        "reader.previous",
        Where.READER,
        "reader_previous",
        "N",
        in_palette=False,
        name=_("Previous match"),
        label=_("Previous"),
        help=_("Go to the previous match."),
    ),
    Action(
        "reader.copy",
        Where.READER,
        "reader_copy",
        "y",
        in_palette=False,
        name=_("Copy"),
        label=_("Copy"),
        help=_("Copy the selection, the line of the match or the passage, with its source."),
    ),
    Action(
        "reader.ask",
        Where.READER,
        "reader_ask",
        "a",
        in_palette=False,
        name=_("Ask"),
        label=_("Ask"),
        help=_("Start a conversation about the document, with the selection in the prompt."),
    ),
    Action(
        "reader.outline",
        Where.READER,
        "reader_outline",
        "o",
        in_palette=False,
        name=_("Outline"),
        label=_("Outline"),
        help=_("Choose a heading to go to."),
    ),
    Action(
        "reader.back",
        Where.READER,
        "reader_back",
        "escape,f7",
        in_palette=False,
        name=_("Back"),
        label=_("Back"),
        help=_("End the selection and the search, then close the reader."),
    ),
)

# --- Rooms and memory modes --------

_ROOMS: tuple[Action, ...] = (
    Action(
        "room.make_private",
        Where.CHAT,
        "make_private",
        slash="/private",
        name=_("Move to the private room"),
        help=_("Move it with everything learned only from this conversation. Asks for the passphrase again."),
    ),
    Action(
        "room.make_open",
        Where.CHAT,
        "make_open",
        slash="/open",
        name=_("Move to the open room"),
        help=_("Move it out of the private room, with everything learned only from this conversation."),
    ),
    Action(
        "room.close_private",
        Where.CHAT,
        "close_private",
        "ctrl+g",
        priority=True,
        slash="/close",
        name=_("Open or close the private room"),
        help=_("Open the private room to see its conversations, or close it to hide them."),
    ),
    Action(
        "room.keep",
        Where.CHAT,
        "keep",
        slash="/keep",
        name=_("Keep this conversation"),
        help=_("Save an off-the-record conversation."),
    ),
    Action(
        "room.go_off_record",
        Where.CHAT,
        "go_off_record",
        slash="/off",
        name=_("Off the record"),
        help=_("Continue without saving. Earlier messages stay saved; new ones are lost when you quit."),
    ),
    Action(
        "room.use_reads",
        Where.CHAT,
        "use_reads",
        slash="/reads",
        name=_("Memory: read only"),
        help=_("Use memories, but add none."),
    ),
    Action(
        "room.use_blank",
        Where.CHAT,
        "use_blank",
        slash="/blank",
        name=_("Memory: blank"),
        help=_("Neither use nor add memories."),
    ),
    Action(
        "room.use_normal",
        Where.CHAT,
        "use_normal",
        slash="/normal",
        name=_("Memory: normal"),
        help=_("Use and add memories."),
    ),
)

# --- Models --------

_MODELS: tuple[Action, ...] = (
    Action(
        "models.show",
        Where.EVERYWHERE,
        "show_models",
        "f6",
        priority=True,
        name=_("Models"),
        help=_(
            "Show installed and available models, and those of other programs: download, "
            "choose, measure, remove."
        ),
    ),
    Action(
        "models.named",
        Where.EVERYWHERE,
        "use_model",
        in_palette=False,
        slash="/model",
        words=True,
        name=_("Use another model"),
        help=_("Switch models from the next reply on: `/model NAME`. Without a name, show all models."),
    ),
    Action(
        "models.choose",
        Where.MODELS,
        "model_choose",
        "enter,space",
        in_palette=False,
        name=_("Use, download or import"),
        label=_("Choose"),
        help=_("Use it, download it or import it."),
    ),
    Action(
        "models.pause",
        Where.MODELS,
        "model_pause",
        "p",
        in_palette=False,
        name=_("Pause or resume"),
        label=_("Pause"),
        help=_("Pause the download (data is kept), or resume it."),
    ),
    Action(
        "models.cancel",
        Where.MODELS,
        "model_cancel",
        "x",
        in_palette=False,
        name=_("Cancel"),
        label=_("Cancel"),
        help=_("Cancel the current task or a paused download."),
    ),
    Action(
        "models.import",
        Where.MODELS,
        "model_import",
        "i",
        in_palette=False,
        name=_("Import a file"),
        label=_("Import"),
        help=_("Import your own GGUF file: copy it or link to it."),
    ),
    Action(
        "models.bench",
        Where.MODELS,
        "model_bench",
        "b",
        in_palette=False,
        name=_("Measure"),
        label=_("Measure"),
        help=_("Measure how fast it reads and writes here."),
    ),
    Action(
        "models.tune",
        Where.MODELS,
        "model_tune",
        "t",
        in_palette=False,
        name=_("Tune"),
        label=_("Tune"),
        help=_("Find the fastest way to run it, in the background."),
    ),
    Action(
        "models.verify",
        Where.MODELS,
        "model_verify",
        "v",
        in_palette=False,
        name=_("Check the file"),
        label=_("Check"),
        help=_("Read the whole file again and compare its checksum."),
    ),
    Action(
        "models.remove",
        Where.MODELS,
        "model_remove",
        "delete",
        in_palette=False,
        name=_("Remove"),
        label=_("Remove"),
        help=_("Delete its file (asks first). A linked file is kept."),
    ),
    Action(
        "models.back",
        Where.MODELS,
        "model_back",
        "escape,f6",
        in_palette=False,
        name=_("Back"),
        label=_("Back"),
        help=_("Close; downloads continue."),
    ),
)

# --- Settings --------

_SETTINGS: tuple[Action, ...] = (
    Action(
        "settings.show",
        Where.EVERYWHERE,
        "show_settings",
        "f9",
        priority=True,
        slash="/settings",
        name=_("Settings"),
        help=_("Show every setting with its limits, and the keys of every action."),
    ),
    Action(
        "settings.change",
        Where.SETTINGS,
        "setting_change",
        "enter,space",
        in_palette=False,
        name=_("Change"),
        label=_("Change"),
        help=_("Toggle it, choose a value, or type one."),
    ),
    Action(
        "settings.reset",
        Where.SETTINGS,
        "setting_reset",
        "r,delete",
        in_palette=False,
        name=_("Reset"),
        label=_("Reset"),
        help=_("Reset the selected setting to its default."),
    ),
    Action(
        "settings.search",
        Where.SETTINGS,
        "setting_search",
        "slash",
        in_palette=False,
        name=_("Search"),
        label=_("Search"),
        help=_("Show only matching settings."),
    ),
    Action(
        "settings.sections",
        Where.SETTINGS,
        "setting_sections",
        "left",
        in_palette=False,
        name=_("Go to sections"),
        help=_("Go to the list of sections."),
    ),
    Action(
        "settings.rows",
        Where.SETTINGS,
        "setting_rows",
        "right",
        in_palette=False,
        name=_("Go to settings"),
        help=_("Go to the settings of the section."),
    ),
    Action(
        "settings.back",
        Where.SETTINGS,
        "setting_back",
        "escape",
        in_palette=False,
        name=_("Back"),
        label=_("Back"),
        help=_("Close the field, the search, then the settings."),
    ),
)

# --- Views and the program itself --------

_VIEWS: tuple[Action, ...] = (
    Action(
        "view.sidebar",
        Where.CHAT,
        "toggle_sidebar",
        "ctrl+b",
        priority=True,
        name=_("Show or hide the list"),
        help=_("Show or hide the list of conversations."),
    ),
    Action(
        "view.aside",
        Where.CHAT,
        "toggle_aside",
        "alt+m",
        priority=True,
        slash="/here",
        name=_("Details panel"),
        help=_(
            "Show or hide the panel beside the conversation: how full its context is and "
            "what Atlas remembers about it."
        ),
    ),
    Action(
        "view.up",
        Where.CHAT,
        "page_up",
        "pageup,ctrl+up",
        priority=True,
        in_palette=False,
        name=_("Scroll up"),
        help=_("Scroll up one page. Older messages load at the top."),
    ),
    Action(
        "view.down",
        Where.CHAT,
        "page_down",
        "pagedown,ctrl+down",
        priority=True,
        in_palette=False,
        name=_("Scroll down"),
        help=_("Scroll down one page."),
    ),
    Action(
        "view.end",
        Where.CHAT,
        "follow",
        "ctrl+end",
        priority=True,
        name=_("Go to the latest message"),
        help=_("Jump to the end and follow the reply again."),
    ),
    Action(
        "view.theme",
        Where.EVERYWHERE,
        "choose_theme",
        "f8",
        priority=True,
        slash="/theme",
        name=_("Theme"),
        help=_("Choose light or dark, high contrast, or the terminal's own colours, with a live preview."),
    ),
    Action(
        "app.palette",
        Where.EVERYWHERE,
        "command_palette",
        "ctrl+p",
        priority=True,
        in_palette=False,
        name=_("Commands"),
        label=_("Commands"),
        help=_("Find any action by name."),
    ),
    Action(
        "app.help",
        Where.EVERYWHERE,
        "help",
        "f1",
        priority=True,
        slash="/help",
        name=_("Help"),
        label=_("Help"),
        help=_("Show every action and its key."),
    ),
    Action(
        "app.demo",
        Where.EVERYWHERE,
        "demo",
        "f10",
        slash="/demo",
        name=_("Explore sample conversations"),
        help=_(
            "Lock your data and explore sample conversations in a temporary home folder. "
            "When you quit, you return to the lock screen."
        ),
    ),
    Action(
        "app.lock",
        Where.EVERYWHERE,
        "lock",
        "ctrl+l",
        priority=True,
        slash="/lock",
        name=_("Lock"),
        help=_(
            "Stop the model, close everything, and show the lock screen. Your draft is "
            "saved, encrypted; an off-the-record conversation is not."
        ),
    ),
    Action(
        "app.quit",
        Where.EVERYWHERE,
        "quit",
        "ctrl+q",
        priority=True,
        name=_("Quit"),
        label=_("Quit"),
        help=_("Stop and save running work, lock everything and quit."),
    ),
)

ACTIONS: tuple[Action, ...] = (
    *_CONVERSATION,
    *_MESSAGES,
    *_TOOLS,
    *_HISTORY,
    *_INSIGHTS,
    *_MEMORIES,
    *_DOCUMENTS,
    *_ROOMS,
    *_MODELS,
    *_SETTINGS,
    *_VIEWS,
)
"""Every action. Within one part of the interface, the footer keeps this order."""

BY_ID = {action.id: action for action in ACTIONS}
SLASH = {action.slash: action for action in ACTIONS if action.slash}


def bindings(*places: Where, hidden: bool = False) -> Iterator[Binding]:
    """Yields the key bindings of parts of the interface; `hidden` ones are not in the footer.

    The ids of the bindings let a keymap replace the keys.
    """
    for action in ACTIONS:
        if action.where in places and action.key:
            # The screen that contains a list runs the actions of that list.
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
    """Returns the action and arguments of a typed command line, or None if it is a message."""
    slash, _unused, rest = text.partition(" ")
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
    """Returns keys as they are shown: `ctrl+n` is `Ctrl+N`, and `b`, typed without Shift, is `b`."""

    def one(part: str) -> str:
        if len(part) == 1:
            return f"Shift+{part}" if part.isupper() else part.upper()
        return _WORDS.get(part, part.upper() if part[1:].isdigit() else part.capitalize())

    def together(each: str) -> str:
        return each if len(each) == 1 and each.islower() else "+".join(map(one, each.split("+")))

    return _(" or ").join(together(each) for each in key.split(",") if each)
