"""`SKILL.md` files: read, checked, written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import SkillInvalid
from memory.skills.entities import (
    SkillFault,
    SkillText,
    checked_name,
    checked_text,
    name_from,
    read_skill,
    write_skill,
)

_LINES = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\x85\u2028\u2029"), min_size=1
)
_TEXTS = _LINES.filter(lambda text: bool(" ".join(text.split()))).map(lambda text: text[:1000])


def test_front_matter_that_is_not_known_is_kept() -> None:
    file = (
        "---\nname: pack-for-sailing\ndescription: How to pack.\nlicense: MIT\n"
        "metadata:\n  version: '1.0'\n---\n\n1. Pack two ropes.\n"
    )
    name, text = read_skill(file)
    assert (name, text.description, text.body) == ("pack-for-sailing", "How to pack.", "1. Pack two ropes.\n")
    assert text.front == "license: MIT\nmetadata:\n  version: '1.0'\n"
    assert write_skill(name, text) == file


def test_a_skill_without_a_name_has_that_of_its_folder() -> None:
    assert read_skill("---\ndescription: x\n---\ny", "Bake Bread (new)")[0] == "bake-bread-new"


@given(_TEXTS, st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).filter(str.strip))
def test_what_is_written_is_read_back(description: str, body: str) -> None:
    text = checked_text(SkillText(description, body))
    assert read_skill(write_skill("a-skill", text)) == ("a-skill", text)


@pytest.mark.parametrize(
    ("file", "fault"),
    [
        ("No front matter.", SkillFault.FRONT_MATTER),
        ("---\n- a list\n---\nx", SkillFault.FRONT_MATTER),
        ("---\nname: [\n---\nx", SkillFault.FRONT_MATTER),
        ("---\nname: a\nx: " + "y" * 70_000 + "\n---\nx", SkillFault.FRONT_MATTER),
        ("---\nname: a\n---\nx", SkillFault.NO_DESCRIPTION),
        ("---\nname: a\ndescription: " + "y" * 1025 + "\n---\nx", SkillFault.LONG_DESCRIPTION),
        ("---\nname: a\ndescription: b\n---\n \n", SkillFault.NO_BODY),
        ("---\nname: a\ndescription: b\n---\n" + "y" * 100_001, SkillFault.LONG_BODY),
        ("---\nname: Not Allowed\ndescription: b\n---\nx", SkillFault.NAME),
    ],
)
def test_what_cannot_be_a_skill_says_why(file: str, fault: SkillFault) -> None:
    with pytest.raises(SkillInvalid) as caught:
        read_skill(file)
    assert caught.value.fault == fault


def test_a_description_of_1024_characters_and_a_name_of_64_are_allowed() -> None:
    assert len(checked_text(SkillText("y" * 1024, "x")).description) == 1024
    assert checked_name("a" * 64) == "a" * 64


@given(st.text())
def test_a_name_made_of_words_is_allowed_or_empty(words: str) -> None:
    name = name_from(words)
    assert name == "" or checked_name(name) == name
