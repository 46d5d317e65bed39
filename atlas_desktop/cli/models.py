"""`atlas models`: list, recommend, download, import, choose, measure and tune models."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import model_texts as texts
from atlas_desktop.cli.context import Context, Progress
from atlas_desktop.errors import Exit, UsageError, size
from atlas_desktop.locale import _
from atlas_desktop.phrases.models import stage_text

if TYPE_CHECKING:
    from atlas_desktop.services.models import BenchHost, HostFactory, ModelService
    from models.library.files import Report
    from models.library.installed import InstalledModel


Add = Callable[..., argparse.ArgumentParser]


def add_tune(add: Add) -> None:
    """Adds the command; `add(name, handler, text)` makes its parser."""
    parser = add("tune", tune, _("find the fastest settings for a model on this machine and use them"))
    parser.add_argument("model", nargs="?", metavar="ID", help=_("default: the chat model"))
    parser.add_argument("--again", action="store_true", help=_("measure everything again"))
    parser.add_argument(
        "--quick", action="store_true", help=_("look only for a faster layout of the weights")
    )
    parser.add_argument("--background", action="store_true", help=_("tune it as background work"))
    parser.add_argument("--undo", action="store_true", help=_("go back to the downloaded model"))


async def tune(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.bootstrap import build_models, build_tuning

    if sum((args.undo, args.background, args.again or args.quick)) > 1:
        raise UsageError(_("These options cannot be combined."), _("Use --undo or --background alone."))
    models = build_models(ctx.paths)
    model = models.installed_model(args.model) if args.model else models.default("chat")
    if args.background:
        from atlas_desktop.services.tuning import KIND

        room = await ctx.unlock()
        await room.background.add(KIND, model.id, payload={"model": model.id})
        ctx.emit({"model": model.id, "queued": True}, _("{id} will be tuned in the background.", id=model.id))
        return Exit.DONE
    tuning = build_tuning(ctx.paths, ctx.desk.settings, quick=args.quick)
    if args.undo:
        deleted = tuning.undo(model.id)
        ctx.emit(
            {"model": model.id, "undone": True, "deleted": [path.name for path in deleted]},
            _("{id} uses the downloaded file again.", id=model.id),
        )
        return Exit.DONE
    found = await tuning.tune(model.id, ctx.note, again=args.again)
    ctx.emit(texts.tuned_json(found), lambda: texts.tuned_text(found))
    return Exit.DONE


_ROLES = ("chat", "embed")


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Adds the group. Each command's namespace has `handler`: `async (Context, Namespace) -> int`."""
    group = subparsers.add_parser(
        "models", parents=[common], help=_("download, import, choose and measure models")
    )
    commands = group.add_subparsers(dest="models_command", required=True, metavar="COMMAND")

    def add(name: str, handler: Any, text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(
            name, parents=[common], help=text, description=f"{text[0].upper()}{text[1:]}."
        )
        parser.set_defaults(handler=handler)
        return parser

    listed = add("list", list_models, _("show the installed models"))
    listed.add_argument("--all", action="store_true", help=_("the whole catalogue too"))
    pull_it = add("pull", pull, _("download a model; an interrupted download resumes"))
    pull_it.add_argument("model", nargs="*", metavar="ID|hf:OWNER/REPO/FILE.gguf", help=_("what to download"))
    pull_it.add_argument("--defaults", action="store_true", help=_("the default models of a new home folder"))
    pull_it.add_argument("--name", metavar="ID", help=_("install it under this ID"))
    take = add("import", import_file, _("import a GGUF file"))
    take.add_argument("file", metavar="FILE", type=Path)
    take.add_argument("--link", action="store_true", help=_("leave the file where it is"))
    take.add_argument("--name", metavar="ID", help=_("install it under this ID"))
    add("discover", discover, _("find the model files of Ollama, LM Studio, Jan and GPT4All"))
    info_of = add("info", info, _("show everything about a model"))
    info_of.add_argument("model", metavar="ID")
    choose = add("use", use, _("choose a model for chat or for embeddings"))
    choose.add_argument("model", metavar="ID")
    choose.add_argument("--for", dest="role", choices=_ROLES, help=_("default: everything it supports"))
    drop = add("remove", remove, _("delete a model's file; a linked file stays where it is"))
    drop.add_argument("model", metavar="ID")
    best = add("recommend", recommend, _("show models that suit this machine, best first"))
    best.add_argument("--for", dest="role", choices=_ROLES, default="chat")
    measure = add("bench", bench, _("measure how fast a model reads and writes here"))
    measure.add_argument("model", nargs="?", metavar="ID", help=_("default: the chat model"))
    add_tune(add)
    check = add("verify", verify, _("verify the checksum of a model's file"))
    check.add_argument("model", nargs="?", metavar="ID", help=_("default: every installed model"))


async def list_models(ctx: Context, args: argparse.Namespace) -> int:
    found = _service(ctx).summaries(everything=args.all)
    ctx.emit(
        [texts.summary_json(one) for one in found], lambda: texts.summary_table(found, everything=args.all)
    )
    return Exit.DONE


async def pull(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.cleaning import clean_line

    service = _service(ctx)
    refs = list(args.model) + ([entry.id for entry in service.defaults()] if args.defaults else [])
    if not refs:
        raise UsageError(_("No model given."), _("Use an ID from `atlas models list --all`, or --defaults."))
    if args.name and len(refs) > 1:
        raise UsageError(_("Several models cannot have the same name."), _("Download them one by one."))
    there = {model.id for model in service.installed()}
    pulled = []
    for ref in refs:
        _show_licence(ctx, service, ref)
        bar = ctx.progress(ref)
        try:
            model = await service.pull(ref, _report(bar), model_id=args.name)
        finally:
            bar.close()
        pulled.append(model)
        if model.id not in there:
            # Find out now, not at the first message, whether the model runs on this machine.
            await service.try_out(model.id, _host_factory(ctx))
        licence = clean_line(model.licence) or _("not stated in the file")
        ctx.note(_("{id} is ready. Licence: {licence}.", id=model.id, licence=licence))
        if "chat" in model.roles and sys.stderr.isatty():
            ctx.note(_("To make it faster: `atlas models tune {id}` (takes a few minutes).", id=model.id))
    values = [texts.installed_json(model) for model in pulled]
    ctx.emit(values[0] if len(refs) == 1 else values)
    return Exit.DONE


async def import_file(ctx: Context, args: argparse.Namespace) -> int:
    bar = ctx.progress(args.file.name)
    try:
        model = await _service(ctx).import_file(args.file, _report(bar), link=args.link, model_id=args.name)
    finally:
        bar.close()
    ctx.emit(
        texts.installed_json(model),
        _("{id} is linked. To use it: `atlas models use {id}`.", id=model.id)
        if model.linked
        else _("{id} is installed. To use it: `atlas models use {id}`.", id=model.id),
    )
    return Exit.DONE


async def discover(ctx: Context, _args: argparse.Namespace) -> int:
    found = _service(ctx).discover()
    ctx.emit([texts.found_json(one) for one in found], lambda: texts.found_list(found))
    return Exit.DONE


async def info(ctx: Context, args: argparse.Namespace) -> int:
    details = _service(ctx).info(args.model)
    ctx.emit(texts.details_json(details), lambda: texts.details_text(details))
    return Exit.DONE


async def use(ctx: Context, args: argparse.Namespace) -> int:
    service = _service(ctx)
    made_for = service.installed_model(args.model).roles
    if args.role and args.role not in made_for:
        raise UsageError(
            _(
                "{id} is made for {roles}, not for {role}.",
                id=args.model,
                roles=", ".join(made_for),
                role=args.role,
            ),
            _("`atlas models list` shows what each model is for."),
        )
    model = service.use(args.model, args.role)
    roles = [str(role) for role in model.chosen_for]
    ctx.emit(
        texts.installed_json(model),
        _("{id} is now used for {roles}.", id=model.id, roles=", ".join(roles)),
    )
    return Exit.DONE


async def remove(ctx: Context, args: argparse.Namespace) -> int:
    service = _service(ctx)
    model = service.installed_model(args.model)
    ctx.confirm(
        _("Remove {id}?", id=model.id)
        if model.linked
        else _("Delete {id} ({size})?", id=model.id, size=size(model.bytes))
    )
    service.remove(model.id)
    ctx.emit({"removed": model.id, "file_deleted": not model.linked}, _("{id} removed.", id=model.id))
    return Exit.DONE


async def recommend(ctx: Context, args: argparse.Namespace) -> int:
    service = _service(ctx)
    machine = service.machine()
    found = service.recommend(args.role)
    ctx.emit(
        {"machine": texts.machine_json(machine), "models": [texts.recommendation_json(one) for one in found]},
        lambda: texts.recommendations(machine, found),
    )
    return Exit.DONE


async def bench(ctx: Context, args: argparse.Namespace) -> int:
    service = _service(ctx)
    model = service.installed_model(args.model) if args.model else service.default("chat")
    if "chat" not in model.roles and service.default("embed").id != model.id:
        raise UsageError(
            _("{id} is not the embedding model in use.", id=model.id),
            _("Choose it first: `atlas models use {id}`.", id=model.id),
        )

    result = await service.bench(model.id, _host_factory(ctx))
    ctx.emit(texts.bench_json(result), lambda: texts.bench_text(result))
    return Exit.DONE


def _host_factory(ctx: Context) -> "HostFactory":
    from atlas_desktop.bootstrap import build_host, model_library

    def start(model: "InstalledModel") -> "BenchHost":
        return build_host(ctx.paths, model_library(ctx.paths), ctx.desk.settings, model.id)

    return start


async def verify(ctx: Context, args: argparse.Namespace) -> int:
    """Checks every model, even after a failure, then raises the first failure."""
    from models.errors import ModelsError, NoModel

    service = _service(ctx)
    names = [args.model] if args.model else [model.id for model in service.installed()]
    if not names:
        raise NoModel("chat")
    sound: list[dict[str, Any]] = []
    failures: list[ModelsError] = []
    for name in names:
        bar = ctx.progress(name)
        try:
            model = await service.verify(name, _report(bar))
            sound.append({"id": model.id, "sha256": model.sha256, "sound": True})
        except ModelsError as error:
            failures.append(error)
            if len(names) > 1:
                ctx.note(f"{name}: {error}")
        finally:
            bar.close()
    if failures:
        raise failures[0]
    ctx.emit(sound, "\n".join(_("{id}: OK, SHA-256 {sum}", id=one["id"], sum=one["sha256"]) for one in sound))
    return Exit.DONE


def _service(ctx: Context) -> "ModelService":
    from atlas_desktop.bootstrap import build_models

    return build_models(ctx.paths)


def _report(bar: Progress) -> "Report":
    return lambda progress: bar.update(stage_text(progress.stage), progress.done, progress.total)


def _show_licence(ctx: Context, service: "ModelService", ref: str) -> None:
    licence = service.licence(ref)
    if licence is None:
        return
    name, is_open = licence
    ctx.note(
        _("{id}: licence {licence}", id=ref, licence=name)
        if is_open
        else _("{id}: licence {licence} (not an open-source licence; conditions apply)", id=ref, licence=name)
    )
