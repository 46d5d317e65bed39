"""Long work in a thread gives way."""

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.jobs import foreground_gate
from memory.jobs.foreground_gate import Gently


@given(st.lists(st.integers()))
def test_it_is_what_it_was_made_from(items: list[int]) -> None:
    gentle = Gently(items)
    assert list(gentle) == items
    assert len(gentle) == len(items)
    assert list(gentle[1:]) == items[1:]
    assert all(gentle[at] == item for at, item in enumerate(items))


def test_it_rests_when_it_has_been_at_it_for_long_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    now, rests = [0.0], list[float]()
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "sleep", rests.append)
    for item in Gently(range(10)):
        now[0] += foreground_gate.AT_A_TIME_S * (1.5 if item >= 8 else 0.1)
    assert rests == [foreground_gate.PAUSE_S] * 2


@pytest.mark.parametrize("late", [0, 1, 4])
def test_it_goes_on_resting_while_others_are_at_work(monkeypatch: pytest.MonkeyPatch, late: int) -> None:
    now, rests = [0.0], list[float]()

    def sleep(seconds: float) -> None:
        rests.append(seconds)
        now[0] += 2 * foreground_gate.LATE_S if len(rests) <= late else seconds

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    for _ in Gently(range(1)):
        now[0] += 2 * foreground_gate.AT_A_TIME_S
    assert len(rests) == late + 1


def test_however_busy_others_are_it_gets_done(monkeypatch: pytest.MonkeyPatch) -> None:
    now, rests = [0.0], list[float]()

    def sleep(seconds: float) -> None:
        rests.append(seconds)
        now[0] += 2 * foreground_gate.LATE_S

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    seen = 0
    for _ in Gently(range(3)):
        seen += 1
        now[0] += 2 * foreground_gate.AT_A_TIME_S
    assert seen == 3
    assert len(rests) == 3 * foreground_gate.MOST_PAUSES


def test_several_threads_may_go_through_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreground_gate, "AT_A_TIME_S", 0.0)
    monkeypatch.setattr(foreground_gate, "PAUSE_S", 0.0)
    gentle, found = Gently(range(1_000)), list[int]()
    threads = [threading.Thread(target=lambda: found.append(sum(gentle))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [499_500] * 4
