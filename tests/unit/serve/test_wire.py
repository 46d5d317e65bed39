"""Requests as checked types, and errors as the OpenAI interface has them."""

import json

import pytest

from atlas_desktop.errors import DoorRefused
from atlas_desktop.serve.wire import ChatRequest, decoded, error_body, error_response, event_bytes, too_deep
from models.errors import NoModel, PromptTooLong, WorkerFault


def body(**fields: object) -> bytes:
    return json.dumps({"model": "atlas", "messages": [], **fields}).encode()


def test_unknown_fields_are_ignored() -> None:
    request = decoded(body(logit_bias={"1": 2}, user="me"), ChatRequest)
    assert (request.model, request.messages, request.stream) == ("atlas", [], False)


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"{",
        b"[1]",
        b"\xff",
        body(stream="yes"),
        body(messages={}),
        b'{"model": "atlas"}',
        body(metadata={"memory_mode": "all"}),
    ],
)
def test_what_is_no_request_is_refused_in_words(wrong: bytes) -> None:
    with pytest.raises(DoorRefused) as refused:
        decoded(wrong, ChatRequest)
    told = error_body(refused.value)["error"]
    assert refused.value.status == 400
    assert told["message"].startswith("The request cannot be understood: ")
    assert told["next_step"]


@pytest.mark.parametrize("deep", [b'{"x": ' + b"[" * 100_000, b'{"messages": ' + b'{"a":' * 50_000])
def test_deeply_nested_json_is_refused(deep: bytes) -> None:
    with pytest.raises(DoorRefused) as refused:
        decoded(deep, ChatRequest)
    assert refused.value.status == 400


def test_depth_is_counted_without_recursion() -> None:
    value: dict[str, object] = {}
    for _level in range(5_000):
        value = {"properties": value}
    assert too_deep(value)
    assert not too_deep({"a": [{"b": 1}, "c"]})


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (DoorRefused("scope", 403, scope="chat"), 403, "door_scope"),
        (PromptTooLong(9_000, 8_192), 400, "context_length_exceeded"),
        (NoModel("chat"), 503, "no_model"),
        (WorkerFault("ValueError"), 500, "model_fault"),
        (RuntimeError("my secret"), 500, "unexpected"),
    ],
)
def test_errors_have_a_status_a_code_and_words_without_content(
    error: Exception, status: int, code: str
) -> None:
    response = error_response(error)
    told = json.loads(bytes(response.body))["error"]
    assert (response.status_code, told["code"]) == (status, code)
    assert told["message"]
    assert "my secret" not in told["message"]


def test_a_missing_token_asks_for_one() -> None:
    assert error_response(DoorRefused("no_token", 401)).headers["www-authenticate"] == "Bearer"
    assert error_response(DoorRefused("busy", 429)).headers["retry-after"] == "5"


def test_an_event_is_one_line_of_json() -> None:
    assert event_bytes({"text": "a\nb"}) == b'data: {"text":"a\\nb"}\n\n'
    assert event_bytes({}, "done").startswith(b"event: done\n")
