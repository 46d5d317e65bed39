"""The settings of the terminal interface."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class UiSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the terminal interface looks."""

    theme: Literal["dark", "light", "contrast-dark", "contrast-light", "terminal"] = "dark"
    reduced_motion: bool = False
    locale: Annotated[str, Meta(max_length=35)] = ""
    frame_rate: Annotated[int, Meta(ge=5, le=60)] = 15
