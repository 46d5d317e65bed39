"""TEMP"""

import os
from dataclasses import dataclass, field
from enum import StrEnum
from atlas_desktop.services.documents.files import facts_of


class SkipReason(StrEnum):
    LINK = "link"
    UNKNOWN_FORMAT = "unknown_format"


@dataclass
class FolderRules:
    include: tuple = ()
    exclude: tuple = ()


@dataclass
class ScannedFile:
    facts: object
    relative: str


@dataclass
class SkippedPath:
    where: str
    reason: SkipReason


@dataclass
class FolderScan:
    files: list = field(default_factory=list)
    skipped: list = field(default_factory=list)


def scan(root, rules, readable):
    out = FolderScan()
    for d, _, fs in os.walk(root):
        for f in sorted(fs):
            p = os.path.join(d, f)
            rel = os.path.relpath(p, root)
            if not readable(f):
                out.skipped.append(SkippedPath(rel, SkipReason.UNKNOWN_FORMAT))
                continue
            out.files.append(ScannedFile(facts_of(p), rel))
    return out
