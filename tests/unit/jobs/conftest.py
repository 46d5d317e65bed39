"""The runner that the tests work with."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.jobs.bench import Bench


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    await made.stop()
