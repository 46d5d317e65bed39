"""What a person tells is known afterwards, with the installed program and the real models."""

import pytest

from tests.e2e.conftest import Program

pytestmark = pytest.mark.real_model


def test_what_was_told_is_remembered_after_the_jobs_have_run(program: Program) -> None:
    said = "My sister Maja lives in Tromsø. Remember that my locker is 14B. Do I live in Cork?"
    program.json("ask", said, "--max-tokens", "4")
    assert [one["text"] for one in program.json("memory", "list")] == ["My locker is 14B."]

    assert program.json("jobs", "run")["failed"] == 0
    found = {one["text"]: one for one in program.json("memory", "list")}
    assert set(found) == {"My locker is 14B.", "My sister Maja lives in Tromsø."}
    learned = found["My sister Maja lives in Tromsø."]
    assert (learned["kind"], learned["subject"], learned["state"]) == ("fact", "my sister Maja", "inbox")
    assert learned["sources"][0]["quote"] in said
