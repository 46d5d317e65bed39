"""The rows of the background queue: what they refuse, what they go with, and that they are kept."""

import pytest

from memory.entities import NewMessage, NewSession
from memory.jobs.queue import Job, JobState
from memory.storage.connection import Connection, open_memory
from memory.storage.migrations import migrate
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.storage.conftest import Place, database_of

NOW = FakeClock().now()


def add(conn: Connection, **columns: object) -> None:
    row = {
        "id": "j",
        "kind": "embed",
        "key": "k",
        "priority": 50,
        "state": "queued",
        "not_before": 1,
        "created_at": 1,
        "updated_at": 1,
    } | columns
    marks = ", ".join("?" for _ in row)
    conn.execute(f"INSERT INTO jobs ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


@pytest.fixture
def conn() -> Connection:
    made = open_memory()
    migrate(made, NOW)
    add(made)
    return made


@pytest.mark.parametrize(
    "columns",
    [
        {"kind": ""},
        {"key": "k"},
        {"state": "bored"},
        {"attempts": -1},
        {"payload": "{"},
        {"again": 2},
        {"session_id": "nobody"},
        {"not_before": "later"},
        {"id": "j"},
    ],
    ids=str,
)
def test_0002_refuses_rows_that_make_no_sense(conn: Connection, columns: dict[str, object]) -> None:
    from sqlcipher3.dbapi2 import IntegrityError

    with pytest.raises(IntegrityError):
        add(conn, **({"id": "i", "key": "l"} | columns))
    conn.close()


def test_0002_refuses_a_hash_of_another_length(conn: Connection) -> None:
    from sqlcipher3.dbapi2 import IntegrityError

    with pytest.raises(IntegrityError):
        conn.execute("INSERT INTO job_results (kind, hash, result, created_at) VALUES ('t', x'00', 'r', 1)")
    conn.close()


def test_0002_finds_the_next_job_by_an_index(conn: Connection) -> None:
    sql = "SELECT id FROM jobs WHERE state = 'queued' ORDER BY priority, created_at LIMIT 1"
    plan = " ".join(row[3] for row in conn.execute(f"EXPLAIN QUERY PLAN {sql}"))
    assert "jobs_by_turn" in plan
    assert "TEMP B-TREE" not in plan
    conn.close()


async def test_jobs_and_results_go_with_their_session(place: Place) -> None:
    store = await place.open(create=True)
    session, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "x"))
    await store.jobs.add("title", "a", session_id=session.id)
    await store.jobs.add("tidy", "b")
    await store.jobs.keep_result("title", bytes(32), "Its title", session.id)
    await store.jobs.keep_result("tidy", bytes(32), "kept", None)
    await database_of(store).write(
        lambda conn: conn.execute("DELETE FROM sessions WHERE id = ?", (session.id,))
    )
    assert [job.key for job in await store.jobs.list()] == ["b"]
    assert await store.jobs.result("title", bytes(32)) is None
    assert await store.jobs.result("tidy", bytes(32)) == "kept"
    await store.close()


async def test_everything_is_there_again_when_the_room_is_opened(place: Place) -> None:
    store = await place.open(create=True)
    await store.jobs.add("embed", "a", payload={"ids": ["m"]})
    await store.jobs.add("embed", "b")
    running = await store.jobs.claim(FakeClock().now().replace(year=2030))
    assert isinstance(running, Job)
    await store.jobs.set_paused(True)
    await store.jobs.mark_duty("weekly", NOW)
    await store.jobs.keep_result("title", bytes(32), "T", None)
    await store.close()
    store = await place.open()
    found = {job.key: job for job in await store.jobs.list()}
    assert found["a"].payload == {"ids": ["m"]}
    assert {(job.key, job.state, job.attempts) for job in found.values()} == {
        ("a", JobState.QUEUED, 1),
        ("b", JobState.QUEUED, 0),
    }
    assert await store.jobs.paused()
    assert await store.jobs.duty_done("weekly") == NOW
    assert await store.jobs.result("title", bytes(32)) == "T"
    await store.close()
