"""How many threads compute while others use the processors too."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.llamacpp.native import GLANCES, MOMENT_S, REST_S, ThreadTuner, Usage, running_now, usage

PROCESSORS = 4


class Machine:
    """Says what the system would: each look is a second later, others having used `others` processors."""

    def __init__(self) -> None:
        self.others = 0.0
        self.looks = 0
        self.running: list[int | None] = [None]
        self.glances = 0
        self.seen = Usage(0.0, 0.0, 0.0)

    def read(self) -> Usage:
        self.looks += 1
        own = self.seen.own + 2.0
        everybody = self.seen.everybody + 2.0 + self.others
        self.seen = Usage(self.seen.at + 1.0, everybody, own)
        return self.seen

    def runs(self) -> int | None:
        self.glances += 1
        return self.running[self.glances % len(self.running)]

    def threads(self, crew: ThreadTuner, others: float, wished: int = PROCESSORS) -> int:
        self.others = others
        crew.worked(self.seen.at + 1.0)
        return crew.threads(wished, self.seen.at + 1.0)


def crew_and_machine() -> tuple[ThreadTuner, Machine]:
    machine = Machine()
    return ThreadTuner(PROCESSORS, machine.read, machine.runs, lambda _: None), machine


def test_on_an_idle_machine_all_threads_compute() -> None:
    crew, machine = crew_and_machine()
    assert machine.threads(crew, 0.0) == PROCESSORS
    assert machine.threads(crew, 0.3) == PROCESSORS


def test_a_thread_makes_room_for_each_processor_that_others_keep_busy() -> None:
    crew, machine = crew_and_machine()
    assert [machine.threads(crew, others) for others in (1.0, 2.0, 0.0)] == [3, 2, PROCESSORS]


def test_what_is_not_in_the_way_is_left_alone() -> None:
    crew, machine = crew_and_machine()
    assert machine.threads(crew, 2.0, wished=2) == 2


def test_one_thread_stays_however_busy_the_machine_is() -> None:
    crew, machine = crew_and_machine()
    assert machine.threads(crew, 40.0) == 1


def test_use_about_the_limit_does_not_make_threads_come_and_go() -> None:
    crew, machine = crew_and_machine()
    told = [machine.threads(crew, others) for others in (0.52, 0.45, 0.52, 0.4, 0.45)]
    assert set(told) == {PROCESSORS - 1}
    assert machine.threads(crew, 0.3) == PROCESSORS


def test_within_a_moment_it_is_not_looked_again() -> None:
    crew, machine = crew_and_machine()
    machine.threads(crew, 0.0)
    before = machine.looks
    crew.threads(2, machine.seen.at + MOMENT_S / 4)
    assert machine.looks == before


def test_where_it_is_not_told_who_runs_a_little_is_tried_after_a_rest_in_which_others_were_at_work() -> None:
    crew, machine = crew_and_machine()
    machine.others = 3.0
    assert crew.doubt(machine.seen.at + 2 * REST_S)
    assert crew.threads(PROCESSORS, machine.seen.at) == PROCESSORS
    assert crew.doubt(machine.seen.at)
    # They are still at it.
    assert machine.threads(crew, 3.0) == 1
    assert not crew.doubt(machine.seen.at)


def test_who_has_stopped_is_not_made_room_for() -> None:
    crew, machine = crew_and_machine()
    machine.others, machine.running = 3.0, [0]
    assert not crew.doubt(machine.seen.at + 2 * REST_S)
    assert crew.threads(PROCESSORS, machine.seen.at) == PROCESSORS


def test_who_is_still_at_work_after_a_rest_is_made_room_for_at_once() -> None:
    crew, machine = crew_and_machine()
    machine.others, machine.running = 3.0, [2]
    assert crew.doubt(machine.seen.at + 2 * REST_S)
    assert crew.threads(PROCESSORS, machine.seen.at) == PROCESSORS - 2
    # They end, and that is noticed with the next look.
    assert machine.threads(crew, 0.0) == PROCESSORS


def test_what_only_wakes_up_for_a_moment_is_not_made_room_for() -> None:
    crew, machine = crew_and_machine()
    machine.others, machine.running = 3.0, [4, 1, 4]
    assert crew.doubt(machine.seen.at + 2 * REST_S)
    assert machine.glances == GLANCES
    assert crew.threads(PROCESSORS, machine.seen.at) == PROCESSORS - 1


def test_after_a_rest_on_an_idle_machine_nothing_is_in_doubt() -> None:
    crew, machine = crew_and_machine()
    assert not crew.doubt(machine.seen.at + 2 * REST_S)
    assert crew.threads(PROCESSORS, machine.seen.at) == PROCESSORS
    assert machine.glances == 0


@given(st.lists(st.floats(0, 64), min_size=1), st.integers(1, 64))
def test_there_is_always_somebody_at_work_and_never_more_than_wished(loads: list[float], wished: int) -> None:
    crew, machine = crew_and_machine()
    for others in loads:
        assert 1 <= machine.threads(crew, others, wished) <= wished


def test_the_system_counts_what_is_used() -> None:
    before = usage()
    sum(range(3_000_000))
    after = usage()
    assert after.at > before.at
    assert after.own > before.own
    assert after.everybody >= before.everybody


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell who runs")
def test_the_system_tells_who_runs() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "print(1, flush=True)\nwhile True: pass"], stdout=subprocess.PIPE
    ) as busy:
        assert busy.stdout is not None
        busy.stdout.readline()
        seen = [running_now() for _ in range(GLANCES)]
        busy.kill()
    assert all(found is not None and found >= 1 for found in seen)
