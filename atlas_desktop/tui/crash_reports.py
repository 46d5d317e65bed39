"""Reports of unexpected errors: types and places, never values."""

import os
import secrets
from pathlib import Path
from types import TracebackType

from atlas_desktop.error_table import explain
from atlas_desktop.errors import Explained
from atlas_desktop.locale import _
from atlas_desktop.paths import PRIVATE_DIR, PRIVATE_FILE

_OURS = ("atlas_desktop", "memory", "models")


def frames_of(traceback: TracebackType | None) -> list[str]:
    """`module:line` of our own frames, outermost first. File names and lines only: no source, no values."""
    found = []
    while traceback is not None:
        name = str(traceback.tb_frame.f_globals.get("__name__", ""))
        if name.split(".")[0] in _OURS:
            found.append(f"{name}:{traceback.tb_lineno}")
        traceback = traceback.tb_next
    return found


def report_of(error: BaseException) -> str:
    """Returns an error and its causes as type names and places. Error texts may hold content and are left
    out."""
    lines = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        lines.append(f"{type(current).__module__}.{type(current).__qualname__}")
        lines += [f"  {frame}" for frame in frames_of(current.__traceback__)]
        inner = getattr(current, "error", None)
        chained = current.__cause__ or current.__context__
        current = inner if isinstance(inner, BaseException) else chained
    return "\n".join(lines) + "\n"


def write_report(logs: Path, error: BaseException) -> str:
    """Writes `logs/crash-ID.log` and returns the id. Raises OSError."""
    crash = secrets.token_hex(4)
    logs.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
    handle = os.open(logs / f"crash-{crash}.log", os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(report_of(error))
    return crash


def noted(error: BaseException, logs: Path) -> str:
    """Writes a report and returns a line that names its id."""
    try:
        return _("Error id: {id}", id=write_report(logs, error))
    except OSError:
        return _("The report was not saved")


def explain_and_note(error: BaseException, logs: Path) -> Explained:
    """Returns the explanation of an error; an error without one is also reported, by types and places
    only."""
    explained = explain(error)
    if explained.code != "unexpected":
        return explained
    message = f"{explained.message} {noted(error, logs)}."
    return Explained(explained.code, explained.title, message, explained.next_step)
