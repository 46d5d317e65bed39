"""HTML: headings, paragraphs, lists and tables; scripts, styles and navigation are left out."""

from lxml import etree, html

from atlas_desktop.errors import DocumentRefused, Refusal
from atlas_desktop.parsing.building import TextBuilder
from memory.documents.entities import ParsedText

_DROPPED = frozenset(
    {
        "script",
        "style",
        "noscript",
        "template",
        "svg",
        "nav",
        "iframe",
        "object",
        "head",
        "canvas",
        "form",
        "button",
    }
)
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "header",
        "hr",
        "li",
        "main",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "ul",
    ]
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_MOST_DEPTH = 200


def read_html(data: bytes, name: str) -> ParsedText:
    builder = TextBuilder(name)
    title, author, created = add_html(builder, data, name)
    return builder.result(title=title, author=author, created=created)


def add_html(builder: TextBuilder, data: bytes, name: str) -> tuple[str, str, str]:
    """Adds the text of a page; returns its title, author and date. Raises `DocumentRefused`."""
    if not data.strip():
        raise DocumentRefused(name, Refusal.EMPTY)
    try:
        # Without an encoding in the page libxml2 assumes Latin-1.
        data.decode("utf-8")
        parser = html.HTMLParser(no_network=True, huge_tree=False, encoding="utf-8")
    except UnicodeDecodeError:
        parser = html.HTMLParser(no_network=True, huge_tree=False)
    try:
        page = html.document_fromstring(data, parser=parser)
    except (etree.LxmlError, ValueError, AssertionError):
        raise DocumentRefused(name, Refusal.DAMAGED) from None
    title = " ".join((page.findtext(".//title") or "").split())
    body = page.find("body")
    _Walker(builder).block(page if body is None else body, 0)
    return title, _meta(page, "author"), _meta(page, "date")


def _meta(page: "html.HtmlElement", name: str) -> str:
    for one in page.iter("meta"):
        if (one.get("name") or "").lower() == name:
            return one.get("content") or ""
    return ""


class _Walker:
    """Collects inline text, and hands it over at the borders of blocks."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._inline: list[str] = []

    def block(self, element: "html.HtmlElement", depth: int) -> None:
        self._text(element.text, pre=element.tag == "pre")
        for child in element:
            if isinstance(child.tag, str) and depth < _MOST_DEPTH:
                self._child(child, depth + 1, pre=element.tag == "pre")
            self._text(child.tail, pre=element.tag == "pre")
        if element.tag in _BLOCKS:
            self._flush()

    def _child(self, child: "html.HtmlElement", depth: int, *, pre: bool) -> None:
        tag = child.tag
        if tag in _DROPPED:
            return
        if tag in _HEADINGS:
            self._flush()
            self._builder.heading(_HEADINGS[tag], child.text_content())
        elif tag == "table" and not child.findall(".//table"):
            self._flush()
            rows = [
                [cell.text_content() for cell in row if cell.tag in ("td", "th")] for row in child.iter("tr")
            ]
            header = any(cell.tag == "th" for row in list(child.iter("tr"))[:1] for cell in row)
            self._builder.table(rows, header=header or len(rows) > 1)
        elif tag == "br":
            self._inline.append("\n")
        else:
            if tag in _BLOCKS:
                self._flush()
            if tag == "li":
                self._inline.append("- ")
            self.block(child, depth)
            if pre:
                return

    def _text(self, text: str | None, *, pre: bool) -> None:
        if text:
            self._inline.append(text if pre else " ".join(f" {text} ".split("\n")).replace("\t", " "))

    def _flush(self) -> None:
        joined = "".join(self._inline)
        self._inline = []
        if "\n" not in joined:
            joined = " ".join(joined.split())
        else:
            joined = "\n".join(" ".join(line.split()) for line in joined.split("\n"))
        if joined.strip(" -\n"):
            self._builder.paragraph(joined)
