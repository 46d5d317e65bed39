"""Actions on one message: copy, mark, edit, fork, continue, show another variant, see the tree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static, Tree
from textual.widgets.tree import TreeNode

from atlas_desktop.locale import _, ngettext, number
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.sessions import Stretch
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.tui.chat.markdown import CopyCode
from atlas_desktop.tui.chat.message import SHOWN, MessageBlock
from atlas_desktop.tui.exports import copy_out
from atlas_desktop.tui.keymap import Keymap, how_to
from atlas_desktop.tui.widgets import Window
from memory.entities import Message, MessageStatus
from memory.errors import RoomClosed
from memory.skills.entities import Verdict
from models.messages import Role, StopReason

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.chat.composer import ComposerController
    from atlas_desktop.tui.chat.markdown import Code
    from atlas_desktop.tui.chat.memories import MemoriesController
    from atlas_desktop.tui.chat.message import CitationReader
    from atlas_desktop.tui.chat.sessions import SessionsController
    from atlas_desktop.tui.chat.transcript import Transcript
    from atlas_desktop.tui.provenance.sources import Chosen


GROUP = "message"
VARIANTS = "variants"


def _code_named(code: "Code") -> str:
    language = code.language or _("code")
    return ngettext(
        "{language} · 1 line", "{language} · {count} lines", len(code.text.splitlines()), language=language
    )


@dataclass(frozen=True, slots=True)
class MountedMessages:
    """The messages that are mounted, oldest first, and the selected one among them."""

    messages: tuple[Message, ...] = ()
    selected: Message | None = None
    at_the_newest: bool = True
    """Whether the newest message of the conversation is among them."""
    with_skills: frozenset[str] = frozenset()
    """The ids of the replies that used a skill."""

    @classmethod
    def of(cls, transcript: "Transcript") -> "MountedMessages":
        if not transcript.is_mounted:
            return cls()
        block = transcript.selected_block
        messages = tuple(each.message for each in transcript.blocks)
        return cls(
            messages,
            block.message if block is not None else None,
            transcript.at_the_newest,
            frozenset(each.message.id for each in transcript.blocks if each.used_skill),
        )

    def meant(self, *roles: Role) -> Message | None:
        """Returns the selected message, or its neighbour in the same turn that has one of these roles (any).

        Without a selection it is the newest message of these roles.
        """
        if self.selected is None:
            return next((one for one in reversed(self.messages) if not roles or one.role in roles), None)
        if not roles or self.selected.role in roles:
            return self.selected
        at = self.messages.index(self.selected)
        beside = at + 1 if self.selected.role is Role.USER else at - 1
        if 0 <= beside < len(self.messages) and self.messages[beside].role in roles:
            return self.messages[beside]
        return None

    def meant_unless_selected(self, *roles: Role) -> Message | None:
        """Returns the selected message whatever its role, or else the newest one of these roles."""
        return self.meant() if self.selected is not None else self.meant(*roles)

    @property
    def newest_of_user(self) -> Message | None:
        """The user's newest message, if it is mounted."""
        if not self.at_the_newest:
            return None
        return next((one for one in reversed(self.messages) if one.role is Role.USER), None)

    @property
    def unfinished(self) -> Message | None:
        """The newest reply, if it was stopped or cut off and has some text."""
        if not self.messages or not self.at_the_newest:
            return None
        newest = self.messages[-1]
        cut = newest.status is MessageStatus.PARTIAL or newest.stop_reason == StopReason.LENGTH
        return newest if newest.role is Role.ASSISTANT and cut and newest.content.strip() else None


class MessagesController:
    """Acts on the message that is selected in the transcript, or on the newest one."""

    def __init__(
        self,
        app: "BaseApp",
        view: ConversationView,
        *,
        composer: "ComposerController",
        sessions: "SessionsController",
        memories: "MemoriesController",
        place_chosen: "Callable[[Chosen | None], None]",
        citations: "CitationReader",
    ) -> None:
        """`place_chosen` goes to what was chosen in an explanation."""
        self._app = app
        self._view = view
        self._composer = composer
        self._sessions = sessions
        self._memories = memories
        self._place_chosen = place_chosen
        self._citations = citations
        self.variants = 0
        """The number of variants of the newest reply; 0 until it is known."""

    @property
    def _mounted(self) -> MountedMessages:
        return MountedMessages.of(self._view.transcript)

    # --- selection ---------------------------------------------------------------------------------

    def focus_transcript(self) -> None:
        self._view.transcript.focus()

    def select_previous(self) -> None:
        self._view.transcript.select_step(-1)

    def select_next(self) -> None:
        self._view.transcript.select_step(+1)

    def select_first(self) -> None:
        self._view.transcript.select_end(newest=False)

    async def select_last(self) -> None:
        await self._view.transcript.follow()
        self._view.transcript.select_end(newest=True)
        self._view.transcript.anchor()

    # --- actions ----------------------------------------------------------------------------------

    def edit(self) -> None:
        if (message := self._mounted.meant(Role.USER)) is None:
            return
        selected = self._mounted.selected
        self._composer.edit(message)
        if selected is not None and selected.role is Role.ASSISTANT:
            self._app.say(_("A reply cannot be edited. This is your message before it."))

    def continue_reply(self) -> None:
        if (message := self._mounted.unfinished) is not None:
            self._app.turns.go_on(self._view.current, message.id)
            self._view.refresh()

    def fork(self) -> None:
        if (message := self._mounted.meant()) is not None:
            self._app.attempt(self._fork(message), group=GROUP, exclusive=True)

    async def _fork(self, message: Message) -> None:
        made = await self._view.room.sessions.fork(message.session_id, message=message.id)
        await self._sessions.open(made.id)
        self._app.say(
            ngettext(
                "Fork created with 1 message. The original is unchanged.",
                "Fork created with {count} messages. The original is unchanged.",
                made.message_count,
            )
        )

    def copy(self) -> None:
        if (message := self._mounted.meant()) is not None:
            copied = self._copy(message.content, _("Message copied to clipboard."))
            self._app.attempt(copied, group=GROUP, exclusive=True)

    def copy_code(self) -> None:
        if (message := self._mounted.meant(Role.ASSISTANT)) is not None:
            self._app.attempt(self._copy_code(message), group=GROUP, exclusive=True)

    def copy_block(self, event: CopyCode) -> None:
        """Copies the block of code whose button was clicked."""
        self._app.attempt(self._copy(event.code, _("Code copied to clipboard.")), group=GROUP, exclusive=True)

    async def _copy_code(self, message: Message) -> None:
        from atlas_desktop.tui.chat.markdown import code_blocks
        from atlas_desktop.tui.dialogs.questions import Choice, PickScreen

        found = code_blocks(message.content)
        if not found:
            self._app.say(_("This message has no code."))
            return
        which: str | None = "0"
        if len(found) > 1:
            choices = [Choice(str(n), _code_named(one), one.text) for n, one in enumerate(found)]
            which = await self._app.push_screen_wait(PickScreen(_("Which code?"), choices))
        if which is not None:
            await self._copy(found[int(which)].text, _("Code copied to clipboard."))

    async def _copy(self, text: str, done: str) -> None:
        """Copies a text to the terminal's clipboard. Outside the open room it asks first."""
        await copy_out(self._app, self._view.room.store.room, text, done)

    def show_whole(self) -> None:
        """Shows a message in full, however long it is."""
        from atlas_desktop.tui.provenance.screen import WholeScreen

        message = self._mounted.meant_unless_selected(*self._roles_of_longest)
        if message is not None:
            self._app.push_screen(WholeScreen(message))

    @property
    def _roles_of_longest(self) -> tuple[Role, ...]:
        """The role of the newest message that is shown cut; empty if none is. Used without a selection."""
        cut = (one.role for one in reversed(self._mounted.messages) if len(one.content) > SHOWN)
        return tuple(islice(cut, 1))

    def mark_important(self) -> None:
        if (message := self._mounted.meant_unless_selected(Role.USER)) is not None:
            self._app.attempt(self._mark(message, chosen=self._mounted.selected is not None), group=GROUP)

    async def _mark(self, message: Message, *, chosen: bool) -> None:
        """Marks or unmarks a message. Unless the user selected it (`chosen`), the notice says which one it
        was."""
        marked = await self._view.room.branches.mark(message.id, important=not message.important)
        if (block := self._view.transcript.find(marked.id)) is not None:
            block.marked(marked)
        done = (
            _("Marked as important: it stays in the context longest.")
            if marked.important
            else _("No longer marked as important.")
        )
        key = how_to("messages.select", self._app.keys)
        self._app.say(
            done if chosen else f"{done} {_('This is the latest one. {key} selects another.', key=key)}"
        )

    def judge_skill(self, verdict: Verdict) -> None:
        """Records whether the skill of a reply helped; the same verdict again removes the record."""
        if (message := self._mounted.meant_unless_selected(Role.ASSISTANT)) is not None:
            self._app.attempt(self._judge(message, verdict), group=GROUP)

    async def _judge(self, message: Message, verdict: Verdict) -> None:
        room = self._view.room
        used = self._citations.skills.get(message.id, ())
        new = None if used and used[0].verdict is verdict else verdict
        await room.skills.judge(message.id, new)
        await self._citations.read(room, [message])
        if (block := self._view.transcript.find(message.id)) is not None:
            await block.judged(self._citations.skills.get(message.id, ()))
        self._app.say(
            {
                Verdict.HELPED: _("Recorded: the skill helped."),
                Verdict.HARMED: _("Recorded: the skill did not help."),
                None: _("Taken back."),
            }[new]
        )

    def show_why(self) -> None:
        if (message := self._mounted.meant_unless_selected(Role.ASSISTANT)) is not None:
            self._app.attempt(self._why(message), group=GROUP, exclusive=True)

    async def _why(self, message: Message) -> None:
        from atlas_desktop.tui.provenance.screen import WhyScreen
        from atlas_desktop.tui.provenance.sources import reasons_of

        reasons = await reasons_of(self._view.room, message.id, self._app.now())
        if not reasons.any:
            self._app.say(_("Nothing was learned from it, and nothing else mentions it."))
            return
        self._app.push_screen(WhyScreen(self._app, reasons), self._place_chosen)

    # --- sources ----------------------------------------------------------------------------------

    def go_to_sources(self) -> None:
        """Moves the focus to the citations of the selected reply; without any, back to the prompt."""
        block = self._view.transcript.selected_block
        links = None if block is None else block.sources
        (links or self._view.prompt).focus()

    def recheck_citations(self) -> None:
        """Marks the citations of documents that have changed since the replies were shown."""
        if any(block.cited for block in self._view.transcript.blocks) and not self._app.leaving:
            self._app.attempt(self._recheck_citations, group="citations", exclusive=True)

    async def _recheck_citations(self) -> None:
        documents = self._view.room.store.documents
        for block in self._view.transcript.blocks:
            if block.cited is None:
                continue
            try:
                cited = await documents.cited(block.message.id)
            except RoomClosed:
                # The replies disappear with the room.
                return
            if cited != block.cited and block.is_attached:
                self._citations.learn(block.message.id, cited)
                block.cite(cited)

    def leave_sources(self, *, onwards: bool) -> None:
        (self._view.prompt if onwards else self._view.transcript).focus()

    def show_support(self) -> None:
        if (message := self._mounted.meant(Role.ASSISTANT)) is not None:
            self._app.attempt(self._show_support(message), group=GROUP, exclusive=True)

    async def _show_support(self, message: Message) -> None:
        block = self._view.transcript.find(message.id)
        if block is None or block.cited is None:
            self._app.say(_("This reply had no passages of documents."))
        else:
            await block.show_support()

    def forget(self) -> None:
        if (message := self._mounted.meant()) is not None:
            self._app.attempt(self._memories.forget_now(message.id), group="forget", exclusive=True)

    # --- variants and branches --------------------------------------------------------------------

    def show_earlier(self) -> None:
        self._turn_selected(-1)

    def show_later(self) -> None:
        self._turn_selected(+1)

    def _turn_selected(self, step: int) -> None:
        if (message := self._mounted.meant()) is not None:
            self._app.attempt(self._show_variant_of(message, step), group=GROUP, exclusive=True)

    async def _show_variant_of(self, message: Message, step: int) -> None:
        """Shows the branch that continues from another variant of a message, at that variant."""
        room = self._view.room
        variants = [one.id for one in await room.branches.variants(message.id)]
        at = variants.index(message.id)
        to = min(max(at + step, 0), len(variants) - 1)
        if to == at:
            self._app.say(
                _("No more variants in that direction.") if len(variants) > 1 else _("No other variants.")
            )
            return
        await self._sessions.go_to(message.session_id, variants[to])

    def show_branches(self) -> None:
        self._app.attempt(self._show_branches, group=GROUP, exclusive=True)

    async def _show_branches(self) -> None:
        from atlas_desktop.services.sessions import stretches

        session = self._view.current.session
        assert session is not None
        nodes = await self._view.room.branches.nodes(session.id)
        head = (await self._view.room.store.get_session(session.id)).head_id
        chosen = await self._app.push_screen_wait(
            BranchScreen(stretches(nodes, head), len(nodes), self._app.keys)
        )
        if chosen is not None:
            await self._sessions.go_to(session.id, chosen)

    # --- variants of the newest reply --------------------------------------------------------------

    @property
    def _newest_reply(self) -> MessageBlock | None:
        blocks = self._view.transcript.blocks
        return blocks[-1] if blocks and blocks[-1].message.role is Role.ASSISTANT else None

    def count_variants(self) -> None:
        """Shows in the newest reply its number among the variants, as soon as that is known."""
        self.variants = 0
        if self._view.current.id is not None and not self._view.current.busy and not self._app.leaving:
            self._app.attempt(self._turn_variant(0), group=VARIANTS, exclusive=True)

    def show_earlier_variant(self) -> None:
        self._app.attempt(self._turn_variant(-1), group=VARIANTS, exclusive=True)

    def show_later_variant(self) -> None:
        self._app.attempt(self._turn_variant(1), group=VARIANTS, exclusive=True)

    async def _turn_variant(self, step: int) -> None:
        """Shows the variant `step` further and continues from it; at either end nothing changes."""
        async with self._view.switching:
            block, session_id = self._newest_reply, self._view.current.id
            if block is None or session_id is None or self._view.current.busy:
                return
            sessions = self._view.room.sessions
            variants = await sessions.variants(block.message.id)
            self.variants = len(variants)
            at = next((i for i, each in enumerate(variants) if each.id == block.message.id), 0)
            to = min(max(at + step, 0), len(variants) - 1)
            if to != at:
                self._view.current.session = await sessions.show_variant(session_id, variants[to].id)
                self._view.transcript.replaced(block.message.id, variants[to].id)
                await self._citations.read(self._view.room, [variants[to]])
                shown = variants[to].id
                await block.finish(
                    variants[to], self._citations.known.get(shown), self._citations.skills.get(shown, ())
                )
                self._view.current.shows(variants[to].id)
                self._view.refresh()
            if len(variants) > 1 and block.is_mounted:
                block.placed(to + 1, len(variants))
        self._view.transcript.screen.refresh_bindings()


_DIFFERENT = 20
"""Characters of each way that must be seen after the beginning that all have in common."""
_BOX, _BESIDE = 96, 34
"""The maximum width of the window, and the columns of a line that are not its text."""


class BranchTree(Tree[str]):
    """Each node is a stretch of messages; its data is the id of the first message."""


class BranchScreen(Window[str | None]):
    """Dismissed with the id of the message to go to, or None."""

    DEFAULT_CSS = """
    BranchScreen {
        .box { width: 96; height: 80%; }
        Tree { height: 1fr; overflow-x: hidden; background: $surface; scrollbar-size-vertical: 1; }
        Tree:focus { background-tint: transparent; }
        .hint { color: $quiet; height: auto; margin-bottom: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", _("Close"))]

    def __init__(self, tree: Sequence[Stretch], messages: int, keymap: Keymap) -> None:
        super().__init__()
        self._stretches = tree
        self._messages = messages
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Branches")
            box.border_subtitle = _("Enter opens · Esc closes")
            yield Static(Content(self._said()), classes="hint", markup=False)
            yield BranchTree("", id="tree")

    def _said(self) -> str:
        ends = sum(_ends(stretch) for stretch in self._stretches)
        if ends <= 1:
            return _(
                "{count} messages, no branches yet. To create one, edit a message ({edit}) or regenerate a "
                "reply ({regenerate}).",
                count=number(self._messages),
                edit=how_to("message.edit", self._keymap),
                regenerate=how_to("chat.regenerate", self._keymap),
            )
        return _(
            "{count} messages on {branches} branches. ● marks the current one.",
            count=number(self._messages),
            branches=ends,
        )

    def on_mount(self) -> None:
        tree = self.query_one(BranchTree)
        tree.show_root = False
        tree.guide_depth = 3
        room = min(_BOX, self.app.size.width * 24 // 25) - _BESIDE
        todo: list[tuple[TreeNode[str], Sequence[Stretch]]] = [(tree.root, self._stretches)]
        deepest: TreeNode[str] | None = None
        while todo:
            parent, ways = todo.pop(0)
            for stretch, line in zip(ways, _told_apart(ways, room), strict=True):
                made = parent.add(_label(stretch, line), data=stretch.nodes[0].id, expand=True)
                made.allow_expand = bool(stretch.ways)
                todo.append((made, stretch.ways))
                if stretch.shown:
                    deepest = made
        tree.root.expand()
        if deepest is not None:
            self.call_after_refresh(tree.move_cursor, deepest)
        tree.focus()

    def on_tree_node_selected(self, event: Tree.NodeSelected[str]) -> None:
        event.stop()
        self.dismiss(event.node.data)

    def action_cancel(self) -> None:
        self.dismiss(None)


def _ends(stretch: Stretch) -> int:
    return sum(_ends(way) for way in stretch.ways) if stretch.ways else 1


def _told_apart(ways: Sequence[Stretch], room: int) -> list[str]:
    """Returns the beginnings of the ways, in `room` characters; what is the same in all of them is left out
    where the rest would not fit."""
    lines = [clean_line(" ".join(way.nodes[0].excerpt.split())) or _("(empty)") for way in ways]
    letters = enumerate(zip(*lines, strict=False))
    same = next((at for at, each in letters if len(set(each)) > 1), 0)
    if same > room - _DIFFERENT:
        begin = lines[0].rfind(" ", 0, same - _DIFFERENT // 2) + 1
        lines = [f"…{line[begin:]}" for line in lines]
    return [line if len(line) <= room else f"{line[: room - 1].rstrip()}…" for line in lines]


def _label(stretch: Stretch, line: str) -> Text:
    who = _("You") if stretch.nodes[0].role is Role.USER else "Atlas"
    count = "  " + _("{count} messages", count=number(len(stretch.nodes))) if len(stretch.nodes) > 1 else ""
    return Text.assemble("● " if stretch.shown else "○ ", (who, "bold"), f" {line}", (count, "dim"))
