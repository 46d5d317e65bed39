"""What `atlas export` prints when it has written, or would have."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context

if TYPE_CHECKING:
    from atlas_desktop.services.exporting.redaction import Found
    from atlas_desktop.services.exporting.service import Order, Report


def show(
    ctx: Context, report: "Report", order: "Order", *, preview: bool, output: Path | None = None
) -> None:
    """On standard output, unless what was exported is there: then people are told on the other one."""
    value: dict[str, Any] = {
        "sessions": report.sessions,
        "messages": report.messages,
        "memories": report.memories,
        "format": order.format,
        "redacted": report.redacted,
        "missing_glyphs": report.missing,
    }
    if preview:
        value |= {"preview": True, "replacements": [_found(one) for one in report.found]}
        ctx.emit(value, _preview(report, order))
        return
    lines = [_count(report)]
    if report.redacted:
        lines.append(_taken_out(report))
    if report.missing:
        lines.append(f"{report.missing} characters have no glyph in the fonts here; a box stands for each")
    if output is None:
        for line in lines if report.redacted or report.missing else ():
            ctx.note(line)
        return
    value |= {"path": str(output), "files": [str(path) for path in report.files]}
    lines[0] += f" written to {output}"
    ctx.emit(value, "\n".join(lines))


def _taken_out(report: "Report") -> str:
    # `address` and the others end in `s` or `es` when there are many.
    one = {"addresses": "address"}
    parts = [
        f"{count} {kind if count != 1 else one.get(kind, kind.removesuffix('s'))}"
        for kind, count in report.redacted.items()
    ]
    return "taken out: " + ", ".join(parts)


def _count(report: "Report") -> str:
    parts = [_many(report.sessions, "conversation"), _many(report.messages, "message")]
    if report.memories:
        parts.append(f"{report.memories} memories" if report.memories != 1 else "1 memory")
    return ", ".join(parts)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _found(one: "Found") -> dict[str, Any]:
    return {"kind": one.kind, "text": one.text, "replacement": one.mark, "count": one.count}


def _preview(report: "Report", order: "Order") -> str:
    lines = [f"{_count(report)} would go out"]
    if order.redaction is None:
        return "\n".join([*lines, "Nothing would be taken out: --redact takes out personal data."])
    if not report.found:
        return "\n".join([*lines, "Nothing was found that would be taken out."])
    lines.append(_taken_out(report))
    width = max(len(one.mark) for one in report.found)
    lines += [
        f"  {one.mark:<{width}}  {one.count:>4} ×  {' '.join(one.text.split())}" for one in report.found
    ]
    return "\n".join(lines)
