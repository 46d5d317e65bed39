"""Chunks: exact ranges, inside pages and sections, whole rows and definitions, stable after edits."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.documents.chunking import SIZE, SMALL, chunks, is_code, matched
from memory.documents.entities import Heading, NewChunk, ParsedText, Table

TEXTS = st.lists(
    st.sampled_from(
        [
            "a",
            "word ",
            "A sentence. ",
            "Größe\n",
            "\n",
            "\n\n",
            "    x = 1\n",
            "漢字です。",
            "สวัสดีครับ",
            "👩‍👩‍👧",
            "\t",
            " ",
            "```\n",
            "x" * 70,
            "def f():\n",
            "# Title\n",
            "a|b|c\n",
            '…!?") ',
        ]
    ),
    max_size=60,
).map("".join)


@st.composite
def parsed_texts(draw: st.DrawFn) -> ParsedText:
    text = draw(TEXTS | st.text(max_size=200))
    places = st.integers(0, len(text))
    pages = sorted(draw(st.sets(places, max_size=5)) | {0}) if draw(st.booleans()) else []
    headings = [
        Heading(draw(st.integers(1, 4)), draw(st.text(max_size=5)), at)
        for at in sorted(draw(st.sets(places, max_size=6)))
    ]
    ends = sorted(draw(st.sets(places, max_size=6)))
    tables = [
        Table(begin, end, draw(st.integers(begin, end)))
        for begin, end in zip(ends[::2], ends[1::2], strict=False)
    ]
    return ParsedText(text, pages=tuple(pages), headings=tuple(headings), tables=tuple(tables))


def page_of(parsed: ParsedText, at: int) -> int | None:
    return sum(page <= at for page in parsed.pages) if parsed.pages else None


def texts_of(parsed: ParsedText, found: list[NewChunk]) -> list[str]:
    return [parsed.text[chunk.begin : chunk.end] for chunk in found]


@settings(max_examples=400, deadline=None)
@given(
    parsed_texts(), st.sampled_from(["text/plain", "text/markdown", "text/x-python"]), st.integers(16, 200)
)
def test_chunks_are_exact_ranges_that_together_are_the_text(parsed: ParsedText, kind: str, size: int) -> None:
    found = chunks(parsed, kind, size)
    text, end = parsed.text, 0
    for chunk in found:
        assert not text[end : chunk.begin].strip()
        assert end <= chunk.begin < chunk.end
        assert text[chunk.begin : chunk.end] == text[chunk.begin : chunk.end].strip()
        assert chunk.end - chunk.begin <= size
        assert chunk.page == page_of(parsed, chunk.begin) == page_of(parsed, chunk.end - 1)
        assert chunk.lines == (
            text.count("\n", 0, chunk.begin) + 1,
            text.count("\n", 0, chunk.end) + 1,
        )
        end = chunk.end
    assert not text[end:].strip()


@given(parsed_texts(), st.integers(16, 200))
def test_a_chunk_is_under_the_headings_above_it(parsed: ParsedText, size: int) -> None:
    for chunk in chunks(parsed, "text/plain", size):
        above: list[Heading] = []
        for heading in parsed.headings:
            if heading.begin < chunk.end:
                above = [one for one in above if one.level < heading.level] + [heading]
        path = tuple(heading.text for heading in above if heading.text)
        assert chunk.heading == path[: len(chunk.heading)]


def test_nothing_comes_from_an_empty_text() -> None:
    assert chunks(ParsedText(""), "text/plain") == []
    assert chunks(ParsedText(" \n\t\n", pages=(0, 2)), "application/pdf") == []


def markdown(text: str) -> ParsedText:
    """Finds the headings of a text in which every line that begins with # is one."""
    headings, at = [], 0
    for line in text.splitlines(keepends=True):
        if line.startswith("#"):
            marks, _, title = line.strip().partition(" ")
            headings.append(Heading(len(marks), title, at))
        at += len(line)
    return ParsedText(text, headings=tuple(headings))


BODY = "The valve closes when the pressure falls. " * 8


def test_a_heading_replaces_those_of_its_level_and_below() -> None:
    parsed = markdown(
        f"# A\n\n{BODY}\n\n## B\n\n{BODY}\n\n### C\n\n{BODY}\n\n## D\n\n{BODY}\n\n# E\n\n{BODY}\n"
    )
    found = chunks(parsed, "text/markdown")
    assert [chunk.heading for chunk in found] == [("A",), ("A", "B"), ("A", "B", "C"), ("A", "D"), ("E",)]
    assert [text.split()[1] for text in texts_of(parsed, found)] == ["A", "B", "C", "D", "E"]


def test_a_heading_without_text_of_its_own_stays_with_the_next() -> None:
    parsed = markdown(f"# A\n\n## B\n\n{BODY}\n\n## C\n\n{BODY}\n")
    first, second = chunks(parsed, "text/markdown")
    assert parsed.text[first.begin :].startswith("# A\n\n## B\n\nThe valve")
    assert (first.heading, second.heading) == (("A", "B"), ("A", "C"))


@pytest.mark.parametrize(
    "body", ["word " * 600, "x" * 3000, "漢" * 3000, "A short sentence. " * 200, "line\n" * 600]
)
def test_a_heading_stays_with_text_that_is_too_long(body: str) -> None:
    parsed = markdown(f"# A heading\n\n{body}")
    first = chunks(parsed, "text/markdown")[0]
    assert first.begin == 0
    assert first.end > len("# A heading\n\n") + SIZE // 4


def test_a_heading_of_an_empty_section_is_a_chunk() -> None:
    parsed = markdown(f"# A\n\n{BODY}\n\n# B\n")
    assert texts_of(parsed, chunks(parsed, "text/markdown"))[-1] == "# B"


def test_small_sections_share_a_chunk_under_their_common_heading() -> None:
    questions = "".join(f"## Question {n}?\n\nYes, number {n}.\n\n" for n in range(100))
    parsed = markdown(f"# Questions\n\n{BODY}\n\n{questions}# Other\n\nA line.\n")
    found = chunks(parsed, "text/markdown")
    inside = [chunk for chunk in found if "## Question" in parsed.text[chunk.begin : chunk.end]]
    assert 4 <= len(inside) <= 10
    assert {chunk.heading for chunk in inside} == {("Questions",)}
    assert all(parsed.text[chunk.begin :].startswith("## Question") for chunk in inside)
    assert found[-1].heading == ("Other",)


def test_a_section_that_is_not_small_has_a_chunk_of_its_own() -> None:
    text = "The valve closes. " * (SMALL // 18 + 1)
    parsed = markdown(f"# A\n\n## B\n\n{text}\n\n## C\n\n{text}\n")
    assert [chunk.heading for chunk in chunks(parsed, "text/markdown")] == [("A", "B"), ("A", "C")]


def test_small_paragraphs_of_a_section_share_chunks() -> None:
    text = "\n\n".join(f"Paragraph {n} has a few words only." for n in range(200))
    found = chunks(ParsedText(text), "text/plain")
    assert len(found) <= 2 * len(text) / SIZE
    assert all(text[chunk.begin :].startswith("Paragraph") for chunk in found)


def test_no_chunk_crosses_a_page() -> None:
    pages = ["one two three ", "four ", "", "five\n"]
    begins = [sum(map(len, pages[:n])) for n in range(4)]
    parsed = ParsedText("".join(pages), pages=tuple(begins))
    found = chunks(parsed, "application/pdf")
    assert texts_of(parsed, found) == ["one two three", "four", "five"]
    assert [chunk.page for chunk in found] == [1, 2, 4]


def table(rows: int, before: str = "", after: str = "") -> ParsedText:
    header = "Name | Amount | City\n"
    text = before + header + "".join(f"Person {n} | {n * 37} | Reine\n" for n in range(rows))
    begin = len(before)
    return ParsedText(text + after, tables=(Table(begin, len(text), begin + len(header)),))


def test_rows_stay_whole_and_know_their_header() -> None:
    parsed = table(200, after="\nThe end.\n")
    first, *others, last = chunks(parsed, "text/csv")
    assert first.header == last.header == ""
    assert parsed.text[first.begin :].startswith("Name | Amount")
    assert {chunk.header for chunk in others} == {"Name | Amount | City"}
    for chunk in others:
        text = parsed.text[chunk.begin : chunk.end]
        assert text.startswith("Person ")
        assert text.endswith("| Reine")
        assert len(text) + len(chunk.header) <= SIZE
    assert parsed.text[last.begin : last.end] == "The end."


def test_the_caption_and_the_heading_stay_with_a_table() -> None:
    before = f"{BODY}\n\n# Payments\n\nTable 3: what was paid.\n\n"
    parsed = table(200, before)
    parsed = ParsedText(parsed.text, headings=markdown(before).headings, tables=parsed.tables)
    found = chunks(parsed, "text/markdown")
    assert parsed.text[found[1].begin :].startswith("# Payments\n\nTable 3: what was paid.\n\nName | Amount")
    assert {chunk.heading for chunk in found[1:]} == {("Payments",)}


def test_a_short_table_stays_whole_between_paragraphs() -> None:
    parsed = table(8, f"{BODY * 2}\n\n", f"\n{BODY}\n")
    holding = [text for text in texts_of(parsed, chunks(parsed, "text/html")) if "Person" in text]
    assert len(holding) == 1
    assert "Name | Amount | City\nPerson 0" in holding[0]


def test_code_is_split_between_definitions() -> None:
    function = 'def name_{n}(value):\n    """Doubles."""\n\n    total = value * 2\n\n    return total\n\n\n'
    text = "".join(function.replace("{n}", str(n)) for n in range(100))
    found = chunks(ParsedText(text), "text/x-python")
    assert all(text[chunk.begin :].startswith("def name_") for chunk in found)
    assert all(text[: chunk.end].endswith("return total") for chunk in found)


def test_a_block_of_script_is_split_at_its_lines() -> None:
    text = "".join(f"const value_{n} = compute(input_{n}, {{ limit: {n} }});\n" for n in range(100))
    found = chunks(ParsedText(text), "text/javascript")
    assert all(text[chunk.begin :].startswith("const ") and text[chunk.end - 1] == ";" for chunk in found)


def test_fenced_code_stays_whole_where_it_fits() -> None:
    code = (
        "```\n" + "\n\n".join(f"step {n} of the procedure, written in one line" for n in range(10)) + "\n```"
    )
    text = f"{BODY}\n\n{code}\n\n{BODY}"
    assert any(
        code in piece for piece in texts_of(ParsedText(text), chunks(ParsedText(text), "text/markdown"))
    )


def test_sentences_stay_whole_in_long_paragraphs() -> None:
    text = " ".join(f"Sentence number {n} says that the ferry leaves at noon." for n in range(100))
    for piece in texts_of(ParsedText(text), chunks(ParsedText(text), "text/plain")):
        assert piece.startswith("Sentence")
        assert piece.endswith(".")


def test_scripts_without_spaces_are_split_at_their_sentence_marks() -> None:
    text = "渡し船は正午に出発し、夕方には島に着きます。" * 100
    found = texts_of(ParsedText(text), chunks(ParsedText(text), "text/plain"))
    assert all(piece.endswith("。") and len(piece) <= SIZE for piece in found)


def test_a_text_without_marks_is_cut() -> None:
    for text in ("漢" * 2000, "x" * 2000, "สวัสดีครับ" * 200):
        found = texts_of(ParsedText(text), chunks(ParsedText(text), "text/plain"))
        assert "".join(found) == text
        assert len(found) == 3


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("text/x-python", True),
        ("text/x-c++src; charset=utf-8", True),
        ("application/javascript", True),
        ("application/x-sh", True),
        ("text/plain", False),
        ("text/markdown", False),
        ("text/x-rst", False),
        ("application/pdf", False),
    ],
)
def test_code_is_recognised_by_its_media_type(kind: str, expected: bool) -> None:
    assert is_code(kind) is expected


class Writer:
    """Writes paragraphs of made-up sentences."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        letters = "abcdefghijklmnop"
        self._words = [
            "".join(self._random.choices(letters, k=self._random.randint(2, 9))) for _ in range(3000)
        ]

    def sentence(self) -> str:
        return " ".join(self._random.choices(self._words, k=self._random.randint(6, 22))).capitalize() + "."

    def paragraph(self) -> str:
        return " ".join(self.sentence() for _ in range(self._random.randint(1, 6)))


def new_chunks(before: str, after: str) -> int:
    """Counts the chunks of the second text that the first does not have."""
    old = texts_of(ParsedText(before), chunks(ParsedText(before), "text/plain"))
    new = texts_of(ParsedText(after), chunks(ParsedText(after), "text/plain"))
    return matched([(str(number), text) for number, text in enumerate(old)], new).count(None)


@pytest.mark.parametrize("border", ["\n\n", "\n", " "])
def test_an_edit_changes_few_chunks(border: str) -> None:
    # Two hundred edits: of a word, and of a whole paragraph (up to two chunks long), inserted or removed.
    chance, writer = random.Random(7), Writer(7)
    counts = []
    for _ in range(200):
        texts = [writer.paragraph() for _ in range(200)]
        changed, at = list(texts), chance.randrange(200)
        match chance.randrange(4):
            case 0:
                changed[at] = writer.paragraph()
            case 1:
                changed.insert(at, writer.paragraph())
            case 2:
                del changed[at]
            case _:
                changed[at] = changed[at].replace(" ", " added ", 1)
        counts.append(new_chunks(border.join(texts), border.join(changed)))
    counts.sort()
    assert counts[100] <= 2
    assert counts[180] <= 5
    assert counts[-1] <= 12


def test_large_texts_take_seconds() -> None:
    # A quarter of the largest document in each shape; the limit leaves room for a slow machine.
    writer = Writer(3)
    prose = "\n\n".join(writer.paragraph() for _ in range(2000))
    for text in (
        prose * (5_000_000 // len(prose)),
        "a" * 5_000_000,
        "a\n" * 2_500_000,
        " " * 5_000_000,
        "漢" * 2_000_000,
    ):
        began = time.process_time()
        chunks(ParsedText(text), "text/plain")
        assert time.process_time() - began < 8


def test_many_pages_and_headings() -> None:
    page = "# Title\n\nSome words of this page, and a few more, so that it is not small.\n" * 3
    parsed = markdown(page * 20_000)
    parsed = ParsedText(parsed.text, tuple(range(0, len(parsed.text), len(page))), parsed.headings)
    found = chunks(parsed, "application/pdf")
    assert [chunk.page for chunk in found] == list(range(1, 20_001))
