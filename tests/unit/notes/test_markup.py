"""What is read from the text of a note: links, names, tags; and how links follow a new name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.notes.entities import LinkKind, WrittenLink
from memory.notes.markup import (
    folded,
    front_matter,
    own_words,
    path_name,
    read_markup,
    renamed,
    resolved_path,
    snippet,
    title_of,
)

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="[]|#\n\r`<>\\"), min_size=1, max_size=20)


def link(text: str) -> WrittenLink:
    (found,) = read_markup(text).links
    assert (found.begin, found.end) == (text.index(text.strip()), len(text.rstrip()))
    return found


@pytest.mark.parametrize(
    ("text", "target", "heading", "shown"),
    [
        ("[[Boat]]", "Boat", "", ""),
        ("[[Boat|the boat]]", "Boat", "", "the boat"),
        ("[[Boat#Sails|rig]]", "Boat", "Sails", "rig"),
        ("[[ a/b c ]]", "a/b c", "", ""),
        ("[the boat](sub/My%20boat.md#Sails)", "sub/My boat.md", "Sails", "the boat"),
        ("[the boat](<My boat.md>)", "My boat.md", "", "the boat"),
    ],
)
def test_a_link_says_its_target_heading_and_text(text: str, target: str, heading: str, shown: str) -> None:
    found = link(text)
    assert (found.target, found.heading, found.shown, found.kind) == (target, heading, shown, None)


@pytest.mark.parametrize("kind", list(LinkKind))
@pytest.mark.parametrize("form", ["[[{kind}:0193abcd-1|x]]", "[x](atlas://{kind}/0193abcd-1)"])
def test_a_link_by_id_names_its_kind(kind: LinkKind, form: str) -> None:
    found = link(form.format(kind=kind.value))
    assert (found.kind, found.target, found.shown) == (kind, "0193abcd-1", "x")


@pytest.mark.parametrize(
    "text",
    [
        "`[[Boat]]`",
        "``a ` [[Boat]]``",
        "```\n[[Boat]] #tag\n```\n",
        "---\ntitle: '[[Boat]]'\n---\n",
        "[Atlas](https://example.org/a.md)",
        "![[picture.png]]",
        "[[]]",
    ],
)
def test_code_front_matter_addresses_and_pictures_are_no_links(text: str) -> None:
    assert read_markup(text).links == ()
    assert read_markup(text).tags == ()


def test_what_is_indented_in_an_outline_is_no_code() -> None:
    found = read_markup("- a\n\t- b\n\t\t\t- [[Boat]] #sea\n")
    assert [one.target for one in found.links] == ["Boat"]
    assert found.tags == ("sea",)


def test_names_and_tags_come_from_front_matter_properties_and_text() -> None:
    text = (
        "---\ntitle: Log\naliases: [Journal, 'Diary of 2026']\ntags: sea, sail\n---\n"
        "alias:: Book, [[Ledger]]\n# Day #1\n\nAt #sea/north, not #12. See http://x.org/#part\n"
    )
    found = read_markup(text)
    assert found.title == "Log"
    assert found.aliases == ("Journal", "Diary of 2026", "Book", "Ledger")
    assert found.tags == ("sea", "sail", "sea/north")


@pytest.mark.parametrize(
    ("text", "fields", "begin"),
    [
        ("---\na: 1\n---\nx", {"a": 1}, 13),
        ("---\na: [\n---\nx", {}, 13),
        ("---\n- a\n---\nx", {}, 12),
        ("---\na: 1\nx", {}, 0),
        ("a\n---\nb: 1\n---\n", {}, 0),
    ],
)
def test_front_matter_is_yaml_between_dashes_at_the_top(text: str, fields: object, begin: int) -> None:
    assert front_matter(text) == (fields, begin)


def test_quotations_and_code_are_not_the_users_own_words() -> None:
    text = "mine\n\n> theirs\n\nmine `code` too\n"
    assert [text[begin:end].strip() for begin, end in read_markup(text).quoted] == ["> theirs", "`code`"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[[Boat]] and [[boat|it]]", "[[Ship]] and [[Ship|it]]"),
        ("[[sea/Boat#Sails]]", "[[sea/Ship#Sails]]"),
        ("[Boat](sea/Boat.md)", "[Boat](sea/Ship.md)"),
        ("`[[Boat]]` [[Boats]] [[note:0193abcd|Boat]]", "`[[Boat]]` [[Boats]] [[note:0193abcd|Boat]]"),
    ],
)
def test_links_follow_a_new_name_and_other_text_stays(before: str, after: str) -> None:
    assert renamed(before, read_markup(before).links, "Boat", "Ship") == after


@given(WORDS, WORDS, WORDS)
def test_a_renamed_link_names_the_new_note(text: str, old: str, new: str) -> None:
    title, other = " ".join(old.split()), " ".join(new.split())
    if not folded(title) or not folded(other) or "/" in title + other or ":" in title + other:
        return
    before = f"{text} [[{title}]] {text}"
    links = read_markup(before).links
    after = renamed(before, links, title, other)
    assert [one.target for one in read_markup(after).links] == [
        other if folded(one.target) == folded(title) else one.target for one in links
    ]


@given(st.text())
def test_places_are_in_order_and_within_the_text(text: str) -> None:
    found = read_markup(text)
    ends = 0
    for one in found.links:
        assert ends <= one.begin < one.end <= len(text)
        ends = one.end
    for ranges in (found.quiet, found.quoted):
        assert list(ranges) == sorted(ranges)
        assert all(begin < end <= len(text) for begin, end in ranges)


def test_paths_are_named_without_ending_and_from_the_folder_of_the_note() -> None:
    assert title_of("sea/My boat.md") == "My boat"
    assert title_of("a___b.md") == "a/b"
    assert path_name("Sea/Boat.MD") == "sea/boat"
    assert resolved_path("../x/Boat.md", "sea/north/Log.md") == "sea/x/Boat.md"
    assert resolved_path("../../../x.md", "a/b.md") == "../../x.md"


def test_a_snippet_is_the_line_around_a_place() -> None:
    text = "first\nthe [[Boat]] lies here\nlast"
    assert snippet(text, 10, 18) == "the [[Boat]] lies here"
    long = "a " * 200 + "[[Boat]]" + " b" * 200
    found = snippet(long, 400, 408)
    assert found.startswith("…")
    assert found.endswith("…")
    assert "[[Boat]]" in found
    assert len(found) <= 170


def test_only_the_users_own_words_are_learned_from() -> None:
    text = (
        "---\ntitle: I live in Rome.\n---\n# About the harbour\n\nI live in [[Kiel|the city of Kiel]].\n"
        "- [ ] I work at [[Acme]].\n\n> I live in Paris.\n\n```\nI live in Oslo.\n```\n![[Other note]]\n"
    )
    assert own_words(text) == ["About the harbour", "I live in the city of Kiel.", "I work at Acme."]
