"""Why a reply is as it is: the memories that were told and left out, the prompt by tier and to the letter."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.meter import tier_line
from atlas_desktop.tui.screens.covering import Covering

if TYPE_CHECKING:
    from atlas_desktop.services.why import Item, Why
    from memory.context.entities import TierUse
    from models.messages import ChatMessage

_FATES = {
    "told": "told",
    "repeats": "left out: its source stood in the prompt already",
    "echo": "left out: it says nothing that was not said just then",
    "too_far": "left out: too far from what was asked",
    "no_room": "left out: no room for it",
}
_HIDDEN = {
    "superseded": "Something newer holds instead of it.",
    "archived": "It is in the archive.",
    "rejected": "You rejected it.",
    "expired": "Its time is over.",
    "unapproved": "It waits for your approval.",
}
_BAR = 10
_LEAST = 0.005
_LONGEST = 240


class WhyScreen(Covering, ModalScreen[None]):
    """`tiers` and `prompt` are those of a reply, where they are known."""

    DEFAULT_CSS = """
    WhyScreen {
        align: center middle;
        background: $background 70%;
        .box {
            width: 100; max-width: 96%; height: 92%; padding: 1 1 0 2;
            background: $surface; border: round $primary;
            border-title-color: $primary; border-title-style: bold; border-subtitle-color: $quiet;
        }
        .heading { color: $accent; text-style: bold; margin-top: 1; height: auto; }
        .words { height: auto; }
        .quiet { color: $quiet; height: auto; }
        .item { height: auto; margin-bottom: 1; padding-left: 1; border-left: outer $border-blurred; }
        VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; padding-right: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,w,q", "close", "Close")]

    def __init__(
        self, why: "Why", tiers: "Sequence[TierUse]" = (), prompt: "Sequence[ChatMessage]" = ()
    ) -> None:
        super().__init__()
        self._why = why
        self._tiers = [tier for tier in tiers if tier.tokens]
        self._prompt = prompt

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = {"reply": "Why this reply?", "memory": "Why this memory?"}.get(
                self._why.kind, "Where this leads"
            )
            box.border_subtitle = "Esc closes"
            with VerticalScroll():
                yield from self._parts()

    def _parts(self) -> Iterator[Static]:
        why = self._why
        yield Static(Content(_short(why.text)), classes="quiet", markup=False)
        if why.hidden:
            yield Static(Content(_HIDDEN[why.hidden]), classes="words", markup=False)
        if why.kind == "reply":
            yield from self._of_reply(why)
        yield from _listed("Learned from", [f"“{_short(source.quote)}”" for source, _ in why.sources])
        learned = [f"{_short(one.text)} ({one.state})" for one in why.memories]
        yield from _listed("Learned from this", learned)
        mentions = [
            f"{hit.source.created_at.astimezone():%Y-%m-%d}: {_short(hit.text)}" for hit in why.mentions
        ]
        yield from _listed("Also mentioned in other conversations", mentions)
        yield from self._as_sent()

    def _of_reply(self, why: "Why") -> Iterator[Static]:
        yield _heading("The prompt, by tier")
        most = max((tier.tokens for tier in self._tiers), default=1)
        lines = [tier_line(tier, most) for tier in self._tiers]
        total = sum(tier.tokens for tier in self._tiers)
        yield Static(
            Content(
                "\n".join([*lines, f"{total:,} tokens in all; {why.shown} earlier messages word for word."])
            ),
            classes="words",
            markup=False,
        )
        yield _heading("Told to the model from memory")
        if not why.told:
            yield Static(Content("Nothing was told."), classes="quiet", markup=False)
        for item in why.told:
            yield _item(item)
        if why.left_out:
            yield _heading("Looked at and left out")
            for item in why.left_out:
                yield _item(item)

    def _as_sent(self) -> Iterator[Static]:
        if self._prompt:
            yield _heading("The exact prompt")
            text = "\n\n".join(f"[{message.role}]\n{message.content}" for message in self._prompt)
            yield Static(Content(clean(text)), classes="quiet", markup=False)

    def action_close(self) -> None:
        self.dismiss(None)


def _heading(text: str) -> Static:
    return Static(Content(text), classes="heading", markup=False)


def _listed(heading: str, lines: Sequence[str]) -> Iterator[Static]:
    if lines:
        yield _heading(heading)
        yield Static(Content("\n".join(f"• {line}" for line in lines)), classes="words", markup=False)


def bar(part: float) -> str:
    """A score between 0 and 1 as a small bar."""
    filled = max(0, min(_BAR, round(part * _BAR)))
    return "█" * filled + "░" * (_BAR - filled)


def _item(item: "Item") -> Static:
    one = item.considered
    text = _short(item.text) or "(it is not in this room any more)"
    parts = [f"{name:<12}{bar(part)} {part:.2f}" for name, part in one.parts.items() if abs(part) >= _LEAST]
    words = Content.assemble(
        (f"{one.kind} ", "bold"),
        text,
        "\n",
        (f"{_FATES[one.fate.value]} · score {one.score:.2f}", "$quiet"),
        *(("\n" + line, "") for line in parts),
    )
    return Static(words, classes="item", markup=False)


def _short(text: str) -> str:
    line = clean_line(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…"
