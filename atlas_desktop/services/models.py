"""The models of a home: listing, recommending, downloading, importing, choosing, and the loaded one."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from atlas_desktop.services.cleaning import clean_line
from models.errors import ModelDamaged, ModelFileError, ModelNotInstalled, NoModel, UnknownModel
from models.library.catalog import (
    USUAL_CONTEXT,
    Catalog,
    CatalogEntry,
    Fit,
    HubSource,
    Machine,
    ModelRole,
    Recommendation,
    Source,
    fit,
    fit_entry,
    measured_machine,
    memory_needed,
    needed_by,
    recommend,
    tokens_per_second,
)
from models.library.download import ModelFetcher
from models.library.files import Cancelled, Report, never, silent
from models.library.gguf import GgufHeader, read_header
from models.library.installed import FoundModel, InstalledModel, ModelLibrary, discover
from models.messages import ChatMessage, Completion, GenerationParams, Lane, ModelInfo, Role
from models.ports import ChatModel, Embedder, Generation, PrefixKeeper, TokenCounter
from models.tuning.plan import TunedStore, tuned_words


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """One line of a list: a model that is installed or could be installed.

    `memory_needed` is in bytes, with the usual context. `speed` is how many tokens per second a chat model is
    expected to write, 0 for others; `measured` says that it was measured since the program started.
    """

    id: str
    name: str
    roles: tuple[str, ...]
    bytes: int
    licence: str
    context_length: int
    fit: Fit
    memory_needed: int
    installed: bool
    used_for: tuple[str, ...]
    verified: bool
    note: str
    tuned: str = ""
    speed: float = 0.0
    measured: bool = False


@dataclass(frozen=True, slots=True)
class ModelDetails:
    """Everything known about a model; `installed`, `entry` and `header` are None if they do not apply."""

    summary: ModelSummary
    entry: CatalogEntry | None
    installed: InstalledModel | None
    header: GgufHeader | None
    memory_needed: int
    sources: tuple[Source, ...]


class ModelViews:
    """Views of the installed models and of the catalogue."""

    def __init__(
        self, library: ModelLibrary, catalog: Catalog, tuned: TunedStore, machine: Callable[[], Machine]
    ) -> None:
        self._library = library
        self._catalog = catalog
        self._tuned = tuned
        self._machine = machine
        self.measured: dict[str, float] = {}
        """How many tokens per second chat models wrote when they were measured, by their ids."""

    def summaries(self, *, everything: bool = False) -> tuple[ModelSummary, ...]:
        """Returns the installed models and, with `everything`, then the others of the catalogue."""
        machine = self._machine()
        installed = self._library.installed()
        there = {model.id for model in installed}
        used = self._used()
        found = [self._summary(model, machine, used) for model in installed]
        if everything:
            found += [self._offer(entry, machine) for entry in self._catalog.entries if entry.id not in there]
        return tuple(found)

    def info(self, ref: str) -> ModelDetails:
        """Returns all about an installed model or one of the catalogue.

        Raises `UnknownModel` or `ModelFileError`.
        """
        machine = self._machine()
        entry = self._catalog.find(ref)
        try:
            model = self._library.get(ref)
        except UnknownModel:
            entry = self._catalog.get(ref)
            needed = needed_by(entry)
            return ModelDetails(self._offer(entry, machine), entry, None, None, needed, entry.sources)
        header = read_header(model.path)
        context = min(header.context_length or USUAL_CONTEXT, USUAL_CONTEXT)
        needed = memory_needed(model.bytes, context, header.kv_bytes_per_token)
        sources = entry.sources if entry else ()
        summary = self._summary(model, machine, self._used())
        return ModelDetails(summary, entry, model, header, needed, sources)

    def _used(self) -> dict[ModelRole, str]:
        """Returns the id of the model that each role uses now."""
        used: dict[ModelRole, str] = {}
        for role in ModelRole:
            with contextlib.suppress(NoModel):
                used[role] = self._library.default(role).id
        return used

    def _summary(
        self, model: InstalledModel, machine: Machine, used: Mapping[ModelRole, str]
    ) -> ModelSummary:
        entry = self._catalog.find(model.id)
        length = model.context_length or USUAL_CONTEXT
        kv = entry.kv_bytes_per_token if entry else None
        suits = fit(
            model.bytes,
            length,
            machine,
            kv_bytes_per_token=kv,
            active_fraction=entry.active_fraction if entry else 1.0,
        )
        return ModelSummary(
            id=model.id,
            name=entry.name if entry else model.id,
            roles=tuple(str(role) for role in model.roles),
            bytes=model.bytes,
            licence=clean_line(model.licence),
            context_length=model.context_length,
            fit=suits,
            memory_needed=memory_needed(model.bytes, min(length, USUAL_CONTEXT), kv),
            installed=True,
            used_for=tuple(str(role) for role in model.roles if used.get(role) == model.id),
            verified=bool(entry and entry.sha256 and entry.sha256 == model.sha256),
            note=entry.note if entry else "",
            tuned=self._tuned_words(model.id),
            speed=self.measured.get(model.id) or _speed(model.roles, model.bytes, machine, entry),
            measured=model.id in self.measured,
        )

    def _tuned_words(self, model_id: str) -> str:
        """Describes the gain from tuning a model on this machine; empty if no result is in use."""
        found = self._tuned.result(model_id)
        return tuned_words(found) if found is not None and found.kept else ""

    def _offer(self, entry: CatalogEntry, machine: Machine) -> ModelSummary:
        return ModelSummary(
            id=entry.id,
            name=entry.name,
            roles=tuple(str(role) for role in entry.roles),
            bytes=entry.bytes,
            licence=entry.licence,
            context_length=entry.context_length,
            fit=fit_entry(entry, machine),
            memory_needed=needed_by(entry),
            installed=False,
            used_for=(),
            verified=entry.verified,
            note=entry.note,
            speed=_speed(entry.roles, entry.bytes, machine, entry),
        )


def _speed(
    roles: Sequence[ModelRole], file_bytes: int, machine: Machine, entry: CatalogEntry | None
) -> float:
    if ModelRole.CHAT not in roles:
        return 0.0
    return round(tokens_per_second(file_bytes, machine, entry.active_fraction if entry else 1.0), 1)


_PROMPT_WORDS = 400
_TOKENS = 64
_TEXTS = 32


class BenchHost(Protocol):
    """A model in its process: chat, embeddings, and closing."""

    async def info(self) -> ModelInfo: ...

    def generate(
        self, messages: Sequence[ChatMessage], params: GenerationParams, lane: Lane = Lane.CHAT
    ) -> Generation: ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]: ...

    async def close(self) -> None: ...


HostFactory = Callable[[InstalledModel], BenchHost]


@dataclass(frozen=True, slots=True)
class BenchResult:
    """Measurements: milliseconds, and tokens or texts per second; None if the model does not do that."""

    model: str
    load_ms: float
    prompt_tokens: int | None = None
    read_tokens_per_second: float | None = None
    first_token_ms: float | None = None
    written_tokens: int | None = None
    write_tokens_per_second: float | None = None
    texts_per_second: float | None = None


async def bench(
    model: InstalledModel, host_factory: HostFactory, clock: Callable[[], float] = time.perf_counter
) -> BenchResult:
    """Loads the model in a separate process, measures it, and ends the process. Raises `ModelsError`.

    A chat model reads about 500 tokens that it has never seen and writes 64; an embedding model embeds 32
    sentences.
    """
    host = host_factory(model)
    try:
        if ModelRole.CHAT in model.roles:
            return await _chat(model, host, clock)
        return await _embed(model, host, clock)
    finally:
        await host.close()


async def _chat(model: InstalledModel, host: BenchHost, clock: Callable[[], float]) -> BenchResult:
    begun = clock()
    await host.info()
    loaded = clock()
    # The first evaluation maps the weights into memory, so it is not typical of a conversation.
    await _complete(host, "Hello.", 1)
    done = await _complete(host, f"Go on with this list for as long as you can: {_words()}", _TOKENS)
    timings = done.timings
    reading = timings.evaluated_tokens / timings.first_token_ms * 1000 if timings.first_token_ms else None
    return BenchResult(
        model=model.id,
        load_ms=(loaded - begun) * 1000,
        prompt_tokens=timings.evaluated_tokens,
        read_tokens_per_second=reading,
        first_token_ms=timings.first_token_ms,
        written_tokens=timings.completion_tokens,
        write_tokens_per_second=timings.tokens_per_second,
    )


async def _complete(host: BenchHost, text: str, tokens: int) -> Completion:
    params = GenerationParams(max_tokens=tokens, temperature=0.0, seed=1)
    last: Completion | None = None
    async for event in host.generate([ChatMessage(Role.USER, text)], params):
        if isinstance(event, Completion):
            last = event
    assert last is not None
    return last


async def _embed(model: InstalledModel, host: BenchHost, clock: Callable[[], float]) -> BenchResult:
    begun = clock()
    await host.embed(["Hello."])
    loaded = clock()
    for number in range(_TEXTS):
        await host.embed([f"Sentence {number} is about the weather, the garden and the neighbour's cat."])
    return BenchResult(
        model=model.id, load_ms=(loaded - begun) * 1000, texts_per_second=_TEXTS / (clock() - loaded)
    )


def _words() -> str:
    subjects = ("apple", "river", "window", "train", "cloud", "lamp", "forest", "bread")
    return ", ".join(f"{subjects[n % len(subjects)]} {n}" for n in range(_PROMPT_WORDS // 3))


T = TypeVar("T")


class ModelProbe(Protocol):
    """Tries whether llama.cpp can read a file. Raises `models.errors.ModelFileError`."""

    def __call__(self, path: Path) -> Awaitable[None]: ...


class ModelService:
    """Model operations. `person` is the user's home folder, where other programs keep their models."""

    def __init__(
        self,
        library: ModelLibrary,
        catalog: Catalog,
        fetcher: ModelFetcher,
        *,
        person: Path,
        environment: Mapping[str, str],
        probe: ModelProbe | None = None,
        machine: Callable[[], Machine] = measured_machine,
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
        """Returns what this computer has."""
        return self._machine()

    # --- queries ----------------------------------------------------------------------------------

    def installed(self) -> tuple[InstalledModel, ...]:
        """Returns the installed models, those of the catalogue first."""
        return self._library.installed()

    def installed_model(self, ref: str) -> InstalledModel:
        """Returns an installed model. Raises `UnknownModel`; `ModelNotInstalled` if in the catalogue."""
        try:
            return self._library.get(ref)
        except UnknownModel:
            if (entry := self._catalog.find(ref)) is None:
                raise
            raise ModelNotInstalled(entry.id) from None

    def default(self, role: str) -> InstalledModel:
        """Returns the model that is used for `chat` or `embed`. Raises `NoModel`."""
        return self._library.default(ModelRole(role))

    def sound_default(self, role: str) -> InstalledModel:
        """Like `default`, after reading the header of its file. Raises `NoModel`, `ModelDamaged`."""
        return self._library.sound_default(ModelRole(role))

    def damaged(self) -> tuple[tuple[InstalledModel, ModelFileError], ...]:
        """Returns the models whose files exist but can no longer be read as models, and why."""
        return self._library.damaged()

    def sampling(self, ref: str) -> dict[str, int | float]:
        """Returns the recommendations of a model's makers, by the names of the chat settings; empty if
        unknown."""
        entry = self._catalog.find(ref)
        return dict(entry.sampling) if entry else {}

    async def chat_model(self) -> str | None:
        """Returns the id of the chat model that is used, or None."""
        try:
            return (await asyncio.to_thread(self.default, "chat")).id
        except NoModel:
            return None

    def summaries(self, *, everything: bool = False) -> tuple[ModelSummary, ...]:
        """Returns the installed models and, with `everything`, then the others of the catalogue."""
        return self._views.summaries(everything=everything)

    def info(self, ref: str) -> ModelDetails:
        """Returns all about an installed model or one of the catalogue.

        Raises `UnknownModel` or `ModelFileError`.
        """
        return self._views.info(ref)

    def recommend(self, role: str = "chat") -> tuple[Recommendation, ...]:
        """Returns the catalogue's models of a role, the best for this machine first."""
        return recommend(self._machine(), self._catalog, ModelRole(role))

    def discover(self) -> tuple[FoundModel, ...]:
        """Returns model files of other programs, which `import_file` can copy or link."""
        return discover(self._person, self._environment)

    # --- actions ----------------------------------------------------------------------------------

    def defaults(self) -> tuple[CatalogEntry, ...]:
        """Returns the catalogue's first model of each role, which a new home starts with."""
        return tuple(self._catalog.of_role(role)[0] for role in ModelRole)

    def licence(self, ref: str) -> tuple[str, bool] | None:
        """Returns a catalogue model's licence and whether it is open source; None for other models."""
        entry = self._catalog.find(ref)
        return (entry.licence, entry.licence_open) if entry else None

    def host(self, ref: str) -> str:
        """Returns the hub that a catalogue model is downloaded from first; empty for another source."""
        from models.library.download import hub_host

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
        """Downloads a model by its id or `hf:owner/repo/file.gguf`; with `choose`, it is used for its roles.

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
        """Imports a GGUF file, by copy or link, once its header and llama.cpp confirm that it is a model.

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
        """Chooses a model for `role`, or for all its roles. Raises `UnknownModel`, `NoModel`."""
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
        """Loads a model once in a separate process. Raises a `ModelsError` if it does not run on this
        computer."""
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
        """Measures a model in a separate process. Raises `UnknownModel` or another `ModelsError`."""
        model = self.installed_model(ref)
        result = await bench(model, host_factory)
        if result.write_tokens_per_second:
            self._views.measured[model.id] = round(result.write_tokens_per_second, 1)
        return result


async def _in_thread(work: Callable[[Cancelled], T], cancelled: Cancelled) -> T:
    """Runs blocking work in a thread. On cancellation it signals the work to stop, and waits for its end."""
    stop = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, lambda: stop.is_set() or cancelled()))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.gather(task, return_exceptions=True)
        raise


@dataclass(frozen=True, slots=True)
class Model:
    """A chat model with its token counter, optional parts, and `close`, which releases all of them.

    `prefixes` prefills prompts and saves states, `embedder` turns text into vectors; either may be None.
    `damaged` is set when there is no embedder because its file is damaged. `remote_chat` and `remote_embed`
    are the names of the engines that do this on another computer; empty if nothing leaves this one.
    """

    chat: ChatModel
    counter: TokenCounter
    close: Callable[[], Awaitable[None]]
    prefixes: PrefixKeeper | None = None
    embedder: Embedder | None = None
    damaged: ModelDamaged | None = None
    remote_chat: str = ""
    remote_embed: str = ""
