"""Why a reply is as it is: the memories that were told and left out, the prompt by tier and to the letter."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, set_cell_size
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.meter import tier_line
from atlas_desktop.tui.screens.covering import Covering
from atlas_desktop.tui.widgets.long_text import LongText
from atlas_desktop.words.catalogue import texts, tr
from atlas_desktop.words.formats import formats

if TYPE_CHECKING:
    from atlas_desktop.services.why import Item, Why
    from memory.context.entities import TierUse
    from memory.recall.entities import Hit
    from models.messages import ChatMessage

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
        #as-sent { height: 20; color: $quiet; }
        VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; padding-right: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,w,q", "close", tr("why.close"))]

    def __init__(
        self, why: "Why", tiers: "Sequence[TierUse]" = (), prompt: "Sequence[ChatMessage]" = ()
    ) -> None:
        super().__init__()
        self._why = why
        self._tiers = [tier for tier in tiers if tier.tokens]
        self._prompt = prompt

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = tr(f"why.title.{self._why.kind}")
            box.border_subtitle = tr("why.closes")
            with VerticalScroll():
                yield from self._parts()

    def _parts(self) -> Iterator[Widget]:
        why = self._why
        yield Static(Content(_short(why.text)), classes="quiet", markup=False)
        if why.hidden:
            yield Static(Content(tr(f"why.hidden.{why.hidden}")), classes="words", markup=False)
        if why.kind == "reply":
            yield from self._of_reply(why)
        yield from _listed(tr("why.learned_from"), [f"“{_short(source.quote)}”" for source, _ in why.sources])
        learned = [f"{_short(one.text)} ({tr(f'memory.state.{one.state}')})" for one in why.memories]
        yield from _listed(tr("why.learned"), learned)
        yield from _listed(tr("why.mentions"), [_mention(hit) for hit in why.mentions])
        yield from self._as_sent()

    def _of_reply(self, why: "Why") -> Iterator[Static]:
        yield _heading(tr("why.tiers"))
        most = max((tier.tokens for tier in self._tiers), default=1)
        total = formats().number(sum(tier.tokens for tier in self._tiers))
        lines = [tier_line(tier, most) for tier in self._tiers]
        lines.append(f"{tr('why.tokens', tokens=total)} {tr('why.shown', count=why.shown)}")
        yield Static(Content("\n".join(lines)), classes="words", markup=False)
        yield _heading(tr("why.told"))
        if not why.told:
            yield Static(Content(tr("why.told_nothing")), classes="quiet", markup=False)
        for item in why.told:
            yield _item(item)
        if why.left_out:
            yield _heading(tr("why.left_out"))
            for item in why.left_out:
                yield _item(item)

    def _as_sent(self) -> Iterator[Widget]:
        if self._prompt:
            yield _heading(tr("why.prompt"))
            text = "\n\n".join(f"[{message.role}]\n{message.content}" for message in self._prompt)
            yield LongText(text, id="as-sent")

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
    text = _short(item.text) or tr("why.gone")
    fits = tr("why.score", score=round(100 * one.score))
    parts = {_reason(name): part for name, part in one.parts.items() if abs(part) >= _LEAST}
    wide = max(map(cell_len, parts), default=0)
    words = Content.assemble(
        (f"{tr(f'why.kind.{one.kind}')}: ", "bold"),
        text,
        (f"\n{tr(f'why.fate.{one.fate}')} · {fits}", "$quiet"),
        *(f"\n{set_cell_size(name, wide)}  {bar(part)}" for name, part in parts.items()),
    )
    return Static(words, classes="item", markup=False)


def _reason(name: str) -> str:
    """What a part of a score is called; one that is new here goes by its own name."""
    key = f"part.{name}"
    return tr(f"why.{key}") if key in texts("why") else name


def _mention(hit: "Hit") -> str:
    return f"{formats().date(hit.source.created_at.astimezone())}: {_short(hit.text)}"


def _short(text: str) -> str:
    line = clean_line(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…"
