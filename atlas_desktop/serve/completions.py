"""`/v1/chat/completions` and `/v1/responses`: replies as the OpenAI packages expect them, also streamed."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from atlas_desktop.locale import _
from atlas_desktop.serve.access import ClientAccess
from atlas_desktop.serve.replies import GATHERED_S, Answer, Asked, Replies, format_schema, tool_use, usage
from atlas_desktop.serve.server import unless_left
from atlas_desktop.serve.wire import (
    DONE,
    ChatRequest,
    Item,
    Metadata,
    Part,
    ResponsesRequest,
    WireMessage,
    bad_request,
    decoded,
    error_body,
    event_bytes,
    json_response,
)
from atlas_desktop.services.cleaning import clean
from models.messages import ChatMessage, Role

_INSTRUCTIONS = frozenset({"system", "developer"})
MOST_MESSAGES = 4_096


def text_of(content: str | Sequence[Part] | None) -> str:
    """Returns the text of a message's content, cleaned. Raises `DoorRefused` for anything else."""
    if content is None:
        return ""
    if isinstance(content, str):
        return clean(content)
    for part in content:
        if part.type not in ("text", "input_text", "output_text"):
            raise bad_request(_("Messages may hold text only."))
    return clean("".join(part.text for part in content))


def conversation(messages: Sequence[WireMessage]) -> tuple[str, tuple[ChatMessage, ...]]:
    """Returns the instructions, and the messages in turn: calls and their results as text. Raises
    `DoorRefused`."""
    if len(messages) > MOST_MESSAGES:
        raise bad_request(_("There are more than {most} messages.", most=MOST_MESSAGES))
    system: list[str] = []
    said: list[ChatMessage] = []
    names: dict[str, str] = {}
    for one in messages:
        text = text_of(one.content)
        if one.role in _INSTRUCTIONS:
            system.append(text)
            continue
        if one.role == "assistant":
            role = Role.ASSISTANT
            for call in one.tool_calls or ():
                names[call.id] = call.function.name
                text += ("\n" if text else "") + called_text(call.function.name, call.function.arguments)
        elif one.role == "tool":
            role = Role.USER
            text = result_text(names.get(one.tool_call_id or "", ""), text)
        elif one.role == "user":
            role = Role.USER
        else:
            raise bad_request(_("The roles are system, developer, user, assistant and tool."))
        if text:
            said.append(ChatMessage(role, text))
    return "\n\n".join(filter(None, system)), in_turn(said)


def called_text(name: str, arguments: str) -> str:
    """Returns an earlier call in the form in which the model wrote it."""
    return f'{{"tool": "{name}", "arguments": {arguments}}}'


def result_text(name: str, text: str) -> str:
    """Returns the result of a call in the form in which the model reads it."""
    return f"Result of {name or 'the function'}:\n{text}"


def in_turn(said: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Joins neighbours of the same role. Raises `DoorRefused` unless the last message is the user's."""
    joined: list[ChatMessage] = []
    for one in said:
        if joined and joined[-1].role is one.role:
            before = joined.pop()
            one = ChatMessage(one.role, f"{before.content}\n\n{one.content}")
        joined.append(one)
    if not joined or joined[-1].role is not Role.USER:
        raise bad_request(_("The last message must be from the user, and have text."))
    return tuple(joined)


def asked_for(request: ChatRequest, replies: Replies) -> Asked:
    """Returns a request as Atlas answers it. Raises `DoorRefused`."""
    if request.n not in (None, 1):
        raise bad_request(_("Only one reply is made for a request."))
    tools = tool_use(request.tools, request.tool_choice)
    system, messages = conversation(request.messages)
    params = replies.params(
        max_tokens=checked(
            "max_tokens", request.max_completion_tokens or request.max_tokens, least=1, most=1_000_000
        ),
        temperature=checked("temperature", request.temperature, least=0, most=2),
        top_p=checked("top_p", request.top_p, least=0, most=1),
        seed=request.seed,
        stop=stops(request.stop),
        gather_s=GATHERED_S if request.stream else None,
        json_schema=tools.schema or format_schema(request.response_format),
    )
    return Asked(request.model, system, messages, params, request.metadata or Metadata(), tools)


def checked(name: str, value: Any, *, least: float, most: float) -> Any:
    """Returns a number of a request. Raises `DoorRefused` if it is out of range."""
    if value is not None and not least <= value <= most:
        raise bad_request(_("`{name}` is out of range.", name=name))
    return value


def stops(given: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Returns the texts that end a reply. Raises `DoorRefused`."""
    if given is None:
        return None
    found = (given,) if isinstance(given, str) else tuple(given)
    if len(found) > 16 or any(len(one) > 500 for one in found):
        raise bad_request(_("There are too many stop texts, or one is too long."))
    return found


async def chat_completions(request: Request, access: ClientAccess, replies: Replies) -> Response:
    """Answers a request, as a whole or as a stream of events."""
    body = decoded(await request.body(), ChatRequest)
    asked = asked_for(body, replies)
    head = {"id": f"chatcmpl-{uuid4().hex}", "created": int(time.time()), "model": body.model}
    if not body.stream:
        whole = await unless_left(request.receive, _whole(access, replies, asked, head))
        return whole or Response(status_code=499)
    events = replies.reply(access, asked)
    # The first piece decides whether the answer is a stream or an error with its status.
    first = await anext(events)
    wants_usage = body.stream_options is not None and body.stream_options.include_usage
    return StreamingResponse(
        _stream(first, events, head, wants_usage=wants_usage),
        media_type="text/event-stream",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


async def _whole(access: ClientAccess, replies: Replies, asked: Asked, head: dict[str, Any]) -> Response:
    text, answer = await collected(replies.reply(access, asked))
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if answer.call is not None:
        message |= {"content": None, "tool_calls": [_call(answer.call)]}
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason, "logprobs": None}
    return json_response(
        {
            **head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": usage(answer),
            "atlas": answer.extension,
        }
    )


async def collected(events: AsyncGenerator[str | Answer, None]) -> tuple[str, Answer]:
    """Returns the text of a reply, and its end."""
    parts: list[str] = []
    answer: Answer | None = None
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Answer):
                answer = event
            else:
                parts.append(event)
    assert answer is not None
    return "".join(parts), answer


def _call(call: tuple[str, str]) -> dict[str, Any]:
    name, arguments = call
    function = {"name": name, "arguments": arguments}
    return {"id": f"call_{uuid4().hex[:24]}", "type": "function", "function": function}


async def _stream(
    first: str | Answer,
    events: AsyncGenerator[str | Answer, None],
    head: dict[str, Any],
    *,
    wants_usage: bool,
) -> AsyncGenerator[bytes, None]:
    head = {**head, "object": "chat.completion.chunk"}

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        return event_bytes(
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
        )

    async with aclosing(events):
        try:
            if isinstance(first, str):
                yield chunk({"role": "assistant", "content": first})
            else:
                yield chunk({"role": "assistant", "content": ""})
                for part in _end(first, chunk, head, wants_usage=wants_usage):
                    yield part
            async for event in events:
                if isinstance(event, str):
                    yield chunk({"content": event})
                    continue
                for part in _end(event, chunk, head, wants_usage=wants_usage):
                    yield part
        except Exception as error:  # noqa: BLE001 - the status is sent by now: the error becomes an event
            yield event_bytes(error_body(error))
        yield DONE


def _end(answer: Answer, chunk: Any, head: dict[str, Any], *, wants_usage: bool) -> list[bytes]:
    parts = []
    if answer.call is not None:
        parts.append(chunk({"tool_calls": [{"index": 0, **_call(answer.call)}]}))
    parts.append(chunk({}, answer.finish_reason, atlas=answer.extension))
    if wants_usage:
        parts.append(event_bytes({**head, "choices": [], "usage": usage(answer)}))
    return parts


def response_conversation(given: str | Sequence[Item]) -> tuple[str, tuple[ChatMessage, ...]]:
    """Returns the instructions among the items, and the messages in turn. Raises `DoorRefused`."""
    if isinstance(given, str):
        return "", in_turn([ChatMessage(Role.USER, clean(given))] if given.strip() else [])
    system: list[str] = []
    said: list[ChatMessage] = []
    names: dict[str, str] = {}
    for one in given:
        if one.type == "function_call":
            names[one.call_id] = one.name
            said.append(ChatMessage(Role.ASSISTANT, called_text(one.name, one.arguments)))
        elif one.type == "function_call_output":
            text = result_text(names.get(one.call_id, ""), text_of(one.output))
            said.append(ChatMessage(Role.USER, text))
        elif one.type != "message" or one.role not in ("system", "developer", "user", "assistant"):
            raise bad_request(_("The input may hold messages, calls and their outputs."))
        elif one.role in ("system", "developer"):
            system.append(text_of(one.content))
        elif text := text_of(one.content):
            said.append(ChatMessage(Role(one.role), text))
    return "\n\n".join(filter(None, system)), in_turn(said)


def response_asked_for(request: ResponsesRequest, replies: Replies) -> Asked:
    """Returns a request as Atlas answers it. Raises `DoorRefused`."""
    if request.previous_response_id is not None:
        raise bad_request(_("Responses are not kept: repeat the conversation, or use `metadata.session`."))
    tools = tool_use(request.tools, request.tool_choice)
    system, messages = response_conversation(request.input)
    params = replies.params(
        max_tokens=checked("max_output_tokens", request.max_output_tokens, least=1, most=1_000_000),
        temperature=checked("temperature", request.temperature, least=0, most=2),
        top_p=checked("top_p", request.top_p, least=0, most=1),
        gather_s=GATHERED_S if request.stream else None,
        json_schema=tools.schema or format_schema(request.text.format if request.text else None),
    )
    instructions = "\n\n".join(filter(None, [clean(request.instructions or ""), system]))
    return Asked(request.model, instructions, messages, params, request.metadata or Metadata(), tools)


async def responses(request: Request, access: ClientAccess, replies: Replies) -> Response:
    """Answers a request, as a whole or as a stream of events."""
    body = decoded(await request.body(), ResponsesRequest)
    asked = response_asked_for(body, replies)
    made = _Made(body)
    if not body.stream:
        whole = await unless_left(request.receive, _whole_response(access, replies, asked, made))
        return whole or Response(status_code=499)
    events = replies.reply(access, asked)
    first = await anext(events)
    return StreamingResponse(
        _stream_response(first, events, made),
        media_type="text/event-stream",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


class _Made:
    """A response as it grows."""

    def __init__(self, request: ResponsesRequest) -> None:
        self._request = request
        self._id = f"resp_{uuid4().hex}"
        self.message = f"msg_{uuid4().hex}"
        self._created = int(time.time())

    def response(
        self, status: str, output: Sequence[dict[str, Any]] = (), answer: Answer | None = None
    ) -> dict[str, Any]:
        """Returns the response as JSON."""
        request = self._request
        cut = answer is not None and answer.finish_reason == "length"
        made: dict[str, Any] = {
            "id": self._id,
            "object": "response",
            "created_at": self._created,
            "status": status,
            "model": request.model,
            "output": list(output),
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "instructions": request.instructions,
            "metadata": {},
            "parallel_tool_calls": False,
            "temperature": request.temperature,
            "top_p": request.top_p,
            "tool_choice": request.tool_choice or "auto",
            "tools": [],
            "store": False,
            "usage": None,
        }
        if answer is not None:
            timings = answer.timings
            made["usage"] = {
                "input_tokens": timings.prompt_tokens,
                "input_tokens_details": {"cached_tokens": timings.cached_tokens},
                "output_tokens": timings.completion_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": timings.prompt_tokens + timings.completion_tokens,
            }
            made["atlas"] = answer.extension
        return made

    def item(self, text: str, status: str = "completed") -> dict[str, Any]:
        """Returns the message as an item of the output."""
        content = [part(text)] if status == "completed" else []
        return {
            "id": self.message,
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": content,
        }


def part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call_item(call: tuple[str, str]) -> dict[str, Any]:
    return {
        "id": f"fc_{uuid4().hex}",
        "type": "function_call",
        "call_id": f"call_{uuid4().hex[:24]}",
        "name": call[0],
        "arguments": call[1],
        "status": "completed",
    }


def _status(answer: Answer) -> str:
    return "incomplete" if answer.finish_reason == "length" else "completed"


async def _whole_response(access: ClientAccess, replies: Replies, asked: Asked, made: _Made) -> Response:
    text, answer = await collected(replies.reply(access, asked))
    output = [made.item(text)] if answer.call is None else [_call_item(answer.call)]
    return json_response(made.response(_status(answer), output, answer))


async def _stream_response(
    first: str | Answer, events: AsyncGenerator[str | Answer, None], made: _Made
) -> AsyncGenerator[bytes, None]:
    number = 0

    def event(kind: str, **facts: Any) -> bytes:
        nonlocal number
        number += 1
        return event_bytes({"type": kind, "sequence_number": number - 1, **facts}, kind)

    async def all_events() -> AsyncGenerator[str | Answer, None]:
        yield first
        async for one in events:
            yield one

    place = {"item_id": made.message, "output_index": 0, "content_index": 0}
    text, begun = "", False
    async with aclosing(events):
        yield event("response.created", response=made.response("in_progress"))
        yield event("response.in_progress", response=made.response("in_progress"))
        try:
            async for one in all_events():
                if isinstance(one, str):
                    if not begun:
                        begun = True
                        for opening in _opening(event, made, place):
                            yield opening
                    text += one
                    yield event("response.output_text.delta", **place, delta=one, logprobs=[])
                    continue
                if one.call is None and not begun:
                    for opening in _opening(event, made, place):
                        yield opening
                for closing in _closing(event, made, place, text, one):
                    yield closing
        except Exception as error:  # noqa: BLE001 - the status is sent by now: the error becomes an event
            failure = error_body(error)["error"]
            yield event("error", code=failure["code"], message=failure["message"], param=None)


def _opening(event: Any, made: _Made, place: dict[str, Any]) -> list[bytes]:
    return [
        event("response.output_item.added", output_index=0, item=made.item("", "in_progress")),
        event("response.content_part.added", **place, part=part("")),
    ]


def _closing(event: Any, made: _Made, place: dict[str, Any], text: str, answer: Answer) -> list[bytes]:
    if answer.call is not None:
        item = _call_item(answer.call)
        named = {"item_id": item["id"], "output_index": 0}
        closing = [
            event("response.output_item.added", output_index=0, item={**item, "arguments": ""}),
            event("response.function_call_arguments.delta", **named, delta=item["arguments"]),
            event(
                "response.function_call_arguments.done",
                **named,
                name=item["name"],
                arguments=item["arguments"],
            ),
        ]
    else:
        item = made.item(text)
        closing = [
            event("response.output_text.done", **place, text=text, logprobs=[]),
            event("response.content_part.done", **place, part=part(text)),
        ]
    status = _status(answer)
    return [
        *closing,
        event("response.output_item.done", output_index=0, item=item),
        event(f"response.{status}", response=made.response(status, [item], answer)),
    ]
