"""Devices with random histories and a folder that is copied badly end in the same state."""

from pathlib import Path

import pytest

from tests.unit.sync.simulation import Simulation


@pytest.mark.parametrize("seed", range(6))
async def test_three_devices_converge_whatever_happens_to_their_files(tmp_path: Path, seed: int) -> None:
    assert await Simulation(tmp_path, seed, devices=3).run(120) == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(200))
async def test_five_devices_converge_after_two_thousand_steps(tmp_path: Path, seed: int) -> None:
    assert await Simulation(tmp_path, 1000 + seed, devices=5).run(2000) == []
