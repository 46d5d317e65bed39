"""What is taken for personal data, what is not, and what stands in its place."""

import json
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_desktop.exporting.document import MemoryRecord
from atlas_desktop.exporting.redaction import KINDS, Redaction, Redactor, kinds_of, pattern_of
from memory.memories.lifetime import luhn
from memory.transfer import TravellingSession
from tests.unit.exporting.talks import MEMORY, TEXTS, THEN, said

EVERYTHING = Redaction(frozenset(KINDS))


def redacted(text: str, *kinds: str, words: tuple[str, ...] = ()) -> str:
    redactor = Redactor(Redaction(frozenset(kinds or KINDS), words))
    redactor.learn_text(text)
    return redactor.text(text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("email", "ana.lopez+x@mail.example.co.uk"),
        ("email", "jürgen@müller.example"),
        ("phone", "+49 170 1234567"),
        ("phone", "+1 (415) 555-2671"),
        ("phone", "(415) 555-2671"),
        ("phone", "415-555-2671"),
        ("phone", "020 7946 0958"),
        ("phone", "0033 1 23 45 67 89"),
        ("phone", "089/1234567"),
        ("phone", "555-0199"),
        ("card", "4111 1111 1111 1111"),
        ("card", "378282246310005"),
        ("card", "5555-5555-5555-4444"),
        ("id", "DE89 3704 0044 0532 0130 00"),
        ("id", "GB29NWBK60161331926819"),
        ("id", "123-45-6789"),
        ("id", "QQ 12 34 56 C".replace("Q", "A", 1).replace("Q", "B", 1)),
        ("id", "12345678Z"),
        ("id", "RSSMRA85T10A562S"),
        ("address", "221B Baker Street"),
        ("address", "1600 Pennsylvania Avenue NW".removesuffix(" NW")),
        ("address", "12 Main St., Apt 4, Springfield, IL 62704"),
        ("address", "14 Harrow Lane, Norwich NR3 1AB"),
        ("address", "Hauptstraße 12a, 10115 Berlin"),
        ("address", "Am Markt 3"),
        ("address", "12 rue de la Paix, 75002 Paris"),
        ("address", "Calle Mayor 25"),
        ("address", "Via Garibaldi 10"),
        ("address", "P.O. Box 1234"),
        ("address", "SW1A 1AA"),
        ("address", "52.52000, 13.40500"),
        ("name", "Anna Schmidt"),
        ("name", "Giulia"),
    ],
)
def test_it_is_found_inside_a_sentence(kind: str, text: str) -> None:
    assert redacted(f"We wrote: {text}, and then left.") == f"We wrote: [{kind} 1], and then left."


def test_what_follows_an_iban_stays_as_it_stands() -> None:
    assert redacted("Pay DE89 3704 0044 0532 0130 00 and wait.") == "Pay [id 1] and wait."


@pytest.mark.parametrize(
    "text",
    [
        "on 2024-05-08 at 12:30, version 1.20.300, port 8080",
        "the years 1998-2004 and 08.05.2023, page 100",
        "192.168.100.200 answered in 0.123456 s",
        "1234 5678 9012 3456 is no card, 0000 0000 0000 0000 neither",
        "id 0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b and hash 9f86d081884c7d659a2feaa0c55ad015",
        "pi is 3.14159265358979, a million is 1,000,000 or 1000000",
        "DE00 3704 0044 0532 0130 00 has wrong check digits",
        "Will it rain in May? Mark the date. The Street was empty. Hope so!",
        "I'm Sorry, this is Great and My Friend Is Here",
        "for i in range(10): print(i)  # e.g. a@b",
        "https://example.org/2024/05/page-12345",
    ],
)
def test_it_is_left_alone(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My name is Xanthe Okonkwo. Xanthe is here.", "My name is [name 1]. [name 1] is here."),
        ("my name is zebulon, zebulon", "my name is [name 1], [name 1]"),
        ("Dear Ms. Fairweather,\nhello", "Dear Ms. [name 1],\nhello"),
        ("See you\nBest regards,\nQuill Harrow", "See you\nBest regards,\n[name 1]"),
        ("my sister Ondine's cat", "my sister [name 1]'s cat"),
        ("Will Turner will come", "[name 1] will come"),
        ("Herr Dr. Schäfer kommt", "Herr Dr. [name 1] kommt"),
        ("I am Wendel Okonkwo-Bell, an Okonkwo", "I am [name 1], an [name 1]"),
        ("ich heiße Ottokar und bin da", "ich heiße [name 1] und bin da"),
    ],
)
def test_who_is_introduced_has_a_name(text: str, expected: str) -> None:
    assert redacted(text, "names") == expected


def test_a_name_that_is_said_late_is_taken_out_everywhere_and_in_every_field() -> None:
    session = said("Brynhild called.", "Who?", "I mean, my colleague Brynhild Voss.", title="Brynhild")
    session = replace(
        session,
        tags=("Voss",),
        category="Of Voss",
        project="For Brynhild",
        system_prompt="You help Brynhild.",
        meta=json.dumps({"by": ["Voss", {"Voss": 1}], "n": 2}),
        messages=(replace(session.messages[0], speaker="Hjördis"), *session.messages[1:]),
    )
    redactor = Redactor(EVERYTHING)
    redactor.learn(session)
    out = redactor.session(session)
    text = (
        repr(out)
        + out.title
        + out.category
        + str(out.tags)
        + str(out.project)
        + str(out.system_prompt)
        + out.meta
    )
    text += "".join(message.content + message.speaker for message in out.messages)
    assert not [name for name in ("Brynhild", "Voss", "Hjördis") if name in text]
    assert [message.id for message in out.messages] == ["m0", "m1", "m2"]
    assert out.messages[0].content == f"{out.title} called."


def test_the_same_has_the_same_mark_and_is_counted() -> None:
    redactor = Redactor(EVERYTHING)
    assert redactor.text("A@x.org +49 170 1234567 a@x.org b@x.org +49-170-1234567") == (
        "[email 1] [phone 1] [email 1] [email 2] [phone 1]"
    )
    assert [(one.text, one.mark, one.count) for one in redactor.found] == [
        ("A@x.org", "[email 1]", 2),
        ("b@x.org", "[email 2]", 1),
        ("+49 170 1234567", "[phone 1]", 2),
    ]
    assert redactor.counts() == {"emails": 3, "phones": 2}


def test_own_words_are_found_in_any_case_and_script_but_not_inside_others() -> None:
    words = ("Project Heron", "漢字", "ann", "C++", "  ")
    text = "PROJECT\n heron, 日本漢字文, Ann and annual, C++."
    assert (
        redacted(text, "words", words=words)
        == "[removed 1], 日本[removed 2]文, [removed 3] and annual, [removed 4]."
    )
    composed, apart = "Zoë", "Zoe\u0308"
    assert redacted(apart, "words", words=(composed,)) == "[removed 1]"
    assert pattern_of([" "]) is None


def test_only_the_kinds_that_were_asked_for_go() -> None:
    text = "Anna, a@x.org, 4111 1111 1111 1111"
    assert redacted(text, "cards") == "Anna, a@x.org, [card 1]"
    assert redacted(text, "names", "emails") == "[name 1], [email 1], 4111 1111 1111 1111"


def test_memories_are_redacted_too() -> None:
    redactor = Redactor(EVERYTHING)
    memory = redactor.memory(replace(MEMORY, text="Write to a@x.org", subject="Anna", project="Home"))
    assert (memory.text, memory.subject, memory.project) == ("Write to [email 1]", "[name 1]", "Home")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("all", frozenset(KINDS)),
        ("names,e-mail", frozenset({"names", "emails"})),
        ("Phone, card", frozenset({"phones", "cards"})),
        ("0197a1b2", None),
        ("", None),
    ],
)
def test_kinds_are_read_from_a_list(text: str, expected: frozenset[str] | None) -> None:
    assert kinds_of(text) == expected


@given(TEXTS | st.text("0123456789 -+().@aA/ß\n", max_size=60))
def test_what_is_found_lies_apart_and_nothing_else_changes(text: str) -> None:
    redactor = Redactor(EVERYTHING)
    redactor.learn_text(text)
    out = redactor.text(text)
    taken = sum(one.count for one in redactor.found)
    assert out == text if not taken else out != text


@given(st.integers(10**14, 10**18 - 1))
def test_one_wrong_digit_is_no_card(number: int) -> None:
    digits = [int(char) for char in str(number)]
    checked = next([*digits, last] for last in range(10) if luhn([*digits, last]))
    assert not luhn([*checked[:-1], (checked[-1] + 1) % 10])


WORDLESS = {
    "TravellingMessage.role": "one of a few names",
    "TravellingMessage.status": "one of a few names",
    "TravellingMessage.stop_reason": "one of a few names",
    "TravellingMessage.model": "the name of a model",
    "TravellingSession.title_source": "one of a few names",
    "TravellingSession.memory_mode": "one of a few names",
    "TravellingSession.category_source": "one of a few names",
    "TravellingSession.model": "the name of a model",
    "TravellingSession.attachments": "only for arrivals: an export has them in `meta`",
    "TravellingSession.citations": "only for arrivals: an export has them in `meta` of their messages",
    "MemoryRecord.id": "an id that the program made",
    "MemoryRecord.kind": "one of a few names",
    "MemoryRecord.state": "one of a few names",
}
"""Fields of an export that are not redacted, and why not. Numbers, dates and switches hold no words."""

ADDRESS = "zoe.pelin@example.org"


def planted(cls: Any) -> Any:
    """An object with the address in every field that can hold words."""
    return cls(**{name: with_address(name, hint) for name, hint in get_type_hints(cls).items()})


def with_address(name: str, hint: Any) -> Any:
    kinds = get_args(hint) or (hint,)
    if name == "meta":
        return json.dumps({"said": [ADDRESS], ADDRESS: 1})
    if get_origin(hint) is tuple:
        return (planted(kinds[0]) if is_dataclass(kinds[0]) else ADDRESS,)
    if datetime in kinds:
        return THEN
    # What should be one of a few names is planted too: it is in `WORDLESS`.
    return False if hint is bool else 0.5 if hint in (int, float) else ADDRESS


def unredacted(one: Any) -> set[str]:
    """The fields that have the address, by the names of class and field."""
    found: set[str] = set()
    for part in fields(one):
        value = getattr(one, part.name)
        parts = value if isinstance(value, tuple) else (value,)
        if (name := f"{type(one).__name__}.{part.name}") in WORDLESS or not any(map(is_dataclass, parts)):
            found |= {name} if ADDRESS in repr(value) or ADDRESS in str(value) else set()
        else:
            found = found.union(*map(unredacted, parts))
    return found


def test_every_field_of_an_export_is_redacted_or_holds_no_words() -> None:
    """A new field has to be replaced by `Redactor`, or named in `WORDLESS` with a reason."""
    session, memory = planted(TravellingSession), planted(MemoryRecord)
    every = unredacted(session) | unredacted(memory)
    assert {"TravellingSession.title", "TravellingMessage.content", "TravellingEvidence.quote"} < every
    redactor = Redactor(EVERYTHING)
    redactor.learn(session)
    left = unredacted(redactor.session(session)) | unredacted(redactor.memory(memory))
    assert left == set(WORDLESS)
