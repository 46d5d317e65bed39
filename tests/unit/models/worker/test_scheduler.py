import threading

from models.messages import Lane
from models.worker.scheduler import Job, Scheduler


def steps(log: list[str], name: str, count: int) -> Job:
    for number in range(count):
        log.append(f"{name}{number}")
        yield


def closing(scheduler: Scheduler) -> Job:
    scheduler.close()
    yield


def test_chat_goes_before_embedding_and_tasks() -> None:
    scheduler, log = Scheduler(), list[str]()
    scheduler.submit(1, Lane.TASK, steps(log, "t", 2))
    scheduler.submit(2, Lane.EMBED, steps(log, "e", 2))
    scheduler.submit(3, Lane.CHAT, steps(log, "c", 2))
    scheduler.submit(4, Lane.TASK, closing(scheduler))
    scheduler.run()
    assert log == ["c0", "c1", "e0", "e1", "t0", "t1"]


def test_jobs_of_one_lane_finish_in_the_order_they_came() -> None:
    scheduler, log = Scheduler(), list[str]()
    scheduler.submit(1, Lane.CHAT, steps(log, "a", 3))
    scheduler.submit(2, Lane.CHAT, steps(log, "b", 1))
    scheduler.submit(3, Lane.TASK, closing(scheduler))
    scheduler.run()
    assert log == ["a0", "a1", "a2", "b0"]


def test_a_running_task_is_told_to_yield_when_chat_arrives_and_then_goes_on() -> None:
    scheduler, log = Scheduler(), list[str]()
    seen: list[bool] = []

    def task() -> Job:
        seen.append(scheduler.should_yield())
        scheduler.submit(2, Lane.CHAT, steps(log, "c", 1))
        seen.append(scheduler.should_yield())
        yield
        log.append("task goes on")
        scheduler.close()
        yield

    scheduler.submit(1, Lane.TASK, task())
    scheduler.run()
    assert seen == [False, True]
    assert log == ["c0", "task goes on"]


def test_a_cancelled_job_sees_it_and_unknown_requests_are_ignored() -> None:
    scheduler = Scheduler()
    seen: list[bool] = []

    def job() -> Job:
        seen.append(scheduler.cancelled(7))
        scheduler.cancel(7)
        scheduler.cancel(99)
        seen.extend([scheduler.cancelled(7), scheduler.should_yield(), scheduler.cancelled(99)])
        scheduler.close()
        yield

    scheduler.submit(7, Lane.CHAT, job())
    scheduler.run()
    assert seen == [False, True, True, False]


def test_work_from_another_thread_wakes_the_runner() -> None:
    scheduler, log = Scheduler(), list[str]()
    runner = threading.Thread(target=scheduler.run)
    runner.start()
    scheduler.submit(1, Lane.CHAT, steps(log, "x", 1))
    scheduler.submit(2, Lane.TASK, closing(scheduler))
    runner.join(timeout=10)
    assert not runner.is_alive()
    assert log == ["x0"]


class Lamp:
    def __init__(self) -> None:
        self.on = False

    def set(self) -> None:
        self.on = True

    def clear(self) -> None:
        self.on = False


def test_the_switch_is_set_while_the_running_step_shall_end_and_cleared_for_the_next() -> None:
    lamp = Lamp()
    scheduler, seen = Scheduler(lamp), list[tuple[str, bool]]()

    def chat() -> Job:
        seen.append(("chat", lamp.on))
        scheduler.cancel(2)
        seen.append(("chat cancelled", lamp.on))
        yield

    def task() -> Job:
        seen.append(("task", lamp.on))
        scheduler.submit(2, Lane.CHAT, chat())
        seen.append(("task, chat waits", lamp.on))
        yield
        seen.append(("task goes on", lamp.on))
        scheduler.close()
        yield

    scheduler.submit(1, Lane.TASK, task())
    scheduler.run()
    assert seen == [
        ("task", False),
        ("task, chat waits", True),
        ("chat", False),
        ("chat cancelled", True),
        ("task goes on", False),
    ]
