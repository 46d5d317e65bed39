"""Tells when the folder of sync has changed, as far as the system says so."""

from collections.abc import Callable
from pathlib import Path


class SyncFolderWatch:
    """Calls `changed`, in a thread of its own, after something below the folder has changed."""

    def __init__(self, folder: Path, changed: Callable[[], None]) -> None:
        # Imported here: it is slow, and few rooms are synced.
        from watchdog import events
        from watchdog.observers import Observer

        class Handler(events.FileSystemEventHandler):
            def on_any_event(self, event: events.FileSystemEvent) -> None:
                if event.event_type not in ("opened", "closed_no_write"):
                    changed()

        self._observer = Observer()
        self._observer.schedule(Handler(), str(folder), recursive=True)

    def start(self) -> None:
        """Raises OSError if the system cannot watch the folder."""
        self._observer.start()

    def stop(self) -> None:
        self._observer.stop()
        self._observer.join()
