"""Files that are zip archives, and the XML in them: opened with limits, before anything is unpacked."""

import io
import zipfile
import zlib
from zipfile import ZipFile

from lxml import etree

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.protocol import MOST_ENTRIES, MOST_MEMORY, MOST_UNPACKED, Unreadable

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How a container of Microsoft begins: that of an encrypted document, or of a format before 2007."""
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_ENCRYPTED_ENTRY = 1
_MOST_RATIO = 300
# Small entries of spaces or zeros can be packed tightly and do no harm.
_RATIO_FROM = 5_000_000
# A document type stands before the first element.
_PROLOG = 65_536
_XML = (".xml", ".rels", ".vml")


def opened(data: bytes) -> ZipFile:
    """Returns the archive in `data`.

    Raises `Unreadable` if it is damaged or encrypted, or if it would unpack to too much.
    """
    if data.startswith(_OLE):
        raise Unreadable(Refusal.ENCRYPTED if _ENCRYPTED_PACKAGE in data else Refusal.UNKNOWN_FORMAT)
    try:
        archive = ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        raise Unreadable(Refusal.DAMAGED) from None
    entries = archive.infolist()
    if len(entries) > MOST_ENTRIES or sum(one.file_size for one in entries) > MOST_UNPACKED:
        raise Unreadable(Refusal.UNPACKS_TOO_LARGE, MOST_UNPACKED)
    if any(one.file_size > max(_RATIO_FROM, _MOST_RATIO * one.compress_size) for one in entries):
        raise Unreadable(Refusal.UNPACKS_TOO_LARGE, MOST_UNPACKED)
    if any(one.flag_bits & _ENCRYPTED_ENTRY for one in entries):
        raise Unreadable(Refusal.ENCRYPTED)
    return archive


def content(archive: ZipFile, entry: str) -> bytes:
    """Returns an entry, unpacked. Raises `Unreadable`."""
    return _read(archive, entry, -1)


def _read(archive: ZipFile, entry: str, size: int) -> bytes:
    try:
        # An entry is never unpacked beyond the size in its header, which `opened` has checked.
        with archive.open(entry) as file:
            return file.read(size)
    except (KeyError, zipfile.BadZipFile, OSError, ValueError, RuntimeError, EOFError, zlib.error):
        raise Unreadable(Refusal.DAMAGED) from None


def opened_office(data: bytes) -> ZipFile:
    """Returns the archive of an office file as `opened` does.

    Also raises `Unreadable` if a part of it declares a document type: no office program writes one, but with
    it a small file can grow without limit or name files on the disk.
    """
    archive = opened(data)
    for entry in archive.namelist():
        if entry.endswith(_XML):
            refuse_document_type(_read(archive, entry, _PROLOG))
    return archive


def refuse_document_type(data: bytes) -> None:
    """Raises `Unreadable` if XML begins with a document type, in any encoding of ASCII or UTF-16."""
    if b"<!DOCTYPE" in data[:_PROLOG].replace(b"\0", b""):
        raise Unreadable(Refusal.XML_ENTITIES)


def refuse_entities(data: bytes) -> None:
    """Raises `Unreadable` if XML declares entities; another document type is fine."""
    if b"<!ENTITY" in data[:_PROLOG].replace(b"\0", b""):
        raise Unreadable(Refusal.XML_ENTITIES)


def without_media(archive: ZipFile) -> io.BytesIO:
    """Returns a copy of an archive in which everything but XML is empty.

    The libraries for office files load all parts, pictures and films included.
    """
    copy = io.BytesIO()
    with ZipFile(copy, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target:
        for entry in dict.fromkeys(archive.namelist()):
            if not entry.endswith("/"):
                target.writestr(entry, content(archive, entry) if entry.endswith(_XML) else b"")
    copy.seek(0)
    return copy


def xml(data: bytes) -> etree._Element:
    """Parses XML; entities are not expanded, and nothing else is loaded. Raises `Unreadable`."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise unreadable(error) from None
    except ValueError:
        raise Unreadable(Refusal.DAMAGED) from None


def unreadable(error: etree.XMLSyntaxError) -> Unreadable:
    """Returns why XML cannot be read."""
    if error.code == etree.ErrorTypes.ERR_NO_MEMORY:
        return Unreadable(Refusal.TOO_MUCH_MEMORY, MOST_MEMORY)
    # There is one code for all limits of the library.
    deep = error.code == etree.ErrorTypes.ERR_RESOURCE_LIMIT or "depth" in (error.msg or "")
    return Unreadable(Refusal.TOO_DEEP if deep else Refusal.DAMAGED)
