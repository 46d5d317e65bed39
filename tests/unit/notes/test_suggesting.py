"""Suggested links and unlinked mentions: what is found, why, and that changes leave no traces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memory.notes.entities import LinkReason, Reason
from memory.notes.names import Mention, NoteText
from memory.notes.suggesting import PARTS, LinkSuggester

WORDS = ("tea", "garden", "kettle", "water", "violin", "train")
DIMENSIONS = 4


def held(*notes: NoteText) -> LinkSuggester:
    suggester = LinkSuggester()
    for note in notes:
        suggester.put(note)
    return suggester


def order(suggester: LinkSuggester, note: str) -> list[str]:
    return [one.note for one in suggester.suggest(note)]


BREWING = NoteText("brewing", "Brewing", "Heat the water, then fill the Green Kettles.")
KETTLE = NoteText("kettle", "Green kettle", "Bought in spring.")
MUSIC = NoteText("music", "Music", "The violin is being repaired.")
TRAIN = NoteText("train", "Train", "It leaves at noon.")


# --- suggestions -----------------------------------------------------------------------------------


def test_a_note_that_is_mentioned_comes_first_with_the_place_of_the_mention() -> None:
    best = held(BREWING, KETTLE, MUSIC, TRAIN).suggest("brewing")[0]
    assert best.note == "kettle"
    assert best.reason.why is LinkReason.MENTION
    assert best.reason.at is not None
    begin, end = best.reason.at
    assert BREWING.text[begin:end] == "Green Kettles"


def test_a_note_that_names_this_one_is_suggested_with_the_place_there() -> None:
    best = held(BREWING, KETTLE, MUSIC, TRAIN).suggest("kettle")[0]
    assert (best.note, best.reason.why) == ("brewing", LinkReason.MENTIONED)
    assert best.reason.at is not None
    begin, end = best.reason.at
    assert BREWING.text[begin:end] == "Green Kettles"


@pytest.mark.parametrize(
    ("title", "aliases", "text"),
    [
        ("Kitchen/Kettle", (), "The kettle boils."),
        ("KettleDrum", (), "A kettle drum is loud."),
        ("Appliance 7", ("Samowar",), "The samowar is hot."),
        ("Café", (), "We meet at the cafe."),
        ("緑茶", (), "朝は緑茶を飲みます。"),
    ],
)
def test_names_are_found_by_alias_namespace_case_accents_and_in_any_script(
    title: str, aliases: tuple[str, ...], text: str
) -> None:
    other = NoteText("other", title, "", aliases)
    assert held(NoteText("this", "Today", text), other, MUSIC, TRAIN).suggest("this")[0].note == "other"


def test_a_rare_title_counts_more_than_one_that_is_everywhere() -> None:
    notes = [NoteText(f"n{at}", f"Log {at}", "Work went well.") for at in range(8)]
    common, rare = NoteText("common", "Work", ""), NoteText("rare", "Solder", "")
    this = NoteText("this", "Today", "Work with solder.")
    found = {one.note: one.parts["mention"] for one in held(*notes, common, rare, this).suggest("this", 20)}
    assert found["rare"] > found["common"] > 0


def test_rare_words_that_both_have_are_the_reason_as_they_are_written() -> None:
    notes = (
        NoteText("a", "Monday", "The Thermocouples drift."),
        NoteText("b", "Tuesday", "A thermocouple was replaced."),
    )
    best = held(*notes, MUSIC, TRAIN).suggest("a")[0]
    assert best.note == "b"
    assert best.reason == Reason(LinkReason.WORDS, words=("Thermocouples",))


def test_notes_without_common_words_are_near_by_meaning() -> None:
    suggester = LinkSuggester()
    for note, vector in (("a", [1, 0, 0]), ("b", [0.9, 0.1, 0]), ("c", [0, 1, 0]), ("d", [0, 0, 1])):
        suggester.put(NoteText(note, note * 3, ""), np.array([vector], np.float32))
    best = suggester.suggest("a")[0]
    assert (best.note, best.reason) == ("b", Reason(LinkReason.MEANING))


def test_a_note_about_something_else_is_not_likely_unless_a_fact_speaks_for_it() -> None:
    suggester = LinkSuggester()
    for name, text, vector in (
        ("hull", "The hull needs cotton. Bread is for later.", [1.0, 0.0, 0.0]),
        ("caulking", "Cotton for seams.", [0.8, 0.6, 0.0]),
        ("bread", "It needs flour.", [0.0, 0.0, 1.0]),
        ("taxes", "July needs receipts.", [0.1, 0.0, 1.0]),
    ):
        suggester.put(NoteText(name, name.title(), text), np.array([vector], np.float32))
    found = {one.note: (one.likely, one.reason.why) for one in suggester.suggest("hull")}
    assert found["bread"] == (True, LinkReason.MENTION)
    assert found["caulking"] == (True, LinkReason.MEANING)
    assert found["taxes"] == (False, LinkReason.WORDS)


def test_notes_linked_with_the_same_notes_are_suggested_for_that() -> None:
    suggester = LinkSuggester()
    suggester.put(NoteText("a", "Aaa", ""), links=("hub",))
    suggester.put(NoteText("b", "Bbb", ""), links=("hub",))
    suggester.put(NoteText("hub", "Hub", ""))
    suggester.put(NoteText("c", "Ccc", ""))
    assert [(one.note, one.reason) for one in suggester.suggest("a")] == [
        ("b", Reason(LinkReason.LINKED, notes=("hub",)))
    ]


def test_without_links_the_part_for_links_is_zero() -> None:
    suggestions = held(BREWING, KETTLE, MUSIC).suggest("brewing")
    assert {one.parts["linked"] for one in suggestions} == {0.0}


def test_shared_tags_and_folders_count() -> None:
    suggester = held(
        NoteText("a", "Aaa", "", tags=("Trip",), path="x/a.md"),
        NoteText("b", "Bbb", "", tags=("trip",), path="y/b.md"),
        NoteText("c", "Ccc", "", path="x/c.md"),
        NoteText("d", "Ddd", "", path="y/d.md"),
    )
    assert set(order(suggester, "a")) == {"b", "c"}


def test_neither_the_note_itself_nor_linked_nor_excluded_ones_are_suggested() -> None:
    suggester = held(KETTLE, MUSIC, NoteText("tea", "Tea", "brewing with a kettle"))
    suggester.put(BREWING, links=("tea",))
    assert "kettle" in order(suggester, "brewing")
    assert not {"brewing", "tea", "kettle"} & {
        one.note for one in suggester.suggest("brewing", 10, {"kettle"})
    }


def test_no_more_than_wanted_are_suggested() -> None:
    suggester = held(*(NoteText(str(at), f"Tea {at}", "Tea is hot.") for at in range(9)))
    assert len(suggester.suggest("0", 3)) == 3
    assert suggester.suggest("0", 0) == []


def test_a_note_alone_gets_no_suggestions() -> None:
    assert held(BREWING).suggest("brewing") == []
    assert held(NoteText("empty", "", "")).suggest("empty") == []


def test_an_unknown_note_is_an_error() -> None:
    suggester = held(BREWING)
    with pytest.raises(KeyError):
        suggester.suggest("unknown")
    with pytest.raises(KeyError):
        suggester.mentions("unknown")
    with pytest.raises(KeyError):
        suggester.remove("unknown")


# --- mentions --------------------------------------------------------------------------------------


def places(text: str, *, title: str = "Green tea", quiet: tuple[tuple[int, int], ...] = ()) -> list[str]:
    suggester = held(NoteText("tea", title, "green tea"), NoteText("other", "Other", text, quiet=quiet))
    found = suggester.mentions("tea")
    assert all(one.note == "other" for one in found)
    return [text[one.at[0] : one.at[1]] for one in found]


def test_mentions_are_whole_words_of_one_line_without_regard_to_case() -> None:
    assert places("Green tea, GREEN-TEA, green teas, evergreen tea, green\ntea, green and tea") == [
        "Green tea",
        "GREEN-TEA",
    ]


def test_mentions_regard_no_accents() -> None:
    assert places("the cafe and the CAFÉ", title="Café") == ["cafe", "CAFÉ"]


def test_what_is_quiet_mentions_nothing() -> None:
    assert places("green tea `green tea` green tea", quiet=((10, 21),)) == ["green tea", "green tea"]
    assert places("green [x](y) tea", quiet=((6, 12),)) == []


def test_mentions_are_found_within_scripts_without_spaces() -> None:
    assert places("朝は緑茶を飲みます。", title="緑茶") == ["緑茶"]


def test_the_longest_name_is_taken() -> None:
    suggester = held(NoteText("a", "Tea", "", ("Tea house",)), NoteText("b", "Other", "a tea house"))
    assert suggester.mentions("a") == [Mention("b", (2, 11))]


def test_a_new_title_is_found_in_older_notes_and_the_former_one_no_more() -> None:
    suggester = held(BREWING, KETTLE, MUSIC)
    assert [one.note for one in suggester.mentions("music")] == []
    suggester.put(NoteText("music", "The water", MUSIC.text))
    assert suggester.mentions("music") == [Mention("brewing", (5, 14))]
    suggester.put(MUSIC)
    assert suggester.mentions("music") == []


def test_many_changes_at_once_equal_one_after_another() -> None:
    """So many that all texts are read for new names, and all means are compared anew."""
    chance = np.random.default_rng(1)
    at_once, in_turn = LinkSuggester(), LinkSuggester()
    for number in range(150):
        words = [f"word{one}" for one in chance.integers(0, 60, 12)]
        note = NoteText(f"n{number:03}", " ".join(words[:2]), " ".join(words[2:]), path=f"word{number}.md")
        vectors = chance.normal(size=(2, DIMENSIONS)).astype(np.float32)
        for suggester in (at_once, in_turn):
            suggester.put(note, vectors)
        in_turn.suggest(note.id)
    for name in ("n000", "n077", "n149"):
        (ids, one), (_, other) = at_once.evidence(name), in_turn.evidence(name)
        assert len(ids) == 150
        assert one.parts["mention"].any()
        for part in PARTS:
            assert one.parts[part] == pytest.approx(other.parts[part], abs=1e-4)
        assert at_once.mentions(name) == in_turn.mentions(name)


# --- properties ------------------------------------------------------------------------------------

texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@st.composite
def notes(draw: st.DrawFn) -> tuple[NoteText, NDArray[np.float32] | None, frozenset[str]]:
    vector = st.lists(st.floats(-1, 1, width=32), min_size=DIMENSIONS, max_size=DIMENSIONS)
    vectors = draw(st.none() | st.lists(vector, min_size=1, max_size=3))
    ids = st.sampled_from("abcdef")
    note = NoteText(
        draw(ids),
        draw(st.sampled_from([*WORDS, "tea garden", "x/tea", "緑茶"])),
        draw(texts),
        tuple(draw(st.lists(st.sampled_from(WORDS), max_size=2))),
        tuple(draw(st.lists(st.sampled_from(["t", "u"]), max_size=2))),
        draw(st.sampled_from(["", "x/a.md", "y/b.md"])),
    )
    return note, None if vectors is None else np.array(vectors, np.float32), draw(st.frozensets(ids))


changes = st.lists(notes(), min_size=1, max_size=10)


@given(changes)
def test_scores_and_parts_are_bounded_and_in_order(made: list[tuple[NoteText, None, frozenset[str]]]) -> None:
    suggester = LinkSuggester()
    for note, vectors, links in made:
        suggester.put(note, vectors, links)
    known = {note.id: links for note, _, links in made}
    for id_, links in known.items():
        found = suggester.suggest(id_)
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
        assert len({one.note for one in found}) == len(found)
        assert not {id_, *links} & {one.note for one in found}
        for one in found:
            assert set(one.parts) == set(PARTS)
            assert 0 < one.score <= 1
            assert all(0 <= value <= 1 + 1e-6 for value in one.parts.values())


@given(changes, st.sets(st.sampled_from("abcdef"), max_size=3))
def test_an_index_that_changed_equals_one_built_anew(
    made: list[tuple[NoteText, None, frozenset[str]]], removed: set[str]
) -> None:
    changed, last = LinkSuggester(), {}
    for note, vectors, links in made:
        changed.put(note, vectors, links)
        changed.suggest(note.id)
        last[note.id] = (note, vectors, links)
    for id_ in removed & set(last):
        changed.remove(id_)
        del last[id_]
    anew = LinkSuggester()
    for note, vectors, links in last.values():
        anew.put(note, vectors, links)
    assert len(changed) == len(anew) == len(last)
    for id_ in last:
        one, other = changed.evidence(id_), anew.evidence(id_)
        assert one[0] == other[0]
        for name in PARTS:
            assert one[1].parts[name] == pytest.approx(other[1].parts[name], abs=1e-4)
        assert changed.mentions(id_) == anew.mentions(id_)
