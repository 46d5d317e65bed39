"""The settings of the terminal interface."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class UiSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the terminal interface looks."""

    theme: Annotated[
        Literal["dark", "light", "contrast-dark", "contrast-light", "terminal"],
        Meta(description="Colours: dark or light, each also with high contrast, or the terminal's own."),
    ] = "dark"
    reduced_motion: Annotated[bool, Meta(description="Nothing slides, fades or blinks.")] = False
    locale: Annotated[
        str,
        Meta(
            max_length=35,
            description="Whose dates and numbers, as de_DE; empty: the system's (LC_ALL, LC_TIME, LANG).",
        ),
    ] = ""
    frame_rate: Annotated[
        int, Meta(ge=5, le=60, description="How often a streaming reply is drawn, times a second.")
    ] = 15
