"""XLSX: each sheet is a table with the values that its cells show."""

import io
import warnings
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

import openpyxl

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.archives import opened_office
from atlas_desktop.parsing.building import TextBuilder
from atlas_desktop.parsing.protocol import MOST_CHARACTERS, MOST_ROWS, Unreadable
from memory.documents.entities import ParsedText

_MOST_COLUMNS = 16_384
_WHOLE = 1e15


def read_xlsx(data: bytes) -> ParsedText:
    opened_office(data)
    builder = TextBuilder()
    with warnings.catch_warnings():
        # openpyxl warns of all that it would lose if it wrote the file.
        warnings.simplefilter("ignore")
        workbook = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        rows = _Rows()
        for sheet in workbook.worksheets:
            builder.heading(1, sheet.title)
            builder.table(rows.of(sheet))
    if not rows.cells:
        raise Unreadable(Refusal.NO_TEXT)
    about = workbook.properties
    created = about.created
    return builder.result(
        title=about.title or "",
        author=about.creator or "",
        created=created.isoformat() if isinstance(created, datetime) else "",
        # The first heading is the name of a sheet.
        headed=False,
    )


class _Rows:
    """Reads rows, and counts those of all sheets: a few bytes can state any number of empty ones."""

    def __init__(self) -> None:
        self._rows = 0
        self._characters = 0
        self.cells = 0

    def of(self, sheet: Any) -> Iterator[list[str]]:
        # The size that a sheet states can be wrong, in either direction.
        sheet.reset_dimensions()
        for row in sheet.iter_rows(values_only=True, max_col=None):
            self._rows += 1
            if self._rows > MOST_ROWS:
                raise Unreadable(Refusal.TOO_MANY_ROWS, MOST_ROWS)
            cells = [shown(value) for value in row[:_MOST_COLUMNS]]
            if any(cells):
                self.cells += 1
                yield cells


def shown(value: object) -> str:
    """Returns the value of a cell as text: numbers in full, dates in ISO 8601."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).upper()
        case float():
            whole = value.is_integer() and abs(value) < _WHOLE
            return str(int(value)) if whole else f"{value:.15g}"
        case datetime():
            return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "seconds")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
        case _:
            return str(value)[:MOST_CHARACTERS]
