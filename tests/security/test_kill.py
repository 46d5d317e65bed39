"""Killed at any moment, and as often as one likes, everything opens again and nothing promised is lost."""

import pytest

from tests.security.crash import Scenario, attack
from tests.security.figures import Figures
from tests.security.scenarios import SCENARIOS
from tests.storage.conftest import Place

every_scenario = pytest.mark.parametrize("kind", SCENARIOS, ids=lambda kind: kind.name)


async def kill_again_and_again(kind: type[Scenario], place: Place, figures: Figures, rounds: int) -> int:
    """How many of the rounds ended in a death. Whatever is lost in one of them fails it."""
    blows = await attack(kind(place), rounds, seed=20261122)
    figures.add(f"kill -9: {kind.name}", attempts=rounds, died=blows, lost=0)
    return blows


@every_scenario
async def test_it_opens_and_nothing_promised_is_lost(
    kind: type[Scenario], place: Place, figures: Figures
) -> None:
    assert await kill_again_and_again(kind, place, figures, kind.rounds) > kind.rounds // 3


@pytest.mark.soak
@every_scenario
async def test_it_opens_and_nothing_promised_is_lost_in_a_long_run(
    kind: type[Scenario], place: Place, figures: Figures
) -> None:
    assert await kill_again_and_again(kind, place, figures, kind.soak_rounds) > kind.soak_rounds // 3
