"""Runs work to its end despite cancellation."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def unbroken(work: Coroutine[Any, Any, T]) -> T:
    """Returns what `work` returns. A caller that is cancelled meanwhile is cancelled only when it has ended.

    An error of the work is raised in either case: nobody else would see it.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()
        raise
