"""Output of `atlas models`: JSON shapes, and tables that fit 80 columns."""

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from atlas_desktop.errors import size
from atlas_desktop.locale import _, ngettext
from atlas_desktop.phrases.models import fit_text

if TYPE_CHECKING:
    from atlas_desktop.services.models import BenchResult, ModelDetails, ModelSummary
    from models.library.discovery import FoundModel
    from models.library.hardware import Machine, Recommendation
    from models.library.installed import InstalledModel
    from models.tuning.plan import Round
    from models.tuning.results import Tuned

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
    rows = [("", _("MODEL"), _("FIT"), _("SIZE"), _("MEMORY"), _("LICENCE"))]
    rows += [
        (
            "",
            one.entry.id,
            fit_text(one.fit),
            size(one.entry.bytes),
            size(one.needed),
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
    """Columns as wide as their content; lines are cut to `WIDTH`, and an empty column is left out."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True) if width]
        line = "  ".join(cells).rstrip()
        lines.append(line if len(line) <= WIDTH else line[: WIDTH - 1] + "…")
    return "\n".join(lines)
