"""What a file is, by what is in it. Names of files say nothing."""

from itertools import islice
from typing import Any

from atlas_desktop.services.importing.entities import Beside, Format, Unreadable
from atlas_desktop.services.importing.scanning import decoded, objects
from atlas_desktop.services.importing.sources import Part
from atlas_desktop.services.importing.values import mapping, sequence, text

HEAD = 256 * 1024
_LOOKED_AT = 25
_SQLITE = b"SQLite format 3\x00"
_BLANK = b"\xef\xbb\xbf \t\r\n"


def format_of(part: Part) -> Format | None:
    """None for what no importer reads. Raises `Unreadable`, `OSError`."""
    head = part.head(HEAD)
    if head.startswith(_SQLITE):
        return Format.LLM
    if head.lstrip(_BLANK)[:1] in (b"[", b"{"):
        return _kind_of_objects(part)
    if any(map(_is_session, head.split(b"\n"))):
        return Format.JSONL
    from atlas_desktop.services.importing.markdown import beginning, is_transcript

    return Format.MARKDOWN if is_transcript(beginning(head)) else None


def _kind_of_objects(part: Part) -> Format | None:
    """Where no object tells whose it is, and one is broken, that may be the reason: raises `Unreadable`."""
    broken: list[str] = []
    found = islice(objects(part, lambda _where, why: broken.append(why)), _LOOKED_AT)
    kind = next((kind for _, one in found if (kind := kind_of(one)) is not None), None)
    whys = [why for why in broken if not isinstance(why, Beside)]
    if kind is None and whys:
        raise Unreadable(whys[0])
    return kind


def _is_session(line: bytes) -> bool:
    if not line.startswith(b"{"):
        return False
    try:
        return kind_of(decoded(line)) in (Format.JSONL, Format.MEMORIES)
    except Unreadable:
        return False


def kind_of(value: Any) -> Format | None:
    """Whose format one object is in."""
    fields = mapping(value)
    for kind, has in _KINDS.items():
        if has(fields):
            return kind
    return None


def _is_chatgpt(fields: dict[str, Any]) -> bool:
    nodes = mapping(fields.get("mapping"))
    return any("message" in mapping(node) or "children" in mapping(node) for node in nodes.values()) or (
        "mapping" in fields and "current_node" in fields
    )


def _is_claude(fields: dict[str, Any]) -> bool:
    return "chat_messages" in fields or ("docs" in fields and "prompt_template" in fields)


def _is_open_webui(fields: dict[str, Any]) -> bool:
    chat = mapping(fields.get("chat")) or fields
    return bool(mapping(mapping(chat.get("history")).get("messages"))) or (
        "chat" in fields and isinstance(chat.get("messages"), list)
    )


def _is_lm_studio(fields: dict[str, Any]) -> bool:
    return any("versions" in mapping(one) for one in sequence(fields.get("messages")))


def _is_jan(fields: dict[str, Any]) -> bool:
    return text(fields.get("object")) in ("thread", "thread.message") or (
        "thread_id" in fields and "content" in fields
    )


def _is_line(fields: dict[str, Any]) -> bool:
    messages = sequence(fields.get("messages"))
    return "id" in fields and (
        any("role" in mapping(one) for one in messages) or fields.get("messages") == []
    )


def _is_memory(fields: dict[str, Any]) -> bool:
    return {"id", "kind", "state", "text", "subject", "confidence"} <= fields.keys()


_KINDS = {
    Format.CHATGPT: _is_chatgpt,
    Format.CLAUDE: _is_claude,
    Format.OPEN_WEBUI: _is_open_webui,
    Format.LM_STUDIO: _is_lm_studio,
    Format.JAN: _is_jan,
    Format.JSONL: _is_line,
    Format.MEMORIES: _is_memory,
}
