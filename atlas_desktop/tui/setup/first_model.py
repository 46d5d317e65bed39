"""The choice of the first model, and its download."""

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList, ProgressBar, Static
from textual.widgets.option_list import Option

from atlas_desktop.errors import Explained, size
from atlas_desktop.locale import _
from atlas_desktop.phrases import fit_text, stage_text
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.keymap import how_to
from atlas_desktop.tui.models.onboarding import FIT_STYLES, ModelOnboarding, Offer
from atlas_desktop.tui.setup.welcome import Page
from models.errors import DownloadCancelled, ModelsError
from models.library.files import Progress

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.models.switcher import ModelFolderWatcher

_DRAW_S = 0.1


class ModelScreen(Page[None]):
    """Enter downloads the marked model; Esc stops the download, and the next try continues it.

    The list takes the remaining height, so that the progress below it is always visible.
    """

    AUTO_FOCUS = "#offers"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", _("Cancel the download")),
        Binding("ctrl+s", "skip", _("Start without a model"), priority=True),
    ]

    DEFAULT_CSS = """
    ModelScreen {
        .sheet { width: 80; height: 1fr; max-height: 34; padding: 1 2 0 2; }
        #offers {
            height: 1fr;
            border: none;
            padding: 0;
            background: $background;
            scrollbar-size-vertical: 1;
            & > .option-list--option { padding: 0 2; }
            &:focus { border: none; background-tint: transparent; }
        }
        #progress { display: none; height: auto; margin-top: 1; }
        #progress.-shown { display: block; }
        #amount { display: none; margin-top: 1; width: 100%; }
        #amount.-shown { display: block; }
        #amount Bar { width: 1fr; }
        #amount Bar > .bar--bar, #amount Bar > .bar--complete { color: $primary; background: $panel; }
    }
    """

    def __init__(
        self,
        app: "BaseApp",
        models: ModelOnboarding,
        folder: "ModelFolderWatcher",
        *,
        because: Explained | None = None,
    ) -> None:
        super().__init__(app)
        self._folder = folder
        self._because = because
        self._models = models
        self._offers: tuple[Offer, ...] = ()
        self._companion: Offer | None = None
        self._pulling: Offer | None = None
        self._cancelled = False
        self._progress: Progress | None = None

    def sheet(self) -> ComposeResult:
        title = Content.assemble(("◆ Atlas   ", "bold $primary"), (_("Choose a model"), "bold $foreground"))
        yield Static(title, classes="title")
        yield Static(
            self._about,
            id="about",
            classes="words quiet",
            markup=False,
        )
        yield Offers(id="offers", markup=False)
        yield Static("", id="progress", markup=False)
        yield ProgressBar(id="amount", show_eta=False)
        yield Static("", classes="problem", markup=False)

    @property
    def _about(self) -> str:
        return _(
            "It runs on this computer and needs no network. You can add others and switch later ({key}).",
            key=how_to("models.show", self.atlas.keys),
        )

    def on_mount(self) -> None:
        if self._because is not None:
            self.problem(self._because.title, self._because.message)
        self.atlas.attempt(self._list(), group="offers")
        self.set_interval(_DRAW_S, self._draw)

    async def _list(self) -> None:
        self._offers = tuple(await self._models.offers())
        self._companion = await self._models.companion()
        if self._companion is not None:
            about = _(
                "It comes with a small embedding model for search by meaning: {bytes}.",
                bytes=size(self._companion.bytes),
            )
            self.query_one("#about", Static).update(Content(f"{self._about} {about}"))
        listing = self.query_one("#offers", OptionList)
        best = next((one for one in self._offers[1:] if not one.program), None)
        for at, offer in enumerate(self._offers):
            word = _("start now") if at == 0 else _("recommended for this computer") if offer is best else ""
            listing.add_option(Option(_line(offer, word), id=str(at)))
        if self._offers:
            listing.highlighted = 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if self._pulling is None:
            self._pulling = self._offers[event.option_index]
            self._cancelled, self._progress = False, None
            self.problem("")
            self.refresh_bindings()
            self._draw()
            self.atlas.attempt(self._pull(self._pulling), group="pull", exclusive=True)

    async def _pull(self, offer: Offer) -> None:
        try:
            async with self._folder.held():
                await self._models.pull(offer.id, self._report, lambda: self._cancelled)
                await self._pull_companion()
        except DownloadCancelled:
            self.problem(_("Stopped."), _("The partial download is kept. Choose the model again to resume."))
            return
        except (ModelsError, OSError) as error:
            self.explain(self.atlas.explain(error))
            return
        finally:
            self._pulling = None
            self._draw()
            self.refresh_bindings()
        await self.atlas.model_chosen()

    async def _pull_companion(self) -> None:
        """Downloads the embedding model. Conversations do not wait for it; without it, search matches words
        only."""
        if (companion := self._companion) is None:
            return
        self._pulling, self._progress = companion, None
        try:
            await self._models.pull(companion.id, self._report, lambda: self._cancelled)
        except (ModelsError, OSError) as error:
            title = self.atlas.explain(error).title
            said = _(
                "{title}. Search by meaning is not available yet: download {name} later ({key}).",
                title=title,
                name=clean_line(companion.name),
                key=how_to("models.show", self.atlas.keys),
            )
            self.atlas.say(said, anywhere=True)

    def _report(self, progress: Progress) -> None:
        # Called from the download thread; drawing reads it ten times a second.
        self._progress = progress

    def _draw(self) -> None:
        words = self.query_one("#progress", Static)
        bar = self.query_one("#amount", ProgressBar)
        offer, progress = self._pulling, self._progress
        words.set_class(offer is not None, "-shown")
        bar.set_class(offer is not None, "-shown")
        if offer is None:
            return
        name = clean_line(offer.name)
        if progress is None:
            words.update(Content(_("{name}: starting…", name=name)))
            return
        amount = size(progress.done) + (
            _(" of {total}", total=size(progress.total)) if progress.total else ""
        )
        stage = stage_text(progress.stage)
        words.update(Content(f"{stage[0].upper()}{stage[1:]} {name}: {amount}"))
        bar.update(total=progress.total, progress=progress.done)

    def action_take(self) -> None:
        self.query_one("#offers", OptionList).action_select()

    def action_cancel(self) -> None:
        self._cancelled = True

    def action_skip(self) -> None:
        self._cancelled = True
        self.atlas.attempt(self.atlas.show_chat(warm=False), group="enter", exclusive=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("cancel", "take"):
            return (self._pulling is not None) == (action == "cancel")
        return super().check_action(action, parameters)


class Offers(OptionList):
    """The list of models. Its binding shows in the line of keys what Enter does, while that is possible."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "screen.take", _("Choose"))]

    def on_resize(self) -> None:
        self.scroll_to_highlight()


def _line(offer: Offer, word: str) -> Content:
    fit = clean_line(offer.fit)
    if offer.program:
        word = _("found in {program}", program=clean_line(offer.program))
        about = [size(offer.bytes), _("used in place, nothing is copied")]
    else:
        about = [f" · {size(offer.bytes)}", clean_line(offer.licence), clean_line(_(offer.note))]
    return Content.assemble(
        (clean_line(offer.name), "bold"),
        (f"  {word}" if word else "", "bold $accent"),
        "\n",
        (fit_text(fit), FIT_STYLES.get(fit, "$quiet")),
        (" · ".join(part for part in about if part), "$quiet"),
    )
