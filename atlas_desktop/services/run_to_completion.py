"""Work that is not left half done."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def unbroken(work: Coroutine[Any, Any, T]) -> T:
    """What `work` returns. Who is cancelled while waiting for it is so when it has come to its end.

    An error of the work is raised either way: nobody else would hear of it.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()
        raise
