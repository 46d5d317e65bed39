"""What briefs ask for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.tasks.briefs import Goal, read_brief
from memory.tasks.lexicon import limits, values


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("Compare the weight of the three stoves.", Goal.COMPARE),
        ("List the suppliers with their delivery time.", Goal.LIST),
        ("Add up what the repairs of the boat cost.", Goal.SUM),
        ("What is the total cost of the repairs?", Goal.SUM),
        ("Where do the two reports contradict each other?", Goal.CONTRADICTION),
        ("Plan the trip to Lofoten.", Goal.PLAN),
        ("Sum up the reports on the harbour.", Goal.SUMMARY),
        ("What did Mara say about the garden?", Goal.ANSWER),
        ("Vergleiche Preis und Gewicht der drei Kocher.", Goal.COMPARE),
        ("Compara el precio de las tiendas.", Goal.COMPARE),
    ],
)
def test_a_brief_has_a_goal(text: str, goal: Goal) -> None:
    assert read_brief(text).goal is goal


@pytest.mark.parametrize(
    ("text", "attributes", "noun", "count"),
    [
        (
            "Compare the weight, price and boiling time of the three stoves, and say which one suits me.",
            ["weight", "price", "boiling time"],
            "stoves",
            3,
        ),
        ("Compare the four flats by rent and size. Which is cheapest?", ["rent", "size"], "flats", 4),
        ("List the suppliers with their delivery time.", ["delivery time"], "suppliers", None),
        ("List all courses that cost less than 100 euros.", [], "courses", None),
    ],
)
def test_a_brief_says_what_is_wanted_and_of_what(
    text: str, attributes: list[str], noun: str, count: int | None
) -> None:
    brief = read_brief(text)
    assert [one.name for one in brief.attributes] == attributes
    assert (brief.nouns, brief.count) == (noun, count)


def test_names_in_a_brief_are_its_subjects() -> None:
    assert read_brief("Compare Alpine and Brook by price.").subjects == ("Alpine", "Brook")
    three = read_brief("Compare the Fjord Pro, Alpine and Dune tents by weight.")
    assert three.subjects == ("Fjord Pro", "Alpine", "Dune")
    assert read_brief("Vergleiche „Alpin“ und „Bach“ nach Preis.").subjects == ("Alpin", "Bach")


@pytest.mark.parametrize(
    ("text", "subjects"),
    [
        ("Compare the boat, the garden and the piano: price and budget.", ("boat", "garden", "piano")),
        ("Compare the boat and the Alpine stove.", ("boat", "Alpine stove")),
        ("Compare the costs of the boat and the dog, and say which is cheaper.", ("boat", "dog")),
        ("List the price of the concert and the trip.", ("concert", "trip")),
        ("Vergleiche das Boot und den Garten: Preis und Versicherung", ("Boot", "Garten")),
        ("Compare the tents and stoves.", ()),
        ("Compare the weight and warranty of the two stoves.", ()),
        ("Compare my notes on sleep and diet.", ()),
        ("List what I must buy and sell.", ()),
        ("Compare the weight of the Alpine stove and the Brook stove.", ("Alpine", "Brook")),
        ("Compare the old lease and the new lease: rent.", ("old lease", "new lease")),
        ("Compare the light tent and the heavy tent: price.", ("light tent", "heavy tent")),
        ("Compare the boat and the piano by price.", ("boat", "piano")),
        ("Compare the boat and the piano with their price and weight.", ("boat", "piano")),
        ("Compare how much the boat and the garden cost.", ("boat", "garden")),
        ("What is the difference between the lease and the offer?", ("lease", "offer")),
        ("Compare the costs for the boat and the garden.", ("boat", "garden")),
        ("Compare the boat, the garden and the piano: price.\nLeave out the garden.", ("boat", "piano")),
        ("My sister and I want a tent. Compare the boat and the tent.", ("boat", "tent")),
        ("Compara el barco y el jardín: precio.", ("barco", "jardín")),
        ("Compare Alpine and Brook by comfort, noise and warranty.", ("Alpine", "Brook")),
        ("Compare Alpine and Brook for comfort, noise and warranty.", ("Alpine", "Brook")),
        ("Compare Alpine and Brook, warranty and comfort.", ("Alpine", "Brook")),
        ("Compare the hotels Miramar and Sol with breakfast, pool and parking.", ("Miramar", "Sol")),
        ("Compare the phones for battery, camera and screen.", ()),
        ("Compare the stoves with their comfort and noise.", ()),
        ("Compare the costs of the boat, including insurance and mooring.", ()),
        ("List all appointments for May and June.", ()),
        ("List the ingredients of the soup and the salad.", ()),
        ("List the plants of the garden and when to water.", ()),
        ("Compara los móviles con su cámara y su batería.", ()),
        ("Vergleiche die Preise der Zelte und Kocher.", ()),
        ("Compare red and white wine.", ()),
    ],
)
def test_things_without_names_are_subjects_too(text: str, subjects: tuple[str, ...]) -> None:
    assert read_brief(text).subjects == subjects


def test_a_year_is_no_count() -> None:
    assert read_brief("Compare the prices of the stoves in 2025.").count is None


def test_what_is_taken_back_is_not_wanted_any_more() -> None:
    brief = read_brief("Compare the weight and price of the stoves.\nLeave out the price.")
    assert [one.name for one in brief.attributes] == ["weight"]


def test_what_is_added_is_wanted_too() -> None:
    brief = read_brief("Compare the weight of the stoves.\nCompare the fuel of the stoves, too.")
    assert [one.name for one in brief.attributes] == ["weight", "fuel"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I never carry more than 250 g of stove.", [("250 g", False)]),
        ("It may cost at most 40 euros and needs at least 3 days.", [("40 euros", False), ("3 days", True)]),
        ("Under 30 euros, please.", [("30 euros", False)]),
        ("It weighs 310 g.", []),
    ],
)
def test_limits_are_read_with_their_direction(text: str, found: list[tuple[str, bool]]) -> None:
    assert [(one.value.text, one.least) for one in limits(text)] == found


def test_values_have_their_units_and_places() -> None:
    text = "Paid $1,250.50 on 3 May 2024 for four hours, 12 % off; 1.5 kg, 18:30, invoice 2024-117."
    found = values(text)
    assert [one.text for one in found] == ["$1,250.50", "3 May 2024", "four hours", "12 %", "1.5 kg"]
    assert [one.dimension for one in found] == ["money", "date", "duration", "share", "mass"]


@given(st.text(max_size=200))
def test_values_are_exactly_what_stands_at_their_places(text: str) -> None:
    for one in values(text):
        assert text[one.begin : one.end] == one.text


@given(st.text(max_size=200))
def test_any_text_is_a_brief(text: str) -> None:
    brief = read_brief(text)
    assert brief.goal in Goal
    assert all(one.stems for one in brief.attributes)
