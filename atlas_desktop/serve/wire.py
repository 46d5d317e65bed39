"""The JSON that other programs send and receive: requests as checked types, errors and events as bytes."""

from typing import Any, Literal, TypeVar

import msgspec
from starlette.responses import Response

from atlas_desktop.error_table import explain
from atlas_desktop.errors import DoorRefused, Exit
from atlas_desktop.locale import _
from memory.errors import ContextTooSmall
from models.errors import BadGrammar, NoModel, PromptTooLong, WorkerCrashed, WorkerUnresponsive

DEEPEST = 32
"""Maximum levels of lists and objects in a JSON schema."""
S = TypeVar("S", bound=msgspec.Struct)


class Function(msgspec.Struct, frozen=True):
    """A function that the model may call; `parameters` is a JSON schema."""

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None


class Tool(msgspec.Struct, frozen=True):
    """A tool, in the form of chat completions or of responses."""

    type: str
    function: Function | None = None
    name: str = ""
    description: str | None = None
    parameters: dict[str, Any] | None = None

    def named(self) -> Function:
        """Returns its function. Raises `DoorRefused`."""
        if self.type != "function" or (self.function is None and not self.name):
            raise bad_request(_("Only tools of type “function” are known."))
        return self.function or Function(self.name, self.description or "", self.parameters)


class CalledFunction(msgspec.Struct, frozen=True):
    name: str
    arguments: str = "{}"


class Call(msgspec.Struct, frozen=True):
    """A call that the model made earlier."""

    id: str = ""
    type: str = "function"
    function: CalledFunction = CalledFunction("")


class Part(msgspec.Struct, frozen=True):
    """A part of a message."""

    type: str
    text: str = ""


class WireMessage(msgspec.Struct, frozen=True):
    """One message of a chat completion."""

    role: str
    content: str | list[Part] | None = None
    name: str | None = None
    tool_calls: list[Call] | None = None
    tool_call_id: str | None = None


class JsonSchema(msgspec.Struct, frozen=True):
    schema: dict[str, Any]
    name: str = ""


class ResponseFormat(msgspec.Struct, frozen=True):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None
    schema: dict[str, Any] | None = None


class StreamOptions(msgspec.Struct, frozen=True):
    include_usage: bool = False


class Metadata(msgspec.Struct, frozen=True):
    """How memory is used; all values are strings, as in the OpenAI API."""

    memory_mode: Literal["normal", "reads", "blank", "off"] | None = None
    project: str | None = None
    session: str | None = None
    documents: str | None = None
    room: str | None = None


class ChatRequest(msgspec.Struct, frozen=True):
    model: str
    messages: list[WireMessage]
    stream: bool = False
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    n: int | None = None
    response_format: ResponseFormat | None = None
    tools: list[Tool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    metadata: Metadata | None = None


class Item(msgspec.Struct, frozen=True):
    """One item of the input of a response: a message, a call, or the output of one."""

    type: str = "message"
    role: str = ""
    content: str | list[Part] | None = None
    call_id: str = ""
    name: str = ""
    arguments: str = "{}"
    output: str | list[Part] | None = None


class TextFormat(msgspec.Struct, frozen=True):
    type: Literal["text", "json_object", "json_schema"] = "text"
    schema: dict[str, Any] | None = None
    name: str = ""


class TextOptions(msgspec.Struct, frozen=True):
    format: TextFormat = TextFormat()


class ResponsesRequest(msgspec.Struct, frozen=True):
    model: str
    input: str | list[Item]
    instructions: str | None = None
    stream: bool = False
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    text: TextOptions | None = None
    tools: list[Tool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    previous_response_id: str | None = None
    metadata: Metadata | None = None


class EmbeddingsRequest(msgspec.Struct, frozen=True):
    model: str
    input: str | list[str]
    encoding_format: Literal["float", "base64"] = "float"


class RecallRequest(msgspec.Struct, frozen=True):
    query: str
    k: int = 10
    kinds: list[str] | None = None
    project: str | None = None


class DocumentsRequest(msgspec.Struct, frozen=True):
    """A search; with `document` instead of a query, a part of that document's text."""

    query: str | None = None
    k: int = 10
    documents: list[str] | None = None
    project: str | None = None
    notes: bool = False
    document: str | None = None
    page: int | None = None
    begin: int = 0


def bad_request(why: str) -> DoorRefused:
    return DoorRefused("bad_request", 400, why=why)


def decoded(body: bytes, kind: type[S]) -> S:
    """Decodes a request into its type. Raises `DoorRefused`, which names the invalid field."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        # Names types and fields; msgspec quotes a value only if it is one of a few allowed ones.
        raise bad_request(str(error).replace("`", "“", 1).replace("`", "”", 1) + ".") from None
    except RecursionError:
        raise bad_request(_("It is nested too deeply.")) from None
    except (msgspec.DecodeError, UnicodeError):
        raise bad_request(_("It is not valid JSON.")) from None


def too_deep(value: Any) -> bool:
    """Whether lists and objects in a value are nested more deeply than `DEEPEST`."""
    level: list[Any] = [value]
    for _level in range(DEEPEST):
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


_STATUS: dict[type[BaseException], int] = {
    PromptTooLong: 400,
    ContextTooSmall: 400,
    BadGrammar: 400,
    NoModel: 503,
    WorkerCrashed: 503,
    WorkerUnresponsive: 503,
}
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


def error_status(error: BaseException) -> int:
    """Returns the HTTP status for an error."""
    if isinstance(error, DoorRefused):
        return error.status
    for kind in type(error).__mro__:
        if kind in _STATUS:
            return _STATUS[kind]
    return 400 if explain(error).status is Exit.USAGE else 500


def error_body(error: BaseException) -> dict[str, Any]:
    """Returns an error as JSON: the fields of the OpenAI API, and those of Atlas."""
    told = explain(error)
    status = error_status(error)
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    code = "context_length_exceeded" if isinstance(error, PromptTooLong | ContextTooSmall) else told.code
    return {
        "error": {
            "message": f"{told.title}: {told.message}" if told.message else told.title,
            "type": kind,
            "code": code,
            "param": None,
            "next_step": told.next_step,
        }
    }


def error_response(error: BaseException) -> Response:
    response = json_response(error_body(error), error_status(error))
    if response.status_code == 401:
        response.headers["www-authenticate"] = "Bearer"
    if response.status_code == 429:
        response.headers["retry-after"] = "5"
    return response


def json_response(value: Any, status: int = 200) -> Response:
    return Response(
        msgspec.json.encode(value), status, {"cache-control": "no-store"}, media_type="application/json"
    )


def event_bytes(value: Any, name: str = "") -> bytes:
    """Returns a server-sent event."""
    line = b"event: " + name.encode() + b"\n" if name else b""
    return line + b"data: " + msgspec.json.encode(value) + b"\n\n"


DONE = b"data: [DONE]\n\n"
