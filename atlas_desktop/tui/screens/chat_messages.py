"""The part of the conversation screen that does something with one message."""

from itertools import islice
from typing import TYPE_CHECKING

from atlas_desktop.tui.actions import BY_ID, key_words
from atlas_desktop.tui.keymap import keys_of
from atlas_desktop.tui.screens.chat_part import ChatPart
from atlas_desktop.tui.widgets.code_head import CopyCode
from atlas_desktop.tui.widgets.message import SHOWN, MessageBlock
from atlas_desktop.tui.widgets.prompt import Prompt
from atlas_desktop.tui.widgets.transcript import Transcript
from atlas_desktop.words.catalogue import tr
from memory.entities import Message, MessageStatus, RoomKind
from models.messages import Role, StopReason

if TYPE_CHECKING:
    from atlas_desktop.services.code_blocks import Code
    from atlas_desktop.services.room import RoomServices

GROUP = "message"
_OF_WORDS = ("copy", "copy_code", "important", "why", "whole")
"""What is done with the words of a message, where any are kept."""


def _code_named(code: "Code") -> str:
    language = code.language or tr("messages.code")
    return tr("messages.code_lines", language=language, count=len(code.text.splitlines()))


class MessageActions(ChatPart):
    """Mixed into the conversation screen."""

    if TYPE_CHECKING:

        def edit(self, message: Message) -> None: ...

        async def _forget(self, word: str) -> None: ...

    # --- which message ----------------------------------------------------------------------------

    @property
    def _its_room(self) -> "RoomServices":
        return self.atlas.room_of(self.current)

    def _message_meant(self, *roles: Role) -> Message | None:
        """The selected message; where none is, the newest one of these roles (any)."""
        transcript = self.transcript
        if (block := transcript.selected_block) is not None:
            return block.message if not roles or block.message.role in roles else self._beside(block, roles)
        found = (b.message for b in reversed(transcript.blocks) if not roles or b.message.role in roles)
        return next(found, None)

    def _beside(self, block: MessageBlock, roles: tuple[Role, ...]) -> Message | None:
        """What is said in the turn of a selected message by one of these roles."""
        blocks = self.transcript.blocks
        at = blocks.index(block)
        beside = at + 1 if block.message.role is Role.USER else at - 1
        if 0 <= beside < len(blocks) and blocks[beside].message.role in roles:
            return blocks[beside].message
        return None

    @property
    def newest_words(self) -> Message | None:
        """The person's newest message, where it is mounted."""
        if not self.query(Transcript) or not self.transcript.at_the_newest:
            return None
        blocks = reversed(self.transcript.blocks)
        return next((block.message for block in blocks if block.message.role is Role.USER), None)

    def action_select_message(self) -> None:
        self.transcript.focus()

    def action_message_previous(self) -> None:
        self.transcript.select_step(-1)

    def action_message_next(self) -> None:
        self.transcript.select_step(+1)

    def action_message_first(self) -> None:
        self.transcript.select_end(newest=False)

    async def action_message_last(self) -> None:
        await self.transcript.follow()
        self.transcript.select_end(newest=True)
        self.transcript.anchor()

    def action_message_back(self) -> None:
        self.prompt.focus()

    def on_descendant_focus(self) -> None:
        if self.query_one(Prompt).has_focus:
            # Whoever types means the newest message again.
            self.query_one(Transcript).selected = None

    # --- what is done with it ---------------------------------------------------------------------

    def action_message_edit(self) -> None:
        if (message := self._message_meant(Role.USER)) is not None:
            self.edit(message)

    def action_message_continue(self) -> None:
        if (message := self._unfinished) is not None:
            self.turns.go_on(self.current, message.id)
            self.tell()

    @property
    def _unfinished(self) -> Message | None:
        """The newest reply, when it was stopped or cut and something of it came."""
        blocks = self.transcript.blocks
        if not blocks or not self.transcript.at_the_newest:
            return None
        newest = blocks[-1].message
        cut = newest.status is MessageStatus.PARTIAL or newest.stop_reason == StopReason.LENGTH
        return newest if newest.role is Role.ASSISTANT and cut and newest.content.strip() else None

    def action_message_fork(self) -> None:
        if (message := self._message_meant()) is not None:
            self.atlas.attempt(self._fork(message), group=GROUP, exclusive=True)

    async def _fork(self, message: Message) -> None:
        made = await self._its_room.sessions.fork(message.session_id, message=message.id)
        await self._open(made.id)
        self.atlas.say(tr("messages.forked", count=made.message_count))

    def action_message_copy(self) -> None:
        if (message := self._message_meant()) is not None:
            copied = self._copy(message.content, tr("messages.message_copied"))
            self.atlas.attempt(copied, group=GROUP, exclusive=True)

    def action_message_copy_code(self) -> None:
        if (message := self._message_meant(Role.ASSISTANT)) is not None:
            self.atlas.attempt(self._copy_code(message), group=GROUP, exclusive=True)

    def on_copy_code(self, event: CopyCode) -> None:
        self.atlas.attempt(self._copy(event.code, tr("messages.code_copied")), group=GROUP, exclusive=True)

    async def _copy_code(self, message: Message) -> None:
        from atlas_desktop.services.code_blocks import code_blocks
        from atlas_desktop.tui.screens.pick import Choice, PickScreen

        found = code_blocks(message.content)
        if not found:
            self.atlas.say(tr("messages.no_code"))
            return
        which: str | None = "0"
        if len(found) > 1:
            choices = [Choice(str(n), _code_named(one), one.text) for n, one in enumerate(found)]
            which = await self.atlas.push_screen_wait(PickScreen(tr("messages.which_code"), choices))
        if which is not None:
            await self._copy(found[int(which)].text, tr("messages.code_copied"))

    async def _copy(self, text: str, done: str) -> None:
        """Puts a text on the clipboard of the terminal; out of the private room only after a question."""
        if self._its_room.store.room is not RoomKind.OPEN and not await self._may_leave():
            return
        self.app.copy_to_clipboard(text)
        self.atlas.say(done)

    async def _may_leave(self) -> bool:
        from atlas_desktop.tui.screens.confirm import ConfirmScreen

        asked = ConfirmScreen(
            tr("messages.copy"),
            tr("messages.copy_hint"),
            agree=tr("messages.copy_it"),
            refuse=tr("messages.copy_not"),
        )
        agreed: bool = await self.atlas.push_screen_wait(asked)
        return agreed

    def action_message_whole(self) -> None:
        """Shows a message from its first word to its last, however long it is."""
        from atlas_desktop.tui.screens.inspector import WholeScreen

        roles = () if self.transcript.selected else self._of_the_longest
        if (message := self._message_meant(*roles)) is not None:
            self.app.push_screen(WholeScreen(message))

    @property
    def _of_the_longest(self) -> tuple[Role, ...]:
        """Whose newest message is meant when none is selected: of one that is cut for show, its writer's."""
        cut = (b.message.role for b in reversed(self.transcript.blocks) if len(b.message.content) > SHOWN)
        return tuple(islice(cut, 1))

    def action_message_important(self) -> None:
        if (message := self._message_meant(*() if self.transcript.selected else (Role.USER,))) is not None:
            self.atlas.attempt(self._mark(message, chosen=bool(self.transcript.selected)), group=GROUP)

    async def _mark(self, message: Message, *, chosen: bool) -> None:
        """`chosen` says that the person has selected it; else it is said which one it was."""
        marked = await self._its_room.branches.mark(message.id, important=not message.important)
        if (block := self.transcript.find(marked.id)) is not None:
            block.marked(marked)
        done = tr("messages.marked") if marked.important else tr("messages.unmarked")
        key = key_words(keys_of(BY_ID["messages.select"], self.atlas.keys)) or BY_ID["messages.select"].slash
        self.atlas.say(done if chosen else f"{done} {tr('messages.newest', key=key)}")

    def action_message_why(self) -> None:
        if (
            message := self._message_meant(*() if self.transcript.selected else (Role.ASSISTANT,))
        ) is not None:
            self.atlas.attempt(self._why(message), group=GROUP, exclusive=True)

    async def _why(self, message: Message) -> None:
        from atlas_desktop.tui.reasons import reasons_of
        from atlas_desktop.tui.screens.why import WhyScreen

        reasons = await reasons_of(self._its_room, message.id, self.atlas.now())
        if not reasons.any:
            self.atlas.say(tr("why.none"))
            return
        self.app.push_screen(WhyScreen(self.atlas, reasons), self.place_chosen)

    def action_message_forget(self) -> None:
        if (message := self._message_meant()) is not None:
            self.atlas.attempt(self._forget(message.id), group="forget", exclusive=True)

    # --- variants and branches --------------------------------------------------------------------

    def action_message_earlier(self) -> None:
        self._turn_selected(-1)

    def action_message_later(self) -> None:
        self._turn_selected(+1)

    def _turn_selected(self, step: int) -> None:
        if (message := self._message_meant()) is not None:
            self.atlas.attempt(self._show_variant_of(message, step), group=GROUP, exclusive=True)

    async def _show_variant_of(self, message: Message, step: int) -> None:
        """Shows the branch that goes on from another variant of a message, at that variant."""
        room = self._its_room
        variants = [one.id for one in await room.branches.variants(message.id)]
        at = variants.index(message.id)
        to = min(max(at + step, 0), len(variants) - 1)
        if to == at:
            self.atlas.say(
                tr("messages.no_more_variants") if len(variants) > 1 else tr("messages.no_variants")
            )
            return
        await self._go_to(message.session_id, variants[to])

    async def _go_to(self, session_id: str, message_id: str) -> None:
        """Shows a message of a conversation on whatever branch it is, with the focus on it."""
        await self._its_room.branches.go_to(session_id, message_id)
        await self._open(session_id, again=True)
        await self.transcript.go_to(message_id)
        self.transcript.focus()

    def action_message_branches(self) -> None:
        self.atlas.attempt(self._show_branches, group=GROUP, exclusive=True)

    async def _show_branches(self) -> None:
        from atlas_desktop.services.branches import stretches
        from atlas_desktop.tui.screens.branches import BranchScreen

        session = self.current.session
        assert session is not None
        nodes = await self._its_room.branches.nodes(session.id)
        head = (await self._its_room.store.get_session(session.id)).head_id
        chosen = await self.atlas.push_screen_wait(BranchScreen(stretches(nodes, head), len(nodes)))
        if chosen is not None:
            await self._go_to(session.id, chosen)

    # --- when it can be done ----------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action != "select_message" and not action.startswith("message_"):
            return super().check_action(action, parameters)
        if not self.query(Transcript):
            # Keys are asked about before there is anything on the screen.
            return False
        if action == "select_message":
            return bool(self.transcript.blocks) and not self.transcript.has_focus
        deed = action.removeprefix("message_")
        if deed in ("previous", "next", "first", "last", "back"):
            return True
        if self.atlas.leaving or self.current.id is None or not self.transcript.blocks:
            return None
        if deed == "continue":
            return True if self._unfinished is not None and not self.current.busy else None
        if deed in ("edit", "fork", "forget", "earlier", "later", "branches") and self.current.busy:
            return None
        if deed == "edit":
            return True if self._message_meant(Role.USER) is not None else None
        if deed in _OF_WORDS:
            # With none selected it is the newest of those that the action is about.
            by_default = (Role.USER,) if deed == "important" else (Role.ASSISTANT,)
            roles = () if self.transcript.selected or deed in ("copy", "whole") else by_default
            meant = self._message_meant(*roles)
            return True if meant is not None and meant.content.strip() else None
        return True
