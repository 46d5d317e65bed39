"""EPUB: the chapters in reading order."""

import html.entities
import re
from posixpath import dirname, join, normpath
from urllib.parse import unquote
from zipfile import ZipFile

from lxml import etree

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.archives import content, opened, refuse_entities, xml
from atlas_desktop.parsing.building import TextBuilder
from atlas_desktop.parsing.html import add_html, add_page
from atlas_desktop.parsing.plain import decoded
from atlas_desktop.parsing.protocol import Unreadable
from memory.documents.entities import ParsedText

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
    """Returns the entry that a link in a folder leads to."""
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
    """Parses a page as XML; returns None if it is not: much that calls itself XHTML is only HTML."""
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
    return entity[0] if entity[1] in _OF_XML else html.entities.html5.get(entity[1], entity[0])
