"""EPUB: the chapters in reading order."""

from posixpath import dirname, join, normpath
from urllib.parse import unquote

from atlas_desktop.errors import DocumentRefused, Refusal
from atlas_desktop.parsing.archives import content, opened, xml
from atlas_desktop.parsing.building import TextBuilder
from atlas_desktop.parsing.html import add_html
from memory.documents.entities import ParsedText

_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_PACKAGE = "{http://www.idpf.org/2007/opf}"
_DUBLIN = "{http://purl.org/dc/elements/1.1/}"
_PAGES = ("application/xhtml+xml", "text/html")
_MOST_CHAPTERS = 5_000


def read_epub(data: bytes, name: str) -> ParsedText:
    archive = opened(data, name)
    names = set(archive.namelist())
    if "META-INF/rights.xml" in names:
        raise DocumentRefused(name, Refusal.ENCRYPTED)
    container = xml(content(archive, "META-INF/container.xml", name), name)
    root = next((one.get("full-path") for one in container.iter(f"{_CONTAINER}rootfile")), None)
    if not root:
        raise DocumentRefused(name, Refusal.DAMAGED)
    package = xml(content(archive, root, name), name)
    items = {
        one.get("id"): one.get("href")
        for one in package.iter(f"{_PACKAGE}item")
        if one.get("media-type") in _PAGES and one.get("href")
    }
    builder = TextBuilder(name)
    for count, one in enumerate(package.iter(f"{_PACKAGE}itemref")):
        href = items.get(one.get("idref"))
        if href is None or count >= _MOST_CHAPTERS:
            continue
        path = normpath(join(dirname(root), unquote(href)))
        if path in names and (page := content(archive, path, name)).strip():
            add_html(builder, page, name)

    def property_(tag: str) -> str:
        return package.findtext(f".//{_DUBLIN}{tag}") or ""

    return builder.result(
        title=property_("title"), author=property_("creator"), created=property_("date")[:10]
    )
