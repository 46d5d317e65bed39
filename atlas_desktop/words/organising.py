"""Words for what can go wrong when conversations are put in order."""

from atlas_desktop.explain import Exit, Explained, Words, named
from memory import errors as memory

_WHY = {
    "same": "A session can be merged with others, and with each of them once.",
    "mode": "They have different memory modes: what is kept out of memory would be mixed with what is not.",
    "binned": "One of them is in the bin.",
    "writing": "A reply is being written in one of them.",
    "room": "They are in different rooms, and what is private stays where it is.",
}


def _cannot_merge(e: memory.CannotMerge) -> Explained:
    return Explained(
        "cannot_merge",
        "These conversations cannot become one",
        f"{_WHY.get(e.reason, _WHY['same'])} Nothing was changed.",
        "`atlas sessions list --json` shows room, memory mode and id of each.",
        Exit.USAGE,
    )


WORDS: Words = {
    memory.ProjectNotFound: named(
        "project_not_found",
        "There is no such project",
        "No project has that name or id. Nothing was changed.",
        "`atlas project list` shows what there is.",
        Exit.USAGE,
    ),
    memory.ProjectExists: named(
        "project_exists",
        "There already is a project of that name",
        "Capitals make no difference. Nothing was changed.",
        "Choose another name; `atlas project list` shows what there is.",
        Exit.USAGE,
    ),
    memory.CannotMerge: _cannot_merge,
}
