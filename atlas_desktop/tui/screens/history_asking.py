"""What the history browser asks for before it does something: tags, a project, a filter."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.organising import LONGEST_TAG, tidy
from atlas_desktop.services.projects import LONGEST, tidy_name
from atlas_desktop.tui.screens.fields import FieldsScreen
from atlas_desktop.tui.screens.pick import Choice, PickScreen
from atlas_desktop.words.catalogue import tr
from memory.organising.entities import MarksPatch

if TYPE_CHECKING:
    from atlas_desktop.tui.app import AtlasApp
    from memory.organising.entities import Project
    from memory.search.entities import SessionHit

TYPED, GIVEN, REFUSED = "", "+", "-"
"""The two last begin the id of a choice that is a suggested tag."""
_MOST_SUGGESTED = 8
_NONE, _NEW = "", "+"
_NAMED = "="
"""Begins the id of a choice that is a project: a name may be anything."""


async def suggested_for(app: "AtlasApp", hits: "Sequence[SessionHit]") -> dict[str, set[str]]:
    """By tag, the conversations for which it was suggested; the likeliest first."""
    found: dict[str, set[str]] = {}
    scores: dict[str, float] = {}
    for hit in hits:
        for one in await app.desk.at(hit.session.room).organising.suggestions(hit.session.id):
            found.setdefault(one.tag, set()).add(one.session_id)
            scores[one.tag] = scores.get(one.tag, 0.0) + one.score
    return {tag: found[tag] for tag in sorted(found, key=lambda tag: (-scores[tag], tag))[:_MOST_SUGGESTED]}


async def chosen_suggestion(app: "AtlasApp", suggested: Mapping[str, Collection[str]]) -> str | None:
    """`TYPED` for tags of one's own, `GIVEN` or `REFUSED` and a tag, or None."""
    choices = [Choice(TYPED, tr("history.tag.typed"))]
    for tag, sessions in suggested.items():
        name = clean_line(tag)
        detail = tr("history.tag.suggested", count=len(sessions))
        choices.append(Choice(GIVEN + tag, tr("history.tag.give", tag=name), detail))
        choices.append(Choice(REFUSED + tag, tr("history.tag.refuse", tag=name)))
    chosen: str | None = await app.push_screen_wait(PickScreen(tr("history.tag.title"), choices))
    return chosen


async def chosen_tags(app: "AtlasApp", hits: "Sequence[SessionHit]") -> MarksPatch | None:
    """The tags to give and to take away, or None."""
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
    """Tags with spaces or commas between them; quotes keep one of several words together."""
    try:
        return [one.strip(",") for one in shlex.split(words) if one.strip(",")]
    except ValueError:
        return words.split()


async def projects_of(app: "AtlasApp", *, archived: bool | None = False) -> "list[Project]":
    """Those of all open rooms, each name once."""
    found: dict[str, Project] = {}
    for room in app.desk.open_rooms:
        for one in await room.projects.list(archived=archived):
            found.setdefault(one.name.casefold(), one)
    return sorted(found.values(), key=lambda one: one.name.casefold())


async def chosen_project(app: "AtlasApp") -> str | None:
    """The name of a project, "" for none at all, or None when nothing is to change."""
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


async def new_project_name(app: "AtlasApp", title: str, *, now: str = "") -> str | None:
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


async def chosen_filter(app: "AtlasApp") -> str | None:
    """A condition to be added to the query: a saved search, a tag or a project."""
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
    """A name as it stands in a query."""
    bare = name.replace('"', " ")
    return bare if bare and not any(char.isspace() or char in '()*"' for char in bare) else f'"{bare}"'
