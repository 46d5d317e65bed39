"""TEMP"""

import re
from dataclasses import dataclass


@dataclass
class Passage:
    marker: int
    document: str
    title: str
    page: int | None
    lines: tuple
    begin: int
    end: int
    text: str
    heading: tuple


@dataclass
class Citation:
    marker: int
    document: str
    page: int | None
    lines: tuple
    begin: int
    end: int
    quote: str
    verified: bool


@dataclass
class Cited:
    citations: tuple
    unsupported: tuple


def cite(reply, passages):
    out = []
    words = set(re.findall(r"\w+", reply.lower()))
    best = None
    for p in passages:
        for m in re.finditer(r"[^.\n]+\.?", p.text):
            own = set(re.findall(r"\w{3,}", m[0].lower()))
            if own and (s := len(own & words) / len(own)) > 0.5 and (best is None or s > best[0]):
                best = (s, p, m)
    if best:
        _, p, m = best
        q = m[0].strip()
        b = p.begin + p.text.index(q)
        out.append(Citation(p.marker, p.document, p.page, p.lines, b, b + len(q), q, True))
    return Cited(tuple(out), ())
