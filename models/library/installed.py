"""The models folder: installed files, the model of each role, new files, and those of other programs."""

import json
import os
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from models.errors import (
    ModelDamaged,
    ModelExists,
    ModelFileError,
    ModelLoadFailed,
    ModelsError,
    NoModel,
    UnknownModel,
    WrongChecksum,
)
from models.library.catalog import Catalog, ModelRole, clean_id, free_id
from models.library.files import (
    Cancelled,
    Report,
    copy_hashed,
    exclusive,
    never,
    open_private,
    private_folder,
    replace,
    require_space,
    sha256_of,
    silent,
    sync,
    write_atomically,
)
from models.library.gguf import GgufHeader, flaw_of, read_header
from models.tuning.plan import is_tuned_file

INDEX_NAME = "installed.toml"


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """One model in the index.

    `file` is a name in the models folder, or an absolute path when the file stays elsewhere. `sha256` is
    empty until the checksum has been computed. `added_at` is RFC 3339.
    """

    id: str
    file: str
    bytes: int
    roles: tuple[ModelRole, ...]
    sha256: str = ""
    source: str = "file"
    licence: str = ""
    added_at: str = ""
    context_length: int = 0
    architecture: str = ""

    @property
    def linked(self) -> bool:
        return Path(self.file).is_absolute()


class Index(msgspec.Struct, frozen=True):
    """The contents of the index file. `damaged`: it was invalid and is rebuilt from the folder."""

    models: tuple[Record, ...] = ()
    chosen: dict[ModelRole, str] = {}
    damaged: bool = False

    def find(self, ref: str) -> Record | None:
        """The record with that id (case is ignored), or None."""
        wanted = ref.casefold()
        return next((record for record in self.models if record.id.casefold() == wanted), None)

    def with_record(self, record: Record) -> "Index":
        """A copy of the index with `record` in place of any with the same id."""
        others = [other for other in self.models if other.id != record.id]
        return msgspec.structs.replace(self, models=(*others, record))

    def without(self, model_id: str) -> "Index":
        """A copy of the index without a model and without choices of it."""
        return msgspec.structs.replace(
            self,
            models=tuple(record for record in self.models if record.id != model_id),
            chosen={role: chosen for role, chosen in self.chosen.items() if chosen != model_id},
        )

    def with_choice(self, role: ModelRole, model_id: str) -> "Index":
        """A copy of the index with `model_id` chosen for `role`."""
        return msgspec.structs.replace(self, chosen={**self.chosen, role: model_id})


def read_index(folder: Path) -> Index:
    """The index of a models folder: empty when there is none, empty and `damaged` when it is invalid.

    A damaged index loses only choices, links and origins; the files themselves are found again.
    """
    try:
        raw: dict[str, Any] = tomllib.loads((folder / INDEX_NAME).read_text(encoding="utf-8"))
        return msgspec.convert(
            {"models": raw.get("model", []), "chosen": raw.get("chosen", {})}, Index, strict=True
        )
    except FileNotFoundError:
        return Index()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError):
        return Index(damaged=True)


def write_index(folder: Path, index: Index) -> None:
    """Atomically replaces the index of a models folder."""
    import tomlkit

    content = {
        "chosen": {str(role): model for role, model in index.chosen.items()},
        "model": [msgspec.to_builtins(record) for record in index.models],
    }
    write_atomically(folder / INDEX_NAME, tomlkit.dumps(content))


Probe = Callable[[Path], None]


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """An installed model. `path` is absolute; `sha256` is empty until it has been computed."""

    id: str
    path: Path
    bytes: int
    roles: tuple[ModelRole, ...]
    sha256: str
    source: str
    licence: str
    added_at: str
    linked: bool
    context_length: int
    architecture: str
    chosen_for: tuple[ModelRole, ...] = ()


DRAFT_SHARE = 4
"""How many times as large as a draft model the model must be for which it guesses."""


class ModelLibrary:
    """The models of one home. Every call reads the folder again, so two processes may share it."""

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self.folder = folder
        self._catalog = catalog

    def installed(self) -> tuple[InstalledModel, ...]:
        """Every model whose file exists: catalogue models in catalogue order, then the others by id.

        Unknown GGUF models in the folder are added to the index; files that are not models are ignored. A
        file in the folder that changed its length and is no longer a model (see `damaged`) is left out.
        """
        return tuple(model for model in self._known() if self._there(model))

    def damaged(self) -> tuple[tuple[InstalledModel, ModelFileError], ...]:
        """Models whose files exist but are no longer valid by their headers, each with the error."""
        flaws = [(model, self._flaw(model)) for model in self._known()]
        return tuple((model, flaw) for model, flaw in flaws if flaw is not None)

    def get(self, ref: str) -> InstalledModel:
        """The installed model with that id, even if its linked file is missing. Raises `UnknownModel`."""
        index = self._current()
        record = index.find(ref)
        if record is None:
            raise UnknownModel(ref, tuple(known.id for known in index.models)[:3])
        return self._model(record, index)

    def default(self, role: ModelRole) -> InstalledModel:
        """The model chosen for `role`, otherwise the first model with that role.

        Raises `NoModel`, or `ModelDamaged` when the only models with that role have truncated or damaged
        files.
        """
        known = [model for model in self._known() if role in model.roles]
        models = [model for model in known if self._there(model)]
        for model in models:
            if role in model.chosen_for:
                return model
        if models:
            return models[0]
        for model in known:
            if (flaw := self._flaw(model)) is not None:
                raise ModelDamaged(str(role), model.id, model.path, flaw.detail)
        raise NoModel(str(role))

    def sound_default(self, role: ModelRole) -> InstalledModel:
        """Like `default`, but also reads the file's header; raises `ModelDamaged` when it is invalid."""
        model = self.default(role)
        if (flaw := self._flaw(model)) is not None:
            raise ModelDamaged(str(role), model.id, model.path, flaw.detail)
        return model

    def draft_for(self, path: Path) -> Path | None:
        """Returns the smallest chat model that may guess for the one in a file: at most a quarter as large,
        with a vocabulary of the same kind and size; None if there is none.

        Raises what `read_header` raises of `path`.
        """
        header = read_header(path)
        found = [
            one
            for one in self.installed()
            if ModelRole.CHAT in one.roles and DRAFT_SHARE * one.bytes <= header.size
        ]
        for one in sorted(found, key=lambda one: one.bytes):
            with suppress(ModelFileError):
                other = read_header(one.path)
                if (other.tokenizer, other.vocabulary) == (header.tokenizer, header.vocabulary):
                    return one.path
        return None

    def choose(self, role: ModelRole, ref: str) -> InstalledModel:
        """Sets the model that is used for `role`. Raises `UnknownModel` or `NoModel` (wrong role)."""
        model = self.get(ref)
        if role not in model.roles:
            raise NoModel(str(role))
        self._change(lambda index: index.with_choice(role, model.id))
        return self.get(model.id)

    def remove(self, ref: str) -> InstalledModel:
        """Removes a model and deletes its file, unless the file is linked. Raises `UnknownModel`."""
        model = self.get(ref)
        if not model.linked:
            model.path.unlink(missing_ok=True)
        self._change(lambda index: index.without(model.id))
        return model

    def verify(self, ref: str, *, report: Report = silent, cancelled: Cancelled = never) -> InstalledModel:
        """Reads the whole file and compares its checksum, which is recorded if it was not known yet.

        Raises `UnknownModel`, `WrongChecksum`, or what `read_header` raises.
        """
        model = self.get(ref)
        read_header(model.path)
        digest = sha256_of(model.path, report=report, cancelled=cancelled)
        entry = self._catalog.find(model.id)
        promised = model.sha256 or (entry.sha256 if entry and model.source == "file" else None) or digest
        if digest != promised:
            raise WrongChecksum(model.path, promised, digest)
        if not model.sha256:
            self._change(lambda index: self._with_digest(index, model.id, digest))
        return self.get(model.id)

    def add_part(
        self, part: Path, model_id: str, *, digest: str, source: str, licence: str = ""
    ) -> InstalledModel:
        """Installs a complete, verified file under its id by renaming it.

        `part` must be on the same file system. Raises `ModelExists` when that id has other bytes, or what
        `read_header` raises.
        """
        header = self._usable(part)
        self._refuse_other(model_id, digest)
        target = private_folder(self.folder) / f"{model_id}.gguf"
        part.chmod(0o600)
        replace(part, target)
        record = self._record(model_id, target, header, file=target.name)
        record = msgspec.structs.replace(
            record, sha256=digest, source=source, licence=licence or record.licence
        )
        self._change(lambda index: index.with_record(record))
        return self.get(model_id)

    def import_file(
        self,
        path: Path,
        *,
        link: bool = False,
        model_id: str | None = None,
        probe: Probe | None = None,
        report: Report = silent,
        cancelled: Cancelled = never,
    ) -> InstalledModel:
        """Adds a user's own GGUF file: copied, or (`link`) left where it is.

        Without `model_id`, a catalogue file gets its catalogue id and any other file an id from its name.
        `probe` receives the path and raises when llama.cpp cannot load it. Importing the same bytes twice is
        not an error. Raises what `read_header` raises, `ModelLoadFailed` (one part of several),
        `NotEnoughDisk`, `ModelExists`.
        """
        path = path.expanduser().absolute()
        header = self._usable(path)
        if probe is not None:
            probe(path)
        name = clean_id(model_id or path.stem)
        size = path.stat().st_size
        if link:
            digest = sha256_of(path, report=report, cancelled=cancelled)
            name = name if model_id else self._known_name(digest, name)
            known = self._refuse_other(name, digest)
            if known is not None:
                return known
            record = self._record(name, path, header, file=str(path))
            record = msgspec.structs.replace(record, sha256=digest)
            self._change(lambda index: index.with_record(record))
            return self.get(name)
        require_space(private_folder(self.folder), size)
        part = self.folder / f".{name}.import.part"
        try:
            with path.open("rb") as source, open_private(part) as target:
                _, digest = copy_hashed(
                    source, target, stage="place", total=size, name=name, report=report, cancelled=cancelled
                )
                sync(target)
            name = name if model_id else self._known_name(digest, name)
            return self._refuse_other(name, digest) or self.add_part(part, name, digest=digest, source="file")
        finally:
            part.unlink(missing_ok=True)

    def _known_name(self, digest: str, name: str) -> str:
        entry = self._catalog.by_sha256(digest)
        return entry.id if entry else name

    def _usable(self, path: Path) -> GgufHeader:
        header = read_header(path)
        if header.split_count > 1:
            raise ModelLoadFailed(path, f"one of {header.split_count} parts of a split model")
        return header

    def _refuse_other(self, model_id: str, digest: str) -> InstalledModel | None:
        """The model with that id if it has these bytes, or None. Raises `ModelExists` if it has others.

        A damaged file does not block a sound one.
        """
        index = self._current()
        record = index.find(model_id)
        if record is None:
            return None
        model = self._model(record, index)
        if self._flaw(model) is not None:
            return None
        if (record.sha256 or sha256_of(model.path)) != digest:
            raise ModelExists(record.id)
        return model

    def _current(self) -> Index:
        """The index, synchronised with the folder and written back if that changed it."""
        index = read_index(self.folder)
        if self._in_line(index) == index:
            return index
        return self._change(lambda fresh: fresh)

    def _change(self, edit: Callable[[Index], Index]) -> Index:
        private_folder(self.folder)
        with exclusive(self.folder / ".lock"):
            before = read_index(self.folder)
            after = edit(self._in_line(before))
            if after != before:
                write_index(self.folder, after)
        return after

    def _in_line(self, index: Index) -> Index:
        """The index without missing or changed files, and with files that were added to the folder.

        A missing linked file keeps its record, because its disk may only be unplugged. A file that is no
        longer a model also keeps its record, so that the damage can be reported with what the model was.
        """
        kept = [
            record
            for record in index.models
            if record.linked or self._unchanged(record) or self._spoilt(record)
        ]
        known = {record.file for record in kept}
        ids = {record.id for record in kept}
        for path in sorted(self.folder.glob("*.gguf")):
            if path.name in known or path.name.startswith(".") or is_tuned_file(path):
                continue
            try:
                header = self._usable(path)
                name = free_id(clean_id(path.stem), ids)
            except ModelsError:
                continue  # not a model (yet): an unfinished copy, or another kind of file
            kept.append(self._record(name, path, header, file=path.name))
            ids.add(name)
        chosen = {role: model for role, model in index.chosen.items() if model in ids}
        return Index(models=tuple(kept), chosen=chosen)

    def _unchanged(self, record: Record) -> bool:
        if Path(record.file).name != record.file:
            return False
        path = self._path(record)
        return path.is_file() and path.stat().st_size == record.bytes

    def _spoilt(self, record: Record) -> bool:
        """Whether a file in the folder exists but is no longer a model."""
        if Path(record.file).name != record.file:
            return False
        path = self._path(record)
        return path.is_file() and flaw_of(path) is not None

    def _known(self) -> list[InstalledModel]:
        """Every model in the index, whatever the condition of its file."""
        index = self._current()
        return [self._model(record, index) for record in sorted(index.models, key=self._rank)]

    def _there(self, model: InstalledModel) -> bool:
        """Whether the file exists and, unless linked, has its recorded length; a truncated file is unused."""
        return model.path.is_file() and (model.linked or model.path.stat().st_size == model.bytes)

    def _flaw(self, model: InstalledModel) -> ModelFileError | None:
        """Why an existing file cannot be used; a missing file is not damaged."""
        return flaw_of(model.path) if model.path.is_file() else None

    def _record(self, model_id: str, path: Path, header: GgufHeader, *, file: str) -> Record:
        entry = self._catalog.find(model_id)
        size = path.stat().st_size
        known = entry is not None and (entry.bytes == size or entry.bytes_approximate)
        role = ModelRole.EMBED if header.embeds else ModelRole.CHAT
        return Record(
            id=model_id,
            file=file,
            bytes=size,
            roles=entry.roles if entry and known else (role,),
            licence=entry.licence if entry and known else header.licence or "",
            added_at=datetime.now(UTC).isoformat(timespec="seconds"),
            context_length=header.context_length or 0,
            architecture=header.architecture,
        )

    def _with_digest(self, index: Index, model_id: str, digest: str) -> Index:
        record = index.find(model_id)
        return index.with_record(msgspec.structs.replace(record, sha256=digest)) if record else index

    def _path(self, record: Record) -> Path:
        return self.folder / record.file

    def _model(self, record: Record, index: Index) -> InstalledModel:
        return InstalledModel(
            id=record.id,
            path=self._path(record).absolute(),
            bytes=record.bytes,
            roles=record.roles,
            sha256=record.sha256,
            source=record.source,
            licence=record.licence,
            added_at=record.added_at,
            linked=record.linked,
            context_length=record.context_length,
            architecture=record.architecture,
            chosen_for=tuple(role for role, chosen in index.chosen.items() if chosen == record.id),
        )

    def _rank(self, record: Record) -> tuple[int, str]:
        ids = [entry.id for entry in self._catalog.entries]
        return (ids.index(record.id) if record.id in ids else len(ids), record.id)


_MAX_MANIFEST: Final = 1 << 20
_MAX_FILES: Final = 10_000
_MAX_DEPTH: Final = 8
_MODEL_LAYER: Final = "application/vnd.ollama.image.model"

_FOLDERS: Final[tuple[tuple[str, str], ...]] = (
    ("LM Studio", ".lmstudio/models"),
    ("LM Studio", ".cache/lm-studio/models"),
    ("Jan", "jan/models"),
    ("Jan", ".local/share/Jan/data/models"),
    ("Jan", ".local/share/Jan/data/llamacpp/models"),
    ("Jan", ".config/Jan/data/models"),
    ("Jan", "Library/Application Support/Jan/data/models"),
    ("Jan", "Library/Application Support/Jan/data/llamacpp/models"),
    ("Jan", "AppData/Roaming/Jan/data/models"),
    ("Jan", "AppData/Roaming/Jan/data/llamacpp/models"),
    ("GPT4All", ".local/share/nomic.ai/GPT4All"),
    ("GPT4All", "Library/Application Support/nomic.ai/GPT4All"),
    ("GPT4All", "AppData/Local/nomic.ai/GPT4All"),
)


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A usable model file of another program; `name` is that program's name for it."""

    program: str
    name: str
    path: Path
    bytes: int
    header: GgufHeader


def discover(home: Path, environment: Mapping[str, str] | None = None) -> tuple[FoundModel, ...]:
    """Models of other programs below the user's home folder, each file once, by program and name.

    `environment` provides `OLLAMA_MODELS`. Files that are not complete models are left out. Never raises
    because of what it finds.
    """
    candidates = list(_ollama(home, environment or {}))
    for program, folder in _FOLDERS:
        candidates += [(program, path.stem, path) for path in _gguf_files(home / folder)]
    found: dict[Path, FoundModel] = {}
    for program, name, path in candidates:
        try:
            real = path.resolve(strict=True)
            if real not in found:
                header = read_header(real)
                if header.split_count == 1 and header.architecture != "clip":
                    found[real] = FoundModel(program, name, real, real.stat().st_size, header)
        except (OSError, RuntimeError, ModelsError):
            continue  # unreadable, or not a model
    return tuple(sorted(found.values(), key=lambda model: (model.program, model.name)))


def _gguf_files(folder: Path) -> Iterator[Path]:
    """GGUF files below `folder`; links to folders are not followed, depth and number are limited."""
    seen = 0
    for current, folders, files in os.walk(folder, followlinks=False):
        depth = len(Path(current).relative_to(folder).parts)
        folders[:] = sorted(folders) if depth < _MAX_DEPTH else []
        for name in sorted(files):
            seen += 1
            if seen > _MAX_FILES:
                return
            if name.lower().endswith(".gguf") and not name.startswith(("mmproj", ".")):
                yield Path(current) / name


def _ollama(home: Path, environment: Mapping[str, str]) -> Iterator[tuple[str, str, Path]]:
    given = environment.get("OLLAMA_MODELS")
    roots = [Path(given)] if given else []
    roots += [home / ".ollama/models", Path("/usr/share/ollama/.ollama/models")] if not given else []
    for root in roots:
        manifests = root / "manifests"
        seen = 0
        for current, folders, files in os.walk(manifests, followlinks=False):
            parts = Path(current).relative_to(manifests).parts
            folders[:] = sorted(folders) if len(parts) < _MAX_DEPTH else []
            for tag in sorted(files):
                seen += 1
                if seen > _MAX_FILES:
                    return
                digest = _model_digest(Path(current) / tag)
                if digest is not None:
                    yield "Ollama", f"{parts[-1] if parts else ''}:{tag}", root / "blobs" / f"sha256-{digest}"


def _model_digest(manifest: Path) -> str | None:
    """Hex SHA-256 of the model layer of an Ollama manifest, or None when the file is not a manifest."""
    try:
        if not manifest.is_file() or manifest.stat().st_size > _MAX_MANIFEST:
            return None
        content: Any = json.loads(manifest.read_bytes())
        layers = content["layers"]
        digests = [layer["digest"] for layer in layers if layer.get("mediaType") == _MODEL_LAYER]
    except (OSError, ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return None
    if not digests or not isinstance(digests[0], str):
        return None
    digest = digests[0].removeprefix("sha256:")
    return digest if len(digest) == 64 and set(digest) <= set("0123456789abcdef") else None


_QUIET_SECONDS = 1.0


class ModelWatcher:
    """Calls `arrived(path)` once for each new GGUF file of a folder, when it is complete.

    A file is complete when nothing has been written to it for `quiet` seconds and it contains all tensors
    that its header lists. `arrived` is called in a thread of the watcher.
    """

    def __init__(
        self, folder: Path, arrived: Callable[[Path], None], *, quiet: float = _QUIET_SECONDS
    ) -> None:
        self._folder = folder
        self._arrived = arrived
        self._quiet = quiet
        self._lock = threading.Lock()
        self._waiting: dict[Path, threading.Timer] = {}
        self._read: dict[Path, tuple[int, int]] = {}
        self._observer: Any = None

    def start(self) -> None:
        """Starts watching. Files that are already in the folder are not reported."""
        from watchdog import events
        from watchdog.observers import Observer

        notice = self.notice
        # Events that reading a file causes are ignored: otherwise each read would cause the next.
        changes = (
            events.FileCreatedEvent,
            events.FileModifiedEvent,
            events.FileMovedEvent,
            events.FileClosedEvent,
        )

        class Handler(events.FileSystemEventHandler):
            def on_any_event(self, event: events.FileSystemEvent) -> None:
                if isinstance(event, changes):
                    notice(Path(str(event.dest_path or event.src_path)))

        private_folder(self._folder)
        with self._lock:
            self._read = {path: _stamp(path) for path in self._folder.glob("*.gguf")}
        self._observer = Observer()
        self._observer.schedule(Handler(), str(self._folder), recursive=False)
        self._observer.start()

    def stop(self) -> None:
        """Stops watching; nothing is reported after this returns."""
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()
            self._observer = None
        with self._lock:
            timers = list(self._waiting.values())
            self._waiting.clear()
        for timer in timers:
            timer.cancel()
            timer.join()

    def notice(self, path: Path) -> None:
        """Handles a change of `path`: checks the file once it has been quiet for long enough."""
        inside = path.parent == self._folder
        if not inside or path.suffix.lower() != ".gguf" or path.name.startswith(".") or is_tuned_file(path):
            return
        with self._lock:
            waiting = self._waiting.pop(path, None)
            if waiting is not None:
                waiting.cancel()
            timer = threading.Timer(self._quiet, self._settle, (path,))
            timer.daemon = True
            self._waiting[path] = timer
            timer.start()

    def _settle(self, path: Path) -> None:
        with self._lock:
            if self._waiting.get(path) is not threading.current_thread():
                return
            del self._waiting[path]
            try:
                stamp = _stamp(path)
                if self._read.get(path) == stamp:
                    return
                read_header(path)
            except ModelsError:
                self._read[path] = stamp
                return  # not a model, or incomplete: the next write triggers another check
            except OSError:
                return  # deleted, or not readable
            self._read[path] = stamp
        self._arrived(path)


def _stamp(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_size, state.st_mtime_ns
