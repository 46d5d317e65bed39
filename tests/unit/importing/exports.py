"""Small exports of other programs, made after the public descriptions of their formats."""

import json
from pathlib import Path
from typing import Any

from atlas_desktop.importing.entities import ImportOptions, ImportReport
from atlas_desktop.importing.importer import Importer
from memory.storage.store import Store
from memory.transfer import TravellingSession
from tests.stores import InMemoryStore

SECOND = 1_700_000_000.0


async def take(store: Store, *paths: Path, **options: Any) -> ImportReport:
    return await Importer(store.transfer).take(paths, ImportOptions(**options))


async def taken(file: Path, data: Any, **options: Any) -> tuple[list[TravellingSession], ImportReport]:
    """What comes of a file with this JSON in it, or these bytes, or this text."""
    write(file, data)
    store = InMemoryStore()
    report = await take(store, file, **options)
    return await everything(store), report


def write(file: Path, data: Any) -> None:
    if isinstance(data, bytes):
        file.write_bytes(data)
    else:
        text = data if isinstance(data, str) else json.dumps(data)
        file.write_text(text, encoding="utf-8", errors="surrogatepass")


async def everything(store: Store) -> list[TravellingSession]:
    return [await store.transfer.give(session_id) for session_id in await store.transfer.all_ids()]


def contents(session: TravellingSession) -> list[str]:
    return [message.content for message in session.messages]


def node(key: str, parent: str | None, role: str, text: str = "", **changes: Any) -> dict[str, Any]:
    """A node of ChatGPT's `mapping`; `content` and `metadata` are put into the message."""
    content = changes.pop("content", {"content_type": "text", "parts": [text]})
    message = {
        "id": key,
        "author": {"role": role, "name": changes.pop("name", None), "metadata": {}},
        "create_time": changes.pop("at", None),
        "content": content,
        "status": "finished_successfully",
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
        **changes,
    }
    return {key: {"id": key, "message": message, "parent": parent, "children": []}}


def chatgpt(*nodes: dict[str, Any], **changes: Any) -> dict[str, Any]:
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    for one in nodes:
        mapping |= one
    return {
        "conversation_id": "c1",
        "title": "A trip",
        "create_time": SECOND,
        "update_time": SECOND + 900,
        "mapping": mapping,
        "current_node": list(mapping)[-1],
        **changes,
    }


def claude(*messages: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "uuid": "k1",
        "name": "A talk",
        "created_at": "2024-05-01T10:00:00.123456Z",
        "updated_at": "2024-05-01T11:00:00Z",
        "account": {"uuid": "me"},
        "chat_messages": list(messages),
        **changes,
    }


def spoken(key: str, sender: str, text: str = "", **changes: Any) -> dict[str, Any]:
    return {
        "uuid": key,
        "text": text,
        "sender": sender,
        "created_at": "2024-05-01T10:00:01Z",
        "attachments": [],
        "files": [],
        **changes,
    }
