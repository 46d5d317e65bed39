"""What there is to be set: every setting with its type, bounds, default, words and variable."""

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import msgspec
from msgspec import Meta

from atlas_desktop.setting_types import (
    BackupSettings,
    ChatSettings,
    ContextSettings,
    JobSettings,
    MemorySettings,
    ModelSettings,
    PrivacySettings,
    RetentionSettings,
    SessionSettings,
)
from atlas_desktop.setting_ui import UiSettings

ENV_PREFIX = "ATLAS_"

_TYPE_WORDS = {
    "bool": "true or false",
    "int": "a whole number",
    "int or nothing": "a whole number",
    "float": "a number",
    "str": "a text",
    "choice": "one of these",
    "list of str": "a list of texts",
}


class Effect(StrEnum):
    """From when on a change is followed."""

    AT_ONCE = "at once"
    MODEL = "from the next start of the model"
    START = "from the next start of Atlas"


# Everything else is asked for when it is needed.
EFFECTS = {
    "models": Effect.MODEL,
    "context.snapshots": Effect.START,
    "context.snapshots_mb": Effect.START,
    "memory.vector_index": Effect.START,
    "jobs": Effect.START,
}


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """One setting as docs and forms show it; `most` is the longest that a text may be, 0 for no bound."""

    key: str
    type: str
    default: Any
    bounds: str
    description: str
    most: int = 0

    @property
    def env(self) -> str:
        return ENV_PREFIX + self.key.replace(".", "_").upper()

    @property
    def wanted(self) -> str:
        """What a value has to be, in words."""
        bounds = {"choice": f": {self.bounds}", "str": f", {self.bounds} characters"}
        of = bounds.get(self.type, f", {self.bounds}") if self.bounds else ""
        return f"expected {_TYPE_WORDS.get(self.type, self.type)}{of}"

    @property
    def effect(self) -> Effect:
        return EFFECTS.get(self.key, EFFECTS.get(self.key.partition(".")[0], Effect.AT_ONCE))


SECTIONS: dict[str, type[msgspec.Struct]] = {
    "chat": ChatSettings,
    "models": ModelSettings,
    "context": ContextSettings,
    "sessions": SessionSettings,
    "memory": MemorySettings,
    "jobs": JobSettings,
    "backup": BackupSettings,
    "retention": RetentionSettings,
    "privacy": PrivacySettings,
    "ui": UiSettings,
}


def describe() -> Iterator[SettingInfo]:
    """Every single setting (the per-model tables have the same fields as `chat`)."""
    for section, struct in SECTIONS.items():
        hints = typing.get_type_hints(struct, include_extras=True)
        defaults = struct()
        for name, hint in hints.items():
            kind, meta = typing.get_args(hint)
            yield SettingInfo(
                f"{section}.{name}",
                _type_name(kind),
                getattr(defaults, name),
                _bounds(kind, meta),
                meta.description or "",
                meta.max_length or 0,
            )


def _type_name(kind: Any) -> str:
    if isinstance(kind, types.UnionType):
        return " or ".join("nothing" if k is type(None) else k.__name__ for k in typing.get_args(kind))
    if typing.get_origin(kind) is Literal:
        return "choice"
    if typing.get_origin(kind) is list:
        return "list of str"
    return str(kind.__name__)


def _bounds(kind: Any, meta: Meta) -> str:
    if typing.get_origin(kind) is Literal:
        return ", ".join(typing.get_args(kind))
    if meta.ge is not None:
        return f"{meta.ge} to {meta.le}"
    if meta.gt is not None:
        return f"above {meta.gt} to {meta.le}"
    return f"at most {meta.max_length}" if meta.max_length else ""
