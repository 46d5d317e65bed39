"""Writes the tables of the docs from the code, so that they cannot diverge.

`python -m docs.tables` rewrites them; the test suite fails when one is stale.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def settings_table() -> str:
    from atlas_desktop.settings.file import describe

    rows = ["| setting | default | bounds | what it does |", "|---|---|---|---|"]
    rows += [
        f"| `{i.key}` | `{i.default!r}` | {i.bounds or i.type} | {i.description} `{i.env}` |"
        if not isinstance(i.default, str)
        else f"| `{i.key}` | “{i.default}” | {i.bounds or i.type} | {i.description} `{i.env}` |"
        for i in describe()
    ]
    return "\n".join(rows)


def commands() -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    """Yields name, parser and help of every command and subcommand."""
    from atlas_desktop.__main__ import build_parser

    def walk(
        name: str, parser: argparse.ArgumentParser
    ) -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
                for key, sub in action.choices.items():
                    path = f"{name} {key}"
                    yield path, sub, helps.get(key, "")
                    yield from walk(path, sub)

    yield from walk("atlas", build_parser())


def usage(name: str, parser: argparse.ArgumentParser) -> str:
    words = [name]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return ""
        group = getattr(action, "container", parser)
        shared = group is not parser and getattr(group, "title", "") == "global options"
        if shared or action.help == argparse.SUPPRESS or "--help" in action.option_strings:
            continue
        value = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else "")
        if not action.option_strings:
            word = str(value or action.dest.upper())
            words.append(f"[{word}]" if action.nargs in ("?", "*") else word)
        else:
            takes = action.nargs != 0
            words.append(f"[{action.option_strings[0]}{f' {value or action.dest.upper()}' if takes else ''}]")
    return " ".join(words)


def commands_table() -> str:
    rows = ["| command | what it does |", "|---|---|"]
    for name, parser, text in commands():
        line = usage(name, parser).replace("|", "\\|")
        if line:
            rows.append(f"| `{line}` | {text} |")
    return "\n".join(rows)


def models_table() -> str:
    from atlas_desktop.errors import size
    from models.library.catalog import load_catalog

    rows = [
        "| id | for | parameters | size | licence | context | run by us |",
        "|---|---|---|---|---|---|---|",
    ]
    for e in load_catalog().entries:
        about = "about " if e.bytes_approximate else ""
        rows.append(
            f"| `{e.id}` | {', '.join(e.roles)} | {e.parameters / 1e6:,.0f} M {e.quantization} "
            f"| {about}{size(e.bytes)} | {e.licence} | {e.context_length:,} | {'yes' if e.verified else 'no'} |"
        )
    return "\n".join(rows)


def tuning_table() -> str:
    from models.tuning.plan import TuningPlan

    plan = TuningPlan()
    layouts = ", ".join(f"`{layout.name}`" for layout in plan.layouts)
    batches = ", ".join(str(batch) for batch in plan.batches)
    rows = [
        "| what | tried |",
        "|---|---|",
        f"| layout of the weights | as downloaded, {layouts} |",
        "| threads | all real cores, one fewer, half of them, one, all logical cores |",
        f"| tokens read at once | {batches} |",
        "| attention | plain with keys and values at f16; flash with f16; flash with q8_0 |",
    ]
    return "\n".join(rows)


def keys_table() -> str:
    from atlas_desktop.tui.actions import ACTIONS

    rows = ["| key | action | where | what it does |", "|---|---|---|---|"]
    for action in ACTIONS:
        ways = [f"`{key}`" for key in action.key.split(",") if key] + (
            [f"`{action.slash}`"] if action.slash else []
        )
        keys = " or ".join(ways) or "palette only"
        rows.append(f"| {keys} | {action.name} | {action.where.label} | {action.help} |")
    return "\n".join(rows)


def retention_table() -> str:
    from memory.memories.entities import MemoryTier
    from memory.memories.lifetime import PROCEDURAL_VERSIONS, Retention
    from memory.recall.decay import half_life_days

    rules = Retention()
    low, high = rules.short_term_hours_min, rules.short_term_hours_max
    rows = {
        MemoryTier.WORKING: ("only when you say so", f"{rules.working_hours:g} hours"),
        MemoryTier.SHORT_TERM: (
            f"facts and events of importance below {rules.lasting_importance:g}, open questions",
            f"{low:g} to {high:g} hours, the longer the more it matters",
        ),
        MemoryTier.EPISODIC: (
            "decisions, events, code, questions and digests of a project",
            f"as long as the project, and {rules.episodic_days:g} days",
        ),
        MemoryTier.LONG_TERM: (
            f"preferences; facts, decisions and events of importance from {rules.lasting_importance:g} on",
            "for good; every earlier wording is kept",
        ),
        MemoryTier.PROCEDURAL: (
            "how something is done; used once you have accepted it",
            f"for good; the latest {PROCEDURAL_VERSIONS} earlier wordings are kept",
        ),
    }
    lines = ["| tier | what goes there | kept in use for | half-life |", "|---|---|---|---|"]
    for tier, (what, kept) in rows.items():
        lines.append(f"| `{tier}` | {what} | {kept} | {half_life_days(tier):.2g} days |")
    return "\n".join(lines)


def browser_table() -> str:
    from atlas_desktop.tui.actions import ACTIONS, Where, key_words

    found = [action for action in ACTIONS if action.where is Where.MEMORIES]
    return "\n".join(
        ["| key | what it does |", "|---|---|"] + [f"| {key_words(one.key)} | {one.help} |" for one in found]
    )


TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "settings": ("docs/settings.md", settings_table),
    "commands": ("docs/cli.md", commands_table),
    "models": ("docs/models.md", models_table),
    "tuning": ("docs/models.md", tuning_table),
    "keys": ("docs/keys.md", keys_table),
    "retention": ("docs/memory.md", retention_table),
    "browser": ("docs/memory.md", browser_table),
}


def with_table(text: str, name: str, table: str) -> str:
    """Returns `text` with what is between the marks of `name` replaced.

    Raises `ValueError` if the marks are missing.
    """
    pattern = rf"(<!-- {name}: made by docs/tables.py -->\n).*?(\n<!-- end of {name} -->)"
    made, count = re.subn(pattern, lambda m: m[1] + table + m[2], text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"the marks of the table {name} are missing")
    return made


def main() -> int:
    for name, (file, make) in TABLES.items():
        path = ROOT / file
        path.write_text(with_table(path.read_text(encoding="utf-8"), name, make()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
