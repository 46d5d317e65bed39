"""The models of a home, for people: what there is, what suits this machine, fetching, importing, choosing."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

from atlas_desktop.services.bench import BenchResult, HostFactory, bench
from atlas_desktop.services.model_views import ModelDetails, ModelSummary, ModelViews
from models.catalog import Catalog, CatalogEntry, HubSource, ModelRole
from models.discover import FoundModel, discover
from models.errors import ModelFileError, ModelNotInstalled, NoModel, UnknownModel
from models.fetch import ModelFetcher
from models.gguf_header import read_header
from models.hardware import Machine, Recommendation, recommend, this_machine
from models.library import InstalledModel, ModelLibrary
from models.progress import Cancelled, Report, never, silent
from models.tuned import TunedStore

T = TypeVar("T")


class ModelProbe(Protocol):
    """Tries whether llama.cpp can read a file. Raises `models.errors.ModelFileError`."""

    def __call__(self, path: Path) -> Awaitable[None]: ...


class ModelService:
    """`person` is the person's own home folder, where other programs keep their models."""

    def __init__(
        self,
        library: ModelLibrary,
        catalog: Catalog,
        fetcher: ModelFetcher,
        *,
        person: Path,
        environment: Mapping[str, str],
        probe: ModelProbe | None = None,
        machine: Callable[[], Machine] = this_machine,
        tuned: TunedStore | None = None,
    ) -> None:
        self._library = library
        self._catalog = catalog
        self._fetcher = fetcher
        self._person = person
        self._environment = environment
        self._probe = probe
        self._machine = machine
        self._tuned = tuned or TunedStore(library.folder)
        self._views = ModelViews(library, catalog, self._tuned, machine)

    def machine(self) -> Machine:
        """What this computer has."""
        return self._machine()

    # --- what is there ----------------------------------------------------------------------------

    def installed(self) -> tuple[InstalledModel, ...]:
        """The installed models, those of the catalogue first."""
        return self._library.installed()

    def installed_model(self, ref: str) -> InstalledModel:
        """An installed model. Raises `UnknownModel`, `ModelNotInstalled` for one of the catalogue."""
        try:
            return self._library.get(ref)
        except UnknownModel:
            if (entry := self._catalog.find(ref)) is None:
                raise
            raise ModelNotInstalled(entry.id) from None

    def default(self, role: str) -> InstalledModel:
        """The model that is used for `chat` or `embed`. Raises `NoModel`."""
        return self._library.default(ModelRole(role))

    def sound_default(self, role: str) -> InstalledModel:
        """As `default`, once its file was looked into. Raises `NoModel`, `ModelDamaged`."""
        return self._library.sound_default(ModelRole(role))

    def damaged(self) -> tuple[tuple[InstalledModel, ModelFileError], ...]:
        """The models whose files are there and cannot be read as models any more, and why."""
        return self._library.damaged()

    def sampling(self, ref: str) -> dict[str, int | float]:
        """What a model's makers recommend, by the names of the chat settings; empty when not known."""
        entry = self._catalog.find(ref)
        return dict(entry.sampling) if entry else {}

    async def chat_model(self) -> str | None:
        """The id of the chat model that is used, or None."""
        try:
            return (await asyncio.to_thread(self.default, "chat")).id
        except NoModel:
            return None

    def summaries(self, *, everything: bool = False) -> tuple[ModelSummary, ...]:
        """The installed models and, with `everything`, then those of the catalogue that are not."""
        return self._views.summaries(everything=everything)

    def info(self, ref: str) -> ModelDetails:
        """All about an installed model or one of the catalogue. Raises `UnknownModel` or `ModelFileError`."""
        return self._views.info(ref)

    def recommend(self, role: str = "chat") -> tuple[Recommendation, ...]:
        """The catalogue's models of a role, the best for this machine first."""
        return recommend(self._machine(), self._catalog, ModelRole(role))

    def discover(self) -> tuple[FoundModel, ...]:
        """Model files of other programs, which `import_file` can copy or link."""
        return discover(self._person, self._environment)

    # --- what can be done -------------------------------------------------------------------------

    def defaults(self) -> tuple[CatalogEntry, ...]:
        """The catalogue's first model of each role: what a new home starts with."""
        return tuple(self._catalog.of_role(role)[0] for role in ModelRole)

    def licence(self, ref: str) -> tuple[str, bool] | None:
        """A catalogue model's licence and whether it is an open-source one; None for other models."""
        entry = self._catalog.find(ref)
        return (entry.licence, entry.licence_open) if entry else None

    def host(self, ref: str) -> str:
        """The hub that a catalogue model is fetched from first; empty when it comes from elsewhere."""
        from models.sources.hub import hub_host

        entry = self._catalog.find(ref)
        return hub_host() if entry and entry.sources and isinstance(entry.sources[0], HubSource) else ""

    async def pull(
        self,
        ref: str,
        progress: Report = silent,
        cancelled: Cancelled = never,
        *,
        model_id: str | None = None,
        choose: bool = False,
    ) -> InstalledModel:
        """Fetches a model by its id or `hf:owner/repo/file.gguf`; `choose` then uses it for what it is made
        for.

        `progress` is called from a thread. Raises what `ModelFetcher.pull` raises.
        """

        def work(stop: Cancelled) -> InstalledModel:
            model = self._fetcher.pull(ref, model_id=model_id, progress=progress, cancelled=stop)
            return self.use(model.id) if choose else model

        return await _in_thread(work, cancelled)

    async def import_file(
        self,
        path: Path,
        progress: Report = silent,
        cancelled: Cancelled = never,
        *,
        link: bool = False,
        model_id: str | None = None,
    ) -> InstalledModel:
        """Takes a GGUF file in, by copy or link, once its header and llama.cpp agree that it is a model.

        Raises what `ModelLibrary.import_file` and the probe raise.
        """
        whole = await asyncio.to_thread(lambda: path.expanduser().absolute())
        await asyncio.to_thread(read_header, whole)
        if self._probe is not None:
            await self._probe(whole)

        def work(stop: Cancelled) -> InstalledModel:
            return self._library.import_file(
                whole, link=link, model_id=model_id, report=progress, cancelled=stop
            )

        return await _in_thread(work, cancelled)

    def use(self, ref: str, role: str | None = None) -> InstalledModel:
        """Chooses a model for `role`, or for all that it is made for. Raises `UnknownModel`, `NoModel`."""
        model = self.installed_model(ref)
        for chosen in (ModelRole(role),) if role else model.roles:
            model = self._library.choose(chosen, model.id)
        return model

    def remove(self, ref: str) -> InstalledModel:
        """Deletes a model's file, or forgets a linked one. Raises `UnknownModel`."""
        model = self._library.remove(ref)
        self._tuned.forget(model.id)
        return model

    async def verify(
        self, ref: str, progress: Report = silent, cancelled: Cancelled = never
    ) -> InstalledModel:
        """Reads the whole file again. Raises `UnknownModel`, `WrongChecksum` or another `ModelFileError`."""

        def work(stop: Cancelled) -> InstalledModel:
            model = self._library.verify(ref, report=progress, cancelled=stop)
            self._tuned.verify(model.id, report=progress, cancelled=stop)
            return model

        return await _in_thread(work, cancelled)

    async def try_out(self, ref: str, host_factory: HostFactory) -> None:
        """Loads a model once in a process of its own. Raises a `ModelsError` when it does not run here."""
        model = self.installed_model(ref)
        host = host_factory(model)
        try:
            if ModelRole.CHAT in model.roles:
                await host.info()
            else:
                await host.embed(["Hello."])
        finally:
            await host.close()

    async def bench(self, ref: str, host_factory: HostFactory) -> BenchResult:
        """Measures a model in a process of its own. Raises `UnknownModel` or another `ModelsError`."""
        return await bench(self.installed_model(ref), host_factory)


async def _in_thread(work: Callable[[Cancelled], T], cancelled: Cancelled) -> T:
    """Runs blocking work in a thread; a cancelled task tells the work so, and waits for its end."""
    stop = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, lambda: stop.is_set() or cancelled()))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.gather(task, return_exceptions=True)
        raise
