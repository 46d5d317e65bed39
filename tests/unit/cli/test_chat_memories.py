"""What is remembered, in `atlas chat`."""

from dataclasses import replace

import pytest

from atlas_desktop.paths import Paths
from memory.entities import MemoryMode
from tests.unit.cli.test_chat import OPTIONS, Talk
from tests.unit.services.scene import Scene


async def test_memories_are_kept_listed_and_pinned(capsys: pytest.CaptureFixture[str], home: Paths) -> None:
    talk = Talk(capsys, home, Scene())
    (kept,) = await talk.take("/remember My bus is the 12")
    (memory,) = kept["memories"]
    assert (kept["code"], memory["text"], memory["state"]) == ("remembered", "My bus is the 12", "kept")
    (again,) = await talk.take("/remember My bus is the 12")
    assert again["memories"][0]["id"] == memory["id"]
    await talk.take("/remember I prefer short answers")
    (pinned,) = await talk.take(f"/pin {memory['id']}")
    assert pinned["memories"][0]["pinned"] is True
    (newest,) = await talk.take("/pin")
    assert newest["memories"][0]["kind"] == "preference"
    (listed,) = await talk.take("/memories bus")
    assert [one["id"] for one in listed["memories"]] == [memory["id"]]
    (listed,) = await talk.take("/memories")
    assert len(listed["memories"]) == 2
    assert talk.talk.session is None


async def test_what_cannot_be_remembered_is_told(capsys: pytest.CaptureFixture[str], home: Paths) -> None:
    talk = Talk(capsys, home, Scene())
    for line, code in (
        ("/remember", "usage"),
        ("/pin", "usage"),
        ("/pin ffff", "memory_not_found"),
    ):
        (event,) = await talk.take(line)
        assert event["error"]["code"] == code
    talk.talk.options = replace(OPTIONS, memory_mode=MemoryMode.READS)
    (event,) = await talk.take("/remember My bus is the 12")
    assert "does not add memories" in event["error"]["message"]
    assert await talk.scene.store.memories.select() == []
