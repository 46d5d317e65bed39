"""Contradiction: what takes the place of what, and what may be true together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.learning.memory_writer import claim, same, supersedes

CITIES = st.sampled_from(["Graz", "Leeds", "Porto", "Malmö", "Cork"])
THINGS = st.sampled_from(["pottery", "jazz", "long meetings", "green tea", "board games"])
WHO = st.sampled_from(["I", "My sister", "My brother Tom", "We"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Ghent.", "I've moved to Graz."),
        ("I live in Ghent at the moment.", "We no longer live in Ghent."),
        ("I work at Oakfield Bank.", "I work at Nordwind Energy now."),
        ("I work for Oakfield Bank.", "I left Oakfield Bank and now work for Nordwind."),
        ("I really enjoy pottery.", "I've come to hate pottery."),
        ("I like my tea hot.", "I hate tea."),
        ("I use Notion as my editor.", "I switched from Notion to Emacs."),
        ("I drive a Volvo.", "I sold the Volvo."),
        ("I'm vegetarian.", "I became vegan in 2020."),
        ("I'm married.", "I got divorced last year."),
        ("My favourite drink is tea.", "My favourite drink is coffee."),
        ("My password is fern.", "My password is oak."),
        ("My sister Maja lives in Oslo.", "My sister moved to Bergen."),
        ("We decided on oak for the floor.", "We decided on cedar for the floor."),
        ("I'm allergic to nuts.", "I'm not allergic to nuts."),
        ("I have a dog.", "I don't have a dog."),
        ("My landlord is Mr. Okoye.", "My landlord is Mr. Lind."),
        ("I have two cats.", "I have three cats."),
        ("Ich habe zwei Kinder.", "Ich habe drei Kinder."),
        ("My landlord is Mr. Okoye.", "My new landlord is Mr. Lind."),
        ("My car is a Saab.", "My new car is a Fiat."),
        ("My boss is Carol Finch.", "My boss is Dan Usher now."),
        ("I work as a paralegal at Hargreaves & Stone.", "I no longer work at Hargreaves & Stone."),
        ("My sister Magda is getting married in June.", "My sister Magda is getting married in July."),
        ("I swim twice a week.", "I don't swim any more."),
        ("I collect stamps.", "I don't collect stamps any more."),
        ("I sing in a choir.", "I don't sing in the choir any more."),
    ],
)
def test_the_newer_holds(old: str, new: str) -> None:
    assert supersedes(claim(new), claim(old))
    assert not same(claim(new), claim(old))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I love tea.", "I love coffee."),
        ("I love music.", "I hate country music."),
        ("I prefer Emacs to Vim.", "I hate Vim."),
        ("My sister lives in Oslo.", "My brother lives in Bergen."),
        ("I live in Oslo.", "My brother lives in Bergen."),
        ("I live in Oslo.", "I live with two cats."),
        ("My favourite drink is tea.", "My favourite film is Alien."),
        ("We decided on oak for the floor.", "We decided on cedar for the shed."),
        ("Last year we went to Cork.", "I hate Cork."),
        ("I speak Welsh.", "I speak Danish."),
        ("We met in Cork in June.", "We met in Cork in July."),
        ("I live in York, in a flat on Bishop Road.", "Ich wohne seit dem 1. August nicht mehr in Kassel."),
        ("I live in York.", "I have not lived in Kassel any more since May."),
        ("I run a bakery in Leeds.", "I don't run any more."),
        ("I swim twice a week.", "I don't sing any more."),
    ],
)
def test_both_may_be_true(old: str, new: str) -> None:
    assert not supersedes(claim(new), claim(old))


@given(WHO, CITIES, CITIES)
def test_somebody_lives_in_one_place(who: str, one: str, other: str) -> None:
    verb = "live" if who in ("I", "We") else "lives"
    old, new = claim(f"{who} {verb} in {one}."), claim(f"{who} {verb} in {other} now.")
    assert supersedes(new, old) == (one != other)
    assert same(new, old) == (one == other)


@given(THINGS, THINGS)
def test_a_dislike_ends_the_like_of_the_same_thing_and_the_other_way_round(one: str, other: str) -> None:
    likes, hates = claim(f"I love {one}."), claim(f"I hate {other}.")
    assert supersedes(hates, likes) == supersedes(likes, hates) == (one == other)


@given(st.text(max_size=120))
def test_nothing_contradicts_itself(text: str) -> None:
    assert not supersedes(claim(text), claim(text)) or claim(text).ended
