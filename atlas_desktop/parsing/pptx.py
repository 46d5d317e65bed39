"""PPTX: each slide is a page with its title, its texts and tables, and its notes."""

from collections.abc import Iterable, Iterator
from typing import Any

from pptx import Presentation
from pptx.enum.shapes import PP_PLACEHOLDER

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.archives import opened_office, without_media
from atlas_desktop.parsing.building import TextBuilder
from atlas_desktop.parsing.docx import with_properties
from atlas_desktop.parsing.protocol import Unreadable
from memory.documents.entities import ParsedText

_REPEATED = frozenset({PP_PLACEHOLDER.SLIDE_NUMBER, PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER})
_MOST_DEPTH = 50


def read_pptx(data: bytes) -> ParsedText:
    presentation = Presentation(without_media(opened_office(data)))
    builder = TextBuilder()
    for slide in presentation.slides:
        builder.page()
        title = slide.shapes.title
        if title is not None:
            builder.heading(1, title.text_frame.text)
        for shape in _shapes(slide.shapes, 0):
            if title is None or shape.shape_id != title.shape_id:
                _add_shape(builder, shape)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            builder.paragraph(slide.notes_slide.notes_text_frame.text)
    return with_properties(builder, presentation.core_properties)


def _shapes(shapes: Iterable[Any], depth: int) -> Iterator[Any]:
    """Yields shapes, also those in groups."""
    if depth > _MOST_DEPTH:
        raise Unreadable(Refusal.TOO_DEEP)
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape


def _add_shape(builder: TextBuilder, shape: Any) -> None:
    if shape.is_placeholder and shape.placeholder_format.type in _REPEATED:
        return
    if shape.has_text_frame:
        builder.paragraph(shape.text_frame.text)
    elif getattr(shape, "has_table", False):
        builder.table([cell.text for cell in row.cells] for row in shape.table.rows)
