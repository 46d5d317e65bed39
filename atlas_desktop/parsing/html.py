"""HTML on its own, as the chapters of an EPUB, and in mail. Scripts, styles and navigation are left out."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from email import policy
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser
from html.entities import html5
from posixpath import dirname, join, normpath
from urllib.parse import unquote
from zipfile import ZipFile

from lxml import etree, html

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.building import TextBuilder, content, one_line, opened, refuse_entities, xml
from atlas_desktop.parsing.plain import decoded
from atlas_desktop.parsing.protocol import Unreadable
from memory.documents.entities import ParsedText

_DROPPED_TAGS = """
    script style noscript template svg math nav iframe object embed head canvas button select
    textarea audio video
"""
_BLOCK_TAGS = """
    address article aside blockquote body caption center dd details dialog div dl dt fieldset
    figcaption figure footer form header hr html li main ol p pre section summary table tbody td
    tfoot th thead tr ul
"""
_DROPPED = frozenset(_DROPPED_TAGS.split())
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
# A table that contains one of these is only page layout.
_ARRANGED = frozenset({"table", "ul", "ol", "pre", "blockquote", *_HEADINGS})
_AUTHORS = frozenset({"author", "dc.creator", "dcterms.creator", "article:author"})
_DATES = frozenset({"date", "dc.date", "dcterms.created", "article:published_time"})
_MOST_COLUMNS_SPANNED = 50
_MOST_DEPTH = 250
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class PageFacts:
    """The facts in the head of a page; empty if there are none."""

    title: str = ""
    author: str = ""
    created: str = ""


def read_html(data: bytes) -> ParsedText:
    builder = TextBuilder()
    facts = add_html(builder, decoded(data, declared=True))
    return builder.result(title=facts.title, author=facts.author, created=facts.created)


def add_html(builder: TextBuilder, text: str) -> PageFacts:
    """Adds the text of a page. Raises `Unreadable`."""
    if not text.strip():
        return PageFacts()
    parser = html.HTMLParser(
        no_network=True, huge_tree=False, encoding="utf-8", remove_comments=True, remove_pis=True
    )
    try:
        page = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (etree.LxmlError, ValueError):
        raise Unreadable(Refusal.DAMAGED) from None
    if any("depth" in error.message for error in parser.error_log):
        # More deeply nested elements are not in the tree.
        raise Unreadable(Refusal.TOO_DEEP)
    return add_page(builder, page)


def add_page(builder: TextBuilder, page: etree._Element) -> PageFacts:
    """Adds the text of a parsed page, HTML or XHTML."""
    walker = _Walker(builder)
    walker.block(page, 0, pre=False)
    walker.flush()
    title = next((_flat(one) for one in page.iter("{*}title")), "")
    return PageFacts(title, _meta(page, _AUTHORS), _meta(page, _DATES))


def _meta(page: etree._Element, names: frozenset[str]) -> str:
    for one in page.iter("{*}meta"):
        if (one.get("name") or one.get("property") or "").lower() in names:
            return one.get("content") or ""
    return ""


def _tag(element: etree._Element) -> str:
    """Returns the name of an element in lower case; empty if it is not an element, such as an entity."""
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


class _Walker:
    """Collects text within lines, and hands it over where blocks begin and end."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._inline: list[str] = []
        self._marker = ""
        self._after_item = False

    def block(self, element: etree._Element, depth: int, *, pre: bool) -> None:
        """Adds the content of an element."""
        if depth > _MOST_DEPTH:
            raise Unreadable(Refusal.TOO_DEEP)
        self._text(element.text, pre=pre)
        number = 0
        for child in element:
            tag = _tag(child)
            if tag == "li":
                number += 1
                self.flush()
                self._marker = f"{number}. " if _tag(element) == "ol" else "- "
            if tag and tag not in _DROPPED:
                self._child(child, tag, depth + 1, pre=pre)
            self._text(child.tail, pre=pre)

    def _child(self, child: etree._Element, tag: str, depth: int, *, pre: bool) -> None:
        if tag in _HEADINGS:
            self.flush()
            self._builder.heading(_HEADINGS[tag], _flat(child))
            self._after_item = False
        elif tag == "table" and _is_data(child):
            self.flush()
            for caption in child.iter("{*}caption"):
                self._builder.paragraph(_flat(caption))
            self._builder.table(_rows(child))
            self._after_item = False
        elif tag == "br":
            self._inline.append("\n")
        elif tag in _BLOCKS:
            self.flush(pre=pre)
            self.block(child, depth, pre=pre or tag == "pre")
            self.flush(pre=pre or tag == "pre")
        else:
            self.block(child, depth, pre=pre)

    def _text(self, text: str | None, *, pre: bool) -> None:
        if text:
            self._inline.append(text if pre else _SPACES.sub(" ", text))

    def flush(self, *, pre: bool = False) -> None:
        """Ends a block."""
        joined = "".join(self._inline)
        self._inline.clear()
        if not pre:
            joined = "\n".join(" ".join(line.split()) for line in joined.split("\n"))
        if joined.strip():
            item = bool(self._marker)
            text = joined.rstrip() if pre else joined.strip()
            self._builder.paragraph(self._marker + text, close=item and self._after_item)
            self._marker, self._after_item = "", item


def _is_data(table: etree._Element) -> bool:
    """Whether a table has rows of cells; many tables are only page layout."""
    arranged = table.get("role") == "presentation" or any(
        _tag(one) in _ARRANGED for one in table.iterdescendants("{*}*")
    )
    return not arranged and any(len(row) > 1 for row in table.iter("{*}tr"))


def _rows(table: etree._Element) -> Iterator[list[str]]:
    for row in table.iter("{*}tr"):
        cells: list[str] = []
        for cell in row:
            if _tag(cell) in ("td", "th"):
                spanned = cell.get("colspan", "1")
                columns = int(spanned) if spanned.isdecimal() else 1
                cells += [_flat(cell), *[""] * (min(columns, _MOST_COLUMNS_SPANNED) - 1)]
        yield cells


def _flat(element: etree._Element) -> str:
    """Returns the text of an element on one line."""
    parts: list[str] = []

    def add(one: etree._Element, depth: int) -> None:
        if depth > _MOST_DEPTH:
            raise Unreadable(Refusal.TOO_DEEP)
        parts.append(one.text or "")
        for child in one:
            tag = _tag(child)
            apart = " " if tag in _BLOCKS or tag == "br" else ""
            if tag and tag not in _DROPPED:
                parts.append(apart)
                add(child, depth + 1)
                parts.append(apart)
            parts.append(child.tail or "")

    add(element, 0)
    return " ".join("".join(parts).split())


_PAGES = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document"})
_NCX = "application/x-dtbncx+xml"
_MOST_CHAPTERS = 10_000
_ENTITY = re.compile(r"&(\w+;)")
_OF_XML = frozenset({"amp;", "lt;", "gt;", "quot;", "apos;"})
_HEADING = re.compile(r"<(?:\w+:)?h[1-6][\s>]", re.IGNORECASE)


def read_epub(data: bytes) -> ParsedText:
    archive = opened(data)
    entries = frozenset(archive.namelist())
    package_path = next(
        (one.get("full-path") for one in _xml(archive, "META-INF/container.xml").iter("{*}rootfile")), None
    )
    if not package_path:
        raise Unreadable(Refusal.DAMAGED)
    package = _xml(archive, package_path)
    folder = dirname(package_path)
    items = {one.get("id"): one for one in package.iter("{*}item") if one.get("href")}
    spine = [items[one.get("idref")] for one in package.iter("{*}itemref") if one.get("idref") in items]
    chapters = [
        _path(folder, one.get("href", "")) for one in spine if one.get("media-type", "").lower() in _PAGES
    ]
    _refuse_locked(archive, entries, chapters)
    labels = _labels(archive, entries, folder, package)
    builder = TextBuilder()
    for path in chapters[:_MOST_CHAPTERS]:
        if path in entries:
            _add_chapter(builder, content(archive, path), labels.get(path, ""))

    def fact(name: str) -> str:
        return package.findtext(f".//{{*}}{name}") or ""

    return builder.result(title=fact("title"), author=fact("creator"), created=fact("date"))


def _xml(archive: ZipFile, path: str) -> etree._Element:
    data = content(archive, path)
    refuse_entities(data)
    return xml(data)


def _path(folder: str, href: str) -> str:
    """Returns the target entry of a link in a folder."""
    return normpath(join(folder, unquote(href.partition("#")[0])))


def _refuse_locked(archive: ZipFile, entries: frozenset[str], chapters: list[str]) -> None:
    """Raises `Unreadable` if a chapter is encrypted. Fonts often are, in books that everyone can read."""
    if "META-INF/encryption.xml" not in entries:
        return
    references = _xml(archive, "META-INF/encryption.xml").iter("{*}CipherReference")
    locked = {normpath(unquote(one.get("URI", ""))) for one in references}
    if not locked.isdisjoint(chapters):
        raise Unreadable(Refusal.ENCRYPTED)


def _labels(
    archive: ZipFile, entries: frozenset[str], folder: str, package: etree._Element
) -> dict[str, str]:
    """Returns the names of chapters in the table of contents, by entry."""
    labels: dict[str, str] = {}
    for item in package.iter("{*}item"):
        path = _path(folder, item.get("href", ""))
        navigation = "nav" in item.get("properties", "").split()
        if path not in entries or not (navigation or item.get("media-type") == _NCX):
            continue
        contents = _xhtml(content(archive, path)) if navigation else _xml(archive, path)
        if contents is None:
            continue
        for point in contents.iter("{*}a" if navigation else "{*}navPoint"):
            label = "".join(point.itertext()) if navigation else point.findtext("{*}navLabel/{*}text") or ""
            source = point if navigation else point.find("{*}content")
            if source is not None and label.strip():
                labels.setdefault(_path(dirname(path), source.get("href") or source.get("src") or ""), label)
    return labels


def _add_chapter(builder: TextBuilder, data: bytes, label: str) -> None:
    text = decoded(data, declared=True) if data.strip() else ""
    if label and not _HEADING.search(text):
        builder.heading(1, label)
    page = _xhtml(data) if text else None
    if page is not None:
        add_page(builder, page)
    elif text:
        add_html(builder, text)


def _xhtml(data: bytes) -> etree._Element | None:
    """Parses a page as XML; returns None if it is not XML, because many pages called XHTML are only HTML."""
    refuse_entities(data)
    # The named characters of HTML are declared in a document type that is not loaded.
    text = _ENTITY.sub(_character, decoded(data, declared=True))
    try:
        return xml(re.sub(r"\A\s*<\?xml[^>]*\?>", "", text).encode("utf-8", "replace"))
    except Unreadable as error:
        if error.reason is Refusal.TOO_DEEP:
            raise
        return None


def _character(entity: "re.Match[str]") -> str:
    return entity[0] if entity[1] in _OF_XML else html5.get(entity[1], entity[0])


_HEADERS = ("From", "To", "Cc", "Date")


def read_mail(data: bytes) -> ParsedText:
    message = BytesParser(EmailMessage, policy=policy.default).parsebytes(data)
    builder = TextBuilder()
    facts = {header: one_line(str(message.get(header, ""))) for header in (*_HEADERS, "Subject")}
    if not any(facts.values()):
        raise Unreadable(Refusal.DAMAGED)
    subject = facts.pop("Subject")
    builder.paragraph("\n".join(f"{header}: {fact}" for header, fact in facts.items() if fact))
    builder.heading(1, subject)
    _add_body(builder, message)
    attached = [
        one_line(part.get_filename() or part.get_content_type()) for part in message.iter_attachments()
    ]
    builder.paragraph("\n".join(f"Attachment: {name}" for name in attached))
    moment = getattr(message["date"], "datetime", None)
    return builder.result(
        title=subject, author=facts["From"], created="" if moment is None else moment.isoformat()
    )


def _add_body(builder: TextBuilder, message: EmailMessage) -> None:
    body = message.get_body(("plain", "html"))
    if body is None:
        return
    text = _text_of(body)
    if body.get_content_type() == "text/html":
        add_html(builder, text)
    else:
        builder.paragraph(text)


def _text_of(part: MIMEPart) -> str:
    """Returns the text of a part of a mail. Without a charset it should be ASCII, and often is not."""
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    charset = part.get_content_charset("us-ascii")
    with suppress(LookupError):
        if charset != "us-ascii":
            return data.decode(charset, "replace")
    try:
        return decoded(data)
    except Unreadable:
        return data.decode("ascii", "replace")
