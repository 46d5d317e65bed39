"""Settings that are given by variables of the environment, each `ATLAS_SECTION_NAME`."""

import tomllib
from collections.abc import Mapping
from typing import Any

from atlas_desktop.settings.descriptions import ENV_PREFIX, SECTIONS, describe

_LIKE = 0.8


def from_environment(environ: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """What is given, as nested raw values."""
    found: dict[str, dict[str, Any]] = {}
    for info in describe():
        raw = environ.get(info.env)
        if raw is not None:
            section, name = info.key.split(".")
            found.setdefault(section, {})[name] = read_value(raw)
    return found


def unknown_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables of a known section and an unknown setting, each with one that is much like it, if any."""
    from difflib import get_close_matches

    known = {info.env for info in describe()}
    sections = tuple(f"{ENV_PREFIX}{section}_".upper() for section in SECTIONS)
    strange = sorted(name for name in environ if name.startswith(sections) and name not in known)
    return {name: next(iter(get_close_matches(name, known, n=1, cutoff=_LIKE)), "") for name in strange}


def read_value(raw: str) -> Any:
    """A value as TOML would read it; anything that is not TOML is a plain text."""
    try:
        return tomllib.loads(f"v = {raw}")["v"]
    except tomllib.TOMLDecodeError:
        return raw
