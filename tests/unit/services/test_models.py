import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from atlas_desktop.error_table import explain
from atlas_desktop.services.models import BenchHost, ModelService, bench
from models.errors import (
    DownloadCancelled,
    ModelNotInstalled,
    NoModel,
    NotGguf,
    UnknownArchitecture,
    UnknownModel,
)
from models.library.catalog import GIB, Catalog, Fit, Machine, load_catalog
from models.library.download import ModelFetcher
from models.library.files import Cancelled, Progress, Report
from models.library.installed import InstalledModel, ModelLibrary
from models.messages import (
    ChatMessage,
    Completion,
    GenerationParams,
    Lane,
    ModelInfo,
    PromptShape,
    StopReason,
    Timings,
    TokenDelta,
)
from tests.unit.models.gguf_files import write_gguf

CATALOG = load_catalog()


class Fetcher(ModelFetcher):
    """Takes a second of nothing until it is cancelled, or installs a tiny file at once."""

    def __init__(self, library: ModelLibrary, cache: Path) -> None:
        super().__init__(library, CATALOG, cache)
        self._shelf = library
        self._made = cache / "made.gguf"
        self.started = threading.Event()
        self.ended = threading.Event()
        self.endless = False

    def pull(
        self,
        ref: object,
        *,
        model_id: str | None = None,
        progress: Report = lambda _progress: None,
        cancelled: Cancelled = lambda: False,
    ) -> InstalledModel:
        self.started.set()
        progress(Progress("download", 1, 2))
        while self.endless:
            if cancelled():
                self.ended.set()
                raise DownloadCancelled(str(ref))
        return self._shelf.import_file(write_gguf(self._made), model_id=model_id or str(ref))


@pytest.fixture
def library(tmp_path: Path) -> ModelLibrary:
    return ModelLibrary(tmp_path / "home" / "models", CATALOG)


@pytest.fixture
def fetcher(library: ModelLibrary, tmp_path: Path) -> Fetcher:
    return Fetcher(library, tmp_path / "home" / "cache")


@pytest.fixture
def service(library: ModelLibrary, fetcher: Fetcher, tmp_path: Path) -> ModelService:
    return ModelService(
        library,
        CATALOG,
        fetcher,
        person=tmp_path / "person",
        environment={},
        machine=lambda: Machine(8 * GIB, 6 * GIB, 4, 8),
    )


async def test_a_new_home_has_nothing_and_is_offered_the_catalogue(service: ModelService) -> None:
    assert service.installed() == ()
    assert service.summaries() == ()
    assert await service.chat_model() is None
    offered = service.summaries(everything=True)
    assert [one.id for one in offered] == [entry.id for entry in CATALOG.entries]
    assert not any(one.installed or one.used_for for one in offered)
    assert [entry.id for entry in service.defaults()] == ["smollm2-135m-instruct", "all-minilm-l6-v2"]
    with pytest.raises(NoModel):
        service.default("chat")


async def test_what_is_pulled_is_listed_and_can_be_chosen_at_once(service: ModelService) -> None:
    reports: list[Progress] = []
    await service.pull("first", reports.append)
    second = await service.pull("second", choose=True)
    assert reports == [Progress("download", 1, 2)]
    assert [str(role) for role in second.chosen_for] == ["chat"]
    assert await service.chat_model() == "second"
    assert {one.id: one.used_for for one in service.summaries()} == {"first": (), "second": ("chat",)}
    assert all(one.fit is Fit.FITS for one in service.summaries())


async def test_a_cancelled_task_ends_its_thread_first(service: ModelService, fetcher: Fetcher) -> None:
    fetcher.endless = True
    task = asyncio.create_task(service.pull("anything"))
    await asyncio.to_thread(fetcher.started.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert fetcher.ended.is_set()


async def test_an_import_is_checked_probed_and_then_taken_in(
    library: ModelLibrary, fetcher: Fetcher, tmp_path: Path
) -> None:
    asked: list[Path] = []

    async def probe(path: Path) -> None:
        asked.append(path)
        if path.stem == "strange":
            raise UnknownArchitecture(path, "strange")

    service = ModelService(library, CATALOG, fetcher, person=tmp_path, environment={}, probe=probe)
    model = await service.import_file(write_gguf(tmp_path / "mine.gguf"), link=True, model_id="own")
    assert (model.id, model.linked) == ("own", True)
    with pytest.raises(UnknownArchitecture):
        await service.import_file(write_gguf(tmp_path / "strange.gguf"))
    (tmp_path / "text.gguf").write_text("nothing")
    with pytest.raises(NotGguf):
        await service.import_file(tmp_path / "text.gguf")
    assert asked == [tmp_path / "mine.gguf", tmp_path / "strange.gguf"]
    assert [one.id for one in service.installed()] == ["own"]


async def test_details_of_what_is_there_and_of_what_is_not(service: ModelService, tmp_path: Path) -> None:
    offered = service.info("Gemma-3-4b-it")
    assert offered.entry is not None
    assert (offered.installed, offered.header) == (None, None)
    assert offered.memory_needed > offered.summary.bytes
    await service.import_file(write_gguf(tmp_path / "mine.gguf"))
    mine = service.info("mine")
    assert mine.entry is None
    assert mine.header is not None
    assert mine.installed is not None
    assert (mine.summary.licence, mine.summary.verified, mine.sources) == ("mit", False, ())
    with pytest.raises(UnknownModel) as caught:
        service.info("gema-3-4b-it")
    assert "gemma-3-4b-it" in caught.value.suggestions


async def test_control_characters_of_a_file_do_not_reach_the_terminal(
    service: ModelService, tmp_path: Path
) -> None:
    path = write_gguf(tmp_path / "evil.gguf")
    path.write_bytes(path.read_bytes().replace(b"mit", b"\x1b]5"))
    await service.import_file(path)
    assert "\x1b" not in service.summaries()[0].licence


async def test_verify_use_and_remove(service: ModelService, tmp_path: Path) -> None:
    await service.import_file(write_gguf(tmp_path / "a.gguf"))
    await service.import_file(write_gguf(tmp_path / "v.gguf", pooling=1))
    assert (await service.verify("a")).sha256 == service.installed_model("a").sha256
    assert [str(role) for role in service.use("v").chosen_for] == ["embed"]
    assert service.default("embed").id == "v"
    assert service.remove("a").id == "a"
    assert [one.id for one in service.installed()] == ["v"]


def test_licences_of_the_catalogue(service: ModelService) -> None:
    assert service.licence("smollm2-135m-instruct") == ("Apache-2.0", True)
    assert service.licence("gemma-3-4b-it") == ("Gemma Terms of Use", False)
    assert service.licence("hf:a/b/c.gguf") is None


def test_other_programs_models(service: ModelService, tmp_path: Path) -> None:
    write_gguf(tmp_path / "person/.lmstudio/models/one.gguf")
    assert [(one.program, one.name) for one in service.discover()] == [("LM Studio", "one")]


class Reply:
    def __init__(self, params: GenerationParams) -> None:
        self.params = params

    def cancel(self) -> None:
        raise AssertionError

    async def __aiter__(self) -> AsyncIterator[TokenDelta | Completion]:
        yield TokenDelta("x", (1,))
        timings = Timings(
            first_token_ms=500.0,
            evaluated_tokens=250,
            completion_tokens=self.params.max_tokens,
            tokens_per_second=40,
        )
        yield Completion("x", (1,), StopReason.LENGTH, timings)


class Host:
    def __init__(self) -> None:
        self.closed = False
        self.asked: list[str] = []

    async def info(self) -> ModelInfo:
        return ModelInfo("m", "f", "llama", 2048, 2048, 10, 8, True, PromptShape(0), "gpt2")

    def generate(
        self, messages: Sequence[ChatMessage], params: GenerationParams, lane: Lane = Lane.CHAT
    ) -> Reply:
        self.asked += [message.content for message in messages]
        return Reply(params)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        return [[1.0]]

    async def close(self) -> None:
        self.closed = True


def _clock() -> float:
    _clock.now += 0.25  # type: ignore[attr-defined]
    return float(_clock.now)  # type: ignore[attr-defined]


async def test_measures_reading_and_writing(service: ModelService, tmp_path: Path) -> None:
    model = await service.import_file(write_gguf(tmp_path / "chat.gguf"))
    host = Host()
    _clock.now = 0.0  # type: ignore[attr-defined]
    result = await bench(model, lambda _model: host, _clock)
    assert (result.model, result.load_ms, result.texts_per_second) == ("chat", 250.0, None)
    assert (result.read_tokens_per_second, result.prompt_tokens) == (500.0, 250)
    assert (result.write_tokens_per_second, result.written_tokens) == (40, 64)
    assert len(host.asked) == len(set(host.asked)) == 2
    assert host.closed


async def test_what_was_measured_replaces_the_estimate(service: ModelService, tmp_path: Path) -> None:
    await service.import_file(write_gguf(tmp_path / "chat.gguf"))
    assert not service.summaries()[0].measured
    await service.bench("chat", lambda _model: Host())
    (summary,) = service.summaries()
    assert (summary.speed, summary.measured) == (40, True)


async def test_measures_embeddings(service: ModelService, tmp_path: Path) -> None:
    model = await service.import_file(write_gguf(tmp_path / "embed.gguf", pooling=1))
    host = Host()
    _clock.now = 0.0  # type: ignore[attr-defined]
    result = await bench(model, lambda _model: host, _clock)
    assert result.texts_per_second == 32 / 0.25
    assert result.read_tokens_per_second is None
    assert len(set(host.asked)) == 33
    assert host.closed


async def test_the_process_is_ended_when_measuring_fails(service: ModelService, tmp_path: Path) -> None:
    await service.import_file(write_gguf(tmp_path / "chat.gguf"))

    class Broken(Host):
        async def info(self) -> ModelInfo:
            raise NoModel("chat")

    host = Broken()

    def start(_model: InstalledModel) -> BenchHost:
        return host

    with pytest.raises(NoModel):
        await service.bench("chat", start)
    assert host.closed
    with pytest.raises(UnknownModel):
        await service.bench("other", start)


def test_a_model_of_the_catalogue_is_said_to_be_away_and_how_to_get_it(service: ModelService) -> None:
    with pytest.raises(ModelNotInstalled) as caught:
        service.use("qwen3-0.6b")
    assert "atlas models pull qwen3-0.6b" in explain(caught.value).next_step


def test_an_empty_catalogue_recommends_nothing(
    library: ModelLibrary, fetcher: Fetcher, tmp_path: Path
) -> None:
    service = ModelService(library, Catalog(()), fetcher, person=tmp_path, environment={})
    assert service.recommend() == ()
