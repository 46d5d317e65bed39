"""A file that cannot be the room is known without a key."""

from pathlib import Path

import pytest

from memory.storage.salvage import PAGE as STORED_PAGE
from memory.vault.status import PAGE, Flaw, flaw

SALT = bytes(range(16))
WHOLE = SALT + bytes(2 * PAGE - len(SALT))


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (WHOLE, None),
        (b"", Flaw.EMPTY),
        (bytes(PAGE) + WHOLE[PAGE:], Flaw.FOREIGN),
        (bytes(reversed(SALT)) + WHOLE[16:], Flaw.FOREIGN),
        (SALT[:7], Flaw.FOREIGN),
        (WHOLE[:-1], Flaw.CUT),
    ],
)
def test_what_is_seen_from_outside(tmp_path: Path, data: bytes, found: Flaw | None) -> None:
    room = tmp_path / "open.db"
    room.write_bytes(data)
    assert flaw(room, SALT) is found


def test_a_file_that_is_not_there_has_no_flaw(tmp_path: Path) -> None:
    assert flaw(tmp_path / "open.db", SALT) is None


def test_a_file_that_the_log_completes_is_not_cut(tmp_path: Path) -> None:
    (tmp_path / "open.db").write_bytes(WHOLE[:-1])
    (tmp_path / "open.db-wal").write_bytes(b"frames")
    assert flaw(tmp_path / "open.db", SALT) is None


def test_pages_are_as_large_as_those_that_are_written() -> None:
    assert PAGE == STORED_PAGE
