"""Questions of the history browser before a change: tags, a project, a filter."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.organising import LONGEST_TAG, tidy
from atlas_desktop.services.projects import LONGEST, tidy_name
from atlas_desktop.tui.dialogs.choices import Choice, PickScreen
from atlas_desktop.tui.dialogs.forms import FieldsScreen
from atlas_desktop.words.catalogue import tr
from memory.organising.entities import MarksPatch

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
    from memory.organising.entities import Project
    from memory.search.entities import SessionHit

TYPED, GIVEN, REFUSED = "", "+", "-"
"""The two last begin the id of a choice that is a suggested tag."""
_MOST_SUGGESTED = 8
_NONE, _NEW = "", "+"
_NAMED = "="
"""Begins the id of a choice that is a project: a name may be anything."""


async def suggested_for(app: "BaseApp", hits: "Sequence[SessionHit]") -> dict[str, set[str]]:
    """Returns the conversations for each suggested tag, the most likely tag first."""
    found: dict[str, set[str]] = {}
    scores: dict[str, float] = {}
    for hit in hits:
        for one in await app.desk.at(hit.session.room).organising.suggestions(hit.session.id):
            found.setdefault(one.tag, set()).add(one.session_id)
            scores[one.tag] = scores.get(one.tag, 0.0) + one.score
    return {tag: found[tag] for tag in sorted(found, key=lambda tag: (-scores[tag], tag))[:_MOST_SUGGESTED]}


async def chosen_suggestion(app: "BaseApp", suggested: Mapping[str, Collection[str]]) -> str | None:
    """Returns `TYPED` to type tags, `GIVEN` or `REFUSED` followed by a tag, or None."""
    choices = [Choice(TYPED, tr("history.tag.typed"))]
    for tag, sessions in suggested.items():
        name = clean_line(tag)
        detail = tr("history.tag.suggested", count=len(sessions))
        choices.append(Choice(GIVEN + tag, tr("history.tag.give", tag=name), detail))
        choices.append(Choice(REFUSED + tag, tr("history.tag.refuse", tag=name)))
    chosen: str | None = await app.push_screen_wait(PickScreen(tr("history.tag.title"), choices))
    return chosen


async def chosen_tags(app: "BaseApp", hits: "Sequence[SessionHit]") -> MarksPatch | None:
    """Returns the tags to add and to remove."""
    now = sorted({clean_line(tag) for hit in hits for tag in hit.session.tags})
    hint = tr("history.tag.hint", tags=", ".join(now) or tr("history.tag.none"))
    name = tr("history.tag.field")
    given = await app.push_screen_wait(FieldsScreen(tr("history.tag.title"), [name], hint=hint))
    words = split(given[name]) if given else []
    if not words:
        return None
    patch = MarksPatch(
        add_tags=tuple(word for word in words if not word.startswith("-")),
        remove_tags=tuple(word[1:] for word in words if len(word) > 1 and word.startswith("-")),
    )
    try:
        return tidy(patch)
    except ValueError:
        app.say(tr("history.tag.bad", longest=LONGEST_TAG))
        return None


def split(words: str) -> list[str]:
    """Splits tags at spaces and commas; quotes keep words together."""
    try:
        return [one.strip(",") for one in shlex.split(words) if one.strip(",")]
    except ValueError:
        return words.split()


async def projects_of(app: "BaseApp", *, archived: bool | None = False) -> "list[Project]":
    """Returns the projects of all open rooms, each name once."""
    found: dict[str, Project] = {}
    for room in app.desk.open_rooms:
        for one in await room.projects.list(archived=archived):
            found.setdefault(one.name.casefold(), one)
    return sorted(found.values(), key=lambda one: one.name.casefold())


async def chosen_project(app: "BaseApp") -> str | None:
    """Returns the name of a project, "" for no project, or None for no change."""
    choices = [
        Choice(_NAMED + one.name, one.name, tr("history.count", count=one.sessions))
        for one in await projects_of(app)
    ]
    choices += [
        Choice(_NEW, tr("history.project.new"), tr("history.project.new.detail")),
        Choice(_NONE, tr("history.project.none"), tr("history.project.none.detail")),
    ]
    chosen = await app.push_screen_wait(PickScreen(tr("history.project.title"), choices))
    if chosen != _NEW:
        return chosen if chosen is None else chosen.removeprefix(_NAMED)
    return await new_project_name(app, tr("history.projects.new"))


async def new_project_name(app: "BaseApp", title: str, *, now: str = "") -> str | None:
    """Asks for a name."""
    name = tr("history.project.name")
    given = await app.push_screen_wait(FieldsScreen(title, [name], hint=clean_line(now)))
    if not given:
        return None
    try:
        return tidy_name(given[name])
    except ValueError:
        app.say(tr("history.project.bad", longest=LONGEST))
        return None


async def chosen_filter(app: "BaseApp") -> str | None:
    """Returns a condition to add to the query: a saved search, a tag or a project."""
    from atlas_desktop.services.search import FindingService

    choices = [
        Choice(f"@{quoted(one.name)}", f"@{one.name}", tr("history.filters.saved", query=one.query))
        for one in await FindingService(app.desk).saved()
    ]
    tags: dict[str, int] = {}
    for room in app.desk.open_rooms:
        for tag in await room.organising.tags():
            tags[tag.tag] = tags.get(tag.tag, 0) + tag.sessions
    choices += [
        Choice(f"tag:{quoted(tag)}", f"#{tag}", tr("history.filters.tag", count=number))
        for tag, number in sorted(tags.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    choices += [
        Choice(f"project:{quoted(one.name)}", one.name, tr("history.filters.project", count=one.sessions))
        for one in await projects_of(app)
    ]
    if not choices:
        app.say(tr("history.filters.none"))
        return None
    chosen: str | None = await app.push_screen_wait(PickScreen(tr("history.filters.title"), choices))
    return chosen


def quoted(name: str) -> str:
    """Returns a name as a query needs it."""
    bare = name.replace('"', " ")
    return bare if bare and not any(char.isspace() or char in '()*"' for char in bare) else f'"{bare}"'
