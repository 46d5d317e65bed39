"""Reads the links, names and tags in the text of a note.

Links are `[[title]]`, `[[title#heading|shown]]`, `[[kind:id|shown]]`, `[shown](path.md)` and
`[shown](atlas://kind/id)`; a `!` before one shows what it leads to. Front matter is YAML between lines of
dashes; `key:: value` lines, which Logseq writes, are fields as well. Nothing in code is a link or a tag.
"""

import posixpath
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import unquote

import yaml
from markdown_it import MarkdownIt

from memory.notes.entities import LinkKind, Markup, WrittenLink

_LONGEST_FRONT = 65_536
_MOST_NAMES = 100
_LONGEST_NAME = 200
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_PROPERTY = re.compile(r"^[ \t]*(?:[-*][ \t]+)?(alias|aliases|tags|title)::[ \t]*(\S.*)$", re.MULTILINE)
_FIELD = re.compile(r"^[ \t]*(?:[-*][ \t]+)?([^\W\d_][\w \-]{0,40})::(?=\s|\Z)", re.MULTILINE)
_USUAL = frozenset(
    {"title", "tags", "tag", "alias", "aliases", "date", "created", "updated", "id", "description"}
    | {"collapsed", "public", "icon", "url"}
)
_CODE = re.compile(r"(?<!`)(`+)(?!`)([^\n]*?[^`\n])\1(?!`)")
_WIKI = re.compile(r"(!?)\[\[([^\[\]\n|#]*)(#[^\[\]\n|]*)?(?:\|([^\[\]\n]*))?\]\]")
_INLINE = re.compile(r"(!?)\[([^\[\]\n]*)\]\((<[^<>\n]+>|[^()\s]+)(?:[ \t]+\"[^\"\n]*\")?\)")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s<>()\[\]]+", re.IGNORECASE)
_TAG = re.compile(r"(?<![\w/#&.\-:])#([^\W\d_]|[\d_\-/]*[^\W\d_])([\w\-/]*)")
_ID = re.compile(r"(note|session|message|memory|document):([0-9a-f-]{4,36})")
_ATLAS = re.compile(r"atlas://(note|session|message|memory|document)/([0-9a-f-]{4,36})")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_SEPARATED = re.compile(r"[,\s]+")
NOTE_ENDINGS = (".md", ".markdown")


def folded(name: str) -> str:
    """Returns the form in which a name is looked up, without differences of case, width and spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def read_markup(text: str) -> Markup:
    """Returns the links, names and tags of a note."""
    fields, front_end = front_matter(text)
    code, quotes = _blocks(text, front_end)
    code = sorted([*code, *((one.start(), one.end()) for one in _CODE.finditer(text, front_end))])
    hidden = [(0, front_end), *code] if front_end else code
    inside = _Inside(hidden)
    links = sorted(
        [
            *(_wiki(one) for one in _WIKI.finditer(text, front_end) if not inside.holds(one.start())),
            *_inline(text, front_end, inside),
        ],
        key=lambda link: link.begin,
    )
    properties = {
        one[1].lower(): one[2] for one in _PROPERTY.finditer(text, front_end) if not inside.holds(one.start())
    }
    urls = [(one.start(), one.end()) for one in _URL.finditer(text, front_end)]
    quiet = _merged([*hidden, *urls, *((one.begin, one.end) for one in links)])
    covered = _Inside(quiet)
    tags = [
        one[1] + one[2].rstrip("-/")
        for one in _TAG.finditer(text, front_end)
        if not covered.holds(one.start())
    ]
    return Markup(
        title=_name(str(fields.get("title", "")) or properties.get("title", "")),
        links=tuple(one for one in links if (one.target or one.heading) and not _is_file(one)),
        tags=_unique([*_names(fields.get("tags"), spaced=True), *_listed(properties.get("tags")), *tags]),
        aliases=_unique(
            [
                *_names(fields.get("aliases", fields.get("alias"))),
                *_listed(properties.get("alias", properties.get("aliases"))),
            ]
        ),
        properties=(
            *(name for name, value in fields.items() if name not in _USUAL and _leads(value)),
            *(
                name
                for one in _FIELD.finditer(text, front_end)
                if not inside.holds(one.start()) and (name := one[1].strip().lower()) not in _USUAL
            ),
        ),
        quiet=quiet,
        quoted=_merged([*code, *quotes]),
    )


def front_matter(text: str) -> tuple[Mapping[str, Any], int]:
    """Returns the fields of the front matter, and where the text after it begins.

    Anything but a YAML mapping has no fields. It is part of the text only if it is not closed.
    """
    found = _FRONT.match(text)
    if found is None or found.end() > _LONGEST_FRONT:
        return {}, 0
    try:
        fields = yaml.safe_load(found[1])
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}, found.end()
    if not isinstance(fields, dict):
        return {}, found.end()
    return {str(key).lower(): value for key, value in fields.items()}, found.end()


def title_of(path: str) -> str:
    """Returns the title of a note by the path of its file: the name without its ending.

    `a___b.md`, as Logseq writes it, is the note `a/b`.
    """
    name = posixpath.basename(path)
    for ending in NOTE_ENDINGS:
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
            break
    return name.replace("___", "/") or path


_FORBIDDEN = str.maketrans({**dict.fromkeys('\\:*?"<>|', "-"), "/": "___"})


def file_name(title: str, ending: str = ".md") -> str:
    """Returns the name of a file for the note of that title, valid on every system."""
    return f"{title.translate(_FORBIDDEN).strip(' .')[:120] or 'note'}{ending}"


def path_name(path: str) -> str:
    """Returns the path of a file as a link names it: folded, and without its ending."""
    for ending in NOTE_ENDINGS:
        if path.lower().endswith(ending):
            return folded(path[: -len(ending)])
    return folded(path)


def resolved_path(target: str, external_id: str) -> str:
    """Returns the path below the imported folder that a relative link of a note means."""
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(external_id), target))
    return joined.lstrip("/")


def renamed(text: str, links: Sequence[WrittenLink], old: str, new: str) -> str:
    """Returns the text with its links to `old` changed to name `new`.

    Only the name of the target changes, not what is shown. Links with a path keep their folder.
    """
    parts: list[str] = []
    at = 0
    wanted = folded(old)
    for link in links:
        if link.kind is not None:
            continue
        source = text[link.begin : link.end]
        folder, _, name = link.target.rpartition("/")
        whole = folded(link.target) == wanted
        if not whole and folded(title_of(name)) != wanted:
            continue
        if link.relative:
            ending = posixpath.splitext(name)[1]
            target = posixpath.join(folder, new + ending)
            changed = source.replace(_written_target(source), _quoted(target), 1)
        else:
            target = new if whole or not folder else f"{folder}/{new}"
            changed = source.replace(link.target, target, 1)
        parts += [text[at : link.begin], changed]
        at = link.end
    return "".join([*parts, text[at:]])


def _written_target(source: str) -> str:
    found = _INLINE.match(source)
    return "" if found is None else found[3].partition("#")[0]


def _quoted(path: str) -> str:
    return f"<{path}>" if " " in path else path


def snippet(text: str, begin: int, end: int, *, longest: int = 160) -> str:
    """Returns the line around a place, in at most about `longest` characters."""
    first = text.rfind("\n", 0, begin) + 1
    last = text.find("\n", end)
    line = text[first : last if last >= 0 else len(text)]
    spare = max(0, longest - (end - begin)) // 2
    start = max(0, begin - first - spare)
    stop = min(len(line), end - first + spare)
    words = " ".join(line[start:stop].split())
    return f"{'…' if start else ''}{words}{'…' if stop < len(line) else ''}"


# --- parts ------------------------------------------------------------------------------------------


class _Inside:
    """Finds out whether a position is inside one of many ranges."""

    def __init__(self, ranges: Sequence[tuple[int, int]]) -> None:
        self._ranges = _merged(ranges)
        self._begins = [begin for begin, _ in self._ranges]

    def holds(self, at: int) -> bool:
        found = bisect_right(self._begins, at) - 1
        return found >= 0 and at < self._ranges[found][1]


def _merged(ranges: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif end > begin:
            found.append((begin, end))
    return tuple(found)


@cache
def _block_parser() -> MarkdownIt:
    # Notes are often outlines: indented text in them is not code.
    return MarkdownIt("commonmark").disable(["inline", "code"])


def _blocks(text: str, begin: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Returns the ranges of blocks of code, and of quotations."""
    body = text[begin:]
    if "```" not in body and "~~~" not in body and ">" not in body and "<" not in body:
        return [], []
    lines = [begin, *(begin + one.end() for one in re.finditer("\n", body)), len(text)]
    code: list[tuple[int, int]] = []
    quotes: list[tuple[int, int]] = []
    for token in _block_parser().parse(body):
        if token.map is None:
            continue
        whole = lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)]
        if token.type in ("fence", "html_block"):
            code.append(whole)
        elif token.type == "blockquote_open":
            quotes.append(whole)
    return code, quotes


def _wiki(found: re.Match[str]) -> WrittenLink:
    target = found[2].strip()
    named = _ID.fullmatch(target)
    return WrittenLink(
        begin=found.start(),
        end=found.end(),
        target=target if named is None else named[2],
        shown=(found[4] or "").strip(),
        heading=(found[3] or "#")[1:].strip(),
        kind=None if named is None else LinkKind(named[1]),
        embedded=bool(found[1]),
    )


def _inline(text: str, begin: int, inside: _Inside) -> Iterator[WrittenLink]:
    for found in _INLINE.finditer(text, begin):
        if inside.holds(found.start()):
            continue
        written = found[3].strip("<>")
        known = _ATLAS.fullmatch(written)
        if known is not None:
            yield WrittenLink(
                found.start(),
                found.end(),
                known[2],
                shown=found[2].strip(),
                kind=LinkKind(known[1]),
                embedded=bool(found[1]),
            )
            continue
        path, _, heading = unquote(written).partition("#")
        if _SCHEME.match(written) or not path.lower().endswith(NOTE_ENDINGS):
            continue
        yield WrittenLink(
            found.start(),
            found.end(),
            path,
            shown=found[2].strip(),
            heading=heading,
            relative=True,
            embedded=bool(found[1]),
        )


def _is_file(link: WrittenLink) -> bool:
    """Whether a link shows a picture or another file, not a note."""
    ending = posixpath.splitext(link.target)[1].lower()
    return link.embedded and link.kind is None and ending not in ("", *NOTE_ENDINGS) and " " not in ending


def _leads(value: object) -> bool:
    """Whether a field of the front matter is one that holds links: they are its value, or it has none."""
    if isinstance(value, list):
        return all(map(_leads, value))
    return value is None or (isinstance(value, str) and (not value.strip() or "[[" in value))


def _name(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_NAME]


def _names(value: object, *, spaced: bool = False) -> list[str]:
    """Returns the names in a field of the front matter: a list, or a text separated by commas (tags: also by
    spaces)."""
    if isinstance(value, str):
        parts = _SEPARATED.split(value) if spaced else value.split(",")
    elif isinstance(value, list):
        parts = [str(one) for one in value if isinstance(one, (str, int, float))]
    else:
        return []
    return [name for part in parts if (name := _name(part.strip().lstrip("#")))]


def _listed(value: str | None) -> list[str]:
    """Returns the names in a property: separated by commas, each perhaps a link or a tag."""
    if value is None:
        return []
    return [name for part in value.split(",") if (name := _name(part.strip().strip("#[]")))]


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    found = {folded(name): name for name in reversed(names)}
    return tuple(reversed(list(found.values())))[:_MOST_NAMES]


_PARAGRAPH = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*+]|\d{1,3}[.)]|#{1,6})[ \t])")
_MARK = re.compile(r"[ \t]*(?:[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,3}[.)][ \t]+|#{1,6}[ \t]+)")
_LEAST = 12


def own_words(text: str) -> list[str]:
    """Returns the paragraphs and list items of a note, without what others may have written.

    Left out are front matter, quotations, code, and what links show of other things. A link in a sentence
    stays as the words that it shows.
    """
    markup = read_markup(text)
    _fields, begin = front_matter(text)
    blanked = _without(text, [(0, begin), *markup.quoted], markup.links)
    found = []
    for part in _PARAGRAPH.split(blanked):
        mark = _MARK.match(part)
        words = " ".join(part[0 if mark is None else mark.end() :].split())
        if len(words) >= _LEAST:
            found.append(words)
    return found


def _without(text: str, ranges: Sequence[tuple[int, int]], links: Sequence[WrittenLink]) -> str:
    """Returns the text with line breaks instead of these ranges, and words instead of links."""
    changes = [(begin, end, "\n\n") for begin, end in ranges if end > begin]
    for link in links:
        if any(begin <= link.begin < end for begin, end in ranges):
            continue
        # Embedded text is somebody else's, or another note's.
        words = "" if link.embedded else link.shown or ("" if link.kind else link.target.rpartition("/")[2])
        changes.append((link.begin, link.end, words))
    parts, at = [], 0
    for begin, end, words in sorted(changes):
        parts += [text[at:begin], words]
        at = end
    return "".join([*parts, text[at:]])
