"""The sources of a reply: a line for each citation below it, and the sentences without support."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message as Event
from textual.reactive import reactive
from textual.widget import Widget

from atlas_desktop.locale import _, ngettext
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.documents.texts import citation_text
from memory.documents.entities import CitedReply, StoredCitation
from memory.entities import Message
from memory.skills.entities import UsedSkill
from models.messages import Role

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices


def distinct(citations: Sequence[StoredCitation]) -> tuple[StoredCitation, ...]:
    """Returns the citations, each place once."""
    found = {(one.document, one.begin, one.end, one.verified): one for one in reversed(citations)}
    return tuple(
        one for one in citations if found.get((one.document, one.begin, one.end, one.verified)) is one
    )


def has_sources(cited: CitedReply | None) -> bool:
    """Whether there is something to show below the reply."""
    return cited is not None and bool(cited.citations or cited.unsupported)


class CitationLinks(Widget, can_focus=True):
    """The citations of a reply, one in a line. Tab and the arrow keys move among them, Enter opens one."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    CitationLinks {
        height: auto;
        padding: 0 1;
        margin: 0 0 1 0;
        color: $quiet;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,down,right", "step(1)", _("Next source")),
        Binding("shift+tab,up,left", "step(-1)", _("Previous source"), show=False),
        Binding("enter", "open", _("Open source")),
        Binding("escape", "leave", _("Back")),
    ]
    cursor: reactive[int] = reactive(0)

    @dataclass
    class Opened(Event):
        """The passage of a citation is to be shown."""

        citation: StoredCitation

    @dataclass
    class Left(Event):
        """The focus leaves the links: upwards to the messages, or onwards to the prompt."""

        onwards: bool

    def __init__(self, cited: CitedReply) -> None:
        super().__init__()
        self.citations = distinct(cited.citations)
        self._unsupported = len(cited.unsupported)
        self.can_focus = bool(self.citations)

    def render(self) -> Content:
        lines = [
            self._line(one, here=self.has_focus and at == self.cursor)
            for at, one in enumerate(self.citations)
        ]
        if self._unsupported:
            words = ngettext(
                "{count} sentence without support (u shows it)",
                "{count} sentences without support (u shows them)",
                self._unsupported,
            )
            lines.append(Content.styled(words, "italic"))
        return Content("\n").join(lines)

    def _line(self, citation: StoredCitation, *, here: bool) -> Content:
        sign, style = ("✓", "$success") if citation.verified else ("✗", "$warning")
        label = "underline" if citation.verified else "italic $warning"
        quote = f"  “{clean_line(citation.quote)}”" if citation.verified and citation.quote else ""
        return Content.assemble(
            ("▸ " if here else "  ", "bold $accent"),
            (f"{sign} ", style),
            (citation_text(citation), f"{label} bold" if here else label),
            quote,
        )

    def on_focus(self) -> None:
        self.scroll_visible(animate=False)
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def action_step(self, by: int) -> None:
        to = self.cursor + by
        if 0 <= to < len(self.citations):
            self.cursor = to
        else:
            self.cursor = 0
            self.post_message(self.Left(by > 0))

    def action_open(self) -> None:
        self.post_message(self.Opened(self.citations[self.cursor]))

    def action_leave(self) -> None:
        self.post_message(self.Left(onwards=False))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and 0 <= offset.y < len(self.citations):
            event.stop()
            self.cursor = offset.y
            self.focus()
            self.action_open()


def support_text(message: Message, cited: CitedReply) -> Content:
    """Returns the sentences of a reply that no passage supports, as a list."""
    sentences = [clean_line(message.content[begin:end]) for begin, end in cited.unsupported]
    heading = _("Without support in the documents:") if sentences else _("Every sentence has support.")
    lines = [Content.styled(heading, "bold $warning" if sentences else "bold")]
    lines += [Content(f"? {one}") for one in sentences if one]
    return Content("\n").join(lines)


class CitationReader:
    """Reads what replies cite and which skills they used, before their messages are shown.

    So nothing moves afterwards.
    """

    def __init__(self) -> None:
        self._known: dict[str, CitedReply] = {}
        self._skills: dict[str, tuple[UsedSkill, ...]] = {}

    @property
    def known(self) -> Mapping[str, CitedReply]:
        """What replies cite, by the ids of the replies; without those that have no sources."""
        return self._known

    @property
    def skills(self) -> Mapping[str, tuple[UsedSkill, ...]]:
        """The skills that replies used, by the ids of the replies."""
        return self._skills

    def forget(self) -> None:
        """Forgets the conversation that is left: its room may close."""
        self._known.clear()
        self._skills.clear()

    async def read(self, room: "RoomServices", messages: Sequence[Message]) -> None:
        for message in messages:
            if message.role is Role.ASSISTANT:
                self.learn(message.id, await room.store.documents.cited(message.id))
        self._skills.update(await room.store.skills.used_in([one.id for one in messages]))

    def learn(
        self, reply_id: str, cited: CitedReply | None, skills: tuple[UsedSkill, ...] | None = None
    ) -> None:
        """Remembers what a reply cites, and, if given, the skills that it used."""
        if skills is not None:
            self._skills[reply_id] = skills
        if cited is not None and has_sources(cited):
            self._known[reply_id] = cited
        else:
            self._known.pop(reply_id, None)

    async def page(self, room: "RoomServices", session_id: str, last: str, count: int) -> Sequence[Message]:
        """Reads messages that end with the one of the given id, oldest first, and what they cite."""
        found = await room.branches.page(session_id, last, count)
        await self.read(room, found)
        return found
