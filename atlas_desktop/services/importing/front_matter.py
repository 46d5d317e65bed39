"""The block of `name: value` lines between two `---` at the beginning of a Markdown file.

Only what front matter is used for is understood: texts, lists of texts, true and false. YAML can do more, and
reading all of it would open more doors than it is worth.
"""

import json
import re
from typing import Any

_FIELD = re.compile(r"([A-Za-z_][\w -]{0,60}?)\s*:(?:\s+(.*))?")
_ITEM = re.compile(r"\s*-\s+(.*)")
_QUOTED = re.compile(r'\s*("(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'|[^,\[\]]+)')
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_LONGEST = 2000
"""Lines."""


def front_matter(words: str) -> tuple[dict[str, Any], str]:
    """The fields by their names in lower case, and the text after them."""
    if not words.startswith("---\n"):
        return {}, words
    lines = words.split("\n", _LONGEST)
    try:
        end = next(place for place, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "..."))
    except StopIteration:
        return {}, words
    fields: dict[str, Any] = {}
    name = ""
    for line in lines[1:end]:
        if name and (item := _ITEM.fullmatch(line)):
            known = fields[name]
            fields[name] = [*(known if isinstance(known, list) else []), _scalar(item[1])]
        elif found := _FIELD.fullmatch(line.rstrip()):
            name = found[1].lower().replace("-", "_").replace(" ", "_")
            fields[name] = _value((found[2] or "").strip())
    return fields, "\n".join(lines[end + 1 :])


def _value(given: str) -> Any:
    if given.startswith("[") and given.endswith("]"):
        return [one for part in _QUOTED.findall(given[1:-1]) if (one := _scalar(part)) not in ("", None)]
    return _scalar(given)


def _scalar(given: str) -> Any:
    words = given.strip()
    if words[:1] == '"' and words[-1:] == '"' and len(words) > 1:
        try:
            return json.loads(words, strict=False)
        except ValueError:
            return words[1:-1]
    if words[:1] == "'" and words[-1:] == "'" and len(words) > 1:
        return words[1:-1].replace("''", "'")
    return _WORDS.get(words.lower(), words)
