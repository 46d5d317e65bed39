"""Runs work to its end despite cancellation."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def run_to_completion(work: Coroutine[Any, Any, T]) -> T:
    """Returns what `work` returns. If the caller is cancelled meanwhile, the cancellation takes effect only
    after the work has ended.

    An error of the work is raised in either case, because nothing else would report it.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()
        raise
