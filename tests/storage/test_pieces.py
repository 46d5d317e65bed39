"""The index of pieces: only scripts without spaces, in step with the messages, forgetful."""

from collections.abc import Iterator

import pytest

from memory.storage import verification
from memory.storage.connection import Connection, open_memory
from memory.storage.migrations import migrate
from tests.fakes.clock import FakeClock


@pytest.fixture
def room() -> Iterator[Connection]:
    conn = open_memory()
    migrate(conn, FakeClock().now())
    conn.execute(
        """
        INSERT INTO sessions (id, title, title_source, memory_mode, created_at, updated_at)
        VALUES ('s', 't', 'person', 'normal', 0, 0)
        """
    )
    yield conn
    conn.close()


def add(conn: Connection, seq: int, content: str, status: str = "complete") -> None:
    conn.execute(
        """
        INSERT INTO messages (seq, id, session_id, role, speaker, content, created_at, status)
        VALUES (?, ?, 's', 'user', '', ?, 0, ?)
        """,
        (seq, f"m{seq}", content, status),
    )


def found(conn: Connection, piece: str) -> list[int]:
    rows = conn.execute("SELECT rowid FROM messages_pieces WHERE messages_pieces MATCH ?", (f'"{piece}"',))
    return [row[0] for row in rows]


def indexed(conn: Connection) -> list[int]:
    return [row[0] for row in conn.execute("SELECT id FROM messages_pieces_docsize ORDER BY id")]


@pytest.mark.parametrize("text", ["東京タワー", "ひらがなです", "สวัสดีครับ", "𠀀𠀁𠀂字"])
def test_scripts_without_spaces_are_indexed(room: Connection, text: str) -> None:
    add(room, 1, f"see {text} there")
    assert found(room, text[:3]) == [1]


def test_others_cost_nothing(room: Connection) -> None:
    add(room, 1, "plain words, ünï, 한국어 문장, Русский")
    assert indexed(room) == []


def test_it_follows_what_is_written(room: Connection) -> None:
    add(room, 1, "京都の寺", status="streaming")
    assert indexed(room) == []
    room.execute("UPDATE messages SET status = 'complete' WHERE seq = 1")
    assert found(room, "京都の") == [1]
    room.execute("UPDATE messages SET content = 'words' WHERE seq = 1")
    assert indexed(room) == []
    room.execute("UPDATE messages SET content = '大阪の城' WHERE seq = 1")
    assert found(room, "大阪の") == [1]
    room.execute("DELETE FROM messages WHERE seq = 1")
    assert indexed(room) == []
    assert verification.full_text(room) == []


def test_a_row_that_no_message_stands_for_is_noticed(room: Connection) -> None:
    add(room, 1, "京都の寺")
    room.execute("INSERT INTO messages_pieces (rowid, content) VALUES (9, '幽霊の話')")
    [problem] = verification.full_text(room)
    assert problem == "full text of messages' pieces: the index does not match the texts"


def test_deleted_pieces_leave_the_index_at_once(room: Connection) -> None:
    for seq in range(1, 30):
        add(room, seq, "京都の寺と大阪の城")
    room.execute("DELETE FROM messages")
    left = b"".join(bytes(row[0]) for row in room.execute("SELECT block FROM messages_pieces_data"))
    assert "京都の".encode() not in left
