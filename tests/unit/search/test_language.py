"""Queries as trees, and trees as queries."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import QueryUnclear
from memory.search.entities import (
    All,
    AnyOf,
    Condition,
    Field,
    Has,
    Is,
    ItemKind,
    Mark,
    Named,
    Not,
    OfKind,
    Query,
    Relation,
    SaidBy,
    Thing,
    Trouble,
    When,
    Words,
)
from memory.search.language import (
    MOST_CHARACTERS,
    MOST_CONDITIONS,
    MOST_DEPTH,
    of_kind,
    parse,
    wanted_words,
    written,
)
from memory.search.terms import NAMES
from models.messages import Role

NOW = datetime(2026, 11, 22, 15, 30, tzinfo=UTC)
FOX, DOG, CAT = Words("fox"), Words("dog"), Words("cat")


def where(text: str, *, typing: bool = False) -> Condition | None:
    return parse(text, NOW, typing=typing).where


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("fox", FOX),
        ("fox dog", All((FOX, DOG))),
        ("fox AND dog", All((FOX, DOG))),
        ('"brown fox"', Words("brown fox")),
        ("“brown fox”", Words("brown fox")),
        ('"brown fo"*', Words("brown fo", prefix=True)),
        ("fo*", Words("fo", prefix=True)),
        ("don't", Words("don t")),
        ("-fox", Not(FOX)),
        ("NOT fox", Not(FOX)),
        ("NOT -fox", FOX),
        ("--verbose", Words("verbose")),
        ("a - b", All((Words("a"), Words("b")))),
        ("fox OR dog", AnyOf((FOX, DOG))),
        ("cat fox OR dog", All((CAT, AnyOf((FOX, DOG))))),
        ("(cat fox) OR dog", AnyOf((All((CAT, FOX)), DOG))),
        ("-(fox OR dog) cat", All((Not(AnyOf((FOX, DOG))), CAT))),
        ("(fox OR (dog OR cat))", AnyOf((FOX, DOG, CAT))),
        ("(fox dog", All((FOX, DOG))),
        ("fox) dog", All((FOX, DOG))),
        ("f(x)", Words("f x")),
        ("(fox f(x))", All((FOX, Words("f x")))),
        ('"fox', FOX),
        ('"OR"', Words("OR")),
        ("or", Words("or")),
        ("tag:work", Named(Field.TAG, "work")),
        ('TAG:"two words"', Named(Field.TAG, "two words")),
        ("project:at*", Named(Field.PROJECT, "at", prefix=True)),
        ("project:*", Named(Field.PROJECT, "", prefix=True)),
        ("-category:code", Not(Named(Field.CATEGORY, "code"))),
        ("model:llama", Named(Field.MODEL, "llama")),
        ("role:user", SaidBy(Role.USER)),
        ("role:me", SaidBy(Role.USER)),
        ("is:Starred", Is(Mark.STARRED)),
        ("has:code", Has(Thing.CODE)),
        ("kind:document", OfKind(ItemKind.DOCUMENT)),
        ("-kind:conversation", Not(OfKind(ItemKind.MESSAGE))),
        ("https://example.org", Words("https example org")),
        ("12:30", Words("12 30")),
        ("", None),
        ("  ", None),
    ],
)
def test_what_is_typed_means(text: str, tree: Condition | None) -> None:
    assert where(text) == tree


def test_while_one_types_the_last_word_may_be_a_beginning() -> None:
    assert where("brown fo", typing=True) == All((Words("brown"), Words("fo", prefix=True)))
    assert where("brown fo ", typing=True) == All((Words("brown"), Words("fo")))
    assert where('"brown fo', typing=True) == Words("brown fo")
    assert where("fo tag:x", typing=True) == All((Words("fo"), Named(Field.TAG, "x")))


def test_a_question_takes_all_the_words_that_follow() -> None:
    asked = parse("fox ~what (did) OR -we say? tag:work -is:starred", NOW)
    assert asked.question == "what (did) OR -we say?"
    assert asked.where == All((FOX, Named(Field.TAG, "work"), Not(Is(Mark.STARRED))))
    assert parse("~roles: which?", NOW) == Query(None, "roles: which?")


@pytest.mark.parametrize(
    ("text", "trouble", "place", "expected"),
    [
        ("!?", Trouble.NO_WORD, "!?", ""),
        ("tag:x ~", Trouble.NO_QUESTION, "~", ""),
        ("fox OR", Trouble.NOTHING_BESIDE_OR, "OR", ""),
        ("OR fox", Trouble.NOTHING_BESIDE_OR, "OR", ""),
        ("(fox OR) dog", Trouble.NOTHING_BESIDE_OR, "OR", ""),
        ("fox NOT", Trouble.NOTHING_AFTER_NOT, "NOT", ""),
        ("tags:work fox", Trouble.UNKNOWN_FIELD, "tags:", "tag:"),
        ("fox is:stared", Trouble.UNKNOWN_VALUE, "stared", "starred"),
        ("kind:book", Trouble.UNKNOWN_VALUE, "book", "document"),
        ("role:cook", Trouble.UNKNOWN_VALUE, "cook", "user"),
        ("has:", Trouble.NO_VALUE, "has:", "code"),
        ("tag: fox", Trouble.NO_VALUE, "tag:", ""),
        ('tag:"" fox', Trouble.NO_VALUE, 'tag:""', ""),
        ("on:someday", Trouble.NOT_A_DATE, "someday", "yesterday"),
        ('before:"last fox" dog', Trouble.NOT_A_DATE, '"last fox"', "2024"),
        ("on:2024-06-31", Trouble.NOT_A_DATE, "2024-06-31", "7d"),
        ("on:9999y", Trouble.NOT_A_DATE, "9999y", "7d"),
    ],
)
def test_what_cannot_be_understood_is_explained(
    text: str, trouble: Trouble, place: str, expected: str
) -> None:
    with pytest.raises(QueryUnclear) as raised:
        parse(text, NOW)
    fault = raised.value
    assert (fault.trouble, text[fault.at : fault.until]) == (trouble, place)
    assert expected in (*fault.options, "")
    assert "fox" not in str(fault)


def test_a_query_has_bounds() -> None:
    for text, trouble in (
        ("a" * (MOST_CHARACTERS + 1), Trouble.TOO_LONG),
        ("a " * (MOST_CONDITIONS + 1), Trouble.TOO_MANY),
        ("(" * (MOST_DEPTH + 1) + "a", Trouble.TOO_DEEP),
        ("-(" * MOST_DEPTH + "a", Trouble.TOO_DEEP),
        ("NOT " * (MOST_DEPTH + 1) + "a", Trouble.TOO_DEEP),
    ):
        with pytest.raises(QueryUnclear) as raised:
            parse(text, NOW)
        assert raised.value.trouble == trouble


def test_words_that_are_excluded_are_not_looked_for() -> None:
    assert list(wanted_words(where("fox -dog (cat OR -(bird))"))) == [FOX, CAT]


@pytest.mark.parametrize(
    ("text", "of_messages", "of_documents"),
    [
        ("fox", "fox", "fox"),
        ("kind:document", None, ""),
        ("kind:message fox", "fox", None),
        ("-kind:document fox dog", "fox dog", None),
        ("kind:document OR tag:x", "tag:x", ""),
        ("fox -(kind:document dog)", "fox", "fox -dog"),
        ("-(kind:document OR -dog)", "dog", None),
        ("kind:document ~what do foxes eat", None, "~what do foxes eat"),
    ],
)
def test_a_kind_leaves_the_query_for_things_of_that_kind(
    text: str, of_messages: str | None, of_documents: str | None
) -> None:
    for kind, expected in ((ItemKind.MESSAGE, of_messages), (ItemKind.DOCUMENT, of_documents)):
        assert of_kind(parse(text, NOW), kind) == (None if expected is None else parse(expected, NOW))


def true_of(part: Condition, word: str, kind: ItemKind) -> bool:
    """Whether a condition on words and kinds is true of a thing that consists of one word."""
    match part:
        case All(parts):
            return all(true_of(one, word, kind) for one in parts)
        case AnyOf(parts):
            return any(true_of(one, word, kind) for one in parts)
        case Not(inner):
            return not true_of(inner, word, kind)
        case OfKind(wanted):
            return wanted is kind
        case Words(text):
            return text == word
    raise TypeError(part)


@given(
    st.lists(
        st.sampled_from(["fox", "dog", "kind:document", "kind:message", "OR", "-", "(", ")"]), max_size=12
    ),
    st.sampled_from(list(ItemKind)),
    st.sampled_from(["fox", "dog"]),
)
def test_without_its_kinds_a_query_finds_the_same_things_of_a_kind(
    parts: list[str], kind: ItemKind, word: str
) -> None:
    try:
        query = parse(" ".join(parts).replace("- ", "-"), NOW)
    except QueryUnclear:
        return
    left = of_kind(query, kind)
    found = left is not None and (left.where is None or true_of(left.where, word, kind))
    assert found is (query.where is None or true_of(query.where, word, kind))


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("2024", "2024-01-01", "2025-01-01"),
        ("2024-05", "2024-05-01", "2024-06-01"),
        ("2024-12", "2024-12-01", "2025-01-01"),
        ("2024-5-1", "2024-05-01", "2024-05-02"),
        ("2024/05/01", "2024-05-01", "2024-05-02"),
        ("today", "2026-11-22", "2026-11-23"),
        ("Yesterday", "2026-11-21", "2026-11-22"),
        ("last-week", "2026-11-09", "2026-11-16"),
        ("this_month", "2026-11-01", "2026-12-01"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("sunday", "2026-11-22", "2026-11-23"),
        ("last sunday", "2026-11-15", "2026-11-16"),
        ("friday", "2026-11-20", "2026-11-21"),
        ("7d", "2026-11-15", "2026-11-16"),
        ("2w", "2026-11-02", "2026-11-09"),
        ("11m", "2025-12-01", "2026-01-01"),
        ("1y", "2025-01-01", "2026-01-01"),
        ("3 days ago", "2026-11-19", "2026-11-20"),
        ("a week ago", "2026-11-09", "2026-11-16"),
        ("may", "2026-05-01", "2026-06-01"),
        ("dec", "2025-12-01", "2026-01-01"),
        ("may 2023", "2023-05-01", "2023-06-01"),
        ("8 may 2023", "2023-05-08", "2023-05-09"),
        ("May 8, 2023", "2023-05-08", "2023-05-09"),
    ],
)
def test_dates_are_stretches_of_time(text: str, begin: str, end: str) -> None:
    found = where(f'on:"{text}"')
    assert isinstance(found, When)
    assert found.relation is Relation.ON
    assert (f"{found.begin:%Y-%m-%d}", f"{found.end:%Y-%m-%d}") == (begin, end)


def test_hours_are_counted_too() -> None:
    found = where("after:3h")
    assert isinstance(found, When)
    assert (found.begin, found.end - found.begin) == (NOW.replace(hour=12, minute=0), timedelta(hours=1))


_VALUES = ["work", "document", '"two words"', "starred", "2024-05", "yesterday", "a*", "code", "user", "x)"]
_SIGNS = ["OR", "AND", "NOT", "-", "~", "(", ")", '"', "*", "fox", "don't", "-fox", '"a b"*', "中文", "”"]
_FIELDS = st.tuples(st.sampled_from(NAMES), st.sampled_from(_VALUES)).map(":".join)
_PIECES = st.lists(_FIELDS | st.sampled_from(_SIGNS) | st.text(max_size=6), max_size=10).map(" ".join)


@given(_PIECES | st.text(max_size=40), st.booleans())
def test_any_text_is_understood_or_refused_with_its_place_and_survives_being_written(
    text: str, typing: bool
) -> None:
    trouble = None
    try:
        query = parse(text, NOW, typing=typing)
    except QueryUnclear as fault:
        trouble = fault
    if trouble is None:
        assert parse(written(query), NOW) == query
    else:
        assert trouble.trouble in set(Trouble)
        assert 0 <= trouble.at <= trouble.until <= len(text)
