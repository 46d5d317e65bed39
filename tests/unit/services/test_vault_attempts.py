from pathlib import Path

import pytest

from atlas_desktop.services.vault import LONGEST_S, Attempts, delay_after


def test_three_are_free_and_then_each_waits_longer_up_to_a_minute() -> None:
    assert [delay_after(n) for n in range(8)] == [0, 0, 0, 2, 4, 8, 16, 32]
    assert delay_after(8) == delay_after(10**9) == LONGEST_S


def test_the_count_outlives_the_program_and_ends_with_the_right_one(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "attempts"
    time = [1000.0]
    for _ in range(4):
        Attempts(path, lambda: time[0]).wrong()
    assert path.read_text() == "4 1000\n"
    assert path.stat().st_mode & 0o777 == 0o600
    later = Attempts(path, lambda: time[0])
    assert later.left() == 4
    time[0] += 3.5
    assert later.left() == 1
    time[0] += 1
    assert later.left() == 0
    later.right()
    assert Attempts(path).left() == 0


def test_a_clock_that_was_set_back_does_not_lock_out(tmp_path: Path) -> None:
    path = tmp_path / "attempts"
    path.write_text("5 99999999999\n")
    assert Attempts(path, lambda: 0.0).left() == 8
    assert Attempts(path, lambda: 5.0).left() == 3
    assert Attempts(path, lambda: 8.0).left() == 0


@pytest.mark.parametrize("damage", ["", "x y", "3", "\xff", "-5 0", "nan nan"])
def test_a_damaged_file_counts_nothing(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "attempts"
    path.write_text(damage, encoding="latin-1")
    assert Attempts(path, lambda: 10.0).left() == 0
