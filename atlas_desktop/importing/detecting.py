"""Detects export formats by content, and describes files that are not an export."""

import codecs
from itertools import islice
from typing import Any

from atlas_desktop.importing.entities import Beside, Format, Unreadable
from atlas_desktop.importing.json_reading import decoded, mapping, objects, sequence, text
from atlas_desktop.importing.sources import READ, Part, Source
from atlas_desktop.locale import _

_LOOKED_AT = 64 * 1024
_WIDE = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


def nature_of(source: Source) -> str:
    """Describes what is wrong with a file, in text that follows its name; "" if only its format is unknown.

    Raises `OSError`.
    """
    if not source.parts:
        # Refused files are reported with their own reasons.
        return "" if source.refused else _("it contains no file ending in {endings}", endings=", ".join(READ))
    if not source.size:
        return _("it is empty")
    if len(source.parts) > 1:
        return ""
    head = source.parts[0].head(_LOOKED_AT)
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        return _("it contains only spaces")
    if (wide := _WIDE.get(head[:2])) is not None:
        return _("its text is {coding}, but exports are UTF-8: save it as UTF-8", coding=wide)
    return "" if _is_text(head) else _("it is not text")


def _is_text(head: bytes) -> bool:
    """Returns whether the bytes could begin UTF-8 text, which contains no zero byte."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return b"\x00" not in head


HEAD = 256 * 1024
_HEAD_SIZE = 25
_SQLITE = b"SQLite format 3\x00"
_BLANK = b"\xef\xbb\xbf \t\r\n"


def format_of(part: Part) -> Format | None:
    """Returns a file's format, or None if no importer reads it. Raises `Unreadable`, `OSError`."""
    head = part.head(HEAD)
    if head.startswith(_SQLITE):
        return Format.LLM
    if head.lstrip(_BLANK)[:1] in (b"[", b"{"):
        return _kind_of_objects(part)
    if any(map(_is_session, head.split(b"\n"))):
        return Format.JSONL
    from atlas_desktop.importing.markdown import beginning, is_transcript

    return Format.MARKDOWN if is_transcript(beginning(head)) else None


def _kind_of_objects(part: Part) -> Format | None:
    """Returns the first format found among the objects.

    If there is none, a broken object may be the reason: raises `Unreadable` for it.
    """
    broken: list[str] = []
    found = islice(objects(part, lambda _where, why: broken.append(why)), _HEAD_SIZE)
    kind = next((kind for _unused, one in found if (kind := kind_of(one)) is not None), None)
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
    """Returns the format of one object, or None."""
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
