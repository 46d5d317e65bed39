"""The window of engines: other model servers, what they can do, and what they are used for."""

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.locale import N_, _
from atlas_desktop.phrases import before_leaving, can_text, engine_line
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.dialogs.forms import FieldsScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.widgets import Window
from models.engines.spec import is_local
from models.errors import EngineError, ModelsError

if TYPE_CHECKING:
    from atlas_desktop.services.engines import Engine
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.models.switcher import ModelSwitcher
    from models.engines.spec import EngineReport

GROUP = "engines"
_ABOUT = N_(
    "An engine is another program that runs models: Ollama, LM Studio, llama-server or any other server with "
    "an interface like OpenAI's. It can answer in place of Atlas's own model, with the same memory."
)


class EnginesScreen(Window[None]):
    """Lists the engines with their models, and has a key for each action."""

    of_rooms = False
    DEFAULT_CSS = """
    EnginesScreen {
        .box { width: 96; max-width: 98%; max-height: 92%; scrollbar-size-vertical: 1; }
        #about { height: auto; color: $quiet; }
        #engines {
            height: auto; max-height: 18; border: none; padding: 0; margin-top: 1; background: $surface;
            text-wrap: nowrap; text-overflow: ellipsis;
        }
        #engines:focus { border: none; background-tint: transparent; }
        #can, #keys { height: auto; color: $quiet; margin-top: 1; }
        #said { height: auto; display: none; margin-top: 1; }
        #said.-shown { display: block; }
    }
    """
    AUTO_FOCUS = "#engines"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", _("Close")),
        Binding("a", "add", _("Add")),
        Binding("o", "for_now", _("Use for now")),
        Binding("v", "vectors", _("Use for search by meaning")),
        Binding("p", "probe", _("Test")),
        Binding("delete,d", "remove", _("Remove")),
    ]

    def __init__(self, app: "BaseApp", switcher: "ModelSwitcher") -> None:
        super().__init__()
        self.atlas = app
        self._switcher = switcher
        self._reports: dict[str, EngineReport] = {}
        self._faults: dict[str, str] = {}
        self._list = OptionList(id="engines", markup=False)

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box", can_focus=False) as box:
            box.border_title = _("Engines")
            yield Static(Content(_(_ABOUT)), id="about", markup=False)
            yield self._list
            yield Static(_("No engines yet."), id="none", markup=False)
            yield Static("", id="can", markup=False)
            yield Static("", id="said", markup=False)
            yield Static("", id="keys", markup=False)

    def on_mount(self) -> None:
        self._show()
        for engine in self.atlas.desk.engines.list():
            if engine.allowed:
                self._do(self._probe(engine.name))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        self.atlas.attempt(work, group=GROUP)

    # --- display ---------------------------------------------------------------------------------

    @property
    def _marked(self) -> tuple[str, str]:
        """The engine and the model under the cursor; either may be empty."""
        at = self._list.highlighted
        ref = "" if at is None else str(self._list.get_option_at_index(at).id)
        name, _colon, model = ref.partition(":")
        return name, model

    def _show(self, marked: str | None = None) -> None:
        """Shows what is known of the engines. `marked` is the row to mark; by default the same as before."""
        desk, kept = self.atlas.desk, marked or ":".join(self._marked)
        models = desk.settings.models
        chosen = {"chat": models.chat_engine, "embed": models.embed_engine}
        engines = desk.engines.list()
        options: list[Option] = []
        for engine in engines:
            options.append(Option(Content(engine_line(engine)), id=f"{engine.name}:"))
            report = self._reports.get(engine.name)
            options += [
                Option(self._model_line(engine, model, chosen), id=f"{engine.name}:{model}")
                for model in (() if report is None else report.models)
            ]
        ids = [str(option.id) for option in options]
        with self.app.batch_update():
            self._list.clear_options()
            self._list.add_options(options)
            self._list.display = bool(options)
            self.query_one("#none").display = not options
            if options:
                self._list.highlighted = ids.index(kept) if kept in ids else 0
                self._list.focus()
        keys = (
            _("Enter uses a model · o for now · v for search · a adds · p tests · d removes · Esc closes")
            if engines
            else _("a adds one · Esc closes")
        )
        self.query_one("#keys", Static).update(Content(keys))
        self._tell()

    def _model_line(self, engine: "Engine", model: str, chosen: dict[str, str]) -> Content:
        ref = f"{engine.name}:{model}"
        uses = []
        if chosen["chat"] == ref:
            uses.append(_("in use: chat"))
        if chosen["embed"] == ref:
            uses.append(_("in use: search by meaning"))
        if self.atlas.desk.chosen_model == ref:
            uses.append(_("in use for now"))
        return Content.assemble("  ", clean_line(model), "  ", (" · ".join(uses), "bold $success"))

    def _tell(self) -> None:
        name, _model = self._marked
        can = self.query_one("#can", Static)
        if name in self._faults:
            can.update(Content.styled(self._faults[name], "bold $error"))
        elif name in self._reports:
            can.update(Content(can_text(name, self._reports[name])))
        else:
            can.update(Content(_("Testing {name} …", name=name) if name else ""))
        self.refresh_bindings()

    def _say(self, text: str, *, bad: bool = False) -> None:
        said = self.query_one("#said", Static)
        said.update(Content.styled(text, "bold $error" if bad else "$success"))
        said.set_class(bool(text), "-shown")

    def _say_error(self, error: ModelsError) -> None:
        self._say(self._fault(error), bad=True)

    def on_option_list_option_highlighted(self) -> None:
        self._tell()

    def on_option_list_option_selected(self) -> None:
        name, model = self._marked
        if model:
            self._do(self._use(f"{name}:{model}", "chat"))
        elif (report := self._reports.get(name)) is not None and report.models:
            # The row of an engine itself: its models are below.
            self._list.action_cursor_down()
        else:
            self.action_probe()

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        name, model = self._marked if self.is_mounted else ("", "")
        if action in ("for_now", "vectors"):
            return bool(model)
        if action in ("probe", "remove"):
            return bool(name)
        return True

    # --- what can be done ------------------------------------------------------------------------

    async def _probe(self, name: str) -> None:
        self._reports.pop(name, None)
        self._faults.pop(name, None)
        try:
            self._reports[name] = await self.atlas.desk.engines.probe(name)
        except EngineError as error:
            self._faults[name] = self._fault(error)
        if self.is_running:
            self._show()

    def action_probe(self) -> None:
        name, _model = self._marked
        self._do(self._probe(name))
        self._show()

    def action_add(self) -> None:
        self._do(self._add())

    async def _add(self) -> None:
        name, url, key = _("Name"), _("Address, such as http://127.0.0.1:11434"), _("Key, if it needs one")
        form = FieldsScreen(_("Add an engine"), [name, url, key], hidden=(key,))
        given = await self.app.push_screen_wait(form)
        if given is None:
            return
        engines, called = self.atlas.desk.engines, given[name].strip()
        self._say("")
        try:
            address = engines.checked_url(called, given[url])
            local = is_local(address)
            if not local and not await self.app.push_screen_wait(_leaving(called, address)):
                return
            self._say(_("Testing {name} …", name=called))
            key_text = given[key].strip() or None
            added, report = await engines.add(called, address, key=key_text, allowed=not local)
        except EngineError as error:
            self._say_error(error)
            return
        self._reports[added.name] = report
        self._faults.pop(added.name, None)
        self._say(_("{name} added. Choose one of its models.", name=added.name))
        self._show(":".join((added.name, *report.models[:1])))

    async def _use(self, ref: str, role: str) -> None:
        try:
            self._say(await self._switcher.use(ref, role))
        except ModelsError as error:
            self._say_error(error)
        self._show()

    def action_vectors(self) -> None:
        self._do(self._use(":".join(self._marked), "embed"))

    def action_for_now(self) -> None:
        self._do(self._use_for_now(":".join(self._marked)))

    async def _use_for_now(self, ref: str) -> None:
        try:
            self._say(await self._switcher.use_for_now(ref))
        except ModelsError as error:
            self._say_error(error)
        self._show()

    def action_remove(self) -> None:
        self._do(self._remove(self._marked[0]))

    async def _remove(self, name: str) -> None:
        question = ConfirmScreen(
            _("Remove {name}?", name=name),
            _("Its key is deleted. What uses it uses Atlas's own model again."),
            agree=_("Remove"),
            refuse=_("Keep"),
        )
        if not await self.app.push_screen_wait(question):
            return
        desk = self.atlas.desk
        await desk.engines.remove(name)
        if (desk.chosen_model or "").partition(":")[0] == name:
            desk.chosen_model = None
        self._reports.pop(name, None)
        self._faults.pop(name, None)
        await self._switcher.change_soon()
        self._say(_("{name} removed.", name=name))
        self._show()

    def _fault(self, error: ModelsError) -> str:
        words = self.atlas.explain(error)
        return f"{words.title}. {words.message} {words.next_step}"

    def action_close(self) -> None:
        self.dismiss(None)


def _leaving(name: str, url: str) -> ConfirmScreen:
    """The question that is asked once for an engine that is not on this computer."""
    return ConfirmScreen(
        _("Let text leave this computer?"),
        before_leaving(name, url),
        agree=_("Use it"),
        refuse=_("Cancel"),
    )
