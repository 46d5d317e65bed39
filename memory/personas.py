"""The values of personas and of templates of prompts."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Persona:
    """A system prompt with a name; `model` and `temperature` are those that it asks for, if any."""

    id: str
    name: str
    system_prompt: str = field(repr=False)
    created_at: datetime
    updated_at: datetime
    model: str | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class NewPersona:
    """A persona before it is stored."""

    name: str
    system_prompt: str = field(repr=False)
    model: str | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt with a name; `{words in braces}` in its text are asked for when it is used."""

    id: str
    name: str
    text: str = field(repr=False)
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class NewTemplate:
    """A template before it is stored."""

    name: str
    text: str = field(repr=False)
