"""Tells messages that want something done, or to know how it is done, from remarks and questions of fact.

The expressions in `requests.toml` are English, German and Spanish. In other languages no message counts as a
request, and a skill has to be closer to it.
"""

import re
import tomllib
from importlib.resources import files

_LONGEST = 1000
_DATA = tomllib.loads(files("memory.skills").joinpath("requests.toml").read_text(encoding="utf-8"))
_WHY = re.compile(_DATA["why"], re.IGNORECASE)
_WANTS = re.compile(
    "|".join(one for language in ("english", "german", "spanish") for one in _DATA[language]["patterns"]),
    re.IGNORECASE,
)


def asks_for_work(text: str) -> bool:
    """Returns whether a message wants something done, or to know how to do it."""
    line = " ".join(text[:_LONGEST].split())
    return _WHY.match(line) is None and _WANTS.search(line) is not None
