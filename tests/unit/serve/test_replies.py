"""Tools and schemas: what the model is told, what is read from its reply, what is refused."""

import json

import pytest

from atlas_desktop.errors import DoorRefused
from atlas_desktop.serve.completions import conversation, in_turn
from atlas_desktop.serve.replies import ToolUse, checked_schema, format_schema, tool_use
from atlas_desktop.serve.wire import Call, CalledFunction, Function, Part, ResponseFormat, Tool, WireMessage
from models.messages import ChatMessage, Role

WEATHER = Function("weather", "of a city", {"type": "object", "properties": {"city": {"type": "string"}}})
TOOLS = [Tool("function", WEATHER), Tool("function", Function("time"))]


def test_tools_are_described_in_the_instructions() -> None:
    told = tool_use(TOOLS, None).instructions
    assert "- weather: of a city" in told
    assert "- time" in told
    assert tool_use(TOOLS, "none") == ToolUse()
    assert tool_use(None, None).instructions == ""


def test_a_required_call_is_a_schema() -> None:
    chosen = tool_use(TOOLS, {"type": "function", "function": {"name": "weather"}})
    schema = json.loads(chosen.schema or "")
    assert schema["properties"]["tool"] == {"const": "weather"}
    assert [one.name for one in chosen.functions] == ["weather"]
    assert len(json.loads(tool_use(TOOLS, "required").schema or "")["oneOf"]) == 2
    assert tool_use(TOOLS, "auto").schema is None


@pytest.mark.parametrize("choice", ["always", {"name": "other"}])
def test_an_impossible_choice_is_refused(choice: str | dict[str, str]) -> None:
    with pytest.raises(DoorRefused):
        tool_use(TOOLS, choice)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ('{"tool": "weather", "arguments": {"city": "Graz"}}', ("weather", '{"city": "Graz"}')),
        (' {"tool": "time"}\n', ("time", "{}")),
        ('{"tool": "other", "arguments": {}}', None),
        ('{"tool": "weather", "arguments": [1]}', None),
        ('{"tool": "weather"', None),
        ("The weather is fine.", None),
        ("{" * 100_000, None),
    ],
)
def test_a_call_is_read_from_a_reply(text: str, call: tuple[str, str] | None) -> None:
    assert tool_use(TOOLS, "auto").call(text) == call


def test_schemas_that_would_grow_too_large_are_refused() -> None:
    deep: dict[str, object] = {"type": "string"}
    for _level in range(40):
        deep = {"type": "array", "items": deep}
    for wrong in (
        deep,
        {"type": "string", "maxLength": 100_000},
        {"$ref": "https://example.org/schema"},
        {"description": "x" * 70_000},
    ):
        with pytest.raises(DoorRefused):
            checked_schema(wrong)
    assert format_schema(ResponseFormat("json_object")) == '{"type": "object"}'
    assert format_schema(ResponseFormat("text")) is None
    with pytest.raises(DoorRefused):
        format_schema(ResponseFormat("json_schema"))


def test_a_conversation_is_instructions_and_turns() -> None:
    system, messages = conversation(
        [
            WireMessage("system", "Be brief."),
            WireMessage("user", [Part("text", "How is it "), Part("text", "in Graz?")]),
            WireMessage("developer", "Use tools."),
            WireMessage(
                "assistant",
                None,
                tool_calls=[Call("1", function=CalledFunction("weather", '{"city": "Graz"}'))],
            ),
            WireMessage("tool", "Sunny", tool_call_id="1"),
            WireMessage("user", "And\x1b[2J tomorrow?"),
        ]
    )
    assert system == "Be brief.\n\nUse tools."
    assert [one.role for one in messages] == [Role.USER, Role.ASSISTANT, Role.USER]
    assert messages[0].content == "How is it in Graz?"
    assert messages[1].content == '{"tool": "weather", "arguments": {"city": "Graz"}}'
    assert messages[2].content == "Result of weather:\nSunny\n\nAnd[2J tomorrow?"


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [WireMessage("user", "")],
        [WireMessage("user", "Hi"), WireMessage("assistant", "Hello")],
        [WireMessage("wizard", "Hi")],
        [WireMessage("user", [Part("image_url")])],
    ],
)
def test_what_cannot_be_answered_is_refused(messages: list[WireMessage]) -> None:
    with pytest.raises(DoorRefused):
        conversation(messages)


def test_neighbours_of_one_role_become_one_message() -> None:
    joined = in_turn([ChatMessage(Role.USER, "a"), ChatMessage(Role.USER, "b")])
    assert [one.content for one in joined] == ["a\n\nb"]
