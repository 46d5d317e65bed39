"""Finds out what a reply cites of the passages in its prompt."""

import asyncio
from collections.abc import Sequence

from memory.documents.citations import Passage, SourceKind, cite
from memory.documents.entities import CitedReply, StoredCitation, StoredPassage


async def cited_reply(text: str, passages: Sequence[StoredPassage]) -> CitedReply:
    """Returns the citations of a reply, each checked letter by letter, and what no passage supports."""
    given = [
        Passage(
            marker=one.marker,
            kind=SourceKind.DOCUMENT,
            document=one.document,
            title=one.title,
            page=one.page,
            lines=one.lines,
            begin=one.begin,
            end=one.end,
            text=one.text,
            heading=one.heading,
            header=one.header,
        )
        for one in passages
    ]
    by_marker = {one.marker: one for one in passages}
    found = await asyncio.to_thread(cite, text, given)
    return CitedReply(
        tuple(
            StoredCitation(
                marker=one.marker,
                document=one.document,
                title=by_marker[one.marker].title,
                page=one.page,
                lines=one.lines or by_marker[one.marker].lines,
                begin=one.begin,
                end=one.end,
                quote=one.quote,
                verified=one.verified,
                sha256=by_marker[one.marker].sha256,
                kind=by_marker[one.marker].kind,
            )
            for one in found.citations
        ),
        found.unsupported,
    )
