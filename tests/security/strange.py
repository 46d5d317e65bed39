"""What a file of a conversation could look like, or nearly: strategies for each format."""

import json
import sqlite3
from contextlib import closing
from typing import Any

from hypothesis import strategies as st

_words = st.text(max_size=30) | st.sampled_from(
    ["\x00", "\ud800", "\x1b]52;c;AA\x07", "\u202e", "../../x", "9" * 400]
)
_scalars = st.none() | st.booleans() | st.integers() | st.floats() | _words
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_words, inner, max_size=4),
    max_leaves=8,
)
_moments = st.sampled_from(
    [
        "2024-02-03T04:05:06Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-12:00",
        "2024-02-30T00:00:00Z",
        "now",
    ]
)


def nearly(sound: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """What a field should hold, or anything else."""
    return sound | _values


_plain_names = st.sampled_from(["a", "b", "c"])
_names = _plain_names | st.just("\ud800")
_seconds = st.sampled_from([1.7e9, 1.7e12, "1700000000.5", -1, 1e300, float("nan")]) | _moments


def fields(**known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object with some of these fields, each as it should be or not."""
    return st.fixed_dictionaries({}, optional={name: nearly(value) for name, value in known.items()})


def many(one: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(nearly(one), max_size=4)


def by_name(one: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(_names, nearly(one), max_size=4)


_roles = st.sampled_from(["user", "assistant", "system", "tool", "human"])
_texts = many(
    fields(type=st.sampled_from(["text", "tool_use", "reasoning", "file"]), text=_words, content=_words)
)
_session_lines = fields(
    id=_names,
    title=_words,
    project=_words,
    created_at=_moments,
    updated_at=_moments,
    tags=st.lists(_words, max_size=3),
    memory_mode=st.sampled_from(["normal", "off"]),
    head=_names,
    extra=_values,
    messages=many(
        fields(
            id=_names,
            role=_roles,
            content=_words,
            speaker=_words,
            created_at=_moments,
            parent=_names,
            status=st.sampled_from(["complete", "partial", "streaming"]),
            important=st.booleans(),
            extra=_values,
        )
    ),
)
_chatgpt = fields(
    id=_names,
    conversation_id=_names,
    title=_words,
    create_time=_seconds,
    update_time=_seconds,
    current_node=_names,
    mapping=by_name(
        fields(
            parent=_names,
            children=many(_names),
            message=fields(
                author=fields(role=_roles, name=_words),
                create_time=_seconds,
                recipient=st.sampled_from(["all", "python", "canmore.create_textdoc"]),
                content=fields(
                    content_type=st.sampled_from(
                        ["text", "code", "thoughts", "tether_quote", "multimodal_text"]
                    ),
                    parts=many(_words | fields(content_type=st.just("image_asset_pointer"), width=_seconds)),
                    text=_words | st.just('{"content": "x", "type": 7}'),
                    thoughts=many(fields(content=_words)),
                ),
                metadata=fields(attachments=many(fields(name=_words)), model_slug=_words),
            ),
        )
    ),
)
_claude = fields(
    uuid=_names,
    name=_words,
    created_at=_moments,
    docs=many(fields(content=_words, filename=_words)),
    chat_messages=many(
        fields(
            uuid=_names,
            sender=_roles,
            text=_words | st.just("<antArtifact title=x>y"),
            created_at=_moments,
            parent_message_uuid=_names,
            content=_texts,
            attachments=many(fields(file_name=_words, extracted_content=_words)),
        )
    ),
)
_open_webui = fields(
    id=_names,
    chat=fields(
        title=_words,
        models=many(_words),
        tags=many(_words),
        messages=many(fields(role=_roles, content=_words)),
        history=fields(
            currentId=_names,
            messages=by_name(
                fields(
                    parentId=_names,
                    role=_roles,
                    content=_words | st.just("<details><summary>x</summary>"),
                    timestamp=_seconds,
                    files=many(fields(name=_words)),
                )
            ),
        ),
    ),
    created_at=_seconds,
)
_lm_studio = fields(
    name=_words,
    createdAt=_seconds,
    messages=many(
        fields(
            currentlySelected=st.integers(-2, 5),
            versions=many(
                fields(
                    role=_roles,
                    content=_texts,
                    steps=many(
                        fields(type=_words, content=_texts, stepIdentifier=st.just("1700000000000-x"))
                    ),
                )
            ),
        )
    ),
)
_jan = fields(
    id=_names,
    object=st.sampled_from(["thread", "thread.message"]),
    thread_id=_names,
    title=_words,
    role=_roles,
    created=_seconds,
    created_at=_seconds,
    content=many(fields(type=_words, text=fields(value=_words))),
)
_TABLES = {
    "conversations": ("id", "name"),
    "responses": ("id", "conversation_id", "prompt", "system", "response", "reasoning", "datetime_utc"),
    "fragments": ("id", "content"),
    "threads": ("id", "name", "tip_message_hash", "datetime_utc"),
    "turns": ("id", "thread_id", "parent_message_hash", "tip_message_hash", "model", "datetime_utc"),
    "messages": ("hash", "parent_hash", "role"),
    "parts": ("message_hash", "position", "type", "text", "payload"),
}
_payloads = fields(
    text=_words,
    name=_words,
    arguments=fields(a=_values),
    output=_words,
    text_ref=many(fields(literal=_words, fragment=_names | st.integers())),
    attachments=many(fields(id=_names)),
).map(json.dumps)
_stored = (
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.binary(max_size=9) | _plain_names | _roles
    | _payloads | st.sampled_from(["text", "reasoning", "tool_call", "tool_result", "attachment"])
)  # fmt: skip
_logs = st.fixed_dictionaries(
    {},
    optional={
        name: st.lists(st.tuples(*([_plain_names, *[_stored] * (len(columns) - 1)])), max_size=5)
        for name, columns in _TABLES.items()
    },
)
SHAPES: dict[str, st.SearchStrategy[Any]] = {
    "llm": _logs,
    "jsonl": _session_lines,
    "chatgpt": _chatgpt,
    "claude": _claude,
    "openwebui": _open_webui,
    "lmstudio": _lm_studio,
    "jan": _jan,
}
"""What an object of a format could look like, or nearly."""
_sessions = st.one_of(*(shape for kind, shape in SHAPES.items() if kind != "llm"))


def encoded(value: object) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


def database(rows: dict[str, list[tuple[Any, ...]]]) -> bytes:
    """A file of SQLite with these tables."""
    with closing(sqlite3.connect(":memory:")) as conn:
        conn.execute("CREATE TABLE schemas (id)")
        for name, given in rows.items():
            columns = _TABLES[name]
            conn.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            places = ", ".join("?" * len(columns))
            conn.executemany(f"INSERT INTO {name} VALUES ({places})", given)
        conn.commit()
        return conn.serialize()


_lines = (
    st.binary(max_size=200)
    | _sessions.map(encoded)
    | _sessions.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    | st.lists(_sessions, max_size=3).map(encoded)
    | st.sampled_from([b"## User", b"**AI:** x", b"---", b"SQLite format 3\x00", b"PK\x03\x04", b"[", b"```"])
    | st.tuples(_sessions.map(encoded), st.integers(0, 400)).map(lambda pair: pair[0][: pair[1]])
)
FILES = st.lists(_lines, max_size=4).map(b"\n".join)
