"""The commands of `atlas chat`, on a room of fakes."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_desktop.cli.chat import ChatCommands
from atlas_desktop.cli.context import Context, whole
from atlas_desktop.cli.conversation import Conversation
from atlas_desktop.errors import UsageError
from atlas_desktop.paths import Paths
from atlas_desktop.services.turns import TurnOptions
from memory.personas import NewPersona
from models.errors import UnknownModel
from models.messages import GenerationParams
from tests.fakes.models import ScriptedChatModel
from tests.unit.services.scene import Scene

OPTIONS = TurnOptions(params=GenerationParams(max_tokens=50))
LONG = "\n\n".join(f"Paragraph {n} has these words." + " more" * 60 for n in range(30))


class DeskOfModels:
    """Has one model, and counts how often another was taken."""

    chosen_model: str | None = None
    switched = 0

    def check_model(self, ref: str) -> str:
        if ref != "small":
            raise UnknownModel(ref)
        return ref

    async def switch_model(self) -> None:
        self.switched += 1


class Talk:
    """A conversation and what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str], home: Paths, scene: Scene) -> None:
        self.scene = scene
        self.talk = Conversation(Context(home, json=True, jsonl=True), scene.room, OPTIONS, None)
        self.talk.commands = ChatCommands(self.talk).by_name()
        self._capsys = capsys

    async def take(self, *lines: str) -> list[dict[str, Any]]:
        for line in lines:
            await self.talk.take(line)
        return [json.loads(line) for line in self._capsys.readouterr().out.splitlines()]

    async def users(self) -> list[str]:
        assert self.talk.session is not None
        return [m.content for m in await self.scene.store.branch(self.talk.session) if m.role == "user"]


async def test_the_newest_message_that_did_not_fit_is_said_in_parts_in_its_place(
    capsys: pytest.CaptureFixture[str], home: Paths
) -> None:
    talk = Talk(capsys, home, Scene(model=ScriptedChatModel(context_length=1000)))
    events = await talk.take("Hello.", json.dumps({"say": LONG}))
    assert events[-1]["error"]["code"] == "message_too_long"
    events = await talk.take("/split")
    replies = [event for event in events if event["type"] == "reply"]
    assert len(replies) > 3
    assert not [event for event in events if event["type"] == "error"]
    said = await talk.users()
    assert said[0] == "Hello."
    numbered = [text.partition(".")[0].removesuffix(", the last one") for text in said[1:]]
    assert numbered == [f"Part {number} of {len(replies)}" for number in range(1, len(replies) + 1)]
    assert LONG not in said
    for number in range(30):
        assert any(f"Paragraph {number} has" in text for text in said)


async def test_what_fits_is_not_split(capsys: pytest.CaptureFixture[str], home: Paths) -> None:
    talk = Talk(capsys, home, Scene())
    events = await talk.take("Hello.", "/split")
    assert events[-1]["error"]["code"] == "usage"
    await talk.take("/split How are you?")
    # What comes in JSON may begin on a line of its own.
    await talk.take(json.dumps({"command": "/split\nAnd\n\nyou?"}))
    assert await talk.users() == ["Hello.", "How are you?", "And\n\nyou?"]
    assert (await talk.take(json.dumps({"command": " "})))[0]["error"]["code"] == "usage"


async def test_words_are_edited_and_sessions_forked_and_resumed(
    capsys: pytest.CaptureFixture[str], home: Paths
) -> None:
    scene = Scene({"sessions": {"new_session": "off"}})
    talk = Talk(capsys, home, scene)
    assert [e["error"]["code"] for e in await talk.take("/edit no", "/fork", "/split", "/regenerate")] == [
        "usage"
    ] * 4
    await talk.take("one", "two", "/edit three")
    assert await talk.users() == ["one", "three"]
    first = talk.talk.session
    events = await talk.take("/edit", "/fork another", "four")
    assert events[0]["error"]["code"] == "usage"
    assert events[1]["code"] == "forked"
    assert talk.talk.session != first
    assert await talk.users() == ["one", "three", "four"]

    scene.clock.advance(timedelta(hours=1))
    events = await talk.take(f"/resume {first}")
    assert [event["code"] for event in events] == ["resumed", "last_time"]
    assert "one … three" in events[1]["text"]
    assert await talk.users() == ["one", "three"]
    sent = len(scene.model.prompts)
    await talk.take("five")
    assert all("Last time" not in message.content for message in scene.model.prompts[sent])


async def test_a_compaction_in_the_background_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str], home: Paths
) -> None:
    quiet: dict[str, object] = {"new_session": "off"}
    scene = Scene(
        {"context": {"max_tokens": 512, "recall": False}, "sessions": quiet},
        model=ScriptedChatModel(context_length=4096),
    )
    talk = Talk(capsys, home, scene)
    events: list[dict[str, Any]] = []
    for number in range(8):
        events += await talk.take(f"Number {number} of my list is this." + " word" * 90)
        await scene.room.background.run()
        events += await talk.take()
    told = [event for event in events if event.get("code") == "compacted"]
    assert told
    assert all(event["session"] == talk.talk.session for event in told)
    assert all("→" in event["text"] for event in told)


async def test_forgetting_shows_what_goes_and_then_gives_a_receipt(
    capsys: pytest.CaptureFixture[str], home: Paths
) -> None:
    talk = Talk(capsys, home, Scene(model=ScriptedChatModel(["Mend the zeppelin.", "Fine."])))
    await talk.take("My zeppelin leaks.", "It rains.")
    events = await talk.take("/forget yes", "/forget", "/forget last")
    assert [event["type"] for event in events] == ["error", "error", "notice"]
    assert (events[-1]["code"], events[-1]["forgotten"]["messages"]) == ("forget_preview", 2)
    assert await talk.users() == ["My zeppelin leaks.", "It rains."]
    (receipt,) = await talk.take("/forget yes")
    assert (receipt["code"], receipt["verified"], receipt["forgotten"]["messages"]) == ("forgotten", True, 2)
    assert await talk.users() == ["My zeppelin leaks.", ""]
    first = talk.talk.session
    (receipt,) = await talk.take("/forget this yes")
    assert receipt["forgotten"]["messages"] == 4
    assert talk.talk.session is None
    assert first is not None
    (error,) = await talk.take(f"/forget {first} yes")
    assert error["error"]["code"] == "memory_not_found"


async def test_a_persona_brings_its_model_and_one_that_is_not_there_changes_nothing(
    capsys: pytest.CaptureFixture[str], home: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Talk(capsys, home, Scene())
    personas = talk.scene.room.personas
    await personas.add(NewPersona("Pirate", "You talk like a pirate.", model="small"))
    await personas.add(NewPersona("Judge", "You are a judge.", model="gone"))
    desk = DeskOfModels()
    monkeypatch.setattr(Context, "desk", desk)

    events = await talk.take("/persona pirate", "/persona pirate")
    assert [event["code"] for event in events] == ["persona", "persona"]
    assert (desk.chosen_model, desk.switched) == ("small", 1)
    events = await talk.take("/persona judge")
    assert events[-1]["error"]["code"] == "unknown_model"
    assert (desk.chosen_model, desk.switched) == ("small", 1)
    assert talk.talk.options.system == "You talk like a pirate."


async def test_a_line_that_is_not_utf8_is_refused_and_named(
    capsys: pytest.CaptureFixture[str], home: Paths
) -> None:
    """Bytes that are none stand in a line as halves of characters, which nothing can store."""
    talk = Talk(capsys, home, Scene())
    await talk.take("Hello.")
    for number, line in enumerate(("caf\udce9", '{"say": "caf\udce9"}', '{"say": "a\\ud800"}'), 2):
        await talk.talk.take(line, number)
    errors = [json.loads(line)["error"] for line in capsys.readouterr().out.splitlines()]
    assert [error["message"] for error in errors] == [
        f"The text is not UTF-8 in line {number}, so it was not used." for number in (2, 3, 4)
    ]
    (deep,) = await talk.take('{"say": ' + "[" * 100_000)
    assert "nested too deeply" in deep["error"]["message"]
    assert await talk.users() == ["Hello."]


@given(st.text(), st.text())
def test_text_is_whole_or_refused_by_its_line(before: str, after: str) -> None:
    text = before + after
    assert whole(text) == text
    with pytest.raises(UsageError, match=f"line {before.count(chr(10)) + 1},"):
        whole(f"{before}\udce9{after}")
