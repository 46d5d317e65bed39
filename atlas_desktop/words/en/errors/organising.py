"""Putting conversations in order."""

TEXTS = {
    "project_not_found.title": "There is no such project",
    "project_not_found.what": "No project has that name or id. Nothing was changed.",
    "project_not_found.next": "`atlas project list` shows what there is.",
    "project_exists.title": "There already is a project of that name",
    "project_exists.what": "Capitals make no difference. Nothing was changed.",
    "project_exists.next": "Choose another name; `atlas project list` shows what there is.",
    "cannot_merge.title": "These conversations cannot become one",
    "cannot_merge.what": "{why} Nothing was changed.",
    "cannot_merge.next": "`atlas sessions list --json` shows room, memory mode and id of each.",
    "merge.same": "A session can be merged with others, and with each of them once.",
    "merge.mode": "They have different memory modes: what is kept out of memory would be mixed with what is "
    "not.",
    "merge.binned": "One of them is in the bin.",
    "merge.writing": "A reply is being written in one of them.",
    "merge.room": "They are in different rooms, and what is private stays where it is.",
}
