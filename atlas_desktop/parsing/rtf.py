"""RTF: its text, without formatting."""

import re
from datetime import date

from striprtf.striprtf import rtf_to_text

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.building import TextBuilder
from atlas_desktop.parsing.protocol import Unreadable
from memory.documents.entities import ParsedText

_HEAD = 65_536
_FACT = re.compile(r"\{\\(title|author) ([^{}]{0,1000})\}")
_CREATED = re.compile(r"\{\\creatim\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")


def read_rtf(data: bytes) -> ParsedText:
    # RTF is ASCII: all other characters are written with it.
    text = data.decode("latin-1")
    if not text.lstrip().startswith("{\\rtf"):
        raise Unreadable(Refusal.DAMAGED)
    builder = TextBuilder()
    builder.paragraph(rtf_to_text(text, errors="replace"))
    facts = dict(_FACT.findall(text[:_HEAD]))
    return builder.result(
        title=_plain(facts.get("title", "")), author=_plain(facts.get("author", "")), created=_created(text)
    )


def _plain(fact: str) -> str:
    return str(rtf_to_text(f"{{\\rtf1\\ansi {fact}}}", errors="replace")) if fact else ""


def _created(text: str) -> str:
    found = _CREATED.search(text[:_HEAD])
    if found is None:
        return ""
    try:
        return date(*map(int, found.groups())).isoformat()
    except ValueError:
        return ""
