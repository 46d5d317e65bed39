"""The value types of skills, and the text of their `SKILL.md` files."""

import re
import unicodedata
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import yaml

from memory.errors import SkillInvalid

KEPT_VERSIONS = 10


class SkillState(StrEnum):
    """draft: does nothing until it is approved; approved: used where it fits; retired: kept, but not used."""

    DRAFT = "draft"
    APPROVED = "approved"
    RETIRED = "retired"


class SkillAuthor(StrEnum):
    """Who wrote a version: the user, Atlas, or the author of an imported file."""

    USER = "user"
    ATLAS = "atlas"
    IMPORT = "import"


class SourceKind(StrEnum):
    """The kind of source of a version of a skill."""

    MESSAGE = "message"
    MEMORY = "memory"


class Verdict(StrEnum):
    """The user's verdict on a skill in a reply."""

    HELPED = "helped"
    HARMED = "harmed"


class SkillFault(StrEnum):
    """Why something is not a valid skill."""

    NAME = "name"
    NO_DESCRIPTION = "no_description"
    LONG_DESCRIPTION = "long_description"
    NO_BODY = "no_body"
    LONG_BODY = "long_body"
    FRONT_MATTER = "front_matter"


@dataclass(frozen=True, slots=True)
class SkillSource:
    """A message or a memory that a version was drafted from."""

    kind: SourceKind
    id: str


@dataclass(frozen=True, slots=True)
class SkillText:
    """The text of a version. `front` is YAML: the front matter of its file without name and description."""

    description: str = field(repr=False)
    body: str = field(repr=False)
    front: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class NewSkill:
    """A skill before it is stored."""

    name: str
    text: SkillText
    author: SkillAuthor = SkillAuthor.USER
    sources: tuple[SkillSource, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillVersion:
    """One version of a skill. `approved_at` is None until it is approved."""

    skill: str
    version: int
    text: SkillText
    author: SkillAuthor
    written_at: datetime
    approved_at: datetime | None
    sources: tuple[SkillSource, ...] = ()


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill in its approved version, or as a draft.

    `pending` is the number of the version that is waiting for approval, if any. `uses` counts replies,
    `helped` and `harmed` those that the user rated so.
    """

    id: str
    name: str
    text: SkillText
    version: int
    state: SkillState
    author: SkillAuthor
    created_at: datetime
    updated_at: datetime
    approved_at: datetime | None
    pending: int | None = None
    sources: tuple[SkillSource, ...] = ()
    uses: int = 0
    helped: int = 0
    harmed: int = 0

    @property
    def description(self) -> str:
        return self.text.description

    @property
    def body(self) -> str:
        return self.text.body

    @property
    def should_retire(self) -> bool:
        """Whether to offer its retirement: it harmed at least twice, and more often than it helped."""
        return self.state is SkillState.APPROVED and self.harmed >= _HARMS and self.harmed > self.helped


_HARMS = 2


@dataclass(frozen=True, slots=True)
class UsedSkill:
    """A skill in a reply, as it was then. `skill` is its id.

    `message` is the message that was answered, and `tokens` what the skill takes in its preface.
    """

    skill: str
    name: str
    version: int
    message: str = ""
    tokens: int = 0
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class SkillUse:
    """A reply that used a skill."""

    reply: str
    session: str
    version: int
    verdict: Verdict | None


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
