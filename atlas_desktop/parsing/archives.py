"""Files that are zip archives: opened with limits, before anything is unpacked."""

import io
import zipfile
from zipfile import ZipFile

from lxml import etree

from atlas_desktop.errors import DocumentRefused, Refusal

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How a container of Microsoft begins: that of an encrypted document, or of a format before 2007."""
_MOST_ENTRIES = 20_000
_MOST_UNPACKED = 400_000_000
_MOST_RATIO = 200
_RATIO_FROM = 5_000_000
_ENCRYPTED_ENTRY = 1


def opened(data: bytes, name: str) -> ZipFile:
    """Returns the archive in `data`. Raises `DocumentRefused` if it is damaged, encrypted, or unpacks to too
    much."""
    if data.startswith(_OLE):
        raise DocumentRefused(name, Refusal.ENCRYPTED)
    try:
        archive = ZipFile(io.BytesIO(data))
        entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, RuntimeError):
        raise DocumentRefused(name, Refusal.DAMAGED) from None
    total = sum(one.file_size for one in entries)
    bomb = any(
        one.file_size > _RATIO_FROM and one.file_size > _MOST_RATIO * max(one.compress_size, 1)
        for one in entries
    )
    if len(entries) > _MOST_ENTRIES or total > _MOST_UNPACKED or bomb:
        raise DocumentRefused(name, Refusal.TOO_LARGE, _MOST_UNPACKED)
    if any(one.flag_bits & _ENCRYPTED_ENTRY for one in entries):
        raise DocumentRefused(name, Refusal.ENCRYPTED)
    return archive


def refuse_entities(archive: ZipFile, name: str) -> None:
    """Raises `DocumentRefused` if a part of an office file declares entities: no office program writes any."""
    for entry in archive.infolist():
        if (
            entry.filename.endswith((".xml", ".rels"))
            and b"<!DOCTYPE" in content(archive, entry.filename, name)[:4096]
        ):
            raise DocumentRefused(name, Refusal.DAMAGED)


def content(archive: ZipFile, entry: str, name: str) -> bytes:
    """Returns an entry. Raises `DocumentRefused`."""
    try:
        return archive.read(entry)
    except (
        KeyError,
        zipfile.BadZipFile,
        OSError,
        ValueError,
        RuntimeError,
        EOFError,
        NotImplementedError,
    ) as error:
        raise DocumentRefused(name, Refusal.DAMAGED) from error
    except Exception as error:
        # zlib has an error of its own, without a common base.
        raise DocumentRefused(name, Refusal.DAMAGED) from error


def xml(data: bytes, name: str) -> etree._Element:
    """Parses XML without entities, DTDs and network. Raises `DocumentRefused`."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise DocumentRefused(name, Refusal.DAMAGED) from None
