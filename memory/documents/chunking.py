"""Splits the text of a document into the pieces that are searched and cited.

A piece never crosses a page, and never leaves a section that is long enough for pieces of its own. Where a
piece ends depends only on the text around it: after an edit the pieces further down stay as they are.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from zlib import crc32

from semantic_text_splitter import TextSplitter

from memory.documents.entities import Heading, NewChunk, ParsedText, Table

SIZE = 900
"""The most characters of a chunk. Small embedding models read 256 word pieces. With this size, 8 % of the
chunks of technical texts are longer (0.4 % of those of abstracts); with 1,200 characters, 42 % (12 %). Five
of them fill about 1,000 tokens of a prompt.
"""
SMALL = 200
"""Sections below this many characters (about 35 words) share a chunk with their neighbours under the same
heading: 2,000 questions with answers of five words make 139 chunks. Larger ones have a chunk of their own, so
that a citation names the exact section.
"""

_LEAST_SIZE = 16
_SHORT = 40
"""Lines and paragraphs below this many characters are never separated from the next, unless something new
begins there: considering each of them would be slow.
"""
_CAPTION = 200
"""The most characters of a paragraph that stays with the table below it."""
_KEY = 48
"""Characters after a boundary that decide between it and an equally good one."""

# How good a place is to end a piece; higher is better.
_ANYWHERE, _LINE, _SENTENCE, _SENTENCE_AND_LINE, _PARAGRAPH, _DEFINITION, _TOP_LEVEL, _SECTION = range(8)

_BLANK = re.compile(r"\n[^\S\n]*+\n\s*+")
# A run of marks is examined once, from its first one: that keeps it linear.
_BREAK = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+\s++|[。！？]++[”’」』）]*+\s*+|\n\s*+")
_NEWLINE = re.compile(r"\n\s*+")
_FENCE = re.compile(r"^(?:```|~~~)", re.MULTILINE)
_DEFINES = re.compile(
    r"(?:@|/\*\*|//|#|(?:export|public|private|protected|static|async|abstract|pub)\b|(?:def|class|function"
    r"|func|fn|fun|impl|interface|struct|enum|trait|type|module|namespace|package|template|sub|proc)\b)"
)
_CODE_TYPES = re.compile(
    r"(?:text|application)/(?:javascript|ecmascript|typescript|css|(?:ld\+)?json|xml|toml|yaml|sql)"
    r"|(?:text|application)/x-(?!markdown|rst|tex|web-markdown).+"
)


@dataclass(frozen=True, slots=True)
class _Region:
    """A part of the text that lies on one page, in one section, and inside or outside a long table.

    `body` is where the text below the heading begins; `level` is 0 for a part without its own heading.
    `lead` are characters at its beginning that stay with what follows: the heading, or a caption.
    """

    begin: int
    end: int
    page: int | None
    path: tuple[str, ...]
    level: int
    body: int
    table: Table | None

    @property
    def only_heading(self) -> bool:
        return self.level > 0 and self.body >= self.end

    @property
    def small(self) -> bool:
        return self.table is None and self.end - self.begin < SMALL


@dataclass(frozen=True, slots=True)
class _Unit:
    """Text that stays whole. `rank` says how good it is to begin a piece here."""

    begin: int
    end: int
    rank: int
    region: int


def chunks(parsed: ParsedText, media_type: str, size: int = SIZE) -> list[NewChunk]:
    """Splits a document's text into chunks of at most `size` characters (at least 16), in order.

    Every character but white space is in exactly one chunk. Pages are never crossed. Words, sentences, rows,
    paragraphs and definitions of code stay whole where they fit. Takes time in proportion to the text.
    """
    return _Chunker(parsed, media_type, max(size, _LEAST_SIZE)).chunks()


def is_code(media_type: str) -> bool:
    """Returns whether a media type is of source code or data, where lines and indentation have meaning."""
    return _CODE_TYPES.fullmatch(media_type.partition(";")[0].strip().casefold()) is not None


class _Chunker:
    def __init__(self, parsed: ParsedText, media_type: str, size: int) -> None:
        self._text = parsed.text
        self._pages = tuple(sorted(parsed.pages))
        self._headings = sorted(parsed.headings, key=lambda heading: heading.begin)
        self._tables = _apart(parsed.tables)
        self._table_begins = [table.begin for table in self._tables]
        self._size = size
        self._code = is_code(media_type)
        self._fences = _fences(self._text) if media_type.startswith("text/markdown") else []

    def chunks(self) -> list[NewChunk]:
        regions = self._with_captions(self._regions())
        found: list[NewChunk] = []
        line, counted = 1, 0
        for begin, end, covered in self._pieces(regions):
            line += self._text.count("\n", counted, begin)
            last = line + self._text.count("\n", begin, end)
            counted = begin
            found.append(
                NewChunk(
                    begin=begin,
                    end=end,
                    page=covered[0].page,
                    lines=(line, last),
                    heading=_heading(covered),
                    header=self._header(begin),
                )
            )
        return found

    # --- where pieces have to end --------------------------------------------------------------------

    def _regions(self) -> list[_Region]:
        """Cuts the text at pages, headings and the ends of long tables."""
        text, length = self._text, len(self._text)
        long = [table for table in self._tables if self._is_long(table)]
        starts = {heading.begin for heading in self._headings}
        cuts = {0, length, *self._pages, *starts}
        cuts.update(table.begin for table in long)
        cuts.update(table.end for table in long)
        places = sorted(cut for cut in cuts if 0 <= cut <= length)
        found: list[_Region] = []
        stack: list[Heading] = []
        path: tuple[str, ...] = ()
        number = 0
        for cut, until in pairwise(places):
            level = 0
            while number < len(self._headings) and self._headings[number].begin <= cut:
                heading = self._headings[number]
                number += 1
                while stack and stack[-1].level >= heading.level:
                    stack.pop()
                stack.append(heading)
                path = tuple(one.text for one in stack if one.text)
                level = max(heading.level, 1)
            begin, end = _trimmed(text, cut, until)
            if begin == end:
                continue
            body = begin
            if level:
                newline = text.find("\n", begin, end)
                body = end if newline < 0 else _trimmed(text, newline, end)[0]
            page = bisect_right(self._pages, cut) or 1 if self._pages else None
            found.append(_Region(begin, end, page, path, level, body, self._long_table_at(cut)))
        return found

    def _is_long(self, table: Table) -> bool:
        return table.end - table.begin > self._size // 2

    def _table_at(self, at: int) -> Table | None:
        number = bisect_right(self._table_begins, at) - 1
        return self._tables[number] if number >= 0 and at < self._tables[number].end else None

    def _long_table_at(self, at: int) -> Table | None:
        table = self._table_at(at)
        return table if table is not None and self._is_long(table) else None

    def _header(self, at: int) -> str:
        """Returns the header of the table whose rows begin at `at`. A very long one is cut, because it is
        repeated above every piece of the table.
        """
        table = self._table_at(at)
        if table is None or not table.begin < table.header_end <= at:
            return ""
        header = self._text[table.begin : table.header_end].strip()
        return header[: self._size // 3].rstrip()

    def _with_captions(self, regions: Sequence[_Region]) -> list[_Region]:
        """Moves a heading or a short paragraph directly above a long table to the table."""
        found: list[_Region] = []
        for region in regions:
            above = found[-1] if found else None
            if above is None or region.table is None or region.level or not _continues(above, region):
                found.append(region)
                continue
            blanks = [match.end() for match in _BLANK.finditer(self._text, above.body, above.end)]
            begin = blanks[-1] if blanks else above.body
            if above.end - begin > _CAPTION:
                found.append(region)
            elif begin > above.body:
                found[-1] = replace(above, end=_trimmed(self._text, above.begin, begin)[1])
                found.append(replace(region, begin=begin))
            else:
                found[-1] = replace(region, begin=above.begin, level=above.level)
        return found

    # --- pieces --------------------------------------------------------------------------------------

    def _pieces(self, regions: Sequence[_Region]) -> Iterator[tuple[int, int, list[_Region]]]:
        for first, last in _runs(regions):
            units = list(self._units(regions, first, last))
            table = regions[last - 1].table
            size = self._size
            if table is not None:
                # A piece of a table is read together with the header.
                size -= min(max(0, table.header_end - table.begin), size // 3)
            for begin, end in _grouped(self._text, units, size):
                covered = sorted({unit.region for unit in units[begin:end]})
                yield units[begin].begin, units[end - 1].end, [regions[number] for number in covered]

    def _units(self, regions: Sequence[_Region], first: int, last: int) -> Iterator[_Unit]:
        """Yields the units of the regions that are split together. What has to stay with the next text, such
        as a heading, is the beginning of a unit."""
        lead: int | None = None
        for number in range(first, last):
            region = regions[number]
            begin = region.begin if lead is None else lead
            if region.only_heading and number + 1 < last and region.end - begin <= self._size // 2:
                lead = begin
                continue
            lead = None
            if last - first > 1 and region.end - begin <= min(SMALL, self._size):
                yield _Unit(begin, region.end, _SECTION, number)
                continue
            body = region.body
            if region.table is not None:
                body = max(body, region.table.begin)
            if body >= region.end or body - begin > self._size // 2:
                body = begin
            split = self._rows if region.table is not None else self._blocks
            rank = _SECTION
            for unit_begin, unit_end, unit_rank in split(body, region.end, begin):
                yield _Unit(unit_begin, unit_end, max(rank, unit_rank), number)
                rank = _ANYWHERE

    def _rows(self, begin: int, end: int, lead: int) -> Iterator[tuple[int, int, int]]:
        for row_begin, row_end in _parts(self._text, begin, end, _NEWLINE, lambda _: False):
            yield from self._fitting(row_begin, row_end, lead, _PARAGRAPH)
            lead = end

    def _blocks(self, begin: int, end: int, lead: int) -> Iterator[tuple[int, int, int]]:
        """Yields paragraphs, or their parts where they are too long, each with its rank."""
        for part, part_end in self._around_tables(begin, end):
            whole = self._table_at(part) is not None
            blocks = (
                [(part, part_end)] if whole else _parts(self._text, part, part_end, _BLANK, self._begins_new)
            )
            for block, block_end in blocks:
                rank = self._rank_of_block(block)
                if block_end - min(lead, block) <= self._size:
                    yield min(lead, block), block_end, rank
                else:
                    yield from self._lines(block, block_end, lead, rank)
                lead = end

    def _around_tables(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        number = max(0, bisect_right(self._table_begins, begin) - 1)
        while number < len(self._tables) and self._tables[number].begin < end:
            table = self._tables[number]
            number += 1
            first, last = max(begin, table.begin), min(end, table.end)
            for part in ((begin, first), (first, last)):
                trimmed = _trimmed(self._text, *part)
                if trimmed[0] < trimmed[1]:
                    yield trimmed
            begin = max(begin, last)
        begin, end = _trimmed(self._text, begin, end)
        if begin < end:
            yield begin, end

    def _lines(self, begin: int, end: int, lead: int, rank: int) -> Iterator[tuple[int, int, int]]:
        """Yields the sentences and lines of a block that is too long."""
        at, text = begin, self._text
        for match in (_NEWLINE if self._code else _BREAK).finditer(text, begin, end):
            next_rank = self._rank_of_break(match)
            if next_rank <= _LINE and match.start() - at < _SHORT:
                continue
            stop = _trimmed(text, at, match.end())[1]
            if stop > at and match.end() < end:
                yield from self._fitting(at, stop, lead, rank)
                lead, at, rank = end, match.end(), next_rank
        yield from self._fitting(at, end, lead, rank)

    def _fitting(self, begin: int, end: int, lead: int, rank: int) -> Iterator[tuple[int, int, int]]:
        """Yields a unit, cut between words if it is longer than a chunk. `lead` is where it begins if
        something in front has to stay with it."""
        lead = min(lead, begin)
        while end - lead > self._size:
            # The library takes more than linear time for a text without sentences, so it is given windows.
            room = self._size - (begin - lead)
            window = self._text[begin : min(end, begin + 2 * room)]
            at, piece = TextSplitter(room).chunk_indices(window)[0]
            cut = _trimmed(self._text, begin, begin + at + len(piece))[1]
            yield lead, cut, rank
            begin = lead = _trimmed(self._text, cut, end)[0]
            rank = _ANYWHERE
        if lead < end:
            yield lead, end, rank

    def _begins_new(self, begin: int) -> bool:
        return self._code and self._rank_of_block(begin) >= _DEFINITION

    def _rank_of_block(self, begin: int) -> int:
        if self._fences and bisect_right(self._fences, begin) % 2:
            return _LINE
        if not self._code:
            return _PARAGRAPH
        indent = begin - (self._text.rfind("\n", 0, begin) + 1)
        if self._text[begin] in ")]}":
            return _LINE
        if indent == 0:
            return _TOP_LEVEL
        return _DEFINITION if _DEFINES.match(self._text, begin) else _SENTENCE_AND_LINE

    def _rank_of_break(self, match: re.Match[str]) -> int:
        found = match[0]
        if not self._code:
            sentence = not found[0].isspace()
            return (_SENTENCE_AND_LINE if "\n" in found else _SENTENCE) if sentence else _LINE
        begins = self._text[match.end() : match.end() + 1]
        return _SENTENCE if found.endswith("\n") and (begins.isalpha() or begins == "@") else _LINE


def _continues(above: _Region, region: _Region) -> bool:
    return above.table is None and above.page == region.page and above.path == region.path


def _runs(regions: Sequence[_Region]) -> Iterator[tuple[int, int]]:
    """Yields ranges of regions that are split together: one region, several small ones under one heading, or
    headings without text with what follows."""
    first = 0
    for number in range(1, len(regions) + 1):
        if number < len(regions) and _together(regions[first], regions[number - 1], regions[number]):
            continue
        yield first, number
        first = number


def _together(first: _Region, before: _Region, region: _Region) -> bool:
    if before.page != region.page or before.table is not None or not region.level:
        return False
    if before.only_heading and region.level > before.level:
        return True
    return before.small and region.small and region.level >= first.level


def _grouped(text: str, units: Sequence[_Unit], size: int) -> Iterator[tuple[int, int]]:
    """Yields ranges of units of at most `size` characters together (single ones may be longer).

    Each ends at the best boundary of its second half. Among equally good ones, the checksum of the text that
    follows decides, not what came before: so the pieces of an edited text soon become the same again.
    """
    first, fits = 0, 0
    while first < len(units):
        begin = units[first].begin
        fits = max(fits, first)
        while fits + 1 < len(units) and units[fits + 1].end - begin <= size:
            fits += 1
        if fits + 1 == len(units):
            yield first, len(units)
            return
        cut = _even(units, first, fits, size) or _best(text, units, first, fits, size)
        yield first, cut
        first = cut


def _best(text: str, units: Sequence[_Unit], first: int, fits: int, size: int) -> int:
    begin = units[first].begin
    best = (-1, -1, fits + 1)
    early = (-1, -1, fits + 1)
    for number in range(fits + 1, first, -1):
        filled = units[number - 1].end - begin
        if 3 * filled < size and number <= fits:
            break
        unit = units[number]
        if 2 * filled >= size or number == fits + 1:
            if unit.rank >= best[0]:
                at = unit.begin
                best = max(best, (unit.rank, crc32(text[at : at + _KEY].encode("utf-8", "replace")), number))
        elif unit.rank > early[0]:
            early = (unit.rank, 0, number)
    return early[2] if early[0] > best[0] else best[2]


def _even(units: Sequence[_Unit], first: int, fits: int, size: int) -> int | None:
    """Returns where to cut what is left into two similar parts, if it fits into two. Otherwise the last piece
    would often be a few words.
    """
    begin, end = units[first].begin, units[-1].end
    left = end - begin
    if left > 2 * size:
        return None
    found = [
        (units[number].rank, -abs(units[number].begin - begin - left // 2), number)
        for number in range(first + 1, fits + 2)
        if end - units[number].begin <= size
        and 4 * min(units[number].begin - begin, end - units[number].begin) >= left
    ]
    return max(found)[2] if found else None


def _parts(
    text: str, begin: int, end: int, border: re.Pattern[str], begins_new: Callable[[int], bool]
) -> Iterator[tuple[int, int]]:
    """Yields the parts between borders, without white space around them. Very short ones go with the next,
    unless something new begins there."""
    at = begin
    for match in border.finditer(text, begin, end):
        stop, until = match.span()
        if until < end and (stop - at >= _SHORT or begins_new(until)):
            trimmed = _trimmed(text, at, stop)
            if trimmed[0] < trimmed[1]:
                yield trimmed
            at = until
    trimmed = _trimmed(text, at, end)
    if trimmed[0] < trimmed[1]:
        yield trimmed


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int]:
    """Returns the range without white space at both ends."""
    while begin < end and text[begin].isspace():
        begin += 1
    while end > begin and text[end - 1].isspace():
        end -= 1
    return begin, end


def _apart(tables: Sequence[Table]) -> list[Table]:
    """Returns the tables in order, without those that overlap an earlier one."""
    found: list[Table] = []
    for table in sorted(tables, key=lambda one: one.begin):
        if table.begin < table.end and (not found or found[-1].end <= table.begin):
            found.append(table)
    return found


def _fences(text: str) -> list[int]:
    """Returns where fenced code begins and ends, in turn."""
    return [match.start() for match in _FENCE.finditer(text)]


def _heading(covered: Sequence[_Region]) -> tuple[str, ...]:
    """Returns the path of headings that all these regions share. A heading without text of its own belongs to
    the section below it."""
    paths = [
        region.path
        for region, below in pairwise(covered)
        if not (region.only_heading and below.path[: len(region.path)] == region.path)
    ]
    paths.append(covered[-1].path)
    low, high = min(paths), max(paths)
    for at, (one, other) in enumerate(zip(low, high, strict=False)):
        if one != other:
            return low[:at]
    return low


def matched(old: Sequence[tuple[str, str]], new: Sequence[str]) -> list[str | None]:
    """Returns the stored id that each new chunk keeps, or None where it is new.

    `old` are the stored chunks, each with its id and the key of its text, in order; `new` are the keys of the
    new chunks in order. A stored chunk is kept at most once, and as many as possible are kept. Of several
    with one key, the next in the order of the document is preferred.
    """
    begin = 0
    while begin < min(len(old), len(new)) and old[begin][1] == new[begin]:
        begin += 1
    end = 0
    while end < min(len(old), len(new)) - begin and old[-1 - end][1] == new[-1 - end]:
        end += 1
    kept: list[str | None] = [id_ for id_, _ in old[:begin]]
    unused: dict[str, list[int]] = {}
    for place in range(begin, len(old) - end):
        unused.setdefault(old[place][1], []).append(place)
    last = -1
    for key in new[begin : len(new) - end]:
        places = unused.get(key)
        if not places:
            kept.append(None)
            continue
        at = bisect_right(places, last)
        last = places.pop(at if at < len(places) else 0)
        kept.append(old[last][0])
    return kept + [id_ for id_, _ in old[len(old) - end :]]
