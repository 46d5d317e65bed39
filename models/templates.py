"""Chat templates: a conversation becomes segments, of which only the template's own may hold control tokens.

A template is a program that comes with the model file. It runs in Jinja's immutable sandbox, and it never
sees what people wrote: each content is a marker while it renders, and the text between the markers is the
template's own.
"""

import json
import secrets
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from jinja2.ext import loopcontrols
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from models.errors import TemplateFailed
from models.messages import Role

# Used for models whose file brings no template: the most widespread format.
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] }}"
    "{{ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


_MOST_BITS = 4096
_MOST_ITEMS = 1_000_000


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a prompt: the template's own text, or (`message` given) the content of that message."""

    text: str
    message: int | None = None


class _Environment(ImmutableSandboxedEnvironment):
    """A sandbox in which numbers and repeated texts stay small: what stops a template that runs for too long
    may have to wait for a single operation."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if _grows(operator, left, right):
            raise TemplateFailed("a number or a text in the template grows too large")
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
        """The prompt for messages of these roles, in order, ready for a reply.

        Raises `TemplateFailed` when the template refuses the roles or does not show the last message.
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
