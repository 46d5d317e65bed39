"""What is computed from passages."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.tasks.analysis import Findings, analyse
from memory.tasks.briefs import read_brief
from memory.tasks.entities import Evidence, EvidenceKind
from memory.tasks.facts import read_sentences, subjects_of
from memory.tasks.lexicon import plain


def passages(*texts: tuple[str, str], memories: Sequence[str] = ()) -> list[Evidence]:
    found = [
        Evidence(str(at), "s", at, EvidenceKind.DOCUMENT, f"d{at}", title, 0, len(text), text)
        for at, (title, text) in enumerate(texts, 1)
    ]
    return found + [
        Evidence(f"m{at}", "s", at, EvidenceKind.MEMORY, f"m{at}", "", 0, len(text), text)
        for at, text in enumerate(memories, len(found) + 1)
    ]


def found(brief: str, *texts: tuple[str, str], memories: Sequence[str] = ()) -> Findings:
    return analyse(read_brief(brief), passages(*texts, memories=memories))


def table(findings: Findings) -> dict[str, dict[str, str]]:
    return {row.subject: {name: fact.text for name, fact in row.facts.items()} for row in findings.rows}


STOVES = (
    ("Alpine stove", "The Alpine stove weighs 310 g and costs 45 euros. It boils a litre in 4 minutes."),
    ("Brook stove", "The Brook stove weighs 190 g and costs 28 euros. It boils a litre in 9 minutes."),
)


def test_a_sentence_without_a_name_goes_on_about_the_one_before() -> None:
    findings = found("Compare the price and boiling time of the two stoves.", *STOVES)
    assert table(findings)["Brook stove"] == {"price": "28 euros", "boiling time": "9 minutes"}


def test_rows_of_a_table_are_read_by_their_columns() -> None:
    rows = ("| stove | weight | price |", "| --- | --- | --- |", "| Alpine stove | 310 g | 45 euros |")
    text = "\n".join([*rows, "| Brook stove | 190 g | 28 euros |"])
    findings = found("Compare the weight and price of the stoves Alpine and Brook.", ("Catalogue", text))
    assert table(findings) == {
        "Alpine": {"weight": "310 g", "price": "45 euros"},
        "Brook": {"weight": "190 g", "price": "28 euros"},
    }


def test_a_price_is_not_given_for_two_different_things() -> None:
    findings = found(
        "Compare the harbours Ballyrue and Harrow by the price of the kitchen and the cost of the survey.",
        ("Ballyrue", "The harbour of Ballyrue asks 220 euros a month for a berth."),
        ("Harrow", "In Harrow a survey costs 90 euros."),
    )
    assert table(findings) == {"Ballyrue": {}, "Harrow": {"cost survey": "90 euros"}}
    assert "Ballyrue: price kitchen" in findings.missing


def test_prices_of_different_things_are_read_by_their_columns() -> None:
    rows = (
        "| harbour | kitchen price | survey cost |",
        "| --- | --- | --- |",
        "| Ballyrue | 220 euros | 80 euros |",
    )
    findings = found(
        "Compare the harbours Ballyrue and Harrow by the price of the kitchen and the cost of the survey.",
        ("Prices", "\n".join([*rows, "| Harrow | 90 euros | 40 euros |"])),
    )
    assert table(findings)["Ballyrue"] == {"price kitchen": "220 euros", "cost survey": "80 euros"}


def test_several_subjects_of_one_document_are_told_apart() -> None:
    text = "The Alpine stove costs 45 euros. The Brook stove costs 28 euros."
    assert table(found("Compare the price of the two stoves.", ("Stoves", text))) == {
        "Alpine stove": {"price": "45 euros"},
        "Brook stove": {"price": "28 euros"},
    }


def test_a_limit_of_the_user_decides() -> None:
    findings = found(
        "Compare the weight of the two stoves, and say which one suits me.",
        *STOVES,
        memories=["I never carry more than 250 g of stove.", "I sleep until 9."],
    )
    assert findings.chosen == ("Brook stove",)
    assert [(one.subject, one.fits) for one in findings.verdicts] == [
        ("Alpine stove", False),
        ("Brook stove", True),
    ]


def test_the_cheapest_is_the_one_with_the_least_price() -> None:
    findings = found("Compare the price of the two stoves. Which is cheapest?", *STOVES)
    assert findings.best is not None
    assert (findings.best.subject, findings.best.text) == ("Brook stove", "28 euros")


def test_a_limit_in_a_list_leaves_out_what_breaks_it() -> None:
    findings = found("List all stoves that cost less than 30 euros.", *STOVES)
    assert [row.subject for row in findings.rows] == ["Brook stove"]


def test_what_is_not_stated_is_missing() -> None:
    findings = found("Compare the weight and warranty of the two stoves.", *STOVES)
    assert findings.missing == ("Alpine stove: warranty", "Brook stove: warranty")


def test_words_of_a_question_that_no_found_sentence_has_are_named() -> None:
    texts = (("Boat", "The boat was painted in June. The boat lies in Brest."),)
    findings = found("What do I know about the boat and the caravan?", *texts)
    assert [one.text for one in findings.points] == [
        "The boat was painted in June.",
        "The boat lies in Brest.",
    ]
    assert findings.unspoken == ("caravan",)
    assert findings.missing == ()
    assert found("What do I know about the boat?", *texts).unspoken == ()


BOAT = ("Boat", "The mooring costs 655 euros. The licence for the boat was 85 euros. The boat is blue.")
GARDEN = ("Garden", "The water is turned off in October. Spare key: with Renate. Annual fee 58 euros.")


def test_of_several_things_in_a_question_none_is_left_out() -> None:
    many = (
        "Boat",
        " ".join(f"The boat needed part {number} for {number} euros." for number in range(20, 40)),
    )
    findings = found("What do the boat and the garden cost?", many, GARDEN)
    assert "Annual fee 58 euros." in [one.text for one in findings.points]


def test_asked_for_a_price_amounts_come_first() -> None:
    findings = found("What do the boat and the garden cost?", BOAT, GARDEN)
    assert [one.text for one in findings.points][:3] == [
        "The licence for the boat was 85 euros.",
        "Annual fee 58 euros.",
        "The mooring costs 655 euros.",
    ]
    assert findings.unspoken == ()
    without = found("What does the boat cost?", ("Boat", "The boat is blue. The boat lies in Brest."))
    assert [one.text for one in without.points] == ["The boat is blue.", "The boat lies in Brest."]
    assert without.unspoken == ("cost",)


@pytest.mark.parametrize(
    ("brief", "answer"),
    [
        ("Who is Otto, and what does the boat cost?", "Otto is my neighbour from Kiel."),
        ("How do I end the contract?", "To cancel the contract, write a letter."),
        ("How do I keep the tent warm?", "Close the flaps of the tent."),
    ],
)
def test_a_value_takes_no_place_of_what_is_asked_beside_it(brief: str, answer: str) -> None:
    text = (
        "Otto is my neighbour from Kiel. The boat costs 300 euros. To cancel the contract, write a letter. "
        "The contract was signed on 3 May 2024. Close the flaps of the tent. The tent cost 80 euros."
    )
    assert answer in [one.text for one in found(brief, ("Notes", text)).points]


def test_things_without_names_are_compared() -> None:
    memories = ["My budget for the boat is 900 euros.", "The piano must not cost more than 1,400 euros."]
    piano = ("Your piano", "The new hammers for the piano would be 1,280 euros.")
    brief = "Compare the boat, the garden and the piano: price and budget"
    findings = found(
        brief,
        BOAT,
        ("garden.txt", "Community garden, plot 17. Annual fee 58 euros."),
        piano,
        memories=memories,
    )
    assert table(findings) == {
        "boat": {"price": "655 euros", "budget": "900 euros"},
        "garden": {"price": "58 euros"},
        "piano": {"price": "1,280 euros"},
    }
    assert findings.missing == ("garden: budget", "piano: budget")


CARAVANS = (
    "Caravans we looked at",
    (
        "The Hobby 460 weighs 1,150 kg and costs 8,900 €. It sleeps four.\n\n"
        "The Knaus Sport weighs 1,320 kg and costs 10,400 €. It sleeps five."
    ),
)


@pytest.mark.parametrize("brief", ["Compare the two caravans.", "List the caravans with weight and price."])
def test_things_of_a_list_that_nobody_names_are_rows(brief: str) -> None:
    assert table(found(brief, CARAVANS)) == {
        "Hobby 460": {"weight": "1,150 kg", "price": "8,900 €"},
        "Knaus Sport": {"weight": "1,320 kg", "price": "10,400 €"},
    }


def test_sections_are_rows() -> None:
    sections = (
        "## Haus Seeblick\n\nPreis: 95 Euro pro Nacht. Hunde sind erlaubt.",
        "## Fischerkate\n\nPreis: 110 Euro pro Nacht. Hunde sind verboten.",
    )
    text = "\n\n".join(("# Ferienwohnungen", *sections))
    assert table(found("Vergleiche die Ferienwohnungen: Preis und Hunde", ("Ferienwohnungen", text))) == {
        "Haus Seeblick": {"Preis": "95 Euro", "Hunde": "Hunde sind erlaubt"},
        "Fischerkate": {"Preis": "110 Euro", "Hunde": "Hunde sind verboten"},
    }


def test_items_and_rows_are_things_by_their_list() -> None:
    items = (
        "- Little Oaks: 420 € a month, open 7:30 to 17:00\n- The Burrow: 380 € a month, open 7:00 to 18:00"
    )
    findings = found("Compare the nurseries: price and opening hours.", ("Nurseries near us", items))
    assert table(findings) == {
        "Little Oaks": {"price": "420 €", "opening hours": "open 7:30 to 17:00"},
        "The Burrow": {"price": "380 €", "opening hours": "open 7:00 to 18:00"},
    }
    rows = (
        "| tariff | price | minimum term |",
        "| --- | --- | --- |",
        "| Breeze S | 9.99 € | 24 months |",
        "| Lumo | 12.00 € | none |",
    )
    findings = found("Compare the tariffs: price and minimum term.", ("Phones", "\n".join(rows)))
    assert table(findings)["Lumo"] == {"price": "12.00 €", "minimum term": "none"}


def test_papers_of_one_kind_are_rows() -> None:
    lease = "1. Rent.\nThe rent is £1,150 per month.\n\n2. Term.\nThe tenancy runs for 24 months."
    papers = (
        ("Residential lease, Harbour Row", lease),
        ("Tenancy agreement: Mill Lane", "The monthly rent comes to £980. A deposit of £1,470 is paid."),
        ("Minutes", "Tom asks for another lease. The budget is £600."),
    )
    assert table(found("Compare rent, deposit and term of the two leases.", *papers)) == {
        "Residential lease, Harbour Row": {"rent": "£1,150", "term": "24 months"},
        "Tenancy agreement: Mill Lane": {"rent": "£980", "deposit": "£1,470"},
    }


def test_the_cheapest_of_a_list_is_found_by_comparing() -> None:
    items = "- Little Oaks: 420 € a month\n- The Burrow: 380 € a month"
    findings = found("Which of the nurseries is cheapest?", ("Nurseries near us", items))
    assert findings.best is not None
    assert (findings.chosen, findings.best.text) == (("The Burrow",), "380 €")


def test_the_parts_of_a_text_are_no_things_of_a_kind() -> None:
    """What is asked of no kind in particular is answered by sentences."""
    text = "## Heating\n\nThe heating costs 80 euros.\n\n## Water\n\nThe water costs 20 euros."
    assert found("Compare the offices.", ("House rules", text)).rows == ()


def test_a_year_is_no_number_of_people() -> None:
    findings = found(
        "Compare the Alpine and the Seabird: price and how many people they sleep.",
        ("Alpine", "Built 2014, sleeps four. It costs 8,900 €."),
        ("Seabird", "Sleeps three. It costs 7,250 €."),
    )
    assert [row["people sleep"] for row in table(findings).values()] == ["sleeps four", "Sleeps three"]


def test_the_price_of_an_hour_and_what_is_left_to_pay_are_no_parts_of_a_total() -> None:
    lines = "Invoice 12\n\nNew rope: 40 euros\n\nRepair of the sail, 6 hours at 48 euros each\n"
    findings = found(
        "Add up what the boat cost.", ("Invoice for the boat", f"{lines}\nAmount due: 328 euros")
    )
    assert [total.amount for total in findings.totals] == [Decimal(328)]
    paid = "Invoice 7\n\nCrown: 768.40 euros\n\nLess insurance: -391.00 euros\n\nYou pay: 377.40 euros"
    findings = found("Add up what the crown cost.", ("Invoice of the dentist, crown", paid))
    assert [total.amount for total in findings.totals] == [Decimal("377.40")]


def test_what_the_user_wishes_is_no_fact() -> None:
    said = "Remember that the piano must not cost more than 1400 euros"
    wish = Evidence("q", "s", 9, EvidenceKind.MESSAGE, "q", "", 0, len(said), said)
    papers = passages(BOAT, ("Your piano", "The hammers for the piano would be 1,280 euros."))
    for evidence in ([wish, *papers], [*papers, wish]):
        findings = analyse(read_brief("Compare the price of the boat and the piano."), evidence)
        assert table(findings)["piano"] == {"price": "1,280 euros"}
    said = "The boat costs 85 euros, insured for more than 20,000 euros."
    told = Evidence("q", "s", 9, EvidenceKind.MESSAGE, "q", "", 0, len(said), said)
    findings = analyse(read_brief("Compare the price of the boat and the piano."), [told, *papers[1:]])
    assert table(findings)["boat"] == {"price": "85 euros"}


def test_a_choice_keeps_to_limits_by_what_is_remembered_too() -> None:
    memories = ["The garden costs 58 euros.", "I never pay more than 50 euros."]
    brief = "Compare the price of the boat and the garden, and say which suits me."
    assert found(brief, ("Boat", "The boat costs 45 euros."), memories=memories).chosen == ("boat",)


def test_the_least_budget_is_not_the_cheapest() -> None:
    piano = ("Piano", "The piano costs 1,280 euros. The budget for the piano is 200 euros.")
    boat = ("Boat", "The boat costs 655 euros. The budget for the boat is 900 euros.")
    findings = found("Compare the boat and the piano: price and budget. Which is cheapest?", piano, boat)
    assert findings.chosen == ("boat",)


def test_two_things_that_differ_in_an_adjective_are_two_rows() -> None:
    leases = (("Old lease", "The rent is 700 euros."), ("New lease", "The rent is 900 euros."))
    findings = found("Compare the old lease and the new lease: rent.", *leases)
    assert table(findings) == {"old lease": {"rent": "700 euros"}, "new lease": {"rent": "900 euros"}}


def test_news_of_the_user_are_no_repetition_of_a_memory() -> None:
    said = "I sold the boat in Brest."
    news = Evidence("q", "s", 9, EvidenceKind.MESSAGE, "q", "", 0, len(said), said)
    points = analyse(
        read_brief("Where is the boat?"), [*passages(memories=["The boat is in Brest."]), news]
    ).points
    assert said in [one.text for one in points]


def test_of_what_is_compared_and_not_found_the_row_is_empty() -> None:
    findings = found("Compare the price of the boat and the caravan.", BOAT)
    assert table(findings) == {"boat": {"price": "655 euros"}, "caravan": {}}
    assert findings.missing == ("caravan: price",)


def test_an_item_of_a_list_is_not_about_the_item_before_it() -> None:
    text = "- Berth: 940 € a season\n- Insurance: 168 € a year\n- Survey: soon; the last one cost 310 €"
    told = table(found("Compare the berth and the insurance.", ("Boat", text)))
    assert told == {"berth": {"price": "940 €"}, "insurance": {"price": "168 €"}}


def test_a_passage_that_was_found_for_a_thing_but_does_not_name_it_says_nothing_about_it() -> None:
    choir = "The fee is 45 euros a term. The concert is on 5 December 2026."
    berth = "The berth costs 940 euros a season."
    evidence = [
        replace(one, subject=subject)
        for one, subject in zip(passages(("Choir", choir), ("Boat", berth)), ("garage", "berth"), strict=True)
    ]
    findings = analyse(read_brief("Compare the berth and the garage."), evidence)
    assert table(findings) == {"berth": {"price": "940 euros"}, "garage": {}}
    assert findings.missing == ("garage",)


@pytest.mark.parametrize(
    "text",
    [
        "The Alpine stove is red. The price is 45 euros. The boiling time is 4 minutes.",
        "The Alpine stove is red. Price: 45 euros. Boiling time: 4 minutes.",
    ],
)
def test_a_value_in_the_next_sentence_is_of_the_same_thing(text: str) -> None:
    told = table(found("Compare the price and boiling time of the Alpine and the Brook.", ("Notes", text)))
    assert told["Alpine"] == {"price": "45 euros", "boiling time": "4 minutes"}


@pytest.mark.parametrize(
    ("brief", "text", "expected"),
    [
        (
            "Compare the {} and the {} by price.",
            "The Corsa costs 8,900 € and has 61,000 km; the Fabia costs 9,400 €.",
            {"Corsa": "8,900 €", "Fabia": "9,400 €"},
        ),
        (
            "Compare the {} and the {} by date.",
            "The concert is on 5 December 2026; the rehearsal is the evening before.",
            {"concert": "5 December 2026", "rehearsal": None},
        ),
        (
            "Compare the {} and the {} by price.",
            "The piano is not insured; the violin is insured for 3,000 euros.",
            {"piano": None, "violin": "3,000 euros"},
        ),
    ],
)
def test_of_two_things_in_a_sentence_each_has_its_own_value(
    brief: str, text: str, expected: dict[str, str | None]
) -> None:
    for order in (list(expected), list(expected)[::-1]):
        told = table(found(brief.format(*order), ("Notes", text)))
        values = {name: next(iter(row.values()), None) for name, row in told.items()}
        assert values == expected


def test_a_label_of_one_sign_is_read() -> None:
    told = table(
        found("Compare the boat and the berth by price.", ("Notes", "The boat is red. 水: 5 euros."))
    )
    assert told["berth"] == {}


def test_what_the_reader_may_do_is_not_about_the_thing_before() -> None:
    text = "Take the aspirin three times a day. You may swim again after four weeks."
    told = table(found("Compare the aspirin and the bandage by time.", ("After", text)))
    assert "four weeks" not in told["aspirin"].values()


def test_a_thing_of_its_own_has_its_own_values() -> None:
    text = "The rent is 870 euros. Notice: three months. The deposit of 2,610 euros is with the bank."
    told = table(found("Compare the rent and the berth.", ("Flat", text)))
    assert told["rent"] == {"price": "870 euros"}


def test_what_something_costs_is_in_the_next_sentence() -> None:
    findings = found(
        "What does the swimming course cost?",
        ("Sports", "We offer a swimming course for adults. It costs 60 euros."),
        ("Boat", "The berth costs 940 euros."),
    )
    told = [point.text for point in findings.points]
    assert "It costs 60 euros." in told
    assert "The berth costs 940 euros." not in told


@pytest.mark.parametrize(
    "greeting", ["Hi, the boat repair cost 310 euros", "Hallo, die Miete kostet 310 Euro"]
)
def test_a_message_that_begins_with_a_greeting_says_something(greeting: str) -> None:
    message = Evidence("q", "s", 9, EvidenceKind.MESSAGE, "q", "", 0, len(greeting), greeting)
    assert [one.text for one in read_sentences([message])] == [greeting]
    for alone in ("Dear Anna,", "Sehr geehrte Damen und Herren,", "Hola todos"):
        assert not read_sentences([replace(message, text=alone, end=len(alone))])


def test_sentences_that_differ_in_a_value_are_not_the_same() -> None:
    findings = found("What is the fee?", ("Fees", "In 2025: fee 58 euros. In 2026: fee 60 euros."))
    assert len(findings.points) == 2


def test_a_memory_is_not_told_again_by_the_message_that_it_is_from() -> None:
    said = "Remember that my budget for the boat is 900 euros"
    message = Evidence("q", "s", 9, EvidenceKind.MESSAGE, "q", "", 0, len(said), said)
    memory = passages(memories=["My budget for the boat is 900 euros."])
    for evidence in ([*memory, message], [message, *memory]):
        (point,) = analyse(read_brief("What is my budget for the boat?"), evidence).points
        assert point.evidence.kind is EvidenceKind.MEMORY


MOVE = (
    "Move to Bremen",
    (
        "From: ines@example.org\nDate: Mon, 02 Mar 2026 10:00:00 +0000\n\n"
        "The movers come at seven. They ask 1,150 euros. The piano is extra: 220 euros."
    ),
)
REPAIRS = (
    "Repairs",
    (
        "| date | work | euros |\n| --- | --- | --- |\n"
        "| 2025-02-03 | chimney sweep | 78 |\n| 2026-01-22 | window seal | 49 |"
    ),
)
HOUSEHOLD = (
    (
        "Car insurance",
        "The premium is 412 euros a year. For damage by hail the excess is 150 euros.",
    ),
    ("Harbour Choir", "Members pay 96 euros a year. Students pay half."),
    ("Offer for the roof", "We can repair the north side for 3,400 euros. It takes eight days."),
)
METERS = (
    "meters.csv",
    (
        "| month | electricity in kWh | gas in kWh | cost in euros |\n| --- | --- | --- | --- |\n"
        "| January | 310 | 1420 | 268.40 |\n| February | 280 | 1310 | 251.10 |"
    ),
)


def test_costs_are_added_up_when_they_are_to_be_summed_up() -> None:
    (total,) = found("Sum up the costs of the move.", MOVE).totals
    assert [fact.text for fact in total.facts] == ["1,150 euros", "220 euros"]
    assert (total.amount, total.unit) == (Decimal(1370), "€")
    assert found("Sum up the move.", MOVE).totals == ()


def test_the_head_of_a_column_is_the_unit_of_its_numbers() -> None:
    (total,) = found("Sum up the costs of the repairs.", REPAIRS).totals
    assert [(fact.subject, fact.text) for fact in total.facts] == [
        ("chimney sweep", "78 euros"),
        ("window seal", "49 euros"),
    ]
    assert (total.amount, total.unit) == (Decimal(127), "€")


def test_a_total_names_the_words_of_the_task_that_are_not_in_it() -> None:
    findings = found("Sum up the costs of the repairs and the insurance.", REPAIRS)
    assert findings.totals[0].amount == Decimal(127)
    assert findings.unspoken == ("insurance",)


def test_each_of_several_things_counts_in_a_total_and_what_nobody_pays_does_not() -> None:
    findings = found("Sum up the costs of the car insurance, the choir and the roof.", *HOUSEHOLD)
    (total,) = findings.totals
    assert [fact.text for fact in total.facts] == ["412 euros", "96 euros", "3,400 euros"]
    assert findings.unspoken == ()
    assert [fact.text for fact in findings.not_added] == ["150 euros"]
    findings = found("Sum up the costs of the choir and the dentist.", *HOUSEHOLD)
    assert findings.totals[0].amount == Decimal(96)
    assert findings.unspoken == ("dentist",)


def test_amounts_that_are_not_added_are_named() -> None:
    findings = found(
        "Sum up the costs of the garden, the boat and the dog.",
        ("Garden", "The fee is 58 euros a year, plus 12 euros for compost."),
        ("Boat", "Third-party insurance: 210 euros, excess 250 euros."),
        ("Dog", "The kennel asks 28 euros a day, the vet 62 euros."),
    )
    (total,) = findings.totals
    assert [fact.text for fact in total.facts] == ["58 euros", "210 euros"]
    left = [fact.text for fact in findings.not_added]
    assert left == ["12 euros", "250 euros", "62 euros", "28 euros a day"]


def test_amounts_of_one_rate_have_a_sum_at_that_rate() -> None:
    findings = found(
        "Sum up the costs of the subscriptions.",
        ("Subscriptions", "The paper is 12 euros a month. The radio is 5 euros per month."),
        ("Subscriptions of the office", "The archive is 9 euros a month."),
    )
    (total,) = findings.totals
    assert (total.amount, total.unit) == (Decimal(26), "€ a month")
    assert findings.not_added == ()


def test_the_heads_of_columns_say_what_a_row_is_about() -> None:
    findings = found("Sum up the costs of electricity and gas.", METERS)
    assert findings.totals[0].amount == Decimal("519.5")
    assert findings.unspoken == ()


def test_both_sides_of_a_comparison_without_a_table_are_found() -> None:
    lease = ("Lease", "The rent is 840 euros a month. A dog needs consent.")
    findings = found("Compare the rent and the costs of the movers.", lease, MOVE)
    texts = [one.text for one in findings.points]
    assert "The rent is 840 euros a month." in texts
    assert "They ask 1,150 euros." in texts
    assert findings.unspoken == ()
    assert found("Compare the rent and the costs of the movers.", MOVE).unspoken == ("rent",)


def test_questions_of_the_user_and_heads_of_mails_state_nothing() -> None:
    question = "What is the colour of the door?"
    asked = Evidence("q", "s", 9, EvidenceKind.MESSAGE, "q", "", 0, len(question), question)
    texts = [one.text for one in read_sentences([*passages(MOVE), asked])]
    assert texts == [
        "The movers come at seven.",
        "They ask 1,150 euros.",
        "The piano is extra: 220 euros.",
    ]


def test_sources_that_differ_on_a_value_are_both_named() -> None:
    findings = found(
        "Compare the weight of the stoves Alpine and Brook.",
        *STOVES,
        ("Test of the Alpine stove", "The Alpine stove weighs 350 g."),
    )
    (row,) = [row for row in findings.rows if row.subject == "Alpine"]
    assert {row.facts["weight"].text, row.others["weight"].text} == {"310 g", "350 g"}


def test_amounts_of_the_topic_alone_are_added_up() -> None:
    findings = found(
        "Add up what the repairs of the boat cost.",
        ("Rope", "The repairs of the boat cost 120 euros for rope."),
        ("Paint", "The repairs of the boat cost 80.50 euros for paint."),
        ("Shed", "The repairs of the garden cost 999 euros."),
    )
    (total,) = findings.totals
    assert (total.amount, total.unit) == (Decimal("200.5"), "€")


def test_amounts_in_different_currencies_are_not_added() -> None:
    findings = found(
        "Add up the cost of the boat.",
        ("Rope", "The rope of the boat cost 120 euros."),
        ("Paint", "The paint of the boat cost $80."),
    )
    assert [(str(one.amount), one.unit) for one in findings.totals] == [("120", "€"), ("80", "$")]


def test_contradictions_are_pairs_of_statements_about_the_same() -> None:
    findings = found(
        "Where do the reports on the bridge contradict each other?",
        ("City", "The bridge was opened on 3 May 2001. It is 300 metres long and carries two lanes."),
        ("Club", "The bridge was opened on 4 June 2001. Many people like the bridge."),
    )
    (pair,) = findings.contradictions
    assert [one.text for one in pair] == [
        "The bridge was opened on 3 May 2001.",
        "The bridge was opened on 4 June 2001.",
    ]


def test_a_plan_has_its_dates_in_order_and_its_duties() -> None:
    findings = found(
        "Plan the trip to Skye: dates, costs and what I must bring.",
        ("House", "The house on Skye is free from 9 May 2027. You must bring towels to Skye."),
        ("Ferry", "The ferry to Skye leaves on 2 May 2027. It costs 60 euros."),
    )
    assert [value.text for value, _item in findings.dated] == ["2 May 2027", "9 May 2027"]
    assert [one.text for one in findings.duties] == ["You must bring towels to Skye."]


def test_subjects_are_found_by_their_noun() -> None:
    brief = read_brief("List all hotels.")
    texts = passages(("Hotel Miramar", "Hotel Miramar has a pool."), ("Trips", "We saw the Hotel Astoria."))
    assert subjects_of(brief, texts) == ["Hotel Miramar", "Hotel Astoria"]


@given(st.lists(st.text(max_size=120), min_size=1, max_size=4), st.text(max_size=80))
def test_every_sentence_stands_where_it_says_whatever_the_texts(texts: list[str], brief: str) -> None:
    given_ = passages(*((f"Title {at}", text) for at, text in enumerate(texts)))
    for item in read_sentences(given_):
        begin, end = item.whole
        assert item.evidence.text[begin:end] == item.text
    analyse(read_brief(brief or "Compare all."), given_)


WATER = """month | cold water in m³ | cost in euros
2026-01 | 6.1 | 41.30
2026-02 | 5.4 | 37.80
2026-03 | 5.9 | 40.10
2025-12 | 6.6 | 42.75"""
COSTS = """date | item | euro | paid to
2026-06-21 | Stockholm tar and linseed oil, from the old stock of the yard | 96.80 | chandler
2026-07-18 | mainsail, second-hand | 450.00 | D. Roche
2026-01-10 | larch boards, 6 | 684.00 | sawmill"""


def added(findings: Findings) -> dict[str, str]:
    return {fact.subject: fact.text for total in findings.totals for fact in total.facts}


def test_every_row_of_a_table_is_added_by_itself() -> None:
    findings = found("Sum up all the amounts in euro.", ("costs.csv", COSTS))
    assert added(findings) == {
        "Stockholm tar and linseed oil, from the old stock of the yard, chandler": "96.80 euro",
        "mainsail, second-hand, D. Roche": "450.00 euro",
        "larch boards, 6, sawmill": "684.00 euro",
    }
    assert [total.amount for total in findings.totals] == [Decimal("1230.8")]


@pytest.mark.parametrize(
    ("brief", "sum_"),
    [
        ("Sum up the costs of the water.", "161.95"),
        ("Sum up the water costs of January to March 2026.", "119.2"),
        ("Sum up the water costs of February.", "37.8"),
        ("Sum up what we paid for water in 2025.", "42.75"),
        ("Sum up the water costs from December to January.", "84.05"),
    ],
)
def test_rows_without_words_are_added_by_the_period_of_the_brief(brief: str, sum_: str) -> None:
    findings = found(brief, ("water.csv", WATER))
    assert [total.amount for total in findings.totals] == [Decimal(sum_)]
    others = {fact.text for fact in findings.not_added}
    assert len(added(findings)) + len(others) == 4, "what is outside the period is said"


def test_a_limit_of_the_user_and_what_did_not_happen_are_not_added() -> None:
    findings = found(
        "Sum up the costs of the boat.",
        ("Boat", "The survey of the boat cost 180 euros. A new wheel would be 140 euros."),
        memories=["I want to spend at most 6,000 euros on the boat."],
    )
    assert [fact.text for total in findings.totals for fact in total.facts] == ["180 euros"]
    assert {fact.text for fact in findings.not_added} == {"140 euros", "6,000 euros"}


@pytest.mark.parametrize(
    ("table", "sum_"),
    [
        (
            """date | for | amount | currency | pieces
2026-01-15 | van insurance | 612.00 | EUR | 1
2026-06-18 | van clutch | 1140.00 | EUR | 2
2026-07-09 | cello rental | 29.00 | EUR | 3""",
            "1752 €",
        ),
        ("for | currency | amount\nvan tax | $ | 284\nvan clutch | $ | 16", "300 $"),
        ("for | amount | currency\nvan tax | 284 | EUR\nvan ferry | 120 | CHF", "284 € 120 CHF"),
        ("for | net | currency | total\nvan tyres | 100 | EUR | 119\nvan oil | 200 | EUR | 238", "357 €"),
    ],
)
def test_a_currency_may_have_a_column_of_its_own(table: str, sum_: str) -> None:
    findings = found("Add up what the van cost.", ("bills.csv", table))
    assert " ".join(f"{plain(one.amount)} {one.unit}" for one in findings.totals) == sum_


def test_the_same_bill_in_two_sources_is_added_once() -> None:
    letter = "The new clutch of the van cost 1,140 € on 18 June 2026. In July the van had new tyres for 95 €."
    bills = """date | for | amount | currency
2026-06-18 | van clutch | 1140.00 | EUR
2026-06-20 | van wax | 95.00 | EUR"""
    findings = found("Add up what the van cost.", ("bills.csv", bills), ("letter.txt", letter))
    (total,) = findings.totals
    # The 95 euros are of different days, or perhaps not.
    assert str(total.amount) == "1330"
    assert [fact.text for fact in findings.repeated] == ["1,140 €"]
    tickets = [
        ("a.txt", "Train ticket for Anna, 18 June 2026: 29 €."),
        ("b.txt", "Train ticket for Ben, 18 June 2026: 29 €."),
    ]
    assert str(found("Add up what the train cost.", *tickets).totals[0].amount) == "58"
    # In one source, equal rows are two bills.
    twice = f"{bills}\n2026-06-18 | van clutch | 1140.00 | EUR"
    assert str(found("Add up what the van cost.", ("bills.csv", twice)).totals[0].amount) == "2375"


@pytest.mark.parametrize(
    "text",
    [
        "2026-06-18; van clutch; 1,140 €",
        "In 2026 the van had a new clutch; it cost 1,140 €.",
        "Last autumn, on 3 October 2026, the van needed a clutch for 1,140 €.",
    ],
)
def test_a_date_is_that_of_the_amounts_of_its_sentence(text: str) -> None:
    findings = found("Sum up the costs of the van in 2026", ("van.txt", text))
    assert [fact.text for total in findings.totals for fact in total.facts] == ["1,140 €"]


def test_the_date_of_the_next_one_is_not_that_of_the_last_one() -> None:
    van = "New clutch, 18 June 2026: 1,140 €\nInspection due in October 2026; the last one cost 129 €"
    findings = found("Sum up the costs of the van in 2026", ("The van", van))
    assert [fact.text for total in findings.totals for fact in total.facts] == ["1,140 €"]
    assert [fact.text for fact in findings.not_added] == ["129 €"]


def test_equal_rows_are_several_amounts_and_a_total_is_none() -> None:
    rent = "month | rent in euros\n2026-01 | 800\n2026-02 | 800\n2026-03 | 800\nTotal | 2400"
    findings = found("Sum up the rent in euros.", ("rent.csv", rent))
    assert [total.amount for total in findings.totals] == [Decimal(2400)]
    assert [fact.text for fact in findings.not_added] == ["2400 euros"]


def test_a_bar_in_a_sentence_is_no_table() -> None:
    text = "The survey of the boat: 180 euros | paid in June.\nThe mast of the boat cost 250 euros."
    findings = found("Sum up the costs of the boat.", ("Boat", text))
    assert [total.amount for total in findings.totals] == [Decimal(430)]


@pytest.mark.parametrize(
    ("brief", "added_"),
    [
        ("Sum up the water costs of March.", {"50 euros"}),
        ("Sum up the water costs of January 2026.", {"40 euros"}),
        ("Sum up the water costs since February.", {"50 euros"}),
        ("Sum up the water costs of May.", set[str]()),
        ("Sum up the water costs of 2025.", {"90 euros"}),
    ],
)
def test_months_and_years_in_sentences_are_read(brief: str, added_: set[str]) -> None:
    text = (
        "In January 2026 the water cost 40 euros. In March 2026 the water cost 50 euros. "
        "In 2025 the water cost 90 euros. The water meter cost 12 euros."
    )
    findings = found(brief, ("Water", text))
    assert {fact.text for total in findings.totals for fact in total.facts} == added_
    others = {fact.text for fact in findings.not_added}
    assert others | added_ == {"40 euros", "50 euros", "90 euros", "12 euros"}


def test_an_amount_is_no_year_and_dots_put_the_day_first() -> None:
    text = "work | date | euros\nroof | 05.04.2026 | 2000\ngutter | 12.05.26 | 300\ndoor | 01.04.2026 | 1950"
    findings = found("Sum up the costs in euros of April 2026.", ("repairs.csv", text))
    assert added(findings) == {"roof": "2000 euros", "door": "1950 euros"}


def test_what_a_clause_denies_is_not_the_amount_beside_it() -> None:
    text = (
        "Invoice No. 12 for the garage: 350 euros. The gate of the garage cost 180 euros, VAT not included. "
        "The deposit of 90 euros for the garage was not paid."
    )
    findings = found(
        "Sum up the costs of the garage.",
        ("Garage", text),
        memories=["I paid over 200 euros for the garage door."],
    )
    assert sorted(fact.text for total in findings.totals for fact in total.facts) == [
        "180 euros",
        "200 euros",
        "350 euros",
    ]
    assert [fact.text for fact in findings.not_added] == ["90 euros"]


def test_a_total_line_is_not_added_to_what_it_adds_up_but_counts_alone() -> None:
    items = "Berger, invoice for the boiler\nValve: EUR 212.00\nLabour: EUR 200.00\nTotal: EUR 412.00\n"
    items += "VAT 19 % included: EUR 65.78"
    findings = found("Sum up the invoices from Berger.", ("Berger", items))
    assert [total.amount for total in findings.totals] == [Decimal(412)]
    assert [fact.text for fact in findings.not_added] == ["EUR 412.00", "EUR 65.78"]
    alone = found("Sum up the invoices from Berger.", ("Berger", "Berger, invoice\nTotal: 99,- €"))
    assert [total.amount for total in alone.totals] == [Decimal(99)]


def test_what_came_back_and_what_was_only_estimated_is_not_added() -> None:
    text = (
        "The kitchen taps cost 300 euros. The returned kitchen lamp was 150 euros. "
        "The estimate for the kitchen was 1,900 euros."
    )
    findings = found("Sum up the costs of the kitchen.", ("Kitchen", text))
    assert [fact.text for total in findings.totals for fact in total.facts] == ["300 euros"]
    assert sorted(fact.text for fact in findings.not_added) == ["1,900 euros", "150 euros"]


def test_amounts_said_in_other_words_beside_the_others_are_named() -> None:
    text = (
        "In March 2024 a storm took tiles, replaced for 640 EUR. The chimney was sealed for 385.50 EUR. "
        "In February 2026 the skylight was repaired for 215 EUR."
    )
    findings = found("Add up the repairs of the roof.", ("Roof", text))
    assert [fact.text for total in findings.totals for fact in total.facts] == ["215 EUR"]
    assert [fact.text for fact in findings.not_added] == ["640 EUR", "385.50 EUR"]


def test_a_negative_amount_is_taken_off() -> None:
    text = "Sofa: 1 149,90 €\nSofa discount in June: -50.00 EUR\nSofa cover: 60 euros"
    findings = found("Add up everything for the sofa.", ("Sofa", text))
    assert sum(total.amount for total in findings.totals) == Decimal("1159.9")
    back = found("Sum up the costs of the boat.", ("Boat", "Boat, motor: 410 EUR\nBoat, deposit: -100 EUR"))
    assert [total.amount for total in back.totals] == [Decimal(310)]


def test_of_several_amounts_in_a_row_the_column_of_totals_counts() -> None:
    heating = (
        "| Month | Gas | Sweep | Total |\n| --- | --- | --- | --- |\n"
        "| October 2026 | 97,50 € | 62,00 € | 159,50 € |\n| November 2026 | 128,10 € | | 128,10 € |\n"
        "| Sum | 225,60 € | 62,00 € | 287,60 € |"
    )
    findings = found("Sum up the heating costs since October.", ("Heating", heating))
    assert [total.amount for total in findings.totals] == [Decimal("287.6")]


def test_a_budget_is_no_cost_unless_it_is_asked_for() -> None:
    text = "Canada hotel: 410 EUR\nCanada budget: 2,500 EUR at most"
    findings = found("Sum up what the Canada trip cost.", ("Canada", text))
    assert [total.amount for total in findings.totals] == [Decimal(410)]


def amounts_in(findings: Findings) -> list[str]:
    return [fact.text for total in findings.totals for fact in total.facts]


def test_a_rent_is_no_other_amount_of_the_same_place() -> None:
    findings = found(
        "Compare the rent and notice period of Harbour Row and Mill Lane.",
        (
            "Lease, Harbour Row",
            "2. Rent. The rent is £1,150 per month.\n4. Notice. It ends with two months' notice.",
        ),
        ("Meeting, Harbour Row", "Ines organises the bicycle shed; budget £600."),
        (
            "Mill Lane 8",
            "The monthly rent comes to £980. One month's notice may be given after the first six months.",
        ),
    )
    assert table(findings) == {
        "Harbour Row": {"rent": "£1,150", "notice period": "two months"},
        "Mill Lane": {"rent": "£980", "notice period": "One month"},
    }


def test_what_a_correction_states_is_no_attribute() -> None:
    brief = read_brief(
        "Compare the rent of Ada House and Mill Lane.\nthe rent is in the lease, not in the minutes"
    )
    assert [one.name for one in brief.attributes] == ["rent"]
    brief = read_brief("Compare the rent of Ada House and Mill Lane.\nalso the deposit")
    assert [one.name for one in brief.attributes] == ["rent", "deposit"]


INVOICES = (
    (
        "invoice-104.txt",
        "Tollgate Electrical\nInvoice no. 104\nDate: 12 March 2026\n\nRewiring 420.00\nTotal due £607.80",
    ),
    (
        "plumber.txt",
        "Invoice 88, Osgood\n5 May 2026\n\nWe charge £212.40. The call-out fee of £45 has been waived.",
    ),
    ("Meeting, 22 April 2026", "Ines has spent £540 on the bicycle shed."),
)


@pytest.mark.parametrize(
    ("brief", "amounts"),
    [
        ("Total of all invoices from March to May 2026.", ["£607.80", "£212.40"]),
        ("Add up all invoices in March 2026.", ["£607.80"]),
        ("Add up the invoices of Tollgate Electrical.", ["£607.80"]),
        ("Add up what the electrician charged.", ["£607.80"]),
    ],
)
def test_the_head_of_an_invoice_says_when_it_is_of_and_whose(brief: str, amounts: list[str]) -> None:
    findings = found(brief, *INVOICES)
    assert amounts_in(findings) == amounts
    assert "£540" not in [fact.text for fact in findings.not_added]


def test_invoices_are_listed_with_their_dates_and_amounts() -> None:
    findings = found("List the invoices with date and amount.", *INVOICES)
    assert table(findings) == {
        "invoice-104.txt": {"date": "12 March 2026", "amount": "£607.80"},
        "plumber.txt": {"date": "5 May 2026", "amount": "£212.40"},
    }
    assert list(table(found("List all invoices in May 2026.", *INVOICES))) == ["plumber.txt"]
    assert found("List the boats.", *INVOICES).rows == ()


def test_of_an_invoice_whose_lines_are_not_all_the_total_counts() -> None:
    text = "Rechnung Nr. 311 vom 14.04.2026\n\nWohnzimmer 380,00 €\nFlur 145,00 €\nGesamtbetrag 624,75 €"
    findings = found("Summe der Rechnungen im April 2026", ("maler.txt", text))
    assert amounts_in(findings) == ["624,75 €"]
    assert [fact.text for fact in findings.not_added] == ["380,00 €", "145,00 €"]


def test_amounts_of_a_table_need_no_currency() -> None:
    text = "date | what | category | amount\n2026-03-09 | Paint | decorating | 64.30"
    text += "\n2026-03-21 | Curtains | decorating | 112.00"
    text += "\n2026-04-18 | Lamp | furniture | 38.50\n2026-05-02 | Wallpaper | decorating | 71.20"
    findings = found("Add up what I paid for decorating in March 2026.", ("expenses.csv", text))
    assert amounts_in(findings) == ["64.30", "112.00"]
    assert [total.amount for total in findings.totals] == [Decimal("176.3")]
    other = ("Lease", "In March 2026, the rent was £980.")
    assert amounts_in(found("Add up the expenses in March 2026.", ("expenses.csv", text), other)) == [
        "64.30",
        "112.00",
    ]


def test_what_one_spent_is_a_total_and_the_head_of_a_letter_no_answer() -> None:
    assert read_brief("What did I spend on decorating in March 2026?").goal.value == "sum"
    assert read_brief("Was haben wir für den Garten ausgegeben?").goal.value == "sum"
    text = "From: Ada\nTo: Ben, 14 Harbour Row\nSubject: the cat\n\nYou may keep the cat in Harbour Row."
    findings = found("May I keep a cat in Harbour Row?", ("Mail", text))
    assert [item.text for item in findings.points] == ["You may keep the cat in Harbour Row."]


def test_other_amounts_beside_one_that_is_added_are_named() -> None:
    text = "For the pads of the Skoda we charge 214.50 €. The inspection was 120 €. The clutch: about 950 €."
    findings = found("Add up what the repairs of the Skoda cost.", ("Garage", text))
    assert amounts_in(findings) == ["214.50 €"]
    assert [fact.text for fact in findings.not_added] == ["120 €", "950 €"]


def test_a_plan_adds_only_costs_of_what_is_planned() -> None:
    findings = found(
        "Plan the roof repair: dates, costs.",
        (
            "Meeting",
            "Two quotes for the roof repair: Slate £8,400, Hightop £7,950. The roof repair begins in August.",
        ),
        ("Plumber", "For the repair of the boiler we charge £212.40."),
        ("Lease", "The tenant pays for repairs of the roof up to £75."),
    )
    assert findings.totals == ()
    assert "dates" not in findings.missing


def test_what_one_must_bring_is_in_the_same_letter() -> None:
    mail = "You could pick up the caravan on 25 April 2026. Please bring cash and a number plate."
    findings = found("Plan picking up the caravan: dates, costs and what I must bring.", ("Mail", mail))
    assert "Please bring cash and a number plate." in [item.text for item in findings.points]
    assert "bring" not in findings.missing


def test_who_organises_something_is_a_question() -> None:
    assert read_brief("Who organises the bicycle shed and what did it cost?").goal.value == "answer"
    assert read_brief("Organise the trip: dates, costs.").goal.value == "plan"


def test_two_things_of_one_list_do_not_contradict_each_other() -> None:
    text = "The Hobby weighs 1,150 kg and costs 8,900 €. The Knaus weighs 1,320 kg and costs 11,400 €."
    mail = "The Hobby weighs 1,210 kg and costs 8,900 €."
    findings = found(
        "Where do the offers and the mail contradict each other?", ("Offers", text), ("Mail", mail)
    )
    (pair,) = findings.contradictions
    assert {item.text for item in pair} == {"The Hobby weighs 1,150 kg and costs 8,900 €.", mail}


def test_sentences_of_one_text_do_not_contradict_those_of_another() -> None:
    lease = "The tenant pays a deposit of £1,725 before moving in. The tenant pays for repairs up to £75."
    brief = "Where do the lease and the mail contradict each other?"
    assert found(brief, ("Lease", lease), ("Mail", "The cat may stay.")).contradictions == ()
    assert found("Does the lease contradict itself?", ("Lease", lease)).contradictions != ()


def test_a_firm_of_two_names_is_one() -> None:
    brief = read_brief("Compare the price of Slate & Sons and Hightop Roofing for the roof.")
    assert brief.subjects == ("Slate & Sons", "Hightop Roofing")


BOATS = (
    "Boats",
    # The highest headings are not always those of the first level.
    """
## Gull

The yard asks 11,400 euros. A new sail would cost about 600. It weighs 920 kg.

## Tern

He wants 7,250 for it. It weighs 1,090 kg, too heavy for the Golf.
""",
)


def test_an_amount_without_a_currency_has_that_of_its_source() -> None:
    findings = found("Compare the two boats: price and weight. Which is cheapest?", BOATS)
    assert table(findings) == {
        "Gull": {"price": "11,400 euros", "weight": "920 kg"},
        "Tern": {"price": "7,250", "weight": "1,090 kg"},
    }
    mail = "The cabin costs 318 euros for both of us. Back on the 9th. That's another 296."
    (total,) = found("What did the ferry cost in total?", ("Ferry", mail)).totals
    assert (total.amount, total.unit) == (Decimal(614), "€")
    # Of two currencies, it is not known which one is meant.
    (total,) = found("What did the ferry cost in total?", ("Ferry", f"{mail} Coffee was 4 pounds.")).totals[
        :1
    ]
    assert total.amount == Decimal(318)


def test_what_someone_wants_for_another_thing_is_not_part_of_a_total() -> None:
    garage = ("Garage", "Your car: Golf.\n\nThe amount is 461.13 euros.")
    findings = found("Add up what the Golf cost.", garage, BOATS)
    assert findings.totals[0].amount == Decimal("461.13")


def test_a_model_number_is_part_of_the_name_of_an_item() -> None:
    bikes = "- Woom 4: 7.2 kg, 20 inch\n- Cube Numove 240, 24 inch, 11.8 kg\n- Puky Skyride, 8.4 kg"
    findings = found("Compare the bikes: weight.", ("Bikes for the kids", bikes))
    assert [row.subject for row in findings.rows] == ["Woom 4", "Cube Numove 240", "Puky Skyride"]


def test_the_title_of_a_paper_is_no_value() -> None:
    lease = ("lane.txt", "Tenancy agreement - Harbour Lane 3, Flat 5\n\nThe rent is 1,120 euros.")
    findings = found("Compare Harbour Lane and Linden Street: start of tenancy, rent.", lease)
    assert table(findings)["Harbour Lane"] == {"rent": "1,120 euros"}


def test_a_bound_denies_nothing() -> None:
    minutes = ("minutes-april.md", "The hedge is to be cut by 30 September, not lower than 1.20 m.")
    letter = ("letter-okafor.txt", "Remember that the hedge is to be cut by 30 September.")
    brief = "Where do the minutes of April and the letter of Mrs. Okafor contradict each other?"
    assert found(brief, minutes, letter).contradictions == ()
    assert found(brief, minutes, ("letter-okafor.txt", "The hedge is not to be cut.")).contradictions != ()


def test_contradictions_are_looked_for_in_the_sources_that_are_named() -> None:
    minutes = ("minutes-april.md", "The annual fee stays at 145 euros.")
    letter = ("letter-okafor.txt", "The annual fee rises to 160 euros.")
    other = ("Newsletter", "The annual fee is 150 euros.")
    brief = "Where do the minutes of April and the letter of Mrs. Okafor contradict each other?"
    (pair,) = found(brief, other, minutes, letter).contradictions
    assert {one.evidence.title for one in pair} == {"minutes-april.md", "letter-okafor.txt"}
    # A month and a currency alone are nothing in common.
    offer = ("Offers", "The builder wants 5,320 euros and starts in April.")
    refund = ("Meter", "April 2025: refund of 41.20 euros")
    assert (
        found("Where do the offers and the meter contradict each other?", offer, refund).contradictions == ()
    )


def test_things_of_two_kinds_are_compared_together() -> None:
    bikes = ("Bikes", "- Woom 4: 7.2 kg, 449 euros\n- Puky Skyride, 8.4 kg, 279 euros")
    findings = found("Compare the boats and the bikes: price and weight.", BOATS, bikes)
    assert [row.subject for row in findings.rows] == ["Gull", "Tern", "Woom 4", "Puky Skyride"]
    assert table(findings)["Puky Skyride"] == {"price": "279 euros", "weight": "8.4 kg"}


def test_the_size_of_a_flat_is_an_area() -> None:
    flats = "## Mill Lane\n\nThe flat has 68 square metres. The rent is 980 euros.\n\n"
    flats += "## Harbour Lane\n\nA flat of about 74 m² in the rear building. The rent is 1,120 euros."
    findings = found("Compare the flats: rent and size. Which is the largest?", ("Flats", flats))
    assert table(findings) == {
        "Mill Lane": {"rent": "980 euros", "size": "68 square metres"},
        "Harbour Lane": {"rent": "1,120 euros", "size": "74 m²"},
    }


def test_noise_is_in_decibels_and_a_file_name_is_several_words() -> None:
    text = "1. Orva D6: 389 euros, 44 dB\n2. Nilma Quiet, 549 euros, 39 dB"
    findings = found("Compare the dishwashers: price, noise.", ("Dishwashers", text))
    assert table(findings)["Nilma Quiet"] == {"price": "549 euros", "noise": "39 dB"}
    paper = (
        "reports-dentist.txt",
        "Crown on tooth 26: 768.40 euros\nLess insurance -391.00 euros\nYou pay: 377.40 euros",
    )
    assert found("Add up what we pay for the dentist.", paper).totals != ()


def test_the_parts_of_a_paper_are_about_the_one_thing_that_it_names() -> None:
    linden = (
        "LEASE AGREEMENT\n\nbetween Mrs. Vollmer and Mr. Aldridge for the flat at 14 Linden Street.\n\n"
        "1. The flat has 68 square metres.\n2. The tenancy begins on 1 March 2026.\n"
        "3. The monthly rent is 980 euros.\n4. A deposit of 2,940 euros is to be paid.\n"
        "5. Pets: a cat is allowed; dogs are not."
    )
    harbour = (
        "Tenancy agreement - Harbour Lane 3\n\nThe landlord lets the flat of about 74 m².\n"
        "Rent: EUR 1,120.00 per month.\nSecurity: two months' rent, that is EUR 2,240.00.\n"
        "Animals may not be kept in the flat."
    )
    brief = "Compare the flat in Linden Street and the one at Harbour Lane: rent, size, deposit, pets"
    assert table(found(brief, ("lease-1.txt", linden), ("lease-harbour-lane.txt", harbour))) == {
        "Linden Street": {
            "rent": "980 euros",
            "size": "68 square metres",
            "deposit": "2,940 euros",
            "pets": "Pets: a cat is allowed",
        },
        "Harbour Lane": {
            "rent": "EUR 1,120.00",
            "size": "74 m²",
            "deposit": "EUR 2,240.00",
            "pets": "Animals may not be kept in the flat",
        },
    }


def test_the_parts_of_a_paper_that_names_two_things_are_about_neither() -> None:
    letter = (
        "We looked at the flats in Linden Street and at Harbour Lane.\n\n"
        "1. The view is good.\n2. The rent is 980 euros."
    )
    findings = found("Compare Linden Street and Harbour Lane: rent.", ("Letter", letter))
    assert all(not row.facts for row in findings.rows)


SPENDING = (
    "household spending",
    (
        "Date | What | Amount\n2026-01-08 | Winter tyres for the van | 312.00\n"
        "2026-04-18 | Refund winter tyres, van | -40.00\n2026-05-04 | Van insurance | 418.00"
    ),
)


def test_what_came_back_in_a_table_is_taken_off() -> None:
    (total,) = found("Add up what the van cost in 2026.", SPENDING).totals
    assert [fact.text for fact in total.facts] == ["312.00", "-40.00", "418.00"]
    assert total.amount == Decimal(690)


def test_a_day_of_another_month_is_outside_a_period_in_any_year() -> None:
    minutes = (
        "Allotment: minutes of 16 May 2026",
        "The shed cost £395. Summer party on 18 July; Ruth orders the tent (£85).",
    )
    findings = found("Add up what the allotment cost from March to May 2026.", minutes)
    assert [fact.text for fact in findings.totals[0].facts] == ["£395"]
    assert [fact.text for fact in findings.not_added] == ["£85"]


def test_things_are_told_apart_by_their_compound() -> None:
    prices = (
        "Downs Cycles",
        (
            "## City bikes\n\nModel | Weight\nPelham | 15.2 kg\nFirle | 13.9 kg\n\n"
            "## E-bikes\n\nModel | Weight\nBeacon E | 23.5 kg\nKingston E | 25.8 kg"
        ),
    )
    findings = found("Compare the city bikes and the e-bikes: weight", prices)
    assert [row.subject for row in findings.rows] == ["Pelham", "Firle", "Beacon E", "Kingston E"]


def test_a_letter_about_a_bill_is_no_invoice() -> None:
    letter = (
        "Letter",
        "3 March 2026\n\nI will of course pay the plumber's bill for the sink, £205.08.",
    )
    invoice = ("Plumber", "Invoice no. 118    9 February 2026\nTap and seals £170.90\nTo pay £170.90")
    findings = found("List the invoices of 2026 with their totals.", letter, invoice)
    assert [row.subject for row in findings.rows] == ["Plumber"]


def test_a_plan_counts_what_a_price_comes_to() -> None:
    mail = ("Kayak weekend", "The boats are £38 a day, so for four days £152. The shuttle is £45.")
    (total,) = found("Plan the kayak weekend: costs", mail).totals
    assert [fact.text for fact in total.facts] == ["£152", "£45"]


def test_a_clause_about_another_thing_does_not_come_first() -> None:
    lessons = (
        "Lessons",
        (
            "**Cliffe Strings** – 45 minutes every week for £34, the cello costs £12 a month to rent.\n"
            "**Anna Fuller** – comes to our home, £30 for 40 minutes, 36 lessons a year."
        ),
    )
    brief = "Compare Cliffe Strings and Anna Fuller: price, length of a lesson"
    assert table(found(brief, lessons)) == {
        "Cliffe Strings": {"price": "£34"},
        "Anna Fuller": {"price": "£30"},
    }


def test_an_amount_beside_the_name_is_its_own() -> None:
    minutes = ("Protokoll", "Die Firma Wimmer verlangt dafür 2.450 €, die Firma Hofbauer 2.180 €.")
    brief = "Vergleiche die Angebote von Wimmer und Hofbauer: Preis"
    assert table(found(brief, minutes)) == {
        "Wimmer": {"Preis": "2.450 €"},
        "Hofbauer": {"Preis": "2.180 €"},
    }
    findings = found("Compare Hofbauer and Brandl: price", minutes)
    assert table(findings)["Hofbauer"] == {"price": "2.180 €"}


CYCLES = (
    "Downs Cycles, spring 2026",
    (
        "## City bikes\n\nModel | Weight | Price\nPelham | 15.2 kg | £620\nFirle | 13.9 kg | £745\n\n"
        "## E-bikes\n\nModel | Weight | Price\nBeacon E | 23.5 kg | £2,150\nKingston E | 25.8 kg | £2,690\n"
    ),
)


@pytest.mark.parametrize(
    "brief",
    [
        "Compare the four bikes: weight, price",
        "Compare the bikes of Downs Cycles: weight, price",
        "Compare the city bikes and the e-bikes: weight, price",
    ],
)
def test_neither_a_class_nor_a_shop_is_a_thing(brief: str) -> None:
    findings = found(brief, CYCLES)
    assert [row.subject for row in findings.rows] == ["Pelham", "Firle", "Beacon E", "Kingston E"]
    assert table(findings)["Beacon E"] == {"weight": "23.5 kg", "price": "£2,150"}


def test_things_of_another_shop_are_left_out() -> None:
    other = ("Hill Wheels", "## Bikes\n\nModel | Weight | Price\nTor | 14 kg | £500\nFell | 16 kg | £450\n")
    findings = found("Compare the bikes of Downs Cycles: weight, price", other, CYCLES)
    assert [row.subject for row in findings.rows] == ["Pelham", "Firle", "Beacon E", "Kingston E"]


def test_the_name_of_a_bus_is_one() -> None:
    text = "The Volvo bus weighs 12 tonnes. The Iveco bus weighs 11 tonnes."
    findings = found("Compare the two buses: weight", ("Fleet", text))
    assert [row.subject for row in findings.rows] == ["Volvo bus", "Iveco bus"]


def test_a_verb_is_no_noun() -> None:
    text = "Cliffe Strings: £34 a lesson. Mr. Bannerman teaches. Anna Fuller takes £30."
    assert found("Compare the three cello teachers: price.", ("Lessons", text)).rows == ()


def test_two_amounts_in_millions_contradict_each_other() -> None:
    reports = [
        (name, f"The Sable harbour cost {cost} million euros.") for name, cost in (("A", 63), ("B", 83))
    ]
    (pair,) = found("Where do the reports on the harbour contradict each other?", *reports).contradictions
    assert [value.text for one in pair for value in one.values] == ["63 million euros", "83 million euros"]


def test_who_names_the_newer_of_two_amounts_contradicts_nobody() -> None:
    minutes = ("Protokoll der Versammlung", "Das Hausgeld steigt ab 1. Juli von 210 € auf 235 € im Monat.")
    letter = ("Brief von Henriette", "Das Hausgeld steigt auf 235 €.")
    brief = "Wo widersprechen sich das Protokoll und der Brief von Henriette?"
    assert found(brief, minutes, letter).contradictions == ()


def test_a_total_has_no_offers_beside_each_other_and_no_rise() -> None:
    minutes = (
        "Minutes of Mill Lane 7",
        (
            "The roof of Mill Lane was mended for £486. Wimmer asks £2,450 for the stairs, Hofbauer £2,180. "
            "The charge rises from £210 to £235."
        ),
    )
    (total,) = found("Add up what the repairs in Mill Lane cost.", minutes).totals
    assert [fact.text for fact in total.facts] == ["£486"]


def test_a_total_has_what_a_rate_comes_to() -> None:
    mail = ("Kayak weekend", "The boats are £38 per person, so for two days £152. The shuttle is £45.")
    (total,) = found("Add up what the kayak weekend costs.", mail).totals
    assert [fact.text for fact in total.facts] == ["£152", "£45"]
