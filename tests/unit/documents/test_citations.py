"""Citations: what a reply rests on, letter by letter, and what rests on nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.citations import Case, Generator, is_literal, is_supported, written_cases
from memory.documents.citations import Citation, Cited, Passage, SourceKind, cite


def passage(
    text: str, marker: int = 1, begin: int = 100, title: str = "Handbook", page: int | None = 4
) -> Passage:
    return Passage(
        marker=marker,
        kind=SourceKind.DOCUMENT,
        document=f"d{marker}",
        title=title,
        page=4,
        lines=(10, 10 + text.count("\n")),
        begin=begin,
        end=begin + len(text),
        text=text,
    )


def verified(cited: Cited) -> list[Citation]:
    return [citation for citation in cited.citations if citation.verified]


PUMP = (
    "The Kestrel pump was built in 1987 by Clara Dubois. It moves 6,250 litres an hour at 40 bar.\n"
    "In spring the filter is replaced. Noise must not exceed 62 decibels at night."
)
LEAVE = (
    "Employees receive 30 days of paid leave per year. Unused days expire on 31 March 2025.\n\n"
    "Contractors are not entitled to paid leave. "
    "Requests are sent to Ines Berg at least two weeks in advance."
)
TABLE = "Region | Q1 | Q2\nNorth | 417 | 512\nSouth | 471 | 498\nWest | 390 | 405"
LEASE = """# Lease

The rent is 840 euros a month, due on the third.

## Notice

Notice is three months to the end of a quarter. The deposit of 2,520 euros is returned within six weeks.

## Pets

A dog needs the written consent of the landlord, Mr Okafor."""
GERMAN = (
    "Der Umsatz stieg im Jahr 2023 auf 4,2 Millionen Euro. "
    "Die Leitung übernahm Greta Hansen am 3. März 2024. "
    "Das Werk in Graz beschäftigt 417 Mitarbeiter."
)
JAPANESE = "渡し船は毎朝9時に出発します。片道の料金は1,200円です。冬の間は運航しません。"


@pytest.mark.parametrize(
    ("text", "reply", "quote"),
    [
        (PUMP, "The pump was built in 1987 [1].", "The Kestrel pump was built in 1987 by Clara Dubois."),
        (
            PUMP,
            "Clara Dubois built the Kestrel pump [1].",
            "The Kestrel pump was built in 1987 by Clara Dubois.",
        ),
        (PUMP, "It moves 6250 litres an hour. [1]", "It moves 6,250 litres an hour at 40 bar."),
        (PUMP, "- The filter is replaced in spring [1]", "In spring the filter is replaced."),
        (
            PUMP,
            "**Noise**: it must not exceed 62 decibels [1].",
            "Noise must not exceed 62 decibels at night.",
        ),
        (
            PUMP,
            "According to the handbook, the filter is replaced in spring.",
            "In spring the filter is replaced.",
        ),
        (
            LEAVE,
            "Employees get 30 days of paid leave [1].",
            "Employees receive 30 days of paid leave per year.",
        ),
        (LEASE, "The rent is 840 euros and is due on the third.", LEASE[9:57]),
        (LEASE, "You need the landlord's written consent to keep a dog [1].", LEASE[-59:]),
        (LEAVE, "Unused days expire on March 31, 2025 [1].", "Unused days expire on 31 March 2025."),
        (LEAVE, "Unused days expire on 2025-03-31 [1].", "Unused days expire on 31 March 2025."),
        (LEAVE, "Contractors aren't entitled to paid leave.", "Contractors are not entitled to paid leave."),
        (
            LEAVE,
            "Requests go to Ines Berg at least 2 weeks in advance [1].",
            "Requests are sent to Ines Berg at least two weeks in advance.",
        ),
        (TABLE, "South had 471 in Q1 [1].", "South | 471 | 498"),
        (TABLE, "In Q2, West had 405 [1].", "West | 390 | 405"),
        (GERMAN, "Der Umsatz stieg 2023 auf 4.200.000 Euro [1].", GERMAN[:53]),
        (GERMAN, "Am 03.03.2024 übernahm Greta Hansen die Leitung [1].", GERMAN[54:104]),
        (GERMAN, "In Graz beschäftigt das Werk 417 Mitarbeiter.", GERMAN[105:]),
        (JAPANESE, "片道の料金は1200円です[1]。", "片道の料金は1,200円です。"),
        (JAPANESE, "渡し船は毎朝9時に出発します。", "渡し船は毎朝9時に出発します。"),
    ],
)
def test_a_supported_sentence_is_cited_with_the_range_that_supports_it(
    text: str, reply: str, quote: str
) -> None:
    cited = cite(reply, [passage(text)])
    assert [citation.quote for citation in verified(cited)] == [quote]
    assert cited.unsupported == ()


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        (PUMP, "The Kestrel pump was built in 1978 [1]."),
        (PUMP, "Ines Berg built the Kestrel pump [1]."),
        (PUMP, "It moves 6,520 litres an hour [1]."),
        (PUMP, "It moves 40 litres an hour [1]."),
        (PUMP, "It moves 6,250 gallons a minute at 62 bar [1]."),
        (PUMP, "Noise may exceed 62 decibels at night [1]."),
        (PUMP, "The filter is replaced in autumn by the fire brigade [1]."),
        (PUMP, "The Kestrel pump is exported to Canada."),
        (PUMP, "In winter, the filter is replaced in spring [1]."),
        (LEAVE, "Contractors are entitled to paid leave [1]."),
        (LEAVE, "Contractors receive 30 days of paid leave [1]."),
        (LEAVE, "Employees receive twenty-nine days of paid leave [1]."),
        (LEAVE, "Unused days expire on 31 May 2025 [1]."),
        (LEAVE, "Unused days expire on 31 March 2026."),
        (LEAVE, "Requests are sent to Clara Dubois at least two weeks in advance [1]."),
        (LEAVE, "Requests are sent at most two weeks in advance [1]."),
        (TABLE, "North had 471 in Q1 [1]."),
        (TABLE, "West had 512 in Q2."),
        (TABLE, "South had 471 in Q2 [1]."),
        (GERMAN, "Der Umsatz stieg im Jahr 2023 auf 2,4 Millionen Euro [1]."),
        (LEASE, "The lease ends on the third day of the quarter."),
        (LEASE, "The notice of deposit is returned within six weeks [1]."),
        (LEASE, "A dog needs written consent to return the deposit [1]."),
        (LEASE, "The dog needs the consent of the landlord to return the money for the deposit."),
        ("The rent is 905 euros.\n\nNo dogs.", "The rent is 905 euros, and the door is not a dog."),
        (GERMAN, "Der Umsatz fiel im Jahr 2023 auf 4,2 Millionen Euro [1]."),
        (GERMAN, "Die Leitung übernahm Greta Hansen am 3. Mai 2024."),
        (JAPANESE, "片道の料金は1,300円です[1]。"),
        (JAPANESE, "冬の間は運航します[1]。"),
    ],
)
def test_what_a_passage_does_not_say_is_unsupported(text: str, reply: str) -> None:
    cited = cite(reply, [passage(text)])
    assert verified(cited) == []
    assert [reply[begin:end] for begin, end in cited.unsupported] == [reply]


@pytest.mark.parametrize(
    "reply",
    [
        "Hello!",
        "Sure, here is what I found:",
        "# The pump",
        "Would you like to know more about the pump?",
        "I could not find that in the documents.",
        "The passages do not mention a price.",
        "The price is not in the documents.",
        "Your notes say nothing about a price.",
        "Das Dokument nennt keinen Preis.",
        "Sources:\n[1] Handbook",
        "```\nbuilt = 1999\nprint(built)\n```",
        "",
    ],
)
def test_what_claims_nothing_needs_no_support(reply: str) -> None:
    assert cite(reply, [passage(PUMP)]) == Cited((), ()) or reply.startswith("Sources")
    assert cite(reply, [passage(PUMP)]).unsupported == ()


@pytest.mark.parametrize(
    "reply",
    [
        "Perhaps the manufacturer knows more.",
        "You may find that the pump was built in Norway.",
        "Unfortunately, the pump broke in the harbour.",
        "Your notes say that Marta does not like the pump.",
        "The reports show that nothing was wrong with the engine.",
    ],
)
def test_a_hedge_or_a_denial_does_not_excuse_a_claim(reply: str) -> None:
    assert cite(reply, [passage(PUMP)]).unsupported == ((0, len(reply)),)


@pytest.mark.parametrize("marks", ["“”", '""', "„“", "«»", "「」", "»«"])
def test_a_quotation_is_found_letter_by_letter(marks: str) -> None:
    reply = f"It says {marks[0]}moves 6,250 litres an hour{marks[1]} [1]."
    (citation,) = cite(reply, [passage(PUMP)]).citations
    assert citation.verified
    assert citation.quote == "moves 6,250 litres an hour"
    assert (citation.begin, citation.end) == (100 + PUMP.index("moves"), 100 + PUMP.index(" at 40"))
    assert (citation.page, citation.lines) == (4, (10, 10))


def test_a_quotation_goes_over_line_breaks_and_omissions() -> None:
    cited = cite('It says "at 40 bar. In spring the filter […] at night." [1]', [passage(PUMP)])
    assert [citation.quote for citation in cited.citations] == [
        "at 40 bar.\nIn spring the filter",
        "at night.",
    ]
    assert [citation.lines for citation in cited.citations] == [(10, 11), (11, 11)]


def test_a_quotation_that_is_not_there_is_shown_as_unverified() -> None:
    reply = 'It says "moves 6,520 litres an hour" [1].'
    cited = cite(reply, [passage(PUMP)])
    (citation,) = cited.citations
    assert not citation.verified
    assert citation.quote == "moves 6,520 litres an hour"
    assert (citation.begin, citation.end) == (100, 100 + len(PUMP))
    assert cited.unsupported == ((0, len(reply)),)


def test_a_wrong_marker_is_unverified_and_the_right_passage_is_added() -> None:
    cited = cite("The pump was built in 1987 [1].", [passage(LEAVE, 1), passage(PUMP, 2)])
    assert [(citation.marker, citation.verified) for citation in cited.citations] == [(1, False), (2, True)]
    assert cited.unsupported == ()


def test_a_marker_without_a_passage_is_no_citation() -> None:
    cited = cite("Whales sing at dusk [7].", [passage(PUMP)])
    assert cited.citations == ()
    assert cited.unsupported == ((0, 24),)


@pytest.mark.parametrize("markers", ["[1, 2]", "[1][2]", "[1] [2]", "[2,1]"])
def test_several_passages_support_a_sentence_together(markers: str) -> None:
    reply = f"The pump was built in 1987, and employees receive 30 days of paid leave {markers}."
    cited = cite(reply, [passage(PUMP, 1), passage(LEAVE, 2)])
    assert [(citation.marker, citation.verified) for citation in cited.citations] == [(1, True), (2, True)]
    assert cited.unsupported == ()


def test_each_part_of_a_sentence_has_its_own_marker() -> None:
    reply = (
        "The pump was built in 1987 [1], and employees receive 31 days of paid leave [2]. The filter is old."
    )
    cited = cite(reply, [passage(PUMP, 1), passage(LEAVE, 2)])
    assert [(citation.marker, citation.verified) for citation in cited.citations] == [(1, True), (2, False)]
    assert cited.unsupported[0] == (0, reply.index(" The filter"))


def test_a_citation_tells_its_sentence_and_its_lines() -> None:
    reply = "Good news. The filter is replaced in spring [1]."
    (citation,) = cite(reply, [passage(PUMP)]).citations
    assert reply[slice(*citation.sentence)] == "The filter is replaced in spring [1]."
    assert citation.lines == (11, 11)


def test_the_heading_tells_whom_a_passage_is_about() -> None:
    text = "Joined in 2019 and leads the workshop in Graz."
    source = passage(text, title="Ada Berg")
    assert verified(cite("Ada Berg joined in 2019 [1].", [source]))
    assert not verified(cite("Bob Ito joined in 2019 [1].", [source]))


@pytest.mark.parametrize(
    ("text", "title", "said", "not_said"),
    [
        (
            "The gutter was cleaned for 118 euros.",
            "Roof",
            "The roof's gutter was cleaned for 118 euros.",
            "The roof was cleaned for 118 euros.",
        ),
        (
            "# Roof\n\nThe gutter was cleaned for 118 euros.",
            "Notes on the house",
            "The gutter of the roof was cleaned for 118 euros.",
            "The roof was cleaned for 118 euros.",
        ),
        (
            "It weighs 80 g. The burner weighs 45 g.",
            "Alpine stove",
            "The Alpine stove weighs 80 g.",
            "The Alpine stove weighs 45 g.",
        ),
        (
            "Item | Cost\nGutter | 118 euros\nTiles | 940 euros",
            "Roof",
            "On the roof, the tiles cost 940 euros.",
            "The roof cost 118 euros.",
        ),
        (
            "Die Dachrinne wurde für 118 Euro gereinigt.",
            "Garage",
            "Die Dachrinne der Garage wurde für 118 Euro gereinigt.",
            "Die Garage wurde für 118 Euro gereinigt.",
        ),
    ],
)
def test_a_title_does_not_replace_what_a_sentence_is_about(
    text: str, title: str, said: str, not_said: str
) -> None:
    source = passage(text, title=title)
    assert verified(cite(f"{said} [1]", [source]))
    assert not verified(cite(f"{not_said} [1]", [source]))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("The boat cost 14,800 euros.", "The piano cost 14,800 euros."),
        (
            "The heating was serviced on 3 May for 120 euros.",
            "The piano was serviced on 3 May for 120 euros.",
        ),
        (
            "Water is charged by meter: 2.10 euros a cubic metre.",
            "Gas is charged by meter: 2.10 euros a cubic metre.",
        ),
        # Small words of other languages.
        ("The boat cost 14,800 euros.", "The van cost 14,800 euros."),
        ("My daughter moved to Turku in May.", "My son moved to Turku in May."),
        ("Das Pferd bekommt am 3. Mai einen Sattel.", "Das Kind bekommt am 3. Mai einen Sattel."),
    ],
)
def test_something_else_in_the_same_words_is_not_supported(text: str, other: str) -> None:
    assert verified(cite(f"{text} [1]", [passage(text)]))
    assert not verified(cite(f"{other} [1]", [passage(text)]))
    assert not verified(cite(f"{text} [1]", [passage(other)]))


@pytest.mark.parametrize(
    ("text", "said", "not_said"),
    [
        (
            "Erik has the spare key; Solveig gave hers back in June.",
            "Erik has the spare key.",
            "Erik has the spare key; no one else has it.",
        ),
        (
            "Erik has the spare key; Solveig gave hers back in June.",
            "Solveig gave hers back in June.",
            "Erik has the spare key; he gave it back in June.",
        ),
        (
            "Ada Berg joined in 2019, and she leads the workshop.",
            "Ada Berg joined in 2019; she leads the workshop.",
            "Bob Ito joined in 2019; he leads the workshop.",
        ),
        ("The gate is open at night.", "The gate is open at night.", "The gate is open only at night."),
        (
            "The crane may not be used after 18:00, unless the harbour master agrees.",
            "The crane may not be used after 18:00.",
            "The crane may not be used after 18:00, even if the harbour master agrees.",
        ),
        (
            "Der Vorlauf steht auf 42 Grad, im Winter auf 48 Grad.",
            "Der Vorlauf steht im Winter auf 48 Grad.",
            "Der Vorlauf steht im Winter auf 42 Grad.",
        ),
        (
            "The next survey is in September 2027; the last one cost 310 euros.",
            "The next survey is in September 2027.",
            "The next survey will cost 310 euros.",
        ),
    ],
)
def test_what_a_sentence_says_beyond_its_passage_is_not_supported(
    text: str, said: str, not_said: str
) -> None:
    assert verified(cite(f"{said} [1]", [passage(text)]))
    assert not verified(cite(f"{not_said} [1]", [passage(text)]))


@pytest.mark.parametrize(
    ("text", "said", "not_said"),
    [
        ("Eco: 195 min\nQuick: 30 min\nIntensive: 130 min", "Eco: 195 min", "Eco: 130 min"),
        ("- Battery: 215 €\n- Antifouling: 390 €", "**Battery:** 215 €", "**Battery:** 390 €"),
        ("- Battery: 215 €\n- Antifouling: 390 €", "Antifouling, 390 €", "Antifouling, 215 €"),
        ("Pets are allowed, except dogs.", "Pets are allowed.", "Dogs are allowed."),
        ("Pets are allowed, except dogs.", "Pets are allowed.", "All pets are allowed."),
        (
            "Neither the car nor the trailer may be sold.",
            "The car may not be sold.",
            "The car and the trailer may be sold.",
        ),
        (
            "Are dogs allowed in the flat? The rent is 900 euros.",
            "The rent is 900 euros.",
            "Dogs are allowed in the flat.",
        ),
        (
            "Marlen may stay ashore from 1 November until 15 April.",
            "Marlen may stay ashore until 15 April.",
            "Marlen may stay ashore until 1 November.",
        ),
        (
            "Omar is in Porto until Wednesday.",
            "Omar is in Porto until Wednesday.",
            "Omar is in Porto from Wednesday.",
        ),
        (
            "Fahrräder dürfen im Hof stehen, nicht aber im Flur.",
            "Fahrräder dürfen im Hof stehen.",
            "Fahrräder dürfen im Flur stehen.",
        ),
        (
            "You may drive again after six weeks, and swim after four weeks.",
            "You may drive again after six weeks.",
            "You may drive again after four weeks.",
        ),
        (
            "Frau Keller wird ab dem 1. September 2026 eingestellt.",
            "Frau Keller wird ab 1. September 2026 eingestellt.",
            "Frau Keller wird bis zum 1. September 2026 eingestellt.",
        ),
        ("Do not take aspirin.", 'It says "Do not take aspirin".', 'It says that you should "take aspirin".'),
    ],
)
def test_what_the_own_words_of_a_passage_do_not_say_is_not_supported(
    text: str, said: str, not_said: str
) -> None:
    source = passage(text, title="Notes")
    assert not cite(f"{said} [1]", [source]).unsupported
    assert verified(cite(f"{said} [1]", [source]))
    refused = cite(f"{not_said} [1]", [source])
    assert refused.unsupported or not verified(refused)


def test_what_a_sentence_denies_beside_its_quotation_is_no_matter_of_the_quotation() -> None:
    source = passage("Delivery within nine weeks of the drawing. Removal of the kitchen is not included.")
    reply = (
        'It says "delivery within nine weeks of the drawing" [1], so not from today, '
        'and "Removal of the kitchen is not included" [1].'
    )
    assert [one.quote for one in verified(cite(reply.replace('"d', '"D'), [source]))] == [
        "Delivery within nine weeks of the drawing",
        "Removal of the kitchen is not included",
    ]
    assert not verified(cite('It does not say "Delivery within nine weeks" anywhere. [1]', [source]))


def test_the_place_of_a_passage_in_front_of_its_words_is_no_claim() -> None:
    source = passage(
        "Service\nThe burner is cleaned every two years, and the anode is replaced every four years.",
        title="manual.pdf",
    )
    said = "[6] manual.pdf, page 4: The burner is cleaned every two years."
    found = cite(said, [source])
    assert not found.unsupported
    assert verified(found)
    wrong = cite("manual.pdf, page 4: The burner is cleaned every nine years. [1]", [source])
    assert wrong.unsupported


def test_a_common_word_in_quotation_marks_is_no_quotation() -> None:
    source = passage("The code of the lock is in the red notebook KX-44.")
    assert not verified(cite('The "code" of the lock is 12345. [1]', [source]))
    assert [one.quote for one in verified(cite('It is "KX-44". [1]', [source]))] == ["KX-44"]
    motions = passage('The motion "Dogs in the garden" was withdrawn by Mrs Baptiste.')
    assert not verified(
        cite('The document states that "Dogs in the garden" was carried by twelve votes. [1]', [motions])
    )
    assert verified(cite('The motion "Dogs in the garden" was withdrawn by Mrs Baptiste. [1]', [motions]))
    lease = passage("The tenant pays the landlord two rents. The deposit comes back after nine weeks.")
    assert not verified(cite('Margaret Oduya ("the tenant") keeps the deposit. [1]', [lease]))
    assert verified(cite('It comes back "after nine weeks". [1]', [lease]))
    assert verified(cite('It says that the "tenant pays". [1]', [lease]))


COSTS = "# Costs\n\n- Insurance: 612 € a year, paid in January\n- Road tax: 284 € a year"
DATES = (
    "The next work day is on 6 September 2026 at 9:30. "
    "Hedges may not be cut between 1 March and 30 September."
)


@pytest.mark.parametrize(
    ("text", "said", "supported"),
    [
        (COSTS, "The insurance costs 612 € a year.", True),
        (COSTS, "The insurance costs 284 € a year.", False),
        (COSTS, "Insurance costs 284 € a year.", False),
        (COSTS, "The road tax costs 612 € a year.", False),
        (COSTS, "The road tax is 284 € a year.", True),
        # Something else is done, owned or had.
        ("We sold the boat in May for 900 euros.", "We sold the van in May for 900 euros.", False),
        ("We sold the boat in May for 900 euros.", "The boat was sold in May for 900 euros.", True),
        ("Mr Lindqvist keeps the key of the gate.", "Mr Lindqvist keeps the key of the shed.", False),
        ("Lea needs a new bow, about 220 euros.", "Lea needs a new cello for about 220 euros.", False),
        ("The key is with Jonas, not with Petra any more.", "The key is with Jonas.", True),
        ("The key is with Jonas, not with Petra any more.", "The key is with Jonas and Petra.", False),
        ("The shed cost 340 €; the society pays half of it.", "The society pays all of it.", False),
        ("The shed cost 340 €; the society pays half of it.", "The society pays half of it.", True),
        # Attributes may be in other words.
        ("The tiles cost 940 euros.", "The price for the tiles is 940 euros.", True),
        ("In Graz, 417 employees work on two floors.", "The number of employees in Graz is 417.", True),
        # Only common words, and a clause that is only a date.
        (DATES, "The next work day is on 6 September 2026 at 9:30.", True),
        (DATES, "The next work day is on 6 September 2026.", True),
        (DATES, "The next work day is on 7 September 2026.", False),
        (DATES, "The last work day is on 6 September 2026.", False),
        (DATES, "You may not cut hedges between 1 March and 30 September.", True),
        (DATES, "Hedges may be cut between 1 March and 30 September.", False),
    ],
)
def test_amounts_and_dates_belong_to_what_they_are_said_of(text: str, said: str, *, supported: bool) -> None:
    assert bool(verified(cite(f"{said} [1]", [passage(text)]))) is supported


def test_a_passage_is_as_long_as_its_range() -> None:
    with pytest.raises(ValueError, match="as long"):
        Passage(1, SourceKind.NOTE, "n1", "Note", None, None, 0, 5, "four")


WORDS = st.lists(
    st.sampled_from(
        [
            "Ada",
            "pump",
            "417",
            "471",
            "6,250",
            "not",
            "rose",
            "fell",
            "Oslo",
            "[1]",
            "[2, 3]",
            '"',
            "“",
            "”",
            "「",
            "」",
            ".",
            "?",
            "\n",
            "and",
            "in 2024",
            "3 March 2024",
            "渡し船",
            "。",
            "…",
            "```\n",
            "|",
            "- ",
            "# ",
            "%",
            "€",
        ]
    ),
    max_size=40,
).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(WORDS | st.text(max_size=80), st.lists(WORDS | st.text(max_size=80), max_size=3), st.integers(0, 1000))
def test_a_verified_quotation_is_the_text_of_its_document(reply: str, texts: list[str], begin: int) -> None:
    passages = {marker: passage(text, marker, begin) for marker, text in enumerate(texts, 1)}
    cited = cite(reply, list(passages.values()))
    for citation in cited.citations:
        source = passages[citation.marker]
        if citation.verified:
            assert source.text[citation.begin - begin : citation.end - begin] == citation.quote
            assert citation.quote
        else:
            assert (citation.begin, citation.end) == (source.begin, source.end)
    for first, last in (*cited.unsupported, *(citation.sentence for citation in cited.citations)):
        assert reply[first:last].strip() == reply[first:last] != ""


@settings(max_examples=300, deadline=None)
@given(WORDS | st.text(max_size=80), WORDS)
def test_a_supported_sentence_has_only_numbers_of_its_quotations(reply: str, text: str) -> None:
    cited = cite(reply, [passage(text)])
    for citation in cited.citations:
        sentence = reply[slice(*citation.sentence)]
        alone = not any(mark in sentence for mark in '"“”「」[')
        if citation.verified and alone:
            assert all(number not in sentence or number in citation.quote for number in ("417", "471"))


@pytest.mark.parametrize(
    ("cases", "least_found"),
    [(Generator(5).cases(360), 0.95), (written_cases(), 0.85)],
    ids=["made", "written"],
)
def test_what_is_true_is_found_and_what_is_false_is_not(cases: list[Case], least_found: float) -> None:
    cited = [(case, cite(case.reply, case.passages)) for case in cases]
    assert all(is_literal(case, found) for case, found in cited)
    true = [is_supported(case, found) for case, found in cited if case.source is not None]
    false = [is_supported(case, found) for case, found in cited if case.source is None]
    assert sum(true) >= least_found * len(true)
    assert sum(false) <= 0.05 * len(false)


RULES = (
    "Visitors may not park in the yard after 8 pm. Residents may park in the yard at any time.\n\n"
    "Anna Weber was elected treasurer with 14 votes. Paul Stein received 9 votes."
)


@pytest.mark.parametrize(
    "reply", ["14 [1]", "[1] It is 14.", "Visitors may not park in the yard at any time. [1]"]
)
def test_a_bare_number_and_a_condition_left_out_are_not_verified(reply: str) -> None:
    cited = cite(reply, [passage(RULES)])
    assert verified(cited) == []
    assert len(cited.unsupported) == 1


@pytest.mark.parametrize("reply", ["Residents may park in the yard at any time. [1]", "9 votes [1]"])
def test_what_the_source_says_of_all_times_and_of_what_is_counted_is(reply: str) -> None:
    assert len(verified(cite(reply, [passage(RULES)]))) == 1
