"""Reads and writes the text of `SKILL.md` files, and checks what a skill may be.

The convention: front matter in YAML with `name` and `description`, then Markdown.
"""

import re
import unicodedata
from typing import Any

import yaml

from memory.errors import SkillInvalid
from memory.skills.entities import SkillFault, SkillText

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
LONGEST_BODY = 100_000
"""Characters."""
FILE_NAME = "SKILL.md"
_LONGEST_FRONT = 65_536
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_OTHER = re.compile(r"[^a-z0-9]+")
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def checked_name(name: str) -> str:
    """Returns the name of a skill: lower-case letters, digits and hyphens. Raises `SkillInvalid`."""
    name = name.strip()
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise SkillInvalid(SkillFault.NAME)
    return name


def checked_text(text: SkillText) -> SkillText:
    """Returns the text with its description on one line, and a body that ends with a line end.

    Raises `SkillInvalid`.
    """
    description = " ".join(text.description.split())
    if not description:
        raise SkillInvalid(SkillFault.NO_DESCRIPTION)
    if len(description) > LONGEST_DESCRIPTION:
        raise SkillInvalid(SkillFault.LONG_DESCRIPTION)
    body = text.body.strip("\n").rstrip()
    if not body.strip():
        raise SkillInvalid(SkillFault.NO_BODY)
    if len(body) > LONGEST_BODY:
        raise SkillInvalid(SkillFault.LONG_BODY)
    return SkillText(description, body + "\n", text.front)


def name_from(words: str) -> str:
    """Returns a name made of a title or the name of a folder; "" if it has no letter or digit of ASCII."""
    plain = unicodedata.normalize("NFKD", words.replace("ß", "ss")).encode("ascii", "ignore").decode()
    parts = _OTHER.sub("-", plain.lower()).strip("-").split("-")
    name = ""
    for part in parts:
        longer = f"{name}-{part}" if name else part
        if len(longer) > LONGEST_NAME:
            break
        name = longer
    return name or parts[0][:LONGEST_NAME]


def read_skill(text: str, folder: str = "") -> tuple[str, SkillText]:
    """Returns name and text of a `SKILL.md`; without a name in it, the name is that of its folder.

    Raises `SkillInvalid`.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    found = _FRONT.match(text)
    if found is None or found.end() > _LONGEST_FRONT:
        raise SkillInvalid(SkillFault.FRONT_MATTER)
    fields = _fields(found[1])
    name = fields.pop("name", None) or name_from(folder)
    description = fields.pop("description", None) or ""
    rest = yaml.safe_dump(fields, allow_unicode=True, sort_keys=False) if fields else ""
    if len(rest) > _LONGEST_FRONT:
        raise SkillInvalid(SkillFault.FRONT_MATTER)
    return checked_name(str(name)), checked_text(SkillText(str(description), text[found.end() :], rest))


def _fields(front: str) -> dict[str, Any]:
    try:
        fields = yaml.safe_load(front)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SkillInvalid(SkillFault.FRONT_MATTER) from error
    if not isinstance(fields, dict) or not all(isinstance(key, str) for key in fields):
        raise SkillInvalid(SkillFault.FRONT_MATTER)
    return fields


def write_skill(name: str, text: SkillText) -> str:
    """Returns the `SKILL.md` of a skill."""
    # Without a width, YAML would fold a long description into several lines.
    own = yaml.safe_dump(
        {"name": name, "description": text.description}, allow_unicode=True, sort_keys=False, width=10_000
    )
    return f"---\n{own}{text.front}---\n\n{text.body}"
