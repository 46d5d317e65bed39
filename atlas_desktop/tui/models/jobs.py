"""Work on models in the background: downloads, imports, checks and measurements, one at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from atlas_desktop.locale import N_, _, formats
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.base import explain_and_note
from models.errors import DownloadCancelled, ModelsError, NoModel
from models.library.files import Progress
from models.messages import ChatMessage, GenerationParams, Lane, ModelInfo

if TYPE_CHECKING:
    from textual.worker import Worker

    from atlas_desktop.services.models import BenchResult, Model
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.models.switcher import ModelFolderWatcher
    from models.library.installed import InstalledModel
    from models.ports import Generation


_DOING_TEXTS = {
    "download": N_("a download"),
    "import": N_("an import"),
    "verify": N_("a check"),
    "bench": N_("a measurement"),
}

GROUP = "pull"
"""The group of workers that a user waits for: the program does not lock meanwhile."""


class ModelJobs:
    """Runs one job at a time.

    `kind` is empty while nothing is running. `said` is the result of the last job, `bad` whether it failed,
    `said_of` the row it belongs to (empty: none). `arrived` is the id of the newest model; `paused` maps
    paused downloads to their progress.
    """

    def __init__(self, app: "BaseApp", folder: "ModelFolderWatcher") -> None:
        self._app = app
        self._folder = folder
        self.kind = ""
        self.model = ""
        self.progress: Progress | None = None
        self.paused: dict[str, Progress | None] = {}
        self.said = ""
        self.said_of = ""
        self.bad = False
        self.changed: Callable[[], None] = lambda: None
        self.arrived = ""
        self._stop = False
        self._pausing = False
        self._worker: Worker[None] | None = None

    @property
    def busy(self) -> bool:
        return bool(self.kind)

    def say(self, words: str, *, of: str = "", bad: bool = False) -> None:
        self.said, self.said_of, self.bad = words, of, bad
        self.changed()

    def unsay(self) -> None:
        """Clears the result, which has been read."""
        self.said = self.said_of = ""

    # --- requests --------------------------------------------------------------------------------

    def download(self, model_id: str) -> None:
        """Downloads a model, or continues a paused download."""
        self.paused.pop(model_id, None)
        self._begin("download", model_id, lambda: self._download(model_id), of=model_id)

    def take_in(self, path: Path, *, link: bool, of: str = "") -> None:
        """Imports a file; `of` is the row of the request."""
        self._begin("import", clean_line(path.stem), lambda: self._take_in(path, link=link), of=of)

    def verify(self, model_id: str) -> None:
        self._begin("verify", model_id, lambda: self._verify(model_id), of=model_id)

    def bench(self, model_id: str) -> None:
        self._begin("bench", model_id, lambda: self._bench(model_id), of=model_id)

    def pause(self) -> None:
        """Stops a download and remembers it as paused."""
        self._pausing = self._stop = True

    def cancel(self) -> None:
        """Stops the current job."""
        self._stop = True
        if self.kind == "bench" and self._worker is not None:
            self._worker.cancel()

    # --- execution -------------------------------------------------------------------------------

    def _begin(self, kind: str, model: str, work: Callable[[], Awaitable[str]], *, of: str) -> None:
        if self.busy:
            self.say(_("Another task is running: {what}.", what=_(_DOING_TEXTS[self.kind])), of=of, bad=True)
            return
        self.kind, self.model = kind, model
        self.progress, self._stop, self._pausing = None, False, False
        self.unsay()
        self._worker = self._app.attempt(self._run(work, of), group=GROUP)
        self.changed()

    async def _run(self, work: Callable[[], Awaitable[str]], of: str) -> None:
        said, bad = "", False
        try:
            said = await work()
            # The new model is in another row than the request.
            of = self.arrived or of
        except asyncio.CancelledError:
            said = _("Stopped.")
            raise
        except DownloadCancelled:
            if self._pausing:
                self.paused[self.model] = self.progress
            said = _("Stopped. The partial download is kept; download again to resume it.")
        except (ModelsError, OSError) as error:
            words = self._app.explain(error)
            said = _(
                "{title}. {message} {next_step}",
                title=words.title,
                message=words.message,
                next_step=words.next_step,
            )
            bad = True
        except Exception as error:
            words = explain_and_note(error, self._app.desk.paths.logs)
            said, bad = f"{words.title}. {words.message}", True
            raise
        finally:
            self.kind, self.progress = "", None
            self.say(said, of=of, bad=bad)

    def _report(self, progress: Progress) -> None:
        # Called from the worker's thread; drawing polls it.
        self.progress = progress

    async def _download(self, model_id: str) -> str:
        async with self._folder.held():
            model = await self._app.desk.models.pull(model_id, self._report, lambda: self._stop)
        self.arrived = model.id
        return _offered(_("{model} installed. Press Enter to use it.", model=clean_line(model.id)), model)

    async def _take_in(self, path: Path, *, link: bool) -> str:
        async with self._folder.held():
            model = await self._app.desk.models.import_file(path, self._report, lambda: self._stop, link=link)
        self.arrived = model.id
        return _offered(_("{model} imported. Press Enter to use it.", model=clean_line(model.id)), model)

    async def _verify(self, model_id: str) -> str:
        await self._app.desk.models.verify(model_id, self._report, lambda: self._stop)
        return _("{model}: the file is intact.", model=model_id)

    async def _bench(self, model_id: str) -> str:
        if not self._app.replying:
            # Two loaded models at once would measure the lack of memory.
            await self._app.desk.switch_model()
        desk = self._app.desk

        def start(model: "InstalledModel") -> _Bench:
            return _Bench(desk.start_model(desk.settings, model.id))

        return _measured(await desk.models.bench(model_id, start))


class _Bench:
    """A model in a separate process, for measuring."""

    def __init__(self, model: "Model") -> None:
        self._model = model

    async def info(self) -> ModelInfo:
        return await self._model.chat.info()

    def generate(
        self, messages: Sequence[ChatMessage], params: GenerationParams, lane: Lane = Lane.CHAT
    ) -> "Generation":
        return self._model.chat.generate(messages, params, lane)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self._model.embedder is None:
            raise NoModel("embed")
        return await self._model.embedder.embed(texts)

    async def close(self) -> None:
        await self._model.close()


def _offered(said: str, model: "InstalledModel") -> str:
    """Returns `said`, with an offer to tune a new chat model."""
    return (
        f"{said} {_('Press t to make it faster here, in the background.')}" if "chat" in model.roles else said
    )


def _measured(result: "BenchResult") -> str:
    write = formats()
    load = write.decimal(result.load_ms / 1000)
    if result.texts_per_second is not None:
        texts = write.number(round(result.texts_per_second))
        return _(
            "{model} reads {texts} sentences per second here. Loading took {load} s.",
            model=result.model,
            texts=texts,
            load=load,
        )
    return _(
        "{model} reads {read} and writes {write} tokens per second here. The first word took "
        "{first} ms, loading took {load} s.",
        model=result.model,
        read=write.number(round(result.read_tokens_per_second or 0)),
        write=write.number(round(result.write_tokens_per_second or 0)),
        first=write.number(round(result.first_token_ms or 0)),
        load=load,
    )
