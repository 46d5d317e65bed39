"""`atlas models`: what is installed, what suits this computer, fetching, importing, choosing, tuning."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import model_texts as texts
from atlas_desktop.cli.context import Context, Progress
from atlas_desktop.errors import Exit, UsageError, size

if TYPE_CHECKING:
    from atlas_desktop.services.models import BenchHost, HostFactory, ModelService
    from models.library.files import Report
    from models.library.installed import InstalledModel


Add = Callable[..., argparse.ArgumentParser]


def add_tune(add: Add) -> None:
    """Adds the command; `add(name, handler, text)` makes its parser."""
    parser = add("tune", tune, "find what is fastest for a model on this machine, and use it from then on")
    parser.add_argument("model", nargs="?", metavar="ID", help="default: the chat model")
    parser.add_argument("--again", action="store_true", help="measure everything anew")
    parser.add_argument("--quick", action="store_true", help="look only for a faster layout of the weights")
    parser.add_argument("--background", action="store_true", help="leave it to the background work")
    parser.add_argument("--undo", action="store_true", help="go back to the model as downloaded")


async def tune(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.bootstrap import build_models, build_tuning

    if sum((args.undo, args.background, args.again or args.quick)) > 1:
        raise UsageError("These options do not go together.", "Give --undo and --background alone.")
    models = build_models(ctx.paths)
    model = models.installed_model(args.model) if args.model else models.default("chat")
    if args.background:
        from atlas_desktop.services.tuning import KIND

        room = await ctx.unlock()
        await room.background.add(KIND, model.id, payload={"model": model.id})
        ctx.emit({"model": model.id, "queued": True}, f"{model.id} is tuned when there is time for it.")
        return Exit.DONE
    tuning = build_tuning(ctx.paths, ctx.desk.settings, quick=args.quick)
    if args.undo:
        deleted = tuning.undo(model.id)
        ctx.emit(
            {"model": model.id, "undone": True, "deleted": [path.name for path in deleted]},
            f"{model.id} runs as downloaded again.",
        )
        return Exit.DONE
    found = await tuning.tune(model.id, ctx.note, again=args.again)
    ctx.emit(texts.tuned_json(found), lambda: texts.tuned_text(found))
    return Exit.DONE


_ROLES = ("chat", "embed")


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Adds the group. Each command's namespace has `handler`: `async (Context, Namespace) -> int`."""
    group = subparsers.add_parser(
        "models", parents=[common], help="download, import, choose and measure models"
    )
    commands = group.add_subparsers(dest="models_command", required=True, metavar="COMMAND")

    def add(name: str, handler: Any, text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(
            name, parents=[common], help=text, description=f"{text[0].upper()}{text[1:]}."
        )
        parser.set_defaults(handler=handler)
        return parser

    listed = add("list", list_models, "show the installed models")
    listed.add_argument("--all", action="store_true", help="the whole catalogue too")
    pull_it = add("pull", pull, "download a model; an interrupted download goes on where it stopped")
    pull_it.add_argument("model", nargs="*", metavar="ID|hf:OWNER/REPO/FILE.gguf", help="what to download")
    pull_it.add_argument("--defaults", action="store_true", help="the models that a new home starts with")
    pull_it.add_argument("--name", metavar="ID", help="install it under this id")
    take = add("import", import_file, "take a GGUF file of yours in")
    take.add_argument("file", metavar="FILE", type=Path)
    take.add_argument("--link", action="store_true", help="leave the file where it is")
    take.add_argument("--name", metavar="ID", help="install it under this id")
    add("discover", discover, "find the model files of Ollama, LM Studio, Jan and GPT4All")
    info_of = add("info", info, "show everything about a model")
    info_of.add_argument("model", metavar="ID")
    choose = add("use", use, "choose a model for chat or for embeddings")
    choose.add_argument("model", metavar="ID")
    choose.add_argument("--for", dest="role", choices=_ROLES, help="default: all that it is made for")
    drop = add("remove", remove, "delete a model's file; a linked file stays where it is")
    drop.add_argument("model", metavar="ID")
    best = add("recommend", recommend, "show what suits this machine, the best first")
    best.add_argument("--for", dest="role", choices=_ROLES, default="chat")
    measure = add("bench", bench, "measure how fast a model reads and writes here")
    measure.add_argument("model", nargs="?", metavar="ID", help="default: the chat model")
    add_tune(add)
    check = add("verify", verify, "read a model's file again and compare its checksum")
    check.add_argument("model", nargs="?", metavar="ID", help="default: every installed model")


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
        raise UsageError("No model is named.", "Give an id from `atlas models list --all`, or --defaults.")
    if args.name and len(refs) > 1:
        raise UsageError("One name cannot be given to several models.", "Pull them one by one.")
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
            # What does not run on this machine is better known now than at the first word.
            await service.try_out(model.id, _host_factory(ctx))
        ctx.note(f"{model.id} is ready. Licence: {clean_line(model.licence) or 'not stated in the file'}.")
        if "chat" in model.roles and sys.stderr.isatty():
            ctx.note(f"`atlas models tune {model.id}` makes it faster here; that takes some minutes.")
    values = [texts.installed_json(model) for model in pulled]
    ctx.emit(values[0] if len(refs) == 1 else values)
    return Exit.DONE


async def import_file(ctx: Context, args: argparse.Namespace) -> int:
    bar = ctx.progress(args.file.name)
    try:
        model = await _service(ctx).import_file(args.file, _report(bar), link=args.link, model_id=args.name)
    finally:
        bar.close()
    done = "linked" if model.linked else "installed"
    ctx.emit(
        texts.installed_json(model),
        f"{model.id} is {done}. `atlas models use {model.id}` chooses it.",
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
            f"{args.model} is made for {' and '.join(made_for)}, not for {args.role}.",
            "`atlas models list` shows what each model is for.",
        )
    model = service.use(args.model, args.role)
    roles = [str(role) for role in model.chosen_for]
    ctx.emit(texts.installed_json(model), f"{model.id} is now used for {' and '.join(roles)}.")
    return Exit.DONE


async def remove(ctx: Context, args: argparse.Namespace) -> int:
    service = _service(ctx)
    model = service.installed_model(args.model)
    question = f"Forget {model.id}?" if model.linked else f"Delete {model.id} ({size(model.bytes)})?"
    ctx.confirm(question)
    service.remove(model.id)
    ctx.emit({"removed": model.id, "file_deleted": not model.linked}, f"{model.id} is removed.")
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
            f"{model.id} is not the embedding model in use.",
            f"Choose it first: `atlas models use {model.id}`.",
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
    """Every model is read, even after one that fails; the first failure is the command's."""
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
    ctx.emit(sound, "\n".join(f"{one['id']}: sound, sha256 {one['sha256']}" for one in sound))
    return Exit.DONE


def _service(ctx: Context) -> "ModelService":
    from atlas_desktop.bootstrap import build_models

    return build_models(ctx.paths)


def _report(bar: Progress) -> "Report":
    return lambda progress: bar.update(progress.stage, progress.done, progress.total)


def _show_licence(ctx: Context, service: "ModelService", ref: str) -> None:
    licence = service.licence(ref)
    if licence is None:
        return
    name, is_open = licence
    ctx.note(
        f"{ref}: licence {name}" + ("" if is_open else " (not an open-source licence; it sets conditions)")
    )
