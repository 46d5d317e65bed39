"""Projects as a whole with the installed program and no model."""

from tests.e2e.conftest import Program


def test_a_project_has_a_page_settings_and_an_end(program: Program) -> None:
    program.json("project", "create", "Boat")
    program.json("personas", "add", "Sailor", "You sail.")
    memory = program.json("memory", "add", "We chose berth seven", "--kind", "decision", "--project", "Boat")
    program.json("notes", "new", "Berths", "--text", "Seven is free.", "--project", "Boat")
    options = ("--instructions", "-", "--persona", "sailor", "--memory", "reads", "--isolated", "on")
    done = program.run("project", "set", "boat", *options, "--json", input="Answer as a sailor.\n")
    assert done.returncode == 0, done.stdout
    page = program.json("project", "show", "Boat")
    assert page["instructions"] == "Answer as a sailor."
    assert page["defaults"] == {"persona": "Sailor", "model": None, "memory_mode": "reads"}
    assert (page["isolated"], page["archived"]) == (True, False)
    counts = page["counts"]
    assert (counts["notes"], counts["memories"]) == (1, {"episodic": 1})
    assert page["lifetime"] == {"ends_at": None, "expiring": [], "archived": []}

    preview = program.json("project", "archive", "Boat", "--dry-run")
    assert [one["id"] for one in preview["lifetime"]["expiring"]] == [memory["id"]]
    assert program.json("project", "show", "Boat")["archived_at"] is None
    program.json("project", "archive", "Boat")
    (expiring,) = program.json("project", "show", "Boat")["lifetime"]["expiring"]
    assert expiring["expires_at"] == program.json("memory", "show", memory["id"])["expires_at"]
    program.json("memory", "rescue", memory["id"])
    assert program.json("project", "show", "Boat")["lifetime"]["expiring"] == []
    program.json("project", "reopen", "Boat")

    recalled = program.json("memory", "recall", "berth seven", "--kinds", "memory")
    assert recalled["hits"] == []
    inside = program.json("memory", "recall", "berth seven", "--kinds", "memory", "--project", "boat")
    assert [one["id"] for one in inside["hits"]] == [memory["id"]]
    program.json("project", "set", "Boat", "--isolated", "off", "--persona", "none", "--instructions", "")
    page = program.json("project", "show", "Boat")
    assert (page["instructions"], page["defaults"]["persona"], page["isolated"]) == ("", None, False)


def test_what_cannot_be_set_is_refused_with_a_next_step(program: Program) -> None:
    program.json("project", "create", "Boat")
    for options, code, status in (
        (("set", "Boat"), "usage", 2),
        (("set", "Boat", "--model", "no-such-model"), "unknown_model", 1),
        (("set", "Boat", "--persona", "Nobody"), "persona_not_found", 1),
        (("show", "Cellar"), "project_not_found", 2),
    ):
        done = program.run("project", *options, "--json")
        assert done.returncode == status, done.stdout
        assert f'"code": "{code}"' in done.stdout


def test_a_new_session_begins_with_the_defaults_of_its_project(program: Program) -> None:
    program.json("project", "create", "Boat")
    program.json("personas", "add", "Sailor", "You sail.")
    program.json("project", "set", "Boat", "--persona", "Sailor", "--memory", "blank")
    ask = ("ask", "Hello", "--max-tokens", "2", "--project", "boat")
    assert program.json(*ask)["memory_mode"] == "blank"
    assert program.json(*ask, "--memory", "normal")["memory_mode"] == "normal"
    told = program.run("ask", "Hello", "--max-tokens", "2", "--project", "Boat")
    assert "persona Sailor, memory blank" in told.stderr


def test_an_isolated_project_is_recalled_in_itself_alone(program: Program) -> None:
    program.json("ask", "My locker code is 7319.", "--max-tokens", "2", "--project", "Boat")
    program.json("ask", "My bicycle lock opens with 4082.", "--max-tokens", "2")
    program.json("project", "set", "Boat", "--isolated", "on")
    program.run("jobs", "run")

    def recalled(question: str, *options: str) -> str:
        hits = program.json("ask", question, "--max-tokens", "2", *options)["recalled"]
        return " ".join(one["text"] for one in hits)

    assert "7319" in recalled("What is my locker code?", "--project", "Boat")
    assert "7319" not in recalled("What is my locker code?")
    assert "4082" in recalled("What opens my bicycle lock?")
    assert "4082" not in recalled("What opens my bicycle lock?", "--project", "Boat")
