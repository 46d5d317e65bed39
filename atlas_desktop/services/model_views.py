"""What is told of models: the installed ones, those of the catalogue, and how they suit this machine."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from atlas_desktop.services.cleaning import clean_line
from models.catalog import Catalog, CatalogEntry, ModelRole, Source
from models.errors import NoModel, UnknownModel
from models.gguf_header import GgufHeader, read_header
from models.hardware import USUAL_CONTEXT, Fit, Machine, fit, fit_entry, memory_needed, needed_by
from models.library import InstalledModel, ModelLibrary
from models.tuned import TunedStore, tuned_words


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """One line of a list: a model that is installed, or that could be. `memory_needed` are the bytes that it
    takes with the usual context."""

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


@dataclass(frozen=True, slots=True)
class ModelDetails:
    """Everything known about a model; `installed`, `entry` and `header` are None where they do not apply."""

    summary: ModelSummary
    entry: CatalogEntry | None
    installed: InstalledModel | None
    header: GgufHeader | None
    memory_needed: int
    sources: tuple[Source, ...]


class ModelViews:
    """The models of a home and of the catalogue, as they are told of."""

    def __init__(
        self, library: ModelLibrary, catalog: Catalog, tuned: TunedStore, machine: Callable[[], Machine]
    ) -> None:
        self._library = library
        self._catalog = catalog
        self._tuned = tuned
        self._machine = machine

    def summaries(self, *, everything: bool = False) -> tuple[ModelSummary, ...]:
        """The installed models and, with `everything`, then those of the catalogue that are not."""
        machine = self._machine()
        installed = self._library.installed()
        there = {model.id for model in installed}
        used = self._used()
        found = [self._summary(model, machine, used) for model in installed]
        if everything:
            found += [self._offer(entry, machine) for entry in self._catalog.entries if entry.id not in there]
        return tuple(found)

    def info(self, ref: str) -> ModelDetails:
        """All about an installed model or one of the catalogue. Raises `UnknownModel` or `ModelFileError`."""
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
        """The id of the model that each role uses now."""
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
        )

    def _tuned_words(self, model_id: str) -> str:
        """What tuning brought a model on this machine; empty where nothing is in use."""
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
        )
