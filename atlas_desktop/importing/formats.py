"""The formats that an import reads: one table for the command line, the interface, texts and detection.

A new one is a module with `read` in this package, a row in `FORMATS`, and a row in docs/import.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from atlas_desktop.locale import N_, _

_SQLITE = b"SQLite format 3\x00"


@dataclass(frozen=True, slots=True)
class Format:
    """A format that an import reads.

    `name` is for scripts, `title` for people; `module` in this package has its `read`. Files with `endings`
    are looked at. A `program`'s own format names the program in lists, and its replies without a model.
    `has_object` recognises a JSON object, `has_head` the beginning of a file that is not JSON.
    """

    name: str
    title: str
    module: str
    endings: tuple[str, ...]
    program: bool = False
    has_object: Callable[[dict[str, Any]], bool] = lambda _fields: False
    has_head: Callable[[bytes], bool] = lambda _head: False


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _listed(value: Any) -> list[dict[str, Any]]:
    return list(map(_mapping, value)) if isinstance(value, list) else []


def _is_database(head: bytes) -> bool:
    return head.startswith(_SQLITE)


def _is_chatgpt(fields: dict[str, Any]) -> bool:
    nodes = map(_mapping, _mapping(fields.get("mapping")).values())
    return any("message" in node or "children" in node for node in nodes) or (
        "mapping" in fields and "current_node" in fields
    )


def _is_claude(fields: dict[str, Any]) -> bool:
    return "chat_messages" in fields or ("docs" in fields and "prompt_template" in fields)


def _is_open_webui(fields: dict[str, Any]) -> bool:
    chat = _mapping(fields.get("chat")) or fields
    return bool(_mapping(_mapping(chat.get("history")).get("messages"))) or (
        "chat" in fields and isinstance(chat.get("messages"), list)
    )


def _is_lm_studio(fields: dict[str, Any]) -> bool:
    return any("versions" in one for one in _listed(fields.get("messages")))


def _is_jan(fields: dict[str, Any]) -> bool:
    return fields.get("object") in ("thread", "thread.message") or (
        "thread_id" in fields and "content" in fields
    )


def _is_line(fields: dict[str, Any]) -> bool:
    messages = fields.get("messages")
    return "id" in fields and (messages == [] or any("role" in one for one in _listed(messages)))


def _is_memory(fields: dict[str, Any]) -> bool:
    return {"id", "kind", "state", "text", "subject", "confidence"} <= fields.keys()


def _program(name: str, title: str, endings: tuple[str, ...], **recognised: Any) -> Format:
    return Format(name, title, name, endings, program=True, **recognised)


JSONL = Format("jsonl", N_("Atlas"), "lines", (".json", ".jsonl"), has_object=_is_line)
MARKDOWN = Format("markdown", N_("Markdown"), "markdown", (".md", ".markdown", ".txt"))
"""Everything that is not recognised by another format and reads as a transcript."""
MEMORIES = Format("memories", N_("memories from Atlas"), "lines", (".json", ".jsonl"), has_object=_is_memory)

FORMATS = {
    one.name: one
    for one in (
        _program("chatgpt", N_("ChatGPT"), (".json",), has_object=_is_chatgpt),
        _program("claude", N_("Claude"), (".json",), has_object=_is_claude),
        _program("openwebui", N_("Open WebUI"), (".json",), has_object=_is_open_webui),
        _program("lmstudio", N_("LM Studio"), (".json",), has_object=_is_lm_studio),
        _program("jan", N_("Jan"), (".json", ".jsonl"), has_object=_is_jan),
        _program("llm", N_("llm"), (".db", ".sqlite"), has_head=_is_database),
        JSONL,
        MARKDOWN,
        MEMORIES,
    )
}
"""By name. The first that recognises an object or the beginning of a file has it."""


def endings() -> tuple[str, ...]:
    """Returns the endings of the files that are looked at in archives and folders."""
    return tuple(dict.fromkeys(ending for one in FORMATS.values() for ending in one.endings))


def kind_of(value: Any) -> Format | None:
    """Returns the format of one object, or None."""
    fields = _mapping(value)
    return next((one for one in FORMATS.values() if one.has_object(fields)), None)


def programs() -> list[str]:
    """Returns the names of the programs whose own formats are read."""
    return [_(one.title) for one in FORMATS.values() if one.program]


def program_named(name: str) -> str:
    """Returns the title of the program whose format has this name; empty if it is not a program's."""
    found = FORMATS.get(name)
    return found.title if found is not None and found.program else ""
