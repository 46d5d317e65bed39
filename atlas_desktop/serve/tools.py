"""Tools and JSON schemas: how a model of any kind is told about functions, and how its calls are read.

Few small models have a template for tools, and no two templates agree. So functions are described in the
instructions, and a call is a line of JSON in the reply. Where a call is required, or a schema is given,
a grammar leaves the model no other choice.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from atlas_desktop.locale import _
from atlas_desktop.serve.wire import Function, ResponseFormat, TextFormat, Tool, bad_request, too_deep

MOST_TOOLS = 64
MOST_SCHEMA = 64 * 1024
"""Characters of a JSON schema."""
_MOST_REPEATED = 1_000
_REPEATS = ("minItems", "maxItems", "minLength", "maxLength")

_HOW_TO_CALL = (
    "You can call functions. To call one, reply with one line of JSON and nothing else: "
    '{"tool": NAME, "arguments": {…}}'
)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The functions of a request. `required`: the model has to call one of them."""

    functions: tuple[Function, ...] = ()
    required: bool = False

    @property
    def instructions(self) -> str:
        """Returns what the model is told about the functions."""
        if not self.functions:
            return ""
        return "\n".join([_HOW_TO_CALL, *(_described(one) for one in self.functions)])

    @property
    def schema(self) -> str | None:
        """Returns the JSON schema of a call; None where the model may also reply in words."""
        if not self.required:
            return None
        calls = [
            {
                "type": "object",
                "properties": {
                    "tool": {"const": one.name},
                    "arguments": one.parameters or {"type": "object"},
                },
                "required": ["tool", "arguments"],
                "additionalProperties": False,
            }
            for one in self.functions
        ]
        return checked_schema(calls[0] if len(calls) == 1 else {"oneOf": calls})

    def call(self, text: str) -> tuple[str, str] | None:
        """Returns the name and the arguments (JSON) of the call that a reply is; None for any other reply."""
        said = text.strip()
        if not self.functions or not said.startswith("{"):
            return None
        try:
            value = json.loads(said)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or value.get("tool") not in {one.name for one in self.functions}:
            return None
        arguments = value.get("arguments", {})
        return (
            (value["tool"], json.dumps(arguments, ensure_ascii=False))
            if isinstance(arguments, dict)
            else None
        )

    def may_be_call(self, text: str) -> bool:
        """Whether the beginning of a reply could become a call, so that it is not shown as text yet."""
        said = text.lstrip()
        return bool(self.functions) and (self.required or said.startswith("{") or not said)


def tool_use(tools: Sequence[Tool] | None, choice: str | dict[str, Any] | None) -> ToolUse:
    """Returns the functions of a request as far as its choice allows them. Raises `DoorRefused`."""
    if not tools or choice == "none":
        return ToolUse()
    if len(tools) > MOST_TOOLS:
        raise bad_request(_("There are more than {most} tools.", most=MOST_TOOLS))
    functions = tuple(tool.named() for tool in tools)
    if isinstance(choice, dict):
        inner = choice.get("function")
        name = inner.get("name") if isinstance(inner, dict) else choice.get("name")
        chosen = tuple(one for one in functions if one.name == name)
        if not chosen:
            raise bad_request(_("The chosen tool is none of the tools."))
        return ToolUse(chosen, required=True)
    if choice not in (None, "auto", "required"):
        raise bad_request(_("`tool_choice` is auto, none, required, or names a tool."))
    return ToolUse(functions, required=choice == "required")


def format_schema(wanted: ResponseFormat | TextFormat | None) -> str | None:
    """Returns the JSON schema that a reply must match; None for plain text. Raises `DoorRefused`."""
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json_object":
        return '{"type": "object"}'
    named = wanted.json_schema.schema if isinstance(wanted, ResponseFormat) and wanted.json_schema else None
    schema = named or wanted.schema
    if schema is None:
        raise bad_request(_("`json_schema` is missing."))
    return checked_schema(schema)


def checked_schema(schema: dict[str, Any]) -> str:
    """Returns a JSON schema as text that the model's process can turn into a grammar.

    Raises `DoorRefused` for one that is too large: its grammar would take too long.
    """
    if too_deep(schema):
        raise bad_request(_("The JSON schema is nested too deeply."))
    text = json.dumps(schema, ensure_ascii=False)
    if len(text) > MOST_SCHEMA:
        raise bad_request(_("The JSON schema is too long."))
    waiting: list[Any] = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            numbers = [one[name] for name in _REPEATS if isinstance(one.get(name), int)]
            if any(number > _MOST_REPEATED for number in numbers):
                raise bad_request(_("The JSON schema repeats something too often."))
            reference = one.get("$ref")
            if isinstance(reference, str) and not reference.startswith("#/"):
                raise bad_request(_("The JSON schema refers to another one."))
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return text


def _described(one: Function) -> str:
    parameters = json.dumps(one.parameters or {}, ensure_ascii=False)
    about = f": {' '.join(one.description.split())}" if one.description else ""
    return f"- {one.name}{about} {parameters}"
