"""How `atlas models` prints what it found: JSON shapes, and tables that fit 80 columns."""

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from atlas_desktop.errors import size

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
        return (
            "No model is installed. `atlas models recommend` shows what suits this machine,\n"
            "`atlas models pull ID` downloads one."
        )
    rows = [("", "MODEL", "FOR", "SIZE", "HERE", "LICENCE")]
    rows += [
        (
            "*" if one.used_for else "+" if one.installed else "",
            one.id,
            "/".join(one.roles),
            size(one.bytes),
            str(one.fit),
            one.licence,
        )
        for one in models
    ]
    legend = "* in use" + ("   + installed   the others can be pulled" if everything else "")
    tuned = [f"{one.id} tuned: {one.tuned}" for one in models if one.tuned]
    return "\n".join([_table(rows), "", legend, *tuned])


def found_list(found: Sequence["FoundModel"]) -> str:
    from atlas_desktop.services.cleaning import clean_line

    if not found:
        return "No other program's models were found."
    lines = [
        f"{one.program}: {clean_line(one.name)} ({size(one.bytes)})\n    {clean_line(str(one.path))}"
        for one in found
    ]
    return "\n".join([*lines, "", "`atlas models import PATH --link` uses one without copying it."])


def details_text(value: "ModelDetails") -> str:
    from atlas_desktop.services.cleaning import clean_line

    entry, model, header, summary = value.entry, value.installed, value.header, value.summary
    rows: list[tuple[str, str]] = [("Model", f"{summary.name} ({summary.id})")]
    if entry:
        rows.append(("Family", f"{entry.family}, {_count(entry.parameters)}, {entry.quantization}"))
    elif header:
        rows.append(("Kind", f"{clean_line(header.architecture)}, {_count(header.parameters)}"))
    rows.append(("For", ", ".join(summary.roles)))
    about = "about " if entry and not model and entry.bytes_approximate else ""
    rows.append(("Size", f"{about}{size(summary.bytes)}; needs {size(value.memory_needed)} of memory"))
    rows.append(("Here", str(summary.fit)))
    rows.append(("Context", f"{summary.context_length:,} tokens"))
    conditions = "" if entry is None or entry.licence_open else " (not an open-source licence)"
    rows.append(("Licence", (summary.licence or "not stated in the file") + conditions))
    if entry:
        stable = (
            "only appends: long talks stay quick" if entry.prefix_stable else "re-reads part of each turn"
        )
        rows.append(("Template", stable))
        checked = "fetched and tried by the authors" if entry.verified else "not tried by the authors"
        rows.append(("Checked", checked))
    elif "chat" in summary.roles:
        rows.append(("Template", "tried when the model is loaded: a chat says if prompts cannot only grow"))
    if model:
        rows.append(("File", clean_line(str(model.path)) + (" (linked)" if model.linked else "")))
        rows.append(("SHA-256", model.sha256 or "not computed yet: `atlas models verify` does"))
        rows.append(("In use", ", ".join(summary.used_for) or "no"))
    rows += [("Source", str(source)) for source in value.sources]
    if summary.tuned:
        rows.append(("Tuned", f"{summary.tuned}; `atlas models tune --undo {summary.id}` goes back"))
    if summary.note:
        rows.append(("Note", summary.note))
    return "\n".join(_labelled(label, text) for label, text in rows)


def recommendations(machine: "Machine", found: Sequence["Recommendation"]) -> str:
    head = (
        f"This machine: {size(machine.total_ram)} of memory ({size(machine.available_ram)} free), "
        f"{machine.cores_physical} cores, graphics: {machine.gpu or 'none found'}."
    )
    fitting = [one for one in found if one.fit != "won't fit"][:_SHOWN]
    if not fitting:
        return f"{textwrap.fill(head, WIDTH)}\n\nNone of the catalogue's models fits this machine."
    rows = [("", "MODEL", "HERE", "SIZE", "MEMORY", "LICENCE")]
    rows += [
        (
            "",
            one.entry.id,
            str(one.fit),
            size(one.entry.bytes),
            size(one.needed),
            one.entry.licence,
        )
        for one in fitting
    ]
    note = fitting[0].entry.note
    lines = [textwrap.fill(head, WIDTH), "", _table(rows), ""]
    if note:
        lines.append(textwrap.fill(f"{fitting[0].entry.name}: {note}", WIDTH))
    lines.append(f"`atlas models pull {fitting[0].entry.id}` downloads the first.")
    return "\n".join(lines)


def bench_text(value: "BenchResult") -> str:
    rows = [("Model", value.model), ("Loads in", f"{value.load_ms:.0f} ms")]
    if value.read_tokens_per_second is not None:
        rows.append(
            ("Reads", f"{value.read_tokens_per_second:.0f} tokens/s ({value.prompt_tokens} new tokens)")
        )
    if value.first_token_ms is not None:
        rows.append(("First token", f"{value.first_token_ms:.0f} ms"))
    if value.write_tokens_per_second is not None:
        rows.append(
            ("Writes", f"{value.write_tokens_per_second:.1f} tokens/s ({value.written_tokens} tokens)")
        )
    if value.texts_per_second is not None:
        rows.append(("Embeds", f"{value.texts_per_second:.0f} sentences/s"))
    return "\n".join(_labelled(label, text) for label, text in rows)


def tuned_text(value: "Tuned") -> str:
    if not value.kept:
        return f"{value.model}: nothing was found that is faster here. It stays as it is."
    before, after = value.before, value.after
    rows = [
        ("Model", value.model),
        ("Reads", f"{after.prefill:.0f} tokens/s, {before.prefill:.0f} before: {value.prefill_ratio:.2f} x"),
        ("Writes", f"{after.decode:.0f} tokens/s, {before.decode:.0f} before: {value.decode_ratio:.2f} x"),
        ("Perplexity", f"{(value.perplexity_ratio - 1) * 100:+.2f} % on the fixed text"),
        ("Runs with", value.settings.key),
    ]
    if value.file:
        rows.append(("File", f"{value.file} ({size(value.bytes)}), beside the model as downloaded"))
    rows.append(("Undo", f"atlas models tune --undo {value.model}"))
    return "\n".join(_labelled(label, text) for label, text in rows)


def _count(parameters: int) -> str:
    return (
        f"{parameters / 1e9:.1f}B parameters" if parameters >= 1e9 else f"{parameters / 1e6:.0f}M parameters"
    )


def _labelled(label: str, text: str) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=f"{label:<12}",
        subsequent_indent=" " * 12,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns as wide as they need to be, the last one cut to fit the width; the first may be empty."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True) if width]
        line = "  ".join(cells).rstrip()
        lines.append(line if len(line) <= WIDTH else line[: WIDTH - 1] + "…")
    return "\n".join(lines)
