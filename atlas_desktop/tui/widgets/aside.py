"""What stands beside a conversation when it is wanted: its context, and what is remembered of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.formats import formats

_BAR = 30


@dataclass(frozen=True, slots=True)
class Known:
    """Tokens `used` of `limit` (0: not known) and those of each tier by name; the memories that were `told`
    for the newest reply, and how many passages besides; those that were `learned` in the conversation."""

    used: int = 0
    limit: int = 0
    tiers: tuple[tuple[str, int], ...] = ()
    told: tuple[str, ...] = ()
    passages: int = 0
    learned: tuple[str, ...] = ()


class Aside(VerticalScroll, can_focus=False):
    """On the right of the conversation; on a narrow terminal it lies over it."""

    DEFAULT_CSS = """
    Aside {
        display: none;
        width: 36;
        background: $surface;
        padding: 1 1 0 2;
        scrollbar-size-vertical: 1;
        & > Static { height: auto; }
    }
    """

    known = Known()

    def compose(self) -> ComposeResult:
        yield Static("", markup=False)

    def tell(self, known: Known) -> None:
        self.known = known
        self.query_one(Static).update(words_of(known))


def words_of(known: Known) -> Content:
    """The same as text."""
    number = formats().number
    parts: list[str | Content | tuple[str, str]] = [(tr("chat.aside.context"), "bold $accent"), "\n"]
    if known.limit:
        share = known.used / known.limit
        filled = min(_BAR, max(round(_BAR * share), known.used > 0))
        used = tr("chat.aside.used", used=number(known.used), limit=number(known.limit), share=share)
        parts += [("█" * filled, "$primary"), ("░" * (_BAR - filled), "$quiet"), f"\n{used}\n"]
        parts += [(f"{name:<20}{number(tokens):>10}\n", "$quiet") for name, tokens in known.tiers]
    else:
        parts += [(f"{tr('chat.aside.nothing_said')}\n", "$quiet")]
    told = list(known.told)
    if known.passages:
        told.append(tr("chat.aside.passages", count=known.passages))
    parts += _listed("chat.aside.told", told)
    parts += _listed("chat.aside.learned", known.learned)
    parts += ["\n", (tr("chat.aside.more"), "$quiet")]
    return Content.assemble(*parts)


def _listed(heading: str, texts: Sequence[str]) -> list[str | Content | tuple[str, str]]:
    said = "".join(f"• {clean_line(text)}\n" for text in texts)
    nothing = (f"{tr('chat.aside.none')}\n", "$quiet")
    return ["\n", (tr(heading), "bold $accent"), "\n", said or nothing]
