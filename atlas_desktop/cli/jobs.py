"""`atlas jobs`: shows, runs and pauses the background queue."""

import argparse
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context, command_group
from atlas_desktop.errors import Exit
from atlas_desktop.locale import N_, _, number

if TYPE_CHECKING:
    from datetime import datetime

    from atlas_desktop.services.background import Overview
    from memory.jobs.runner import RunReport

_STAGES = {
    "started": _("started"),
    "done": _("done"),
    "back": _("back in the queue"),
    "retry": _("failed, will be retried later"),
    "failed": _("failed, will not be retried"),
}

_STATES = {"queued": N_("queued"), "running": N_("running"), "failed": N_("failed")}

_DUTIES = {
    "digests of important sessions": N_("digests of important sessions"),
    "drafts of skills": N_("drafts of skills"),
    "categories and tags": N_("categories and tags"),
    "improve summaries": N_("improve summaries"),
    "promote memories": N_("promote memories"),
    "collect faded memories": N_("collect faded memories"),
    "consolidate memories": N_("consolidate memories"),
    "backup": N_("backup"),
    "retention": N_("retention"),
}

_HELD = {
    "paused": _("Background work is paused. Use `atlas jobs resume` to continue."),
    "battery": _(
        "Background work is paused on battery power. Use `atlas config set jobs.on_battery true` to allow it."
    ),
}


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    add = command_group(subparsers, common, "jobs", _("manage background work"))

    add("list", list_jobs, _("list waiting, running and failed jobs, and recurring tasks"))
    run = add(
        "run",
        run_jobs,
        _("run everything that is due, then exit"),
        _("Exits with status 1 if a job failed; it stays in the list and is retried later."),
    )
    run.add_argument("--failed", action="store_true", help=_("also retry jobs that were given up"))
    add("pause", pause, _("start no jobs until `resume`, even after a restart"))
    add("resume", resume, _("resume background work"))


async def list_jobs(ctx: Context, _args: argparse.Namespace) -> int:
    from atlas_desktop.cli import output

    room = await ctx.unlock()
    found = await room.background.overview()
    ctx.emit(
        {
            "paused": found.paused,
            "held": found.held,
            "jobs": [output.job(job) for job in found.jobs],
            "duties": [output.duty(state) for state in found.duties],
        },
        lambda: _table(found),
    )
    return Exit.DONE


def _table(found: "Overview") -> str:
    from atlas_desktop.cli.output import word

    lines = [_HELD[found.held]] if found.held else []
    for job in found.jobs:
        told = f"  {job.error}" if job.error else ""
        state = word(_STATES, job.state)
        lines.append(f"{job.id}  {job.kind:<10}  {state:<7}  {job.attempts}  {_local(job.not_before)}{told}")
    if not found.jobs:
        lines.append(_("No jobs."))
    for duty in found.duties:
        hours = duty.duty.every.total_seconds() / 3600
        times = [
            _("every {hours:g} h", hours=hours),
            _("last run {when}", when=_local(duty.done_at)) if duty.done_at else _("never run"),
            *([_("due")] if duty.due else []),
        ]
        lines.append(f"{word(_DUTIES, duty.duty.name)}  {', '.join(times)}")
    return "\n".join(lines)


def _local(moment: "datetime") -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


async def run_jobs(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.cli import output

    room = await ctx.unlock()
    if args.failed:
        await room.background.queue_failed()
    room.background.listen(lambda job, stage: ctx.note(f"{job.kind} {job.id}: {_STAGES[stage]}"))
    await room.learning.everything()
    # The user may have chosen another model since the last run.
    await room.recall.catch_up()
    await room.summaries.catch_up()
    await room.tasks.catch_up()
    report = await room.background.run()
    ctx.emit(output.run(report), _sentence(report))
    return Exit.FAILED if report.failed else Exit.DONE


def _sentence(report: "RunReport") -> str:
    counts = _(
        "Done: {done}. Failed: {failed}. Remaining: {remaining}.",
        done=number(report.done),
        failed=number(report.failed),
        remaining=number(report.remaining),
    )
    return f"{counts} {_HELD[report.held]}" if report.held else counts


async def pause(ctx: Context, _args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    await room.background.pause()
    ctx.emit({"paused": True}, _("Paused. Use `atlas jobs resume` to continue."))
    return Exit.DONE


async def resume(ctx: Context, _args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    await room.background.resume()
    ctx.emit({"paused": False}, _("Resumed."))
    return Exit.DONE
