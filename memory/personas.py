"""The value types of personas and prompt templates."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Persona:
    """A named system prompt; `model` and `temperature` are those it asks for, if any."""

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
    """A named prompt; the user is asked for each `{placeholder}` in its text when it is used."""

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
