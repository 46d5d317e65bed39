"""The index of pieces: only scripts without spaces and Korean, in step with the messages, forgetful."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.search.terms import is_unspaced, pieces
from memory.storage import verification
from memory.storage.connection import Connection, open_memory
from memory.storage.evidence import know_vocabularies, posting
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


@pytest.mark.parametrize("text", ["東京タワー", "ひらがなです", "สวัสดีครับ", "𠀀𠀁𠀂字", "학교에서", "ｶﾀｶﾅ"])
def test_scripts_without_spaces_are_indexed(room: Connection, text: str) -> None:
    add(room, 1, f"see {text} there")
    assert found(room, text[:3]) == [1]


def test_others_cost_nothing(room: Connection) -> None:
    add(room, 1, "plain words, ünï, Русский, العربية")
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


LETTERS = st.text(alphabet="東京都の学校บ้าน한국abc12 。？", min_size=1, max_size=12)


@given(texts=st.lists(LETTERS, min_size=1, max_size=4), query=LETTERS)
def test_every_letter_and_pair_of_a_text_is_found_by_the_index(texts: list[str], query: str) -> None:
    conn = open_memory()
    migrate(conn, FakeClock().now())
    know_vocabularies(conn)
    conn.execute(
        """
        INSERT INTO sessions (id, title, title_source, memory_mode, created_at, updated_at)
        VALUES ('s', 't', 'person', 'normal', 0, 0)
        """
    )
    for seq, text in enumerate(texts):
        add(conn, seq, text)
    for piece in {piece for one in (*texts, query) for word in one.split() for piece in pieces(word)}:
        if is_unspaced(piece):
            found = posting(conn, piece, at_most=100)
            expected = [
                seq
                for seq, text in enumerate(texts)
                for at in range(len(text))
                if text[at:].startswith(piece)
            ]
            assert sorted(found.seqs if found else ()) == expected
    assert verification.full_text(conn) == []
    conn.close()


def test_a_letter_that_is_everywhere_comes_without_places(room: Connection) -> None:
    know_vocabularies(room)
    for seq in range(1, 8):
        add(room, seq, "我的" if seq < 7 else "你的书")
    common, rare = posting(room, "的", at_most=6), posting(room, "书", at_most=6)
    assert common is not None
    assert common.common
    assert not common.seqs
    assert rare is not None
    assert not rare.common
    assert list(rare.seqs) == [7]
    assert posting(room, "山", at_most=6) is None


def test_reading_a_letter_ends_where_there_are_too_many(room: Connection) -> None:
    know_vocabularies(room)
    add(room, 1, "好" * 50)
    found = posting(room, "好", at_most=2)
    assert found is not None
    assert found.common
