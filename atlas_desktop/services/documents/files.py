"""TEMP"""

import hashlib, os
from dataclasses import dataclass
from memory.documents.entities import FileFacts
from atlas_desktop.errors import DocumentRefused, Refusal


@dataclass
class FileContent:
    data: bytes
    facts: FileFacts
    sha256: str


def facts_of(path):
    s = os.stat(path)
    return FileFacts(str(path), s.st_size, s.st_mtime_ns, s.st_dev, s.st_ino)


def read_file(path, root=None):
    try:
        data = open(path, "rb").read()
    except OSError:
        raise DocumentRefused(str(path), Refusal.MISSING) from None
    return FileContent(data, facts_of(path), hashlib.sha256(data).hexdigest())
