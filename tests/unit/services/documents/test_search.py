"""What a reply cites, as it is stored."""

from atlas_desktop.services.documents.search import cited_reply
from memory.documents.entities import StoredPassage

TEXT = "The ferry leaves at eight.\nIn strong wind it stays in the harbour.\nBicycles travel free of charge."


async def test_a_citation_has_the_lines_of_its_quotation() -> None:
    passage = StoredPassage(1, "d", "Ferries", None, (4, 6), 30, 30 + len(TEXT), (), TEXT, "00", "m")
    reply = "Bicycles travel free of charge [1]. The ferry leaves at eight. Quillon painted it blue [1]."
    found = await cited_reply(reply, [passage])
    assert [(one.quote, one.lines) for one in found.citations if one.verified] == [
        ("Bicycles travel free of charge.", (6, 6)),
        ("The ferry leaves at eight.", (4, 4)),
    ]
    # What is not found there stands for the whole passage.
    assert [one.lines for one in found.citations if not one.verified] == [(4, 6)]
