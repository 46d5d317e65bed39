"""Devices with random histories and a folder that is copied badly end in the same state."""

from pathlib import Path

import pytest

from tests.unit.sync.simulation import Simulation, dump


async def _converges(base: Path, seed: int, steps: int, devices: int) -> None:
    simulation = Simulation(base, seed, devices=devices)
    await simulation.run(steps)
    rooms = [dump(device.store._connection) for device in simulation.all]
    for room in rooms[1:]:
        for table, rows in rooms[0].items():
            assert room[table] == rows, f"seed {seed}: {table}"
    back = [row["id"] for row in rooms[0]["messages"] if row["id"] in simulation.gone and row["content"]]
    assert back == []
    broken = [
        device.store._connection.execute("PRAGMA foreign_key_check").fetchall() for device in simulation.all
    ]
    assert not any(broken)


@pytest.mark.parametrize("seed", range(6))
async def test_three_devices_converge_whatever_happens_to_their_files(tmp_path: Path, seed: int) -> None:
    await _converges(tmp_path, seed, 120, 3)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(200))
async def test_five_devices_converge_after_two_thousand_steps(tmp_path: Path, seed: int) -> None:
    await _converges(tmp_path, 1000 + seed, 2000, 5)
