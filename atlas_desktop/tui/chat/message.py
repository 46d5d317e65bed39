"""One message of a transcript with its sources, and the remarks and errors between messages."""

import asyncio
import contextlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message as Event
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Markdown, Static

from atlas_desktop.errors import Explained
from atlas_desktop.locale import N_, _, formats, ngettext, number, quoted
from atlas_desktop.phrases import citation_text
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.calendar import long
from atlas_desktop.tui.chat.markdown import UNSCROLLED, Growing, SafeMarkdown, citation_at
from atlas_desktop.tui.keymap import how_to
from atlas_desktop.tui.textual_workarounds import forget_painted
from atlas_desktop.tui.widgets import words_of
from memory.documents.entities import CitedReply, StoredCitation
from memory.entities import Message, MessageStatus
from memory.skills.entities import UsedSkill, Verdict
from models.messages import Role, StopReason

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices

_FOUND = "bold underline $accent"
"""How words that were searched for look."""


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
        """A request to show the passage of a citation."""

        citation: StoredCitation

    @dataclass
    class Left(Event):
        """The focus leaves the links: upwards to the messages, or onwards to the prompt."""

        onwards: bool

    def __init__(self, cited: CitedReply) -> None:
        super().__init__()
        self.show(cited)

    def show(self, cited: CitedReply) -> None:
        self.citations = distinct(cited.citations)
        self._unsupported = len(cited.unsupported)
        self.can_focus = bool(self.citations)
        self.cursor = min(self.cursor, max(len(self.citations) - 1, 0))
        self.refresh(layout=True)

    def render(self) -> Content:
        lines = [
            self._line(one, here=self.has_focus and at == self.cursor)
            for at, one in enumerate(self.citations)
        ]
        if self._unsupported:
            keys = getattr(self.app, "keys", {})
            words = ngettext(
                "{count} sentence without support ({select}, then {show} shows it)",
                "{count} sentences without support ({select}, then {show} shows them)",
                self._unsupported,
                select=how_to("messages.select", keys),
                show=how_to("message.support", keys),
            )
            lines.append(Content.styled(words, "italic"))
        return Content("\n").join(lines)

    def _line(self, citation: StoredCitation, *, here: bool) -> Content:
        sign, style = ("✓", "$success") if citation.verified else ("✗", "$warning")
        label = "underline" if citation.verified else "italic $warning"
        quote = f"  {quoted(clean_line(citation.quote))}" if citation.verified and citation.quote else ""
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
    heading = (
        _("Without support in the documents:")
        if sentences
        else _(
            "No sentence without support was found. Hedges and remarks about the documents are not checked."
        )
    )
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
        """Forgets the conversation that the user leaves, because its room may close."""
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


_STATE_TEXTS = {
    "failed": N_("failed"),
    "unbegun": N_("stopped"),
    "stopped": N_("stopped"),
    "partial": N_("partial"),
    "length": N_("cut off at length limit"),
}
_END_TEXTS = {
    "stopped": N_("■ Stopped here."),
    "partial": N_("■ Interrupted here: the rest is missing."),
    "length": N_("■ Cut off at the length limit."),
}

LONGEST_FRAME_S = 0.5
"""How long to wait for a frame that may never be painted."""
REST = 40
"""The pause after a frame, as a multiple of its processor time. The model's threads wait for each other, so
time that the interface takes from one processor is lost on all of them."""
LONGEST_REST_S = 0.3


class PacedStream:
    """Passes text to a `Growing` at most `frame_rate` times a second, using about a fortieth of the time.

    Text that arrives between two frames is drawn together, so a fast model costs no more than a slow one. A
    frame lasts from the new text until it has been painted.
    """

    def __init__(self, target: Growing, frame_rate: int) -> None:
        self._target = target
        self._frame = 1 / frame_rate
        self._pending: list[str] = []
        self._news = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    def write(self, text: str) -> None:
        self._pending.append(text)
        self._news.set()

    def end(self) -> None:
        """Stops drawing."""
        self._task.cancel()

    async def _painted(self) -> None:
        painted = asyncio.Event()
        if self._target.call_after_refresh(painted.set):
            # If the widget is removed meanwhile, nothing more is painted.
            # (`wait_for` loses a cancellation that arrives with the frame; the task would never end.)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LONGEST_FRAME_S):
                    await painted.wait()

    async def _run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            text = "".join(self._pending)
            self._pending.clear()
            began, worked = time.monotonic(), time.thread_time()
            if text:
                self._target.grow(text)
                await self._painted()
            rest = min(REST * (time.thread_time() - worked), LONGEST_REST_S)
            await asyncio.sleep(max(self._frame - (time.monotonic() - began), rest))


_WORDLESS = ("", "failed", "unbegun")
"""States of replies that do not break off: complete, or without any text."""


def _state(message: Message) -> str:
    """Returns the state of an incomplete message; empty for a complete one."""
    stopped = message.stop_reason == StopReason.CANCELLED
    if message.status is MessageStatus.FAILED:
        return "unbegun" if message.unbegun else "failed"
    if message.status is MessageStatus.PARTIAL:
        return "stopped" if stopped else "partial"
    return "length" if message.stop_reason == StopReason.LENGTH else ""


def state_word(message: Message) -> str:
    """Returns the state of an incomplete message in a word; empty for a complete one."""
    state = _state(message)
    return _(_STATE_TEXTS[state]) if state else ""


def ending(message: Message) -> str:
    """Returns the line below a reply that breaks off, whose head may be out of view. Empty for other
    messages."""
    state = _state(message)
    return _(_END_TEXTS[state]) if state not in _WORDLESS else ""


SHOWN = 20_000
"""Characters of one message that the transcript shows: laying out megabytes takes seconds."""


def shown_of(text: str) -> str:
    """Returns the part of a text that the transcript shows: all of it unless it is very long."""
    if len(text) <= SHOWN:
        return text
    line, space = text.rfind("\n", SHOWN // 2, SHOWN), text.rfind(" ", SHOWN // 2, SHOWN)
    return text[: max(line, space) if max(line, space) > 0 else SHOWN]


def _no_words(message: Message) -> str:
    """Returns the placeholder for a message without text. Only forgetting empties one that was complete or
    partial."""
    return _("No text is stored here.") if message.content else _("This text was forgotten.")


class SkillLine(Static):
    """The line below a reply that names the skill it used and shows the user's rating."""


class MessageBlock(Vertical):
    """A message: a head line with author and time, and the text."""

    virtual_size = UNSCROLLED

    DEFAULT_CSS = """
    MessageBlock {
        height: auto;
        max-width: 100;
        /* Every block of Markdown ends with an empty line, so what follows a reply needs none. (`:last-child`
           would make Textual restyle the whole reply whenever a block is added.) */
        margin: 1 0 0 0;
        padding: 0 2 0 1;
        border-left: blank;
        .head { height: 1; color: $quiet; padding: 0 1; }
        .words { height: auto; padding: 0 1; }
        .end { height: auto; padding: 0 1; margin: 0 0 1 0; color: $warning; }
        .support { height: auto; padding: 0 1; margin: 0 0 1 0; }
        &.mine { border-left: outer $mine; background: $surface; margin: 0; }
        &.-selected { border-left: outer $accent; background: $panel; }
        SafeMarkdown { padding: 0 1; height: auto; }
        SafeMarkdown Static { link-color: $primary; }
        MarkdownParagraph { margin: 0 0 1 0; }
        MarkdownH1, MarkdownH2, MarkdownH3 {
            content-align: left middle;
            margin: 0 0 1 0;
            background: transparent;
        }
        MarkdownFence {
            margin: 0 0 1 0;
            background: $panel;
            &:light { background: $panel; }
            & > Label { padding: 0 1; }
        }
        MarkdownBlockQuote { margin: 0 0 1 0; background: transparent; border-left: outer $border-blurred; }
        MarkdownBulletList, MarkdownOrderedList { margin: 0 0 1 0; padding: 0; }
        MarkdownTable {
            margin: 0 0 1 0;
            height: auto;
            overflow: auto hidden;
            scrollbar-size-horizontal: 1;
            &:light { background: transparent; }
        }
        MarkdownBlockQuote MarkdownParagraph { margin: 0; }
        MarkdownList MarkdownParagraph { margin: 0; }
        MarkdownList MarkdownList { margin: 0; }
    }
    """

    _near = True

    @property
    def near(self) -> bool:
        """Whether it is in or near the view. Widgets inside a distant message are not laid out."""
        return self._near

    @near.setter
    def near(self, near: bool) -> None:
        if self._near and not near:
            forget_painted(self)
        self._near = near

    @property
    def is_scrollable(self) -> bool:
        return super().is_scrollable and (self.near or self.streaming)

    def __init__(
        self,
        message: Message,
        now: datetime,
        place: tuple[int, int] | None = None,
        cited: CitedReply | None = None,
        skills: tuple[UsedSkill, ...] = (),
    ) -> None:
        """`place` is the number of the message among its variants, counted from 1, and the number of
        variants. `cited` is what a reply cites, `skills` are those that it used."""
        super().__init__(classes="mine" if message.role is Role.USER else "theirs")
        self.message = message
        self._now = now
        self._cited = cited
        self._noted = False
        self._skills = skills
        self._stream: PacedStream | None = None
        self._activity = ""
        self._highlighted: dict[Static, Content] = {}
        """Parts in which words are highlighted, with what they show without that."""
        self._early = ""
        """Text that arrived before the widget could show it."""
        self._place = f"{place[0]}/{place[1]}" if place is not None else ""

    def compose(self) -> ComposeResult:
        yield Static(self._head(), classes="head")
        if self.message.role is Role.USER:
            said = clean(shown_of(self.message.content))
            none = Content.styled(_no_words(self.message), "italic $quiet")
            yield Static(Content(said) if said.strip() else none, classes="words")
        else:
            yield SafeMarkdown(self._words(), self._cited)
        yield from self._end()

    def _end(self) -> Iterator[Widget]:
        whole = len(self.message.content)
        if whole > SHOWN:
            words = _(
                "… Showing {shown} of {count} characters. Press o on the selected message, or type "
                "/whole, to see all.",
                count=number(whole),
                shown=formats().number(len(shown_of(self.message.content))),
            )
            yield Static(Content(words), classes="end")
        if words := ending(self.message):
            yield Static(Content(words), classes="end")
        if self._skills:
            yield SkillLine(Content(self._skill_line()), classes="end", markup=False)
        if self._cited is not None and has_sources(self._cited):
            yield CitationLinks(self._cited)

    def _skill_line(self) -> str:
        verdicts = {Verdict.HELPED: _("it helped"), Verdict.HARMED: _("it did not help")}
        line = _("Used skill: {name}", name=", ".join(one.name for one in self._skills))
        return " · ".join(
            [line, *dict.fromkeys(verdicts[one.verdict] for one in self._skills if one.verdict)]
        )

    @property
    def used_skill(self) -> bool:
        return bool(self._skills)

    async def judged(self, skills: tuple[UsedSkill, ...]) -> None:
        """Shows the user's ratings of the skills of the reply."""
        self._skills = skills
        for line in self.query(SkillLine):
            line.update(Content(self._skill_line()))

    @property
    def sources(self) -> CitationLinks | None:
        """The links to what the reply cites; None if it cites nothing."""
        return next((one for one in self.query(CitationLinks).results() if one.can_focus), None)

    @property
    def cited(self) -> CitedReply | None:
        """What the reply cites; None if it had no passages of documents."""
        return self._cited

    def cite(self, cited: CitedReply) -> None:
        """Shows the same citations again, of documents that have changed since."""
        self._cited = cited
        for links in self.query(CitationLinks):
            links.show(cited)

    @property
    def _citations(self) -> tuple[StoredCitation, ...]:
        return () if self._cited is None else self._cited.citations

    def on_markdown_link_clicked(self, event: Markdown.LinkClicked) -> None:
        event.stop()
        if (citation := citation_at(event.href, self._citations)) is not None:
            self.post_message(CitationLinks.Opened(citation))

    async def show_support(self) -> None:
        """Shows the sentences without support, or hides them."""
        if shown := self.query(".support"):
            await shown.remove()
        elif self._cited is not None:
            support = Static(support_text(self.message, self._cited), classes="support", markup=False)
            await self.mount(support)
            # Below a long reply it would open out of sight.
            self.call_after_refresh(support.scroll_visible, animate=False)

    @property
    def _wordless(self) -> bool:
        return not self.message.content or self.message.content.isspace()

    def _words(self) -> str:
        if self._wordless and self.message.status is MessageStatus.FAILED:
            key = how_to("chat.regenerate", getattr(self.app, "keys", {}))
            return (
                _("Stopped before the first word. {key} tries again.", key=key)
                if _state(self.message) == "unbegun"
                else _("No reply. {key} tries again.", key=key)
            )
        if self._wordless and self.message.status is not MessageStatus.STREAMING:
            return f"*{_no_words(self.message)}*"
        return shown_of(self.message.content)

    def _head(self) -> Content:
        mine = self.message.role is Role.USER
        name = _("You") if mine else "Atlas"
        parts: list[tuple[str, str]] = [(name, "bold $mine" if mine else "bold $primary")]
        if self.has_class("-selected"):
            parts.insert(0, ("▸ ", "bold $accent"))
        parts.append((f"  {long(self.message.created_at, self._now)}", "$quiet"))
        if not mine and self.message.model:
            parts.append((f"  {clean_line(self.message.model)}", "$quiet"))
        if self._place:
            parts.append((f"  {self._place}", "$quiet"))
        if self.message.important:
            parts.append((f"  ★ {_('important')}", "$accent"))
        if self._noted:
            parts.append((f"  ✎ {_('in a note')}", "$accent"))
        if word := self._activity or state_word(self.message):
            failed = _state(self.message) == "failed" and not self._activity
            parts.append((f"  · {word}", "$error" if failed else "$warning"))
        return Content.assemble(*parts)

    def _tell_head(self) -> None:
        """Updates the head line, if it is mounted already."""
        for head in self.query(".head").results(Static):
            head.update(self._head())

    @property
    def _markdown(self) -> SafeMarkdown | None:
        """The widget with the text of a reply; None before it is mounted and after it is removed."""
        return next(iter(self.query(SafeMarkdown).results()), None)

    @property
    def streaming(self) -> bool:
        """Whether its reply is streaming."""
        return self._stream is not None or self.message.status is MessageStatus.STREAMING

    def select(self, *, selected: bool) -> None:
        """Shows, by colour and by a mark, whether it is the selected message."""
        if selected is not self.has_class("-selected"):
            self.set_class(selected, "-selected")
            self._tell_head()

    def highlight(self, words: str) -> Widget | None:
        """Highlights words in the text instead of earlier ones; no words remove them.

        Returns the first part of the text with the words.
        """
        for part, plain in self._highlighted.items():
            if part.is_attached:
                part.update(plain, layout=False)
        self._highlighted.clear()
        if not words:
            return None
        wanted = re.compile(re.escape(words), re.IGNORECASE)
        for part in self.query(Static).results(Static):
            content = part.content
            if isinstance(content, Content) and not part.has_class("head") and wanted.search(content.plain):
                self._highlighted[part] = content
                part.update(content.highlight_regex(wanted, style=_FOUND), layout=False)
        return next(iter(self._highlighted), None)

    def marked(self, message: Message) -> None:
        """Updates the shown facts about the message; its text is unchanged."""
        self.message = message
        self._tell_head()

    @property
    def noted(self) -> bool:
        """Whether a note links to the message."""
        return self._noted

    @noted.setter
    def noted(self, noted: bool) -> None:
        if noted != self._noted:
            self._noted = noted
            self._tell_head()

    def show_activity(self, words: str) -> None:
        """Shows the current activity (`reading`, `writing`) in the head line."""
        if words != self._activity:
            self._activity = words
            self._tell_head()

    def placed(self, number: int, of: int) -> None:
        """Shows in the head line which variant this is, counted from 1."""
        self._place = f"{number}/{of}" if of > 1 else ""
        self._tell_head()

    def stream(self, text: str, frame_rate: int) -> None:
        """Adds text to a streaming reply."""
        self._early += text
        if self._stream is None:
            if (markdown := self._markdown) is None:
                return
            growing = Growing(self.message.content, markdown.size.height)
            markdown.display = False
            self.query(".end, .support, CitationLinks").remove()
            self.mount(growing, after=markdown)
            self._stream = PacedStream(growing, frame_rate)
        text, self._early = self._early, ""
        self._stream.write(text)

    async def finish(
        self,
        message: Message,
        cited: CitedReply | None = None,
        skills: tuple[UsedSkill, ...] = (),
    ) -> None:
        """Ends a reply: replaces the streamed text by Markdown widgets, and shows what it cites and used."""
        self.message = message
        self._cited = cited
        self._skills = skills
        if self._stream is not None:
            self._stream.end()
            self._stream = None
        if (markdown := self._markdown) is None:
            return
        words = clean(self._words())
        with self.app.batch_update():
            cited = self._cited or CitedReply()
            if words != markdown.source or markdown.cited != cited:
                markdown.cited = cited
                await markdown.update(words)
            markdown.display = True
            await self.query("Growing, .end, .support, CitationLinks").remove()
            await self.mount_all(self._end())
        self._activity = ""
        self._tell_head()

    def on_unmount(self) -> None:
        if self._stream is not None:
            self._stream.end()


class Remark(Static):
    """A remark by the program between messages."""

    DEFAULT_CSS = """
    Remark { height: auto; max-width: 100; margin: 0 0 1 0; padding: 0 2 0 3; color: $quiet; }
    """

    def __init__(self, text: str) -> None:
        super().__init__(Content(clean(text)), markup=False)


class ErrorNote(Static):
    """An error between messages: what happened, what it means, what to do."""

    DEFAULT_CSS = """
    ErrorNote {
        height: auto;
        max-width: 100;
        margin: 0 0 1 0;
        padding: 0 2;
        border-left: outer $error;
        background: $error 8%;
    }
    """
    ALLOW_SELECT: ClassVar[bool] = True

    def __init__(self, explained: Explained) -> None:
        super().__init__(words_of(explained), markup=False)
        self.explained = explained
