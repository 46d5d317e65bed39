"""Links and quotations as they are written in notes."""

from collections.abc import Sequence
from dataclasses import dataclass

from atlas_desktop.services.cleaning import clean, clean_line
from memory.notes.entities import LinkKind, LinkTarget, NoteLink
from memory.notes.markup import folded

LONGEST_QUOTE = 4_000
"""Characters of a text that are quoted."""
_OPEN, _CLOSE = "\ue000", "\ue001"
"""Stand around a link in a text that is about to be shown; the next character numbers it."""
_FIRST = 0xF0000
_MOST = 0xFFFD


@dataclass(frozen=True, slots=True)
class Source:
    """What a note quotes: the `quote`, what the link to it leads to, and what the link shows."""

    kind: LinkKind
    id: str
    shown: str
    quote: str = ""


def plain_name(name: str) -> str:
    """Returns a name without the characters that end a link or a part of it."""
    return clean_line(name.translate({ord(sign): " " for sign in "[]|#"}))


def link_to(kind: LinkKind, id_: str, shown: str) -> str:
    """Returns a link by id, which shows a name."""
    name = plain_name(shown)
    return f"[[{kind}:{id_}|{name}]]" if name else f"[[{kind}:{id_}]]"


def written(target: LinkTarget, among: Sequence[LinkTarget]) -> str:
    """Returns the link to a thing: by its title, or by its id if the title does not lead to it.

    `among` is everything with that title.
    """
    name = target.alias or target.title
    same = [one for one in among if folded(one.alias or one.title) == folded(name) and one.id != target.id]
    if same or not folded(name) or plain_name(name) != clean_line(name) or ":" in name:
        return link_to(target.kind, target.id, target.title)
    return f"[[{name}]]"


def link_of_words(title: str, note_id: str, words: str) -> str:
    """Returns the link to a note that is put in the place of words, which stay readable."""
    words = plain_name(words)
    if plain_name(title) != clean_line(title) or ":" in title:
        return f"[[{LinkKind.NOTE}:{note_id}|{words or plain_name(title)}]]"
    return f"[[{title}]]" if words in ("", title) else f"[[{title}|{words}]]"


def quotation(text: str) -> str:
    """Returns a text as a quotation in Markdown; a long one is cut."""
    text = clean(text).strip()
    if len(text) > LONGEST_QUOTE:
        text = f"{text[:LONGEST_QUOTE].rstrip()} …"
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def addition(source: Source) -> str:
    """Returns what a note about something begins with: the quotation, then the link back."""
    link = link_to(source.kind, source.id, source.shown)
    return f"{quotation(source.quote)}\n>\n> — {link}\n" if source.quote.strip() else f"{link}\n"


def opened_link(before: str) -> str | None:
    """Returns what has been typed of a link's name before the cursor; None outside of a link."""
    at = before.rfind("[[")
    typed = before[at + 2 :]
    return None if at < 0 or any(sign in typed for sign in "[]|#") else typed


def marked(text: str, links: Sequence[NoteLink]) -> str:
    """Returns a text whose links are replaced by what they show, between marks that `link_spans` finds."""
    parts: list[str] = []
    at = 0
    for number, link in enumerate(links[:_MOST]):
        if link.begin < at or link.end > len(text):
            continue
        name = clean_line(link.shown or link.title or link.text)
        parts += [text[at : link.begin], f"{_OPEN}{chr(_FIRST + number)}{name}{_CLOSE}"]
        at = link.end
    return "".join([*parts, text[at:]])


def has_links(text: str) -> bool:
    """Whether a text that `marked` returned has links."""
    return _OPEN in text


def link_spans(text: str) -> tuple[str, list[tuple[int, int, int]], list[int]]:
    """Returns a marked text without its marks, each link as begin, end and number, and where marks were.

    The last are the positions of the marks in the marked text, in order.
    """
    parts: list[str] = []
    spans: list[tuple[int, int, int]] = []
    removed: list[int] = []
    opened: tuple[int, int] | None = None
    length = at = 0
    for place, sign in enumerate(text):
        if place < at:
            continue
        if sign == _OPEN and place + 1 < len(text) and _FIRST <= ord(text[place + 1]) <= _FIRST + _MOST:
            opened = length, ord(text[place + 1]) - _FIRST
            removed += [place, place + 1]
            at = place + 2
        elif sign == _CLOSE and opened is not None:
            spans.append((opened[0], length, opened[1]))
            removed.append(place)
            opened = None
        else:
            parts.append(sign)
            length += 1
    return "".join(parts), spans, removed
