"""Notices a GGUF file that somebody puts into the models folder."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from models.errors import ModelsError
from models.library.files import private_folder
from models.library.gguf import read_header
from models.tuning.results import is_tuned_file

_QUIET_SECONDS = 1.0


class ModelWatcher:
    """Calls `arrived(path)` once for each new GGUF file of a folder, when it is whole.

    A file counts as whole when nothing has been written to it for `quiet` seconds and its header says that
    all of its tensors are there; until then it is left alone. `arrived` is called in a thread of the
    watcher.
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
        """Begins to watch. What is in the folder already is not reported."""
        from watchdog import events
        from watchdog.observers import Observer

        notice = self.notice
        # Reading a file opens and closes it: those events would make every look at a file cause the next.
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
        """Ends the watching; nothing is reported after this returns."""
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
        """Something happened to `path`: waits until it has been quiet for long enough."""
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
                return  # no model, or not whole yet: the next write brings us back
            except OSError:
                return  # gone, or not ours to read
            self._read[path] = stamp
        self._arrived(path)


def _stamp(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_size, state.st_mtime_ns
