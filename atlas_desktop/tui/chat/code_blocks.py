"""Finds code blocks in a message, labels them with their language, and copies them."""

from dataclasses import dataclass, field

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from atlas_desktop.locale import _


@dataclass(frozen=True, slots=True)
class Code:
    """A code block; `language` is what the fence says, empty if it says nothing."""

    language: str
    text: str = field(repr=False)


def code_blocks(markdown: str) -> list[Code]:
    """Returns the fenced and indented code blocks in order, as CommonMark finds them."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark", {"html": False}).parse(markdown)
    return [
        Code(token.info.split(maxsplit=1)[0] if token.info.strip() else "", token.content.rstrip("\n"))
        for token in tokens
        if token.type in ("fence", "code_block") and token.content.strip()
    ]


_COPIES = "copies"


class CopyCode(Message):
    """A request to copy a code block."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self.code = code


def language_of(info: str) -> str:
    """Returns the language named by a fence; empty if it names none."""
    return info.split(maxsplit=1)[0] if info.strip() else ""


def head_line(language: str, width: int) -> Content:
    copy = _("Copy")
    room = max(0, width - cell_len(copy) - 1)
    said = Content(language).truncate(room, ellipsis=True, pad=True)
    clickable = Style(underline=True) + Style.from_meta({_COPIES: True})
    return Content.assemble(said, " ", (copy, clickable))


def copies(event: events.Click) -> bool:
    """Whether the copy link was clicked."""
    return _COPIES in event.style.meta


def is_head(strip: Strip) -> bool:
    return any(segment.style is not None and _COPIES in segment.style.meta for segment in strip)


class CodeHead(Widget):
    """The head of a code block. It stays in place when the code below it is scrolled sideways."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    CodeHead { dock: top; height: 1; padding: 0 1; color: $quiet; background: $panel; }
    """

    def __init__(self, language: str, code: str) -> None:
        super().__init__()
        self.auto_links = False
        self._language = language
        self._code = code

    def render(self) -> Content:
        return head_line(self._language, self.content_size.width)

    def on_click(self, event: events.Click) -> None:
        if copies(event):
            self.post_message(CopyCode(self._code))
