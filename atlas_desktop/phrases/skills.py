"""Texts about skills that both interfaces share."""

from typing import TYPE_CHECKING

from atlas_desktop.locale import N_, _

if TYPE_CHECKING:
    from memory.skills.entities import UsedSkill

_STATES = {"draft": N_("draft"), "approved": N_("approved"), "retired": N_("retired")}
_AUTHORS = {"user": N_("written by you"), "atlas": N_("drafted by Atlas"), "import": N_("imported")}
_FAULTS = {
    "name": N_("A name has at most 64 characters: lower-case letters, digits, and hyphens between them."),
    "no_description": N_("There is no description. It says what the skill is for, and when to use it."),
    "long_description": N_("The description is longer than 1,024 characters."),
    "no_body": N_("There are no instructions."),
    "long_body": N_("The instructions are longer than 100,000 characters."),
    "front_matter": N_("It does not begin with front matter: `---`, `name:`, `description:`, `---`."),
}


def state_text(state: str) -> str:
    return _(_STATES[state])


def author_text(author: str) -> str:
    return _(_AUTHORS[author])


def fault_text(fault: str) -> str:
    """Returns why something cannot be a skill."""
    return _(_FAULTS[fault])


def used_skill_text(used: "UsedSkill") -> str:
    """Returns a skill in a reply, with its version."""
    return _("{name}, version {version}", name=used.name, version=used.version)
