"""What briefs ask for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.tasks.briefs import Goal, read_brief
from memory.tasks.lexicon import days_in, limits, period_in, values


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("Compare the weight of the three stoves.", Goal.COMPARE),
        ("List the suppliers with their delivery time.", Goal.LIST),
        ("Add up what the repairs of the boat cost.", Goal.SUM),
        ("What is the total cost of the repairs?", Goal.SUM),
        ("Where do the two reports contradict each other?", Goal.CONTRADICTION),
        ("Wann wird der Heizungszähler ausgetauscht?", Goal.ANSWER),
        ("Zähle die Kosten zusammen.", Goal.SUM),
        ("Plan the trip to Lofoten.", Goal.PLAN),
        ("Sum up the reports on the harbour.", Goal.SUMMARY),
        ("Sum up the rent contract.", Goal.SUMMARY),
        ("Sum up the water costs of January to April 2026.", Goal.SUM),
        ("Sum up what we have spent on the boat Marthe.", Goal.SUM),
        ("Sum up what the minutes say.", Goal.SUMMARY),
        ("Sum up the minutes of the meeting.", Goal.SUMMARY),
        ("Sum up the discussion about the price.", Goal.SUMMARY),
        ("Sum up what Mara said about the costs.", Goal.SUMMARY),
        ("Sum up all notes on costs.", Goal.SUMMARY),
        ("Sum up how much we spent.", Goal.SUM),
        ("Sum up the money spent on the boat.", Goal.SUM),
        ("Summiere die Kosten der Heizung.", Goal.SUM),
        ("How much did we spend on heating since October?", Goal.SUM),
        ("Wie viel haben wir 2025 für die Heizung ausgegeben?", Goal.SUM),
        ("¿Cuánto pagamos por el viaje?", Goal.SUM),
        ("How much does the boiler service cost?", Goal.ANSWER),
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
        ("Compare the drum lessons and the swimming course.", ("drum lessons", "swimming course")),
        ("Compare the rent and the berth.", ("rent", "berth")),
        ("Compare my boat with my van.", ("boat", "van")),
        ("Vergleiche mein Boot mit dem Auto.", ("Boot", "Auto")),
        ("Compare the stoves with their weight and price.", ()),
        ("Compare the boat and the garden: colour", ("boat", "garden")),
        ("Vergleiche das Boot und den Garten: Farbe", ("Boot", "Garten")),
        ("Compare the phones with the best battery.", ()),
        ("Compare the three offers with the budget.", ()),
        ("Vergleiche die drei Angebote mit dem Budget.", ()),
        ("Vergleiche die Wohnungen mit dem größten Balkon.", ()),
        ("Compare the bus to the airport and the taxi to the airport.", ()),
        ("Vergleiche die Wohnung mit dem Balkon und die Wohnung mit dem Garten.", ()),
        (
            "Vergleiche die Fahrt nach Berlin und die Fahrt nach Bonn.",
            ("Fahrt nach Berlin", "Fahrt nach Bonn"),
        ),
        ("Compara el viaje por mar y el viaje por tierra.", ("viaje por mar", "viaje por tierra")),
        ("Compare Ibuprofen and aspirin: dose, price", ("Ibuprofen", "aspirin")),
        ("Compare the dose of Ibuprofen and aspirin.", ("Ibuprofen", "aspirin")),
        ("Vergleiche Boot und Garten: Preis", ("Boot", "Garten")),
        ("Compare Lisbon and explain.", ("Lisbon",)),
    ],
)
def test_things_without_names_are_subjects_too(text: str, subjects: tuple[str, ...]) -> None:
    assert read_brief(text).subjects == subjects


def test_a_year_is_no_count() -> None:
    assert read_brief("Compare the prices of the stoves in 2025.").count is None


@pytest.mark.parametrize(
    ("steer", "names"),
    [
        ("Also look at the wheel size and leave out the weight.", ["price", "wheel size"]),
        ("Also the wheel size, but leave out the weight and the price.", ["wheel size"]),
        ("The weight does not matter.", ["price"]),
    ],
)
def test_a_steer_adds_and_takes_back(steer: str, names: list[str]) -> None:
    brief = read_brief(f"Compare the bikes: price, weight\n{steer}")
    assert [one.name for one in brief.attributes] == names


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


@pytest.mark.parametrize("added", ["I meant 2026.", "Ich meinte 2026, mit dem Anstrich."])
def test_a_period_that_corrects_the_first_replaces_it(added: str) -> None:
    period = read_brief(f"Sum up the costs of the boat in 2025\n{added}").period
    assert period is not None
    (before, after) = days_in("3 May 2025 and 3 May 2026")
    assert (period.holds(before), period.holds(after)) == (False, True)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("from January 1 to March 31", ["2026-02"], ["2026-04"]),
        ("between January and April", ["2025-02"], ["2025-05"]),
        ("of November 2025 to February 2026", ["2025-11", "2026-01"], ["2025-10", "2026-03"]),
        ("from 2023 to 2025", ["2024-06"], ["2022-12", "2026-01"]),
        ("since March", ["2026-12"], ["2026-02"]),
        ("from 2026-01 to 2026-02", ["2026-02"], ["2026-03"]),
        ("in January and March 2026", ["2026-01", "2026-03"], ["2026-02", "2025-03"]),
        ("vom November bis Februar", ["2026-12", "2026-02"], ["2026-03"]),
        ("de enero a marzo de 2026", ["2026-02"], ["2025-02"]),
    ],
)
def test_a_period_is_read_with_its_middle_and_its_ends(
    text: str, inside: list[str], outside: list[str]
) -> None:
    period = period_in(text)
    assert period is not None
    assert [period.holds(day) for one in inside for day in days_in(one)] == [True] * len(inside)
    assert [period.holds(day) for one in outside for day in days_in(one)] == [False] * len(outside)


@pytest.mark.parametrize(
    "text",
    [
        "what Jan paid",
        "the costs of Mar del Plata",
        "May you sum up the costs",
        "more than 2000 euros",
        "a Golf 2015",
    ],
)
def test_names_and_amounts_are_no_period(text: str) -> None:
    assert period_in(text) is None


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        # Small words of other languages.
        ("Sum up the costs of the van in 2026", {"van"}),
        ("Add up what we paid for the hat", {"hat"}),
        ("Was hat der Van insgesamt gekostet?", {"van"}),
        ("Rechne zusammen, was die Reise gekostet hat", {"rei"}),
        ("Rechne die Kosten der Reise nach Lissabon zusammen", {"rei", "lissabon"}),
        ("Sum up the payments for the van", {"van"}),
        ("Berechne die Summe der Ausgaben für den Van", {"van"}),
        ("Suma los gastos del coche en 2026", {"coch"}),
    ],
)
def test_a_total_is_about_things_not_about_its_own_words(text: str, topic: set[str]) -> None:
    brief = read_brief(text)
    assert brief.goal is Goal.SUM
    assert brief.topic == topic
