"""`atlas models`: list, recommend, download, import, choose, measure and tune models."""

import argparse
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context, Progress, command_group
from atlas_desktop.errors import Exit, UsageError, size
from atlas_desktop.locale import _, formats, ngettext
from atlas_desktop.phrases import fit_text, stage_text

if TYPE_CHECKING:
    from atlas_desktop.services.models import (
        BenchHost,
        BenchResult,
        HostFactory,
        ModelDetails,
        ModelService,
        ModelSummary,
    )
    from models.library.catalog import Machine, Recommendation
    from models.library.files import Report
    from models.library.installed import FoundModel, InstalledModel
    from models.tuning.plan import Round, Tuned


WIDTH = 80
_SHOWN = 8


# --- JSON -----------------------------------------------------------------------------------------


def summary_json(value: "ModelSummary") -> dict[str, Any]:
    return asdict(value)


def installed_json(value: "InstalledModel") -> dict[str, Any]:
    return asdict(value)


def found_json(value: "FoundModel") -> dict[str, Any]:
    from atlas_desktop.services.cleaning import clean_line

    return {
        "program": value.program,
        "name": clean_line(value.name),
        "path": str(value.path),
        "bytes": value.bytes,
        "architecture": clean_line(value.header.architecture),
    }


def details_json(value: "ModelDetails") -> dict[str, Any]:
    entry, model, header = value.entry, value.installed, value.header
    return {
        **asdict(value.summary),
        "family": entry.family if entry else None,
        "parameters": entry.parameters if entry else header.parameters if header else None,
        "quantization": entry.quantization if entry else None,
        "bytes_approximate": bool(entry and not model and entry.bytes_approximate),
        "licence_open": entry.licence_open if entry else None,
        "prefix_stable": entry.prefix_stable if entry else None,
        "languages": list(entry.languages) if entry else None,
        "sha256": (model.sha256 if model else entry.sha256 if entry else None) or None,
        "sources": [str(source) for source in value.sources],
        "memory_needed": value.memory_needed,
        "architecture": header.architecture if header else None,
        "path": str(model.path) if model else None,
        "linked": model.linked if model else None,
        "added_at": model.added_at if model else None,
    }


def machine_json(value: "Machine") -> dict[str, Any]:
    return asdict(value)


def recommendation_json(value: "Recommendation") -> dict[str, Any]:
    entry = value.entry
    return {
        "id": entry.id,
        "name": entry.name,
        "fit": str(value.fit),
        "bytes": entry.bytes,
        "memory_needed": value.needed,
        "tokens_per_second": round(value.speed, 1),
        "parameters": entry.parameters,
        "licence": entry.licence,
        "licence_open": entry.licence_open,
        "prefix_stable": entry.prefix_stable,
        "verified": entry.verified,
        "note": entry.note,
    }


def bench_json(value: "BenchResult") -> dict[str, Any]:
    return {key: round(item, 1) if isinstance(item, float) else item for key, item in asdict(value).items()}


def tuned_json(value: "Tuned") -> dict[str, Any]:
    import msgspec

    def rounds(one: "Round") -> dict[str, float]:
        return {
            "prefill": round(one.prefill, 1),
            "near": round(one.near, 1),
            "far": round(one.far, 1),
            "decode": round(one.decode, 1),
        }

    return {
        "model": value.model,
        "machine": value.machine,
        "before": rounds(value.before),
        "after": rounds(value.after),
        "prefill_ratio": round(value.prefill_ratio, 3),
        "decode_ratio": round(value.decode_ratio, 3),
        "perplexity_ratio": round(value.perplexity_ratio, 5),
        "kept": value.kept,
        "settings": {**msgspec.to_builtins(value.settings), "layout": value.layout or None},
        "file": value.file or None,
    }


# --- text -----------------------------------------------------------------------------------------


def summary_table(models: Sequence["ModelSummary"], *, everything: bool) -> str:
    if not models:
        return "\n".join(
            [
                _("No models installed. `atlas models recommend` shows what suits this machine."),
                _("`atlas models pull ID` downloads one."),
            ]
        )
    rows = [("", _("MODEL"), _("FOR"), _("SIZE"), _("FIT"), _("LICENCE"))]
    rows += [
        (
            "*" if one.used_for else "+" if one.installed else "",
            one.id,
            "/".join(one.roles),
            size(one.bytes),
            fit_text(one.fit),
            one.licence,
        )
        for one in models
    ]
    legend = [_("* in use")]
    if everything:
        legend += [_("+ installed"), _("the others can be downloaded")]
    tuned = [_("{id} tuned: {result}", id=one.id, result=one.tuned) for one in models if one.tuned]
    return "\n".join([_table(rows), "", "   ".join(legend), *tuned])


def found_list(found: Sequence["FoundModel"]) -> str:
    from atlas_desktop.services.cleaning import clean_line

    if not found:
        return _("No models from other programs found.")
    lines = [
        f"{one.program}: {clean_line(one.name)} ({size(one.bytes)})\n    {clean_line(str(one.path))}"
        for one in found
    ]
    return "\n".join([*lines, "", _("To use one without copying it: `atlas models import PATH --link`.")])


def details_text(value: "ModelDetails") -> str:
    from atlas_desktop.services.cleaning import clean_line

    entry, model, header, summary = value.entry, value.installed, value.header, value.summary
    rows: list[tuple[str, str]] = [(_("Model"), f"{summary.name} ({summary.id})")]
    if entry:
        rows.append((_("Family"), f"{entry.family}, {_count(entry.parameters)}, {entry.quantization}"))
    elif header:
        rows.append((_("Kind"), f"{clean_line(header.architecture)}, {_count(header.parameters)}"))
    rows.append((_("For"), ", ".join(summary.roles)))
    file_size, memory = size(summary.bytes), size(value.memory_needed)
    rows.append(
        (
            _("Size"),
            _("about {size}; needs {memory} of memory", size=file_size, memory=memory)
            if entry and not model and entry.bytes_approximate
            else _("{size}; needs {memory} of memory", size=file_size, memory=memory),
        )
    )
    rows.append((_("Fit"), fit_text(summary.fit)))
    rows.append((_("Context"), ngettext("1 token", "{count} tokens", summary.context_length)))
    licence = summary.licence or _("not stated in the file")
    if entry is not None and not entry.licence_open:
        licence = _("{licence} (not an open-source licence)", licence=licence)
    rows.append((_("Licence"), licence))
    if entry:
        stable = (
            _("append-only: long conversations stay fast")
            if entry.prefix_stable
            else _("rereads part of each turn")
        )
        rows.append((_("Template"), stable))
        checked = (
            _("downloaded and tested by the authors") if entry.verified else _("not tested by the authors")
        )
        rows.append((_("Checked"), checked))
    elif "chat" in summary.roles:
        rows.append(
            (_("Template"), _("checked when the model loads: a chat warns you if it is not append-only"))
        )
    if model:
        path = clean_line(str(model.path))
        rows.append((_("File"), _("{path} (linked)", path=path) if model.linked else path))
        rows.append(("SHA-256", model.sha256 or _("not computed yet: run `atlas models verify`")))
        rows.append((_("In use"), ", ".join(summary.used_for) or _("no")))
    rows += [(_("Source"), str(source)) for source in value.sources]
    if summary.tuned:
        rows.append(
            (
                _("Tuned"),
                _("{result}; to undo: `atlas models tune --undo {id}`", result=summary.tuned, id=summary.id),
            )
        )
    if summary.note:
        rows.append((_("Note"), _(summary.note)))
    return "\n".join(_labelled(label, text) for label, text in rows)


def _speed_text(one: "Recommendation") -> str:
    """Returns the expected speed of a chat model; an embedding model does not write."""
    from models.library.catalog import ModelRole

    chats = ModelRole.CHAT in one.entry.roles
    return (
        _("about {value}", value=formats().decimal(one.speed, 0 if one.speed >= 10 else 1)) if chats else "–"
    )


def recommendations(machine: "Machine", found: Sequence["Recommendation"]) -> str:
    head = textwrap.fill(
        ngettext(
            "This machine: {memory} of memory ({free} free), 1 core, graphics: {graphics}.",
            "This machine: {memory} of memory ({free} free), {count} cores, graphics: {graphics}.",
            machine.cores_physical,
            memory=size(machine.total_ram),
            free=size(machine.available_ram),
            graphics=machine.gpu or _("none found"),
        ),
        WIDTH,
    )
    fitting = [one for one in found if one.fit != "won't fit"][:_SHOWN]
    if not fitting:
        return f"{head}\n\n{_('No model in the catalogue fits this machine.')}"
    rows = [("", _("MODEL"), _("FIT"), _("SIZE"), _("MEMORY"), _("TOKENS/S"), _("LICENCE"))]
    rows += [
        (
            "",
            one.entry.id,
            fit_text(one.fit),
            size(one.entry.bytes),
            size(one.needed),
            _speed_text(one),
            one.entry.licence,
        )
        for one in fitting
    ]
    note = fitting[0].entry.note
    lines = [head, "", _table(rows), ""]
    if note:
        lines.append(textwrap.fill(f"{fitting[0].entry.name}: {note}", WIDTH))
    lines.append(_("To download the first: `atlas models pull {id}`.", id=fitting[0].entry.id))
    return "\n".join(lines)


def bench_text(value: "BenchResult") -> str:
    rows = [(_("Model"), value.model), (_("Loads in"), f"{value.load_ms:.0f} ms")]
    if value.read_tokens_per_second is not None:
        rows.append(
            (
                _("Reads"),
                ngettext(
                    "{speed:.0f} tokens/s (1 new token)",
                    "{speed:.0f} tokens/s ({count} new tokens)",
                    value.prompt_tokens or 0,
                    speed=value.read_tokens_per_second,
                ),
            )
        )
    if value.first_token_ms is not None:
        rows.append((_("First token"), f"{value.first_token_ms:.0f} ms"))
    if value.write_tokens_per_second is not None:
        rows.append(
            (
                _("Writes"),
                ngettext(
                    "{speed:.1f} tokens/s (1 token)",
                    "{speed:.1f} tokens/s ({count} tokens)",
                    value.written_tokens or 0,
                    speed=value.write_tokens_per_second,
                ),
            )
        )
    if value.texts_per_second is not None:
        rows.append((_("Embeds"), _("{speed:.0f} sentences/s", speed=value.texts_per_second)))
    return "\n".join(_labelled(label, text) for label, text in rows)


def tuned_text(value: "Tuned") -> str:
    if not value.kept:
        return _(
            "{model}: no faster settings found for this machine. No changes were made.", model=value.model
        )
    before, after = value.before, value.after
    rows = [
        (_("Model"), value.model),
        (
            _("Reads"),
            _(
                "{after:.0f} tokens/s, {before:.0f} before: {ratio:.2f} x",
                after=after.prefill,
                before=before.prefill,
                ratio=value.prefill_ratio,
            ),
        ),
        (
            _("Writes"),
            _(
                "{after:.0f} tokens/s, {before:.0f} before: {ratio:.2f} x",
                after=after.decode,
                before=before.decode,
                ratio=value.decode_ratio,
            ),
        ),
        (_("Perplexity"), _("{change:+.2f} % on the test text", change=(value.perplexity_ratio - 1) * 100)),
        (_("Settings"), value.settings.key),
    ]
    if value.file:
        rows.append(
            (
                _("File"),
                _("{file} ({size}), next to the downloaded model", file=value.file, size=size(value.bytes)),
            )
        )
    rows.append((_("Undo"), f"atlas models tune --undo {value.model}"))
    return "\n".join(_labelled(label, text) for label, text in rows)


def _count(parameters: int) -> str:
    return (
        _("{billions:.1f}B parameters", billions=parameters / 1e9)
        if parameters >= 1e9
        else _("{millions:.0f}M parameters", millions=parameters / 1e6)
    )


def _labelled(label: str, text: str) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=f"{label:<11} ",
        subsequent_indent=" " * 12,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns as wide as their content; lines are cut to `WIDTH`, and empty columns are omitted."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True) if width]
        line = "  ".join(cells).rstrip()
        lines.append(line if len(line) <= WIDTH else line[: WIDTH - 1] + "…")
    return "\n".join(lines)


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
    ctx.emit(tuned_json(found), lambda: tuned_text(found))
    return Exit.DONE


_ROLES = ("chat", "embed")


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Adds the group. Each command's namespace has `handler`: `async (Context, Namespace) -> int`."""
    add = command_group(
        subparsers, common, "models", _("download, import, choose and measure models"), exclusive=False
    )

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
    choose.add_argument("model", metavar="ID|ENGINE:MODEL")
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
    ctx.emit([summary_json(one) for one in found], lambda: summary_table(found, everything=args.all))
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
    values = [installed_json(model) for model in pulled]
    ctx.emit(values[0] if len(refs) == 1 else values)
    return Exit.DONE


async def import_file(ctx: Context, args: argparse.Namespace) -> int:
    bar = ctx.progress(args.file.name)
    try:
        model = await _service(ctx).import_file(args.file, _report(bar), link=args.link, model_id=args.name)
    finally:
        bar.close()
    ctx.emit(
        installed_json(model),
        _("{id} is linked. To use it: `atlas models use {id}`.", id=model.id)
        if model.linked
        else _("{id} is installed. To use it: `atlas models use {id}`.", id=model.id),
    )
    return Exit.DONE


async def discover(ctx: Context, _args: argparse.Namespace) -> int:
    found = _service(ctx).discover()
    ctx.emit([found_json(one) for one in found], lambda: found_list(found))
    return Exit.DONE


async def info(ctx: Context, args: argparse.Namespace) -> int:
    details = _service(ctx).info(args.model)
    ctx.emit(details_json(details), lambda: details_text(details))
    return Exit.DONE


async def use(ctx: Context, args: argparse.Namespace) -> int:
    if ":" in args.model:
        used = ctx.desk.use_model(args.model, args.role)
        value: dict[str, Any] = {"id": used.id, "chosen_for": list(used.roles)}
    else:
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
        used = ctx.desk.use_model(args.model, args.role)
        value = installed_json(service.installed_model(used.id))
    ctx.emit(value, _("{id} is now used for {roles}.", id=used.id, roles=", ".join(used.roles)))
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
        {"machine": machine_json(machine), "models": [recommendation_json(one) for one in found]},
        lambda: recommendations(machine, found),
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
    ctx.emit(bench_json(result), lambda: bench_text(result))
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
