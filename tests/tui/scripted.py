"""A model whose replies wait for a word from the test, and what was stored of them."""

import asyncio

from tests.tui.desk import NamedModel, Stage


def gated(*replies: str) -> NamedModel:
    """Stops after the first word of each reply until `let_go`."""
    return NamedModel(replies, gate=asyncio.Event())


def let_go(model: NamedModel) -> None:
    assert model.gate is not None
    model.gate.set()


async def stored(place: Stage) -> list[tuple[str, str, str]]:
    session = await place.store.get_session("last")
    return [(m.role.value, m.content, m.status.value) for m in await place.store.branch(session.id)]
