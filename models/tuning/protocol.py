"""What is asked of the process that tries out ways of running a model: JSON, one message a line."""

from pathlib import Path

import msgspec

from models.errors import ProtocolError
from models.tuning.kernels import Kernels
from models.tuning.plan import Round, RunSettings, TuningPlan


class Message(msgspec.Struct, frozen=True, tag=True):
    """Base of requests and answers."""


class Open(Message, frozen=True):
    """Loads a file; answered by `Opened`."""

    path: str
    kernels: Kernels


class Measure(Message, frozen=True):
    """One round with the loaded file; answered by `Measured`."""

    settings: RunSettings
    plan: TuningPlan


class Perplexity(Message, frozen=True):
    """Of the first `limit` tokens of a text; answered by `Predicted`."""

    text: str
    settings: RunSettings
    limit: int


class Quantise(Message, frozen=True):
    """Writes `source` in another layout to `target`; answered by `Done`.

    When the application goes away meanwhile, what there is of `target` is deleted.
    """

    source: str
    target: str
    ftype: int
    threads: int


class Opened(Message, frozen=True):
    """`row` is the length of the model's rows, `buffers` what the weights were put into."""

    row: int
    buffers: tuple[str, ...]


class Measured(Message, frozen=True):
    round: Round


class Predicted(Message, frozen=True):
    perplexity: float


class Done(Message, frozen=True):
    pass


class Refused(Message, frozen=True):
    """It could not be done; `detail` is llama.cpp's reason or the type of an error."""

    detail: str


Request = Open | Measure | Perplexity | Quantise
Answer = Opened | Measured | Predicted | Done | Refused

_encoder = msgspec.json.Encoder()
_requests: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_answers: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)


def encode(message: Request | Answer) -> bytes:
    return _encoder.encode(message) + b"\n"


def decode_request(line: bytes) -> Request:
    return _requests.decode(line)


def decode_answer(line: bytes) -> Answer:
    """Raises `ProtocolError`."""
    try:
        return _answers.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ProtocolError(str(error)) from None


def part_of(request: Request) -> Path | None:
    """The unfinished file that a request leaves behind when it is broken off."""
    return Path(request.target) if isinstance(request, Quantise) else None
