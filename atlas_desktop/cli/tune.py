"""`atlas models tune`: the fastest way of running a model on this machine."""

import argparse
from collections.abc import Callable

from atlas_desktop.cli import model_texts as texts
from atlas_desktop.cli.context import Context
from atlas_desktop.explain import Exit, UsageError

Add = Callable[..., argparse.ArgumentParser]


def register(add: Add) -> None:
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
