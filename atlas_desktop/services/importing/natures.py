"""What a file is that is no export: most often one that did not come whole, or another one than was meant."""

import codecs

from atlas_desktop.services.importing.sources import READ, Source
from atlas_desktop.words.catalogue import tr

_LOOKED_AT = 64 * 1024
_WIDE = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


def nature_of(source: Source) -> str:
    """In words that follow its name; "" when there is nothing to say but that its format is not known.

    Raises `OSError`.
    """
    if not source.parts:
        # What was refused has its own reasons.
        return "" if source.refused else tr("left_out.no_part", endings=", ".join(READ))
    if not source.size:
        return tr("left_out.empty")
    if len(source.parts) > 1:
        return ""
    head = source.parts[0].head(_LOOKED_AT)
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        return tr("left_out.spaces")
    if (wide := _WIDE.get(head[:2])) is not None:
        return tr("left_out.wide", coding=wide)
    return "" if _is_text(head) else tr("left_out.not_text")


def _is_text(head: bytes) -> bool:
    """Whether it could go on as UTF-8. A zero byte is in no text."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return b"\x00" not in head
