"""Finds the fastest way of running a model on this machine, and remembers it.

Every finished comparison is written down at once, so a search that is interrupted goes on where it stopped.
The model as downloaded stays as it is and in use until the search is over.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.tuning_search import BenchFactory, Checkpoint, Search, Told, go_on, quiet
from memory.jobs import Job
from models.errors import NoModel, UnknownModel
from models.library import ModelLibrary
from models.tuned import Tuned, TunedStore
from models.tuning import Plan, RunSettings

KIND = "tune"


class TuningService:
    """`fingerprint` tells one file from another; `plan` is what is tried."""

    def __init__(
        self,
        library: ModelLibrary,
        store: TunedStore,
        bench: BenchFactory,
        *,
        fingerprint: Callable[[Path], str],
        plan: Plan,
        start: RunSettings,
    ) -> None:
        self._library = library
        self._store = store
        self._bench = bench
        self._fingerprint = fingerprint
        self._plan = plan
        self._start = start

    def result(self, model_id: str) -> Tuned | None:
        """What was found for a model on this machine, or None."""
        return self._store.result(model_id)

    def undo(self, model_id: str) -> tuple[Path, ...]:
        """Goes back to the model as downloaded; returns the files deleted. Raises `UnknownModel`."""
        return self._store.forget(self._library.get(model_id).id)

    async def tune(
        self,
        model_id: str,
        progress: Told = quiet,
        *,
        again: bool = False,
        checkpoint: Checkpoint = go_on,
    ) -> Tuned:
        """Searches, or tells what was found before; `again` measures everything anew.

        Raises `UnknownModel`, `NoModel` (it is none for chat), `NotEnoughDisk`, or what the model as
        downloaded raises: only a candidate may crash.
        """
        model = self._library.get(model_id)
        if "chat" not in model.roles:
            raise NoModel("chat")
        fingerprint = await asyncio.to_thread(self._fingerprint, model.path)
        if not again:
            known = self._store.result(model.id, fingerprint)
            if known is not None and (known.thorough or not self._plan.thorough):
                return known
        search = self._store.search(model.id, fingerprint)
        tokens = self._plan.perplexity_tokens
        if again or search.perplexity_tokens != tokens:
            # Perplexities of different lengths of the text cannot be compared.
            search = msgspec.structs.replace(search, steps=(), perplexity=0.0, perplexity_tokens=tokens)
        run = Search(self._store, self._bench, self._plan, model, search, progress, checkpoint)
        try:
            return await run.run(self._start)
        finally:
            await run.close()


class TuneJobs:
    """Tunes models in the background, each only when somebody asked for it."""

    def __init__(self, background: BackgroundService, tuning: Callable[[], TuningService]) -> None:
        self._background = background
        self._tuning = tuning
        background.register(KIND, self.tune)

    async def ask(self, model_id: str) -> None:
        """Queues the tuning of a model; asked twice it is done once."""
        await self._background.add(KIND, model_id, payload={"model": model_id})

    async def tune(self, job: Job) -> None:
        """Does a job of this kind; a model that was removed meanwhile needs none. Turns go first."""
        tuning = self._tuning()
        try:
            await tuning.tune(job.payload["model"], checkpoint=self._background.gate.checkpoint)
        except UnknownModel:
            return
