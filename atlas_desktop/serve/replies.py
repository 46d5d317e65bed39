"""Replies of the models to other programs, with or without memory, with tools and JSON schemas."""

import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from atlas_desktop.errors import DoorRefused
from atlas_desktop.locale import _
from atlas_desktop.serve.access import ClientAccess, Counted
from atlas_desktop.serve.wire import (
    Function,
    Metadata,
    ResponseFormat,
    TextFormat,
    Tool,
    bad_request,
    too_deep,
)
from atlas_desktop.services.cleaning import clean
from atlas_desktop.services.desk import AppContext
from atlas_desktop.services.documents.search import cited_reply
from atlas_desktop.services.events import Accepted, Delta, Replied
from atlas_desktop.services.turns import TurnOptions
from atlas_desktop.shapes import citation, recalled
from memory.clients import AccessKind, Scope
from memory.context.entities import TierUse
from memory.context.stateless import StatelessContext, StatelessRequest
from memory.documents.entities import CitedReply
from memory.entities import MemoryMode
from memory.recall.entities import Hit
from models.messages import ChatMessage, Completion, GenerationParams, Lane, StopReason, Timings

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
        """Returns the instructions about the functions for the model."""
        if not self.functions:
            return ""
        return "\n".join([_HOW_TO_CALL, *(_described(one) for one in self.functions)])

    @property
    def schema(self) -> str | None:
        """Returns the JSON schema of a call; None if the model may also reply with text."""
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
        """Returns the name and the arguments (JSON) of the call in a reply; None if the reply is not a
        call."""
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
    """Returns the functions of a request that its `tool_choice` allows. Raises `DoorRefused`."""
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

    Raises `DoorRefused` for one that is too large, because its grammar would take too long.
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


GATHERED_S = 0.04
"""Seconds for which tokens are collected into one event of a stream."""
WITH_MEMORY = "atlas"
"""The name of the chosen model with memory."""
MOST_WAITING = 64
"""Maximum number of replies that are made or waiting at the same time."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A program's request, independent of the API: a conversation, and how to answer it."""

    model: str
    system: str
    messages: tuple[ChatMessage, ...]
    params: GenerationParams
    metadata: Metadata = field(default_factory=Metadata)
    tools: ToolUse = field(default_factory=ToolUse)


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of a reply. `extension` is what Atlas adds: recalled items, citations and measurements."""

    text: str
    model: str
    stop_reason: StopReason
    timings: Timings
    call: tuple[str, str] | None = None
    extension: dict[str, Any] = field(default_factory=dict)

    @property
    def finish_reason(self) -> str:
        if self.call is not None:
            return "tool_calls"
        return "length" if self.stop_reason is StopReason.LENGTH else "stop"


class Replies:
    """Makes replies for the clients of one room, after the user's own."""

    def __init__(self, desk: AppContext) -> None:
        self._desk = desk
        self._waiting = 0
        self._context: tuple[object, StatelessContext] | None = None

    def model_names(self) -> list[str]:
        """Returns the names of the available models: with memory, and without."""
        return [WITH_MEMORY, self._desk.chat_model_id()]

    def params(self, **given: Any) -> GenerationParams:
        """Returns the chosen model's parameters, overridden by those of the request."""
        usual = self._desk.turn_options().params
        return replace(usual, **{name: value for name, value in given.items() if value is not None})

    async def reply(self, access: ClientAccess, asked: Asked) -> AsyncGenerator[str | Answer, None]:
        """Yields pieces of the reply's text and, last, the answer. Raises `DoorRefused` and what the models
        raise."""
        async with access.asked(AccessKind.CHAT, Scope.CHAT) as counted:
            names = self.model_names()
            if asked.model not in names:
                raise DoorRefused("unknown_model", 404, models=", ".join(names))
            if self._waiting >= MOST_WAITING:
                raise DoorRefused("busy", 429)
            self._waiting += 1
            try:
                made = self._reply(access, asked, counted)
                async with aclosing(made) as pieces:
                    async for one in pieces:
                        yield one
            finally:
                self._waiting -= 1

    async def _reply(
        self, access: ClientAccess, asked: Asked, counted: Counted
    ) -> AsyncGenerator[str | Answer, None]:
        mode = self._mode(access, asked)
        project = await access.project(asked.metadata.project)
        refs = tuple(one.strip() for one in (asked.metadata.documents or "").split(",") if one.strip())
        documents = await access.document_ids(refs)
        turn = self._in_session if asked.metadata.session else self._stateless
        held = ""
        async with aclosing(turn(access, asked, mode, project, documents)) as events:
            async for event in events:
                if isinstance(event, str):
                    held += event
                    if held and not asked.tools.may_be_call(held):
                        yield held
                        held = ""
                        # A reply that began as text can no longer be a call.
                        asked = replace(asked, tools=ToolUse())
                    continue
                call = asked.tools.call(event.text)
                if call is None and held:
                    yield held
                counted.items = len(event.extension["recalled"])
                counted.tokens = event.timings.evaluated_tokens + event.timings.completion_tokens
                yield replace(event, call=call)

    def _mode(self, access: ClientAccess, asked: Asked) -> MemoryMode:
        """Returns how memory is used. Raises `DoorRefused`."""
        if asked.metadata.room not in (None, "open"):
            raise DoorRefused("private", 403)
        wanted = asked.metadata.memory_mode
        if asked.model != WITH_MEMORY:
            if wanted in ("normal", "reads"):
                raise bad_request(_("Only the model “{model}” uses memory.", model=WITH_MEMORY))
            return MemoryMode.BLANK
        if wanted in ("blank", "off"):
            return MemoryMode.BLANK
        if not access.may(Scope.RECALL):
            if wanted is not None:
                raise DoorRefused("scope", 403, scope=Scope.RECALL.value)
            return MemoryMode.BLANK
        # Atlas never learns from what a program says, so `normal` is the same.
        return MemoryMode.READS

    # --- stateless --------------------------------------------------------------------------------

    def _stateless_context(self, access: ClientAccess) -> StatelessContext:
        """Returns the service that makes the prompts, with the model in use."""
        model = self._desk.model
        if self._context is None or self._context[0] is not model:
            self._context = model, self._desk.stateless(access.room)
        return self._context[1]

    async def _stateless(
        self,
        access: ClientAccess,
        asked: Asked,
        mode: MemoryMode,
        project: str | None,
        documents: tuple[str, ...],
    ) -> AsyncGenerator[str | Answer, None]:
        context = self._stateless_context(access)
        with_memory = asked.model == WITH_MEMORY
        system = asked.system
        if with_memory:
            system = "\n\n".join(filter(None, [await self._desk.system(access.room, project), system]))
        system = "\n\n".join(filter(None, [system, asked.tools.instructions]))
        request = StatelessRequest(
            access.client.id,
            system,
            asked.messages,
            mode=mode,
            project=project,
            only_project=access.client.bound,
            documents=documents,
            notes=access.may(Scope.DOCUMENTS),
            dated=with_memory,
        )
        async with self._desk.gate.foreground():
            began = time.perf_counter()
            prepared = await context.prepare(request, reply=asked.params.max_tokens)
            prepare_ms = 1000 * (time.perf_counter() - began)
            said: list[str] = []
            completion: Completion | None = None
            generation = self._desk.model.chat.generate(prepared.prompt.messages, asked.params, Lane.DOOR)
            try:
                async for event in generation:
                    if isinstance(event, Completion):
                        completion = event
                    elif text := clean(event.text):
                        said.append(text)
                        yield text
            finally:
                # If the program has disconnected, the model can stop.
                generation.cancel()
        assert completion is not None
        text = "".join(said)
        context.settle(prepared, text, completion)
        cited = None
        if prepared.passages or prepared.known:
            cited = await cited_reply(text, [*prepared.known, *prepared.passages])
        extension = self._extension(
            mode, prepared.recalled, prepared.prompt.tiers, completion.timings, cited, prepare_ms
        )
        yield Answer(text, prepared.info.id, completion.stop_reason, completion.timings, extension=extension)

    # --- in a session -----------------------------------------------------------------------------

    async def _in_session(
        self,
        access: ClientAccess,
        asked: Asked,
        mode: MemoryMode,
        project: str | None,
        documents: tuple[str, ...],
    ) -> AsyncGenerator[str | Answer, None]:
        """Sends the newest message to a session that the client began, or begins one."""
        if asked.model != WITH_MEMORY:
            raise bad_request(_("Only the model “{model}” keeps sessions.", model=WITH_MEMORY))
        room, ref = access.room, asked.metadata.session
        session = None
        if ref != "new":
            found, _messages = await access.session(ref or "")
            if not await room.store.clients.began(access.client.id, found.id):
                raise DoorRefused("not_its_own", 404)
            session = found.id
        system = "\n\n".join(filter(None, [asked.system, asked.tools.instructions]))
        if system:
            system = f"{self._desk.settings.chat.system_prompt}\n\n{system}".strip()
        options = TurnOptions(
            params=asked.params,
            memory_mode=mode,
            system=system or None,
            project=project,
            continues=True,
            documents=documents,
            lane=Lane.DOOR,
        )
        turn = room.chat.turn(asked.messages[-1].content, session=session, options=options)
        async with aclosing(aiter(turn)) as events:
            async for event in events:
                if isinstance(event, Accepted) and session is None:
                    await room.store.clients.begins(access.client.id, event.session.id)
                elif isinstance(event, Delta):
                    yield event.text
                elif isinstance(event, Replied):
                    extension = self._extension(
                        event.session.memory_mode,
                        event.recalled,
                        event.context,
                        event.completion.timings,
                        event.cited,
                        event.prepare_ms,
                    )
                    extension |= {"session": event.session.id, "message": event.message.id}
                    yield Answer(
                        event.message.content,
                        event.message.model or "",
                        event.completion.stop_reason,
                        event.completion.timings,
                        extension=extension,
                    )

    @staticmethod
    def _extension(
        mode: MemoryMode,
        hits: Sequence[Hit],
        tiers: Sequence[TierUse],
        timings: Timings,
        cited: CitedReply | None,
        prepare_ms: float,
    ) -> dict[str, Any]:
        """Returns Atlas's additions to a reply: recalled items, citations and measurements."""
        told: dict[str, Any] = {
            "memory_mode": mode,
            "recalled": [recalled(hit) for hit in hits],
            "context": [{"tier": one.tier, "tokens": one.tokens} for one in tiers],
            "timings": {
                "prepare_ms": round(prepare_ms, 3),
                "first_token_ms": round(timings.first_token_ms, 3),
                "total_ms": round(timings.total_ms, 3),
                "cached_tokens": timings.cached_tokens,
                "evaluated_tokens": timings.evaluated_tokens,
                "tokens_per_second": round(timings.tokens_per_second, 2),
            },
        }
        if cited is not None:
            told["citations"] = [citation(one) for one in cited.citations]
            told["unsupported"] = [list(one) for one in cited.unsupported]
        return told


def usage(answer: Answer) -> dict[str, Any]:
    """Returns the token counts of a reply, named as in chat completions."""
    timings = answer.timings
    return {
        "prompt_tokens": timings.prompt_tokens,
        "completion_tokens": timings.completion_tokens,
        "total_tokens": timings.prompt_tokens + timings.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": timings.cached_tokens},
    }
