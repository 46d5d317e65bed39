import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from models.errors import ProtocolError
from models.worker import protocol


def test_a_request_survives_the_pipe() -> None:
    params = protocol.WireParams(5, 0.1, 40, 0.9, 0.05, 1.0, 64, None, ["\n"], None)
    sent = protocol.Generate(7, "chat", [protocol.WireMessage("user", "hé", [1, 2])], params)
    stream = io.BytesIO(protocol.frame(sent) + protocol.frame(protocol.Cancel(7)))
    assert protocol.read_request(stream) == sent
    assert protocol.read_request(stream) == protocol.Cancel(7)
    assert protocol.read_request(stream) is None


def test_an_answer_survives_the_pipe() -> None:
    sent = protocol.Delta(3, "😀", [5])
    assert protocol.decode_answer(protocol.frame(sent)[4:]) == sent


def test_a_frame_larger_than_any_message_is_refused_before_it_is_read() -> None:
    with pytest.raises(ProtocolError):
        protocol.read_request(io.BytesIO(b"\xff\xff\xff\xff"))


@given(st.binary(max_size=200))
@example(b"\x91\xa3\x00\x00\x80")
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    body = len(data).to_bytes(4, "big") + data
    try:
        request = protocol.read_request(io.BytesIO(body))
    except ProtocolError:
        return
    assert request is None or protocol.frame(request)


def test_an_answer_is_not_a_request() -> None:
    with pytest.raises(ProtocolError):
        protocol.read_request(io.BytesIO(protocol.frame(protocol.Delta(1, "", []))))
