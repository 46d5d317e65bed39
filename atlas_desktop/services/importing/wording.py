"""How what is not text becomes readable text: code, results of tools, names of files."""

import re
from collections.abc import Iterable

from atlas_desktop.services.cleaning import clean_line

_FENCES = re.compile(r"`{3,}")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,30}")


def joined(parts: Iterable[str]) -> str:
    """What is not empty, with an empty line between."""
    return "\n\n".join(part for one in parts if (part := one.strip("\n").rstrip()))


def fenced(text: str, language: str = "") -> str:
    """A code block whose fences are longer than any in it; nothing for nothing."""
    if not text.strip():
        return ""
    longest = max((len(found) for found in _FENCES.findall(text)), default=2)
    fence = "`" * max(longest + 1, 3)
    known = language if _LANGUAGE.fullmatch(language) else ""
    return f"{fence}{known}\n{text.strip(chr(10))}\n{fence}"


def quoted(text: str) -> str:
    """Text that was thought rather than said."""
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n")) if text.strip() else ""


def aside(kind: str, *names: str) -> str:
    """A remark in square brackets, such as the names of attached files."""
    named = ", ".join(name for one in names if (name := clean_line(one)))
    return f"[{kind}: {named}]" if named else f"[{kind}]"


def attached(names: Iterable[str]) -> str:
    """The names of attached files; nothing when there are none."""
    given = [name for one in names if (name := clean_line(one))]
    return aside("Attached", *given) if given else ""
