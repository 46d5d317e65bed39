"""Devices with random histories and a folder that is copied badly end in the same state."""

from pathlib import Path

import pytest

from tests.unit.sync.simulation import Simulation, dump


async def _faults(base: Path, seed: int, steps: int, devices: int) -> list[str]:
    """Runs a history; returns the tables that differ, the forgotten messages that came back, and the rows
    that refer to none."""
    simulation = Simulation(base, seed, devices=devices)
    await simulation.run(steps)
    first, *others = (dump(device.store._connection) for device in simulation.all)
    differing = [f"{table} differs" for room in others for table in first if room[table] != first[table]]
    back = [
        f"{row['id']} came back"
        for row in first["messages"]
        if row["id"] in simulation.gone and row["content"]
    ]
    broken = [
        str(tuple(row))
        for device in simulation.all
        for row in device.store._connection.execute("PRAGMA foreign_key_check")
    ]
    return differing + back + broken


@pytest.mark.parametrize("seed", range(6))
async def test_three_devices_converge_whatever_happens_to_their_files(tmp_path: Path, seed: int) -> None:
    assert await _faults(tmp_path, seed, 120, 3) == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(200))
async def test_five_devices_converge_after_two_thousand_steps(tmp_path: Path, seed: int) -> None:
    assert await _faults(tmp_path, 1000 + seed, 2000, 5) == []
