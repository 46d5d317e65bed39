"""The value types of skills: a procedure with its versions, sources and uses."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

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
    """What a version of a skill was drafted from."""

    MESSAGE = "message"
    MEMORY = "memory"


class Verdict(StrEnum):
    """What the user said of a skill in a reply."""

    HELPED = "helped"
    HARMED = "harmed"


class SkillFault(StrEnum):
    """Why something cannot be a skill."""

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
    """One version of a skill. `approved_at` is None while it waits for approval."""

    skill: str
    version: int
    text: SkillText
    author: SkillAuthor
    written_at: datetime
    approved_at: datetime | None
    sources: tuple[SkillSource, ...] = ()


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill as it is in effect, or, while it is a draft, as it waits.

    `pending` is the number of the version that waits for approval, if any.
    `uses` counts replies, `helped` and `harmed` those of which the user said so.
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
