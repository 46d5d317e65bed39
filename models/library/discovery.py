"""Finds model files of other programs, and watches the models folder for new ones."""

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from models.errors import ModelsError
from models.library.files import private_folder
from models.library.gguf import GgufHeader, read_header
from models.tuning.results import is_tuned_file

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
