"""`atlas skills`: the commands for skills."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import output
from atlas_desktop.cli.ask import read_text
from atlas_desktop.cli.context import Context, command_group, given_text
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import _, ngettext, number
from atlas_desktop.phrases import author_text, skill_state_text

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from memory.skills.entities import Skill, SkillVersion

_STATES = ("draft", "approved", "retired")


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    add = command_group(subparsers, common, "skills", _("manage instructions for recurring work"))

    def skill(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("skill", metavar="ID", help=_("a skill: its id or its name"))

    parser = add("list", list_skills, _("list skills"))
    parser.add_argument("--state", choices=_STATES, help=_("only in this state"))

    parser = add("show", show, _("print a skill with its uses"))
    skill(parser)
    parser.add_argument("--version", dest="number", metavar="N", type=int, help=_("this version of it"))

    parser = add("new", new, _("write a skill; it is approved, because you write it"))
    parser.add_argument("name", metavar="NAME", help=_("lower-case letters, digits and hyphens"))
    parser.add_argument(
        "--description", metavar="TEXT", required=True, help=_("what it is for, and when to use it")
    )
    _add_text(parser)
    parser.add_argument("--draft", action="store_true", help=_("do not use it before it is approved"))

    parser = add("edit", edit, _("change a skill; its text becomes a new version"))
    skill(parser)
    _add_text(parser)
    parser.add_argument("--description", metavar="TEXT", help=_("a new description"))
    parser.add_argument("--name", metavar="NAME", help=_("a new name"))

    parser = add("diff", diff, _("show what a version changes"))
    skill(parser)
    parser.add_argument("--from", dest="older", metavar="N", type=int, help=_("compare with version N"))
    parser.add_argument("--to", dest="newer", metavar="N", type=int, help=_("the version to show"))

    skill(add("approve", approve, _("approve the draft of a skill, or use a retired skill again")))
    skill(add("reject", reject, _("delete the draft of a skill")))

    parser = add("rollback", rollback, _("use an earlier version of a skill again"))
    skill(parser)
    parser.add_argument(
        "--to", dest="number", metavar="N", type=int, help=_("the version (default: the one before)")
    )

    skill(add("versions", versions, _("list the versions of a skill")))
    add("drafts", drafts, _("list what waits for your approval"))
    skill(add("retire", retire, _("stop using a skill, and keep it")))

    parser = add("judge", judge, _("say whether the skill of a reply helped"))
    parser.add_argument("reply", metavar="MESSAGE", help=_("the id of the reply"))
    parser.add_argument("verdict", choices=("helped", "harmed", "none"), help=_("what it did"))

    parser = add("import", import_skills, _("import SKILL.md files; each waits for your approval"))
    parser.add_argument("paths", metavar="PATH", nargs="+", help=_("a file, or a folder with such files"))

    parser = add("export", export_skills, _("write skills as folders with a SKILL.md"))
    parser.add_argument("folder", metavar="DIR", help=_("the folder; files that differ there stay"))
    parser.add_argument("skills", metavar="ID", nargs="*", help=_("a skill (default: all approved ones)"))

    parser = add("remove", remove, _("delete skills with all their versions"))
    parser.add_argument("skills", metavar="ID", nargs="+", help=_("a skill: its id or its name"))


def _add_text(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--text", metavar="TEXT", help=_("the instructions; `-` reads standard input"))
    which.add_argument("--file", metavar="FILE", help=_("take the instructions from FILE"))


def _text(args: argparse.Namespace) -> str | None:
    if args.file is not None:
        return given_text("-") if args.file == "-" else read_text(args.file)
    return None if args.text is None else given_text(args.text)


async def _find(ctx: Context, ref: str) -> "tuple[RoomServices, Skill]":
    """Returns the skill in any of the opened rooms. Raises `SkillNotFound`, `AmbiguousId`."""
    from memory.errors import SkillNotFound

    await ctx.unlock()
    for room in ctx.opened:
        try:
            return room, await room.skills.get(ref)
        except SkillNotFound:
            continue
    raise SkillNotFound(ref)


# --- looking ----------------------------------------------------------------------------------------


async def list_skills(ctx: Context, args: argparse.Namespace) -> int:
    from memory.skills.entities import SkillState

    await ctx.unlock()
    state = None if args.state is None else SkillState(args.state)
    found = [(room, one) for room in ctx.opened for one in await room.skills.list(state)]
    ctx.emit(
        [output.skill(one, room.store.room) for room, one in found],
        "\n".join(_lines([one for _room, one in found]))
        or _("No skills. `atlas skills new` writes one, `atlas skills import` takes files."),
    )
    return Exit.DONE


async def show(ctx: Context, args: argparse.Namespace) -> int:
    from dataclasses import replace

    from memory.errors import SkillVersionNotFound

    room, found = await _find(ctx, args.skill)
    if args.number is not None:
        kept = {one.version: one for one in await room.skills.versions(found.id)}
        if args.number not in kept:
            raise SkillVersionNotFound(args.number)
        one = kept[args.number]
        found = replace(
            found,
            text=one.text,
            version=one.version,
            author=one.author,
            sources=one.sources,
            approved_at=one.approved_at,
        )
    ctx.emit(output.skill(found, room.store.room), _described(found))
    return Exit.DONE


async def versions(ctx: Context, args: argparse.Namespace) -> int:
    room, found = await _find(ctx, args.skill)
    kept = await room.skills.versions(found.id)
    ctx.emit(
        [output.skill_version(one, found) for one in kept],
        "\n".join(_version_line(one, found) for one in kept),
    )
    return Exit.DONE


async def drafts(ctx: Context, _args: argparse.Namespace) -> int:
    await ctx.unlock()
    found = [(room, one) for room in ctx.opened for one in await room.skills.drafts()]
    ctx.emit(
        [output.skill(one, room.store.room) for room, one in found],
        "\n".join(_lines([one for _room, one in found])) or _("Nothing waits for your approval."),
    )
    return Exit.DONE


async def diff(ctx: Context, args: argparse.Namespace) -> int:
    room, found = await _find(ctx, args.skill)
    text = await room.skills.diff(found.id, args.older, args.newer)
    ctx.emit({"id": found.id, "name": found.name, "diff": text}, text or _("No difference."))
    return Exit.DONE


# --- writing ----------------------------------------------------------------------------------------


async def new(ctx: Context, args: argparse.Namespace) -> int:
    text = _text(args)
    if text is None:
        raise UsageError(_("There are no instructions."), _("Give them with --text or --file."))
    room = await ctx.unlock()
    made = await room.skills.new(args.name, args.description, text, draft=args.draft)
    done = (
        _("Saved “{name}” as a draft. `atlas skills approve {name}` puts it into use.", name=made.name)
        if args.draft
        else _("Saved “{name}”. It is used from now on.", name=made.name)
    )
    ctx.emit(output.skill(made, room.store.room), done)
    return Exit.DONE


async def edit(ctx: Context, args: argparse.Namespace) -> int:
    text = _text(args)
    if text is None and args.description is None and args.name is None:
        raise UsageError(
            _("It is not clear what to change."), _("Give --text, --file, --description or --name.")
        )
    room, found = await _find(ctx, args.skill)
    made = await room.skills.edit(found.id, body=text, description=args.description, name=args.name)
    ctx.emit(
        output.skill(made, room.store.room),
        _("Saved version {version} of “{name}”.", version=made.version, name=made.name),
    )
    return Exit.DONE


async def approve(ctx: Context, args: argparse.Namespace) -> int:
    room, found = await _find(ctx, args.skill)
    if found.pending is not None and not ctx.json and not ctx.yes:
        ctx.note(await room.skills.diff(found.id))
    ctx.confirm(_("Approve “{name}”, so that Atlas follows it where it fits?", name=found.name))
    made = await room.skills.approve(found.id)
    ctx.emit(
        output.skill(made, room.store.room),
        _("Approved version {version} of “{name}”.", version=made.version, name=made.name),
    )
    return Exit.DONE


async def reject(ctx: Context, args: argparse.Namespace) -> int:
    room, found = await _find(ctx, args.skill)
    ctx.confirm(_("Delete the draft of “{name}”?", name=found.name))
    left = await room.skills.reject(found.id)
    ctx.emit(
        {"rejected": found.id, "skill": None if left is None else output.skill(left, room.store.room)},
        _("Deleted the draft of “{name}”.", name=found.name),
    )
    return Exit.DONE


async def rollback(ctx: Context, args: argparse.Namespace) -> int:
    from memory.skills.entities import SkillState

    room, found = await _find(ctx, args.skill)
    question = (
        _(
            "Use the version of “{name}” before version {version} again?",
            name=found.name,
            version=found.version,
        )
        if args.number is None
        else _("Use version {version} of “{name}” again?", name=found.name, version=args.number)
    )
    ctx.confirm(question)
    made = await room.skills.roll_back(found.id, args.number)
    ctx.emit(
        output.skill(made, room.store.room),
        _(
            "Version {version} of “{name}” is chosen, but the skill is retired: `atlas skills approve "
            "{name}` brings it back.",
            version=made.version,
            name=made.name,
        )
        if made.state is SkillState.RETIRED
        else _("Version {version} of “{name}” is in use again.", version=made.version, name=made.name),
    )
    return Exit.DONE


async def retire(ctx: Context, args: argparse.Namespace) -> int:
    room, found = await _find(ctx, args.skill)
    made = await room.skills.retire(found.id)
    ctx.emit(
        output.skill(made, room.store.room),
        _("“{name}” is not used any more. `atlas skills approve {name}` brings it back.", name=made.name),
    )
    return Exit.DONE


async def judge(ctx: Context, args: argparse.Namespace) -> int:
    from memory.errors import MessageNotFound
    from memory.skills.entities import Verdict

    await ctx.unlock()
    verdict = None if args.verdict == "none" else Verdict(args.verdict)
    for room in ctx.opened:
        try:
            judged = await room.skills.judge(args.reply, verdict)
        except MessageNotFound:
            continue
        ctx.emit(
            {
                "reply": args.reply,
                "verdict": None if verdict is None else verdict.value,
                "skills": list(judged),
            },
            _("Noted."),
        )
        return Exit.DONE
    raise MessageNotFound(args.reply)


async def remove(ctx: Context, args: argparse.Namespace) -> int:
    found = [await _find(ctx, ref) for ref in dict.fromkeys(args.skills)]
    ctx.confirm(
        ngettext(
            "Delete {count} skill with all its versions?",
            "Delete {count} skills with all their versions?",
            len(found),
        )
    )
    for room, one in found:
        await room.remove_skill(one.id)
    ctx.emit(
        {"removed": [one.id for _room, one in found]},
        ngettext("Deleted {count} skill.", "Deleted {count} skills.", len(found)),
    )
    return Exit.DONE


# --- files ------------------------------------------------------------------------------------------


async def import_skills(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    report = await room.skill_folders.take(args.paths)
    value = {
        "skills": report.skills,
        "unchanged": report.unchanged,
        "skipped": [{"where": one.where, "why": one.why} for one in report.skipped],
    }
    lines = [
        _(
            "Imported {count}, unchanged {unchanged}. Approve them with `atlas skills approve NAME`.",
            count=number(len(report.skills)),
            unchanged=number(report.unchanged),
        ),
        *(f"{one.where}: {one.why}" for one in report.skipped),
    ]
    ctx.emit(value, "\n".join(lines))
    return Exit.DONE if report.skills or report.unchanged or not report.skipped else Exit.FAILED


async def export_skills(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    report = await room.skill_folders.write(args.folder, args.skills)
    value = {
        "written": report.written,
        "unchanged": report.unchanged,
        "skipped": [{"where": one.where, "why": one.why} for one in report.skipped],
    }
    lines = [
        _(
            "Wrote {written} files; {unchanged} were there already.",
            written=number(len(report.written)),
            unchanged=number(report.unchanged),
        ),
        *(f"{one.where}: {one.why}" for one in report.skipped),
    ]
    ctx.emit(value, "\n".join(lines))
    return Exit.FAILED if report.skipped else Exit.DONE


def _lines(skills: Sequence["Skill"]) -> list[str]:
    """Skills as the lines of a list."""
    ids = output.short_ids([one.id for one in skills])
    return [
        "  ".join([ids[one.id], skill_state_text(one.state), one.name, one.description]) for one in skills
    ]


def _described(value: "Skill") -> str:
    """A skill in full, for reading."""
    version = _("version {version}", version=value.version)
    lines = [
        f"{value.name}  ({skill_state_text(value.state)}, {version}, {author_text(value.author)})",
        value.description,
        "",
        value.body,
        ngettext("Used in {count} reply.", "Used in {count} replies.", value.uses)
        + " "
        + _("Helped: {helped}. Harmed: {harmed}.", helped=number(value.helped), harmed=number(value.harmed)),
    ]
    if value.pending is not None and value.pending != value.version:
        lines.append(
            _("Version {version} waits: `atlas skills diff {name}`.", version=value.pending, name=value.name)
        )
    if value.should_retire:
        lines.append(
            _("It harms more than it helps. `atlas skills retire {name}` ends its use.", name=value.name)
        )
    return "\n".join(lines)


def _version_line(value: "SkillVersion", of: "Skill") -> str:
    """A version as a line of a list."""
    mark = "*" if value.version == of.version else " "
    waits = "" if value.approved_at is not None else f"  ({_('waits for approval')})"
    return f"{mark} {value.version}  {output.at(value.written_at)}  {author_text(value.author)}{waits}"
