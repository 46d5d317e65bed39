"""Chat templates: messages become segments, and a template that takes too long ends its process."""

import json
import os
import secrets
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from jinja2.ext import loopcontrols
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from models.errors import TemplateFailed
from models.messages import Role

# Used for models whose file contains no template: the most widespread format.
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] }}"
    "{{ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


_MOST_BITS = 4096
_MOST_ITEMS = 1_000_000


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a prompt: the template's own text, or the content of message number `message`."""

    text: str
    message: int | None = None


class _Environment(ImmutableSandboxedEnvironment):
    """A sandbox in which numbers and repeated text stay small.

    The limit on a template's run time may only take effect after the current operation.
    """

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if _grows(operator, left, right):
            raise TemplateFailed("a value in the template became too large")
        return super().call_binop(context, operator, left, right)


def _grows(operator: str, left: Any, right: Any) -> bool:
    """Whether the result of `*` or `**` is larger than any template needs."""
    if isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length(), right.bit_length()
        return (bits[0] * right if operator == "**" else sum(bits)) > _MOST_BITS
    times, repeated = (left, right) if isinstance(left, int) else (right, left)
    return isinstance(times, int) and isinstance(repeated, Sized) and times * len(repeated) > _MOST_ITEMS


class ChatTemplate:
    """A compiled template. Raises `TemplateFailed` when it cannot be used."""

    def __init__(self, source: str, *, bos: str = "", eos: str = "") -> None:
        environment = _Environment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        environment.filters["tojson"] = _tojson
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = lambda form: datetime.now(UTC).strftime(form)
        try:
            self._template = environment.from_string(source)
        except Exception as error:  # noqa: BLE001 - a foreign program may fail to compile in any way
            raise TemplateFailed(type(error).__name__) from None
        self._bos = bos
        self._eos = eos

    def segments(self, roles: Sequence[Role]) -> list[Segment]:
        """The segments of a prompt for messages of these roles, in order, ready for a reply.

        Raises `TemplateFailed` when the template refuses the roles or leaves out the last message.
        """
        nonce = secrets.token_hex(8)
        markers = [f"\ue000{nonce}.{n}\ue001" for n in range(len(roles))]
        messages = [{"role": str(r), "content": m} for r, m in zip(roles, markers, strict=True)]
        rendered = self._render(messages)
        segments: list[Segment] = []
        while rendered:
            start = rendered.find(f"\ue000{nonce}.")
            if start < 0:
                segments.append(Segment(rendered))
                break
            if start:
                segments.append(Segment(rendered[:start]))
            number, _, rendered = rendered[start + len(nonce) + 2 :].partition("\ue001")
            segments.append(Segment("", int(number)))
        if not any(s.message == len(roles) - 1 for s in segments):
            raise TemplateFailed("the template leaves out the newest message")
        return segments

    def _render(self, messages: list[dict[str, str]]) -> str:
        try:
            return self._template.render(
                messages=messages,
                add_generation_prompt=True,
                enable_thinking=False,
                bos_token=self._bos,
                eos_token=self._eos,
                tools=None,
                documents=None,
            )
        except TemplateFailed:
            raise
        except Exception as error:  # noqa: BLE001 - a template is a foreign program and may raise anything
            raise TemplateFailed(type(error).__name__) from None


def _raise_exception(_message: str) -> NoReturn:
    raise TemplateFailed("the template refused the conversation")


def _tojson(value: Any, *, indent: int | None = None, **_: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


# Seconds. A template that needs more processor time is considered malicious, and its process ends.
TIME_S = 10.0
# Bytes that a template may need beyond what the process had before. With more it runs out of memory, which is
# an error.
MEMORY = 1 << 30
_EXIT_STATUS = 86
# Exit statuses of the process of a template that took too long.
ENDED = frozenset({_EXIT_STATUS, -signal.SIGPROF} if sys.platform != "win32" else {_EXIT_STATUS})
_sizes: list[int] = []


def open_sizes() -> None:
    """Opens the file that reports this process's size, before the process may open no more files."""
    if sys.platform == "linux" and not _sizes:
        _sizes.append(os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC))


@contextmanager
def template_limits() -> Iterator[None]:
    """Ends the process when the body takes too long: Python cannot stop a template in any other way.

    The kernel does it, with a signal whose default action is kept. A thread would wait for the interpreter's
    lock, which a single operation on a large number or text can keep indefinitely. Processor time counts,
    because elapsed time on a busy or suspended machine proves nothing.
    """
    if sys.platform == "win32":
        with _watched():
            yield
        return
    with _less_memory():
        signal.setitimer(signal.ITIMER_PROF, TIME_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


@contextmanager
def _less_memory() -> Iterator[None]:
    if not _sizes or sys.platform != "linux":
        yield
        return
    import resource

    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    now = int(os.pread(_sizes[0], 100, 0).split()[0]) * resource.getpagesize()
    soft = now + MEMORY
    if before == resource.RLIM_INFINITY or soft < before:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))


@contextmanager
def _watched() -> Iterator[None]:
    """Enforces the limit with a thread, where there is no such signal.

    The bounds on single operations give the thread a chance to run.
    """
    began, done = time.process_time(), threading.Event()

    def watch() -> None:
        left = TIME_S
        while not done.wait(left):
            left = TIME_S - (time.process_time() - began)
            if left <= 0:
                os._exit(_EXIT_STATUS)

    threading.Thread(target=watch, name="template-limits", daemon=True).start()
    try:
        yield
    finally:
        done.set()
