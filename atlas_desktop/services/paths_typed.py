"""Paths as people type, paste or drop them."""

import re
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

_QUOTES = "'\""
_LONGEST = 4_096


def typed_path(text: str) -> str:
    """The path that a text stands for: in quotes, with backslashes before spaces, as a `file:` address, or as
    it is."""
    given = text.strip()
    if given.startswith("file://"):
        return unquote(urlsplit(given).path)
    if given[:1] in _QUOTES or re.search(r"\\[^\\]", given):
        try:
            parts = shlex.split(given)
        except ValueError:
            return given
        return parts[0] if len(parts) == 1 else given
    return given


def pasted_file(text: str) -> Path | None:
    """The file that a pasted text names, if it is nothing but the whole path of one that is there.

    Looks at the disk.
    """
    given = text.strip()
    if not given or "\n" in given or len(given) > _LONGEST:
        return None
    named = typed_path(given)
    if not named.startswith(("/", "~")) and not re.match(r"[A-Za-z]:\\", named):
        return None
    try:
        path = Path(named).expanduser()
        return path if path.is_file() else None
    except (OSError, RuntimeError, ValueError):
        # No such home, or a text that is no path on this system.
        return None
