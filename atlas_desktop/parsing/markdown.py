"""Markdown: the text as it is, with the places of headings and tables."""

import re
from functools import cache

from markdown_it import MarkdownIt

from atlas_desktop.parsing.building import checked, one_line, tidy
from atlas_desktop.parsing.plain import decoded
from memory.documents.entities import Heading, ParsedText, Table

_FRONT = re.compile(r"---\n(.*?)\n(?:---|\.\.\.)(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(title|author|date):[ \t]*(\S.*)$", re.MULTILINE | re.IGNORECASE)
# Without any of these there are neither headings nor tables, and most time is saved.
_STRUCTURE = re.compile(r"#|\||^[ \t>]*(?:=+|-+)[ \t]*$", re.MULTILINE)


def read_markdown(data: bytes) -> ParsedText:
    text = checked(tidy(decoded(data)))
    front = _FRONT.match(text)
    fields = {key.lower(): _unquoted(value) for key, value in _FIELD.findall(front[1])} if front else {}
    headings, tables = structure(text, front.end() if front else 0)
    return ParsedText(
        text,
        headings=headings,
        tables=tables,
        title=fields.get("title") or next((one.text for one in headings if one.level == 1), ""),
        author=fields.get("author", ""),
        created=fields.get("date", ""),
    )


def _unquoted(value: str) -> str:
    value = value.strip()
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return one_line(value[1:-1] if quoted else value)


def structure(text: str, begin: int = 0) -> tuple[tuple[Heading, ...], tuple[Table, ...]]:
    """Returns the headings and tables of tidy Markdown, from `begin` on, by their places in all of it.

    A table's header includes the line of dashes below it.
    """
    body = text[begin:]
    if not _STRUCTURE.search(body):
        return (), ()
    lines = [begin, *(begin + found.end() for found in re.finditer("\n", body)), len(text) + 1]
    headings: list[Heading] = []
    tables: list[Table] = []
    tokens = _blocks().parse(body)
    for at, token in enumerate(tokens):
        if token.map is None:
            continue
        first, after = lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)] - 1
        if token.type == "heading_open":
            title = _words(tokens[at + 1].content)
            if title:
                headings.append(Heading(int(token.tag[1]), title, first))
        elif token.type == "table_open":
            end = max(first, len(text[:after].rstrip()) if text[first:after].strip() else after)
            tables.append(Table(first, end, min(lines[min(token.map[0] + 2, len(lines) - 1)] - 1, end)))
    return tuple(headings), tuple(tables)


def _words(inline: str) -> str:
    """Returns the words of a heading without marks of emphasis, code and links."""
    children = _inlines().parseInline(inline)[0].children or []
    shown = (
        one.content
        if one.type in ("text", "code_inline", "text_special")
        else " " * (one.type == "softbreak")
        for one in children
    )
    return one_line("".join(shown))


@cache
def _blocks() -> MarkdownIt:
    """Parses blocks only: what is in a line takes ten times as long and does not matter here."""
    return MarkdownIt("commonmark").enable("table").disable("inline")


@cache
def _inlines() -> MarkdownIt:
    return MarkdownIt("commonmark")
