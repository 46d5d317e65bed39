"""Jupyter notebooks: the cells one after another, with the text of their outputs."""

import msgspec

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.building import TextBuilder, tidy
from atlas_desktop.parsing.markdown import structure
from atlas_desktop.parsing.protocol import Unreadable
from memory.documents.entities import ParsedText

_LONGEST_OUTPUT = 2_000
_Lines = str | list[str]


class _Data(msgspec.Struct):
    plain: _Lines = msgspec.field(name="text/plain", default="")


class _Output(msgspec.Struct):
    text: _Lines = ""
    data: _Data = msgspec.field(default_factory=_Data)


class _Cell(msgspec.Struct):
    cell_type: str = ""
    source: _Lines = ""
    outputs: list[_Output] = []


class _Author(msgspec.Struct):
    name: str = ""


class _Metadata(msgspec.Struct):
    title: str = ""
    authors: list[_Author] = []


class _Notebook(msgspec.Struct):
    cells: list[_Cell]
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


def read_notebook(data: bytes) -> ParsedText:
    try:
        notebook = msgspec.json.decode(data, type=_Notebook)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Unreadable(Refusal.DAMAGED) from None
    builder = TextBuilder()
    for cell in notebook.cells:
        text = tidy(_joined(cell.source))
        begin = builder.paragraph(text)
        if cell.cell_type == "markdown" and begin is not None:
            headings, tables = structure(text)
            for heading in headings:
                builder.mark(heading.level, heading.text, begin + heading.begin)
            for table in tables:
                builder.note_table(begin + table.begin, begin + table.end, begin + table.header_end)
        for output in cell.outputs:
            builder.paragraph((_joined(output.text) or _joined(output.data.plain))[:_LONGEST_OUTPUT])
    authors = ", ".join(author.name for author in notebook.metadata.authors)
    return builder.result(title=notebook.metadata.title, author=authors)


def _joined(lines: _Lines) -> str:
    return lines if isinstance(lines, str) else "".join(lines)
