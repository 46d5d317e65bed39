from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.library.catalog import (
    GIB,
    Fit,
    Machine,
    ModelRole,
    find_gpu,
    fit,
    fit_entry,
    load_catalog,
    measured_machine,
    memory_needed,
    recommend,
    this_machine,
    tokens_per_second,
)


def machine(gib: float, *, cores: int = 4, free: float = 0.8, unified: bool = False) -> Machine:
    return Machine(int(gib * GIB), int(gib * GIB * free), cores, 2 * cores, unified=unified)


@pytest.mark.parametrize(
    ("size", "gib", "cores", "expected"),
    [
        (98_362_432, 4, 2, Fit.FITS),
        (2_500_000_000, 8, 4, Fit.FITS),
        (2_500_000_000, 4, 4, Fit.WONT_FIT),
        (5_000_000_000, 16, 4, Fit.FITS),
        (5_000_000_000, 16, 2, Fit.MAY_BE_SLOW),
        (5_000_000_000, 8, 4, Fit.MAY_BE_SLOW),
        (14_000_000_000, 32, 8, Fit.MAY_BE_SLOW),
        (14_000_000_000, 8, 8, Fit.WONT_FIT),
    ],
)
def test_labels(size: int, gib: int, cores: int, expected: Fit) -> None:
    assert fit(size, 8192, machine(gib, cores=cores), kv_bytes_per_token=100_000) is expected


def test_what_is_not_free_now_may_be_slow() -> None:
    assert fit(2_000_000_000, 4096, machine(16, free=0.9)) is Fit.FITS
    assert fit(2_000_000_000, 4096, machine(16, free=0.1)) is Fit.MAY_BE_SLOW


def test_a_mixture_of_experts_and_shared_memory_are_faster() -> None:
    plain = tokens_per_second(10_000_000_000, machine(32))
    assert tokens_per_second(10_000_000_000, machine(32), 0.1) == pytest.approx(10 * plain)
    assert tokens_per_second(10_000_000_000, machine(32, unified=True)) > plain


@given(
    size=st.integers(1, 1 << 40),
    context=st.integers(1, 1 << 20),
    gib=st.floats(1, 512),
    more=st.floats(1, 4),
    cores=st.integers(1, 64),
)
def test_more_memory_never_makes_it_worse(
    size: int, context: int, gib: float, more: float, cores: int
) -> None:
    order = list(Fit)
    small = fit(size, context, machine(gib, cores=cores))
    large = fit(size, context, machine(gib * more, cores=cores))
    assert order.index(large) <= order.index(small)
    assert memory_needed(size, context) > size


@pytest.mark.parametrize(("gib", "least"), [(4, 1e9), (8, 3e9), (16, 3e9), (32, 3e9)])
def test_recommends_a_useful_model_that_fits_and_only_appends(gib: int, least: float) -> None:
    best = recommend(machine(gib), load_catalog())[0]
    assert best.fit is Fit.FITS
    assert best.entry.prefix_stable
    assert best.entry.parameters >= least


def test_recommendations_are_ordered_and_complete() -> None:
    catalog = load_catalog()
    for role in ModelRole:
        listed = recommend(machine(8), catalog, role)
        ranks = [list(Fit).index(item.fit) for item in listed]
        assert ranks == sorted(ranks)
        assert {item.entry.id for item in listed} == {entry.id for entry in catalog.of_role(role)}
        assert all(item.fit is fit_entry(item.entry, machine(8)) for item in listed)


def test_two_cores_are_not_offered_a_file_that_they_read_for_minutes_first() -> None:
    best = recommend(machine(32, cores=2), load_catalog())
    assert best[0].entry.parameters < 8e9
    assert any(one.entry.parameters > 29e9 for one in best)
    assert recommend(machine(32, cores=8), load_catalog())[0].entry.parameters > 29e9


def test_speed_comes_from_size_and_from_what_was_measured() -> None:
    slow = replace(machine(32, cores=8), bandwidth=8_000_000_000)
    assert tokens_per_second(2_000_000_000, slow) == pytest.approx(4)
    assert all(one.speed > 0 for one in recommend(slow, load_catalog()))
    measured = measured_machine()
    assert measured.bandwidth is not None
    assert measured.bandwidth > 100_000_000
    assert measured_machine().bandwidth == measured.bandwidth


def test_this_machine_has_sane_numbers() -> None:
    found = this_machine()
    assert 0 < found.available_ram <= found.total_ram
    assert 1 <= found.cores_physical <= found.cores_logical


def test_finds_graphics_in_the_systems_files(tmp_path: Path) -> None:
    assert find_gpu(tmp_path) is None
    vendor = tmp_path / "sys/class/drm/card0/device/vendor"
    vendor.parent.mkdir(parents=True)
    vendor.write_text("0x1af4\n")
    assert find_gpu(tmp_path) is None
    vendor.write_text("0x1002\n")
    assert find_gpu(tmp_path) == "AMD graphics"
    information = tmp_path / "proc/driver/nvidia/gpus/0000:01:00.0/information"
    information.parent.mkdir(parents=True)
    information.write_text("Model: \t\t NVIDIA GeForce RTX 3060\nIRQ: 1\n")
    assert find_gpu(tmp_path) == "NVIDIA GeForce RTX 3060"
