"""Prints the manual page atlas(1), made from the program's own help: `manpage.py VERSION SECONDS`."""

import argparse
import datetime as dt
import sys
from collections.abc import Iterator

from atlas_desktop.__main__ import build_parser


def main(version: str, seconds: int) -> None:
    day = dt.datetime.fromtimestamp(seconds, dt.UTC).date()
    parser = build_parser()
    lines = [
        f'.TH ATLAS 1 "{day}" "Atlas Desktop {version}" "User Commands"',
        ".SH NAME",
        "atlas \\- private assistant with a local model and an encrypted memory",
        ".SH SYNOPSIS",
        ".B atlas",
        "[\\fIOPTION\\fR]... [\\fICOMMAND\\fR ...]",
        ".SH DESCRIPTION",
        _text(parser.description or ""),
        ".SH OPTIONS",
        *_options(parser),
        ".SH COMMANDS",
        *_commands(parser, "atlas"),
        ".SH EXIT STATUS",
        "0 done; 1 failed; 2 wrong usage; 3 locked or wrong passphrase; 4 damaged data; 5 no model;",
        "130 interrupted.",
        ".SH ENVIRONMENT",
        ".TP",
        ".B ATLAS_HOME",
        "The folder that holds everything: conversations, models, settings, logs.",
        "Nothing is written outside it.",
        ".TP",
        ".B NO_COLOR",
        "Prints without colours.",
    ]
    print("\n".join(lines))


def _text(words: str) -> str:
    """Escapes text for roff: keeps hyphens, and starts no line with a control character."""
    escaped = " ".join(words.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in {".", "'"} else escaped


def _options(parser: argparse.ArgumentParser, skip: frozenset[str] = frozenset()) -> Iterator[str]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list
        if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:  # noqa: SLF001
            continue
        if skip.intersection(action.option_strings):
            continue
        names = ", ".join(f"\\fB{_text(name)}\\fR" for name in action.option_strings)
        value = "" if action.nargs == 0 else f"\\fI{_text(_value(action))}\\fR"
        yield ".TP"
        yield f"{names} {value}".strip()
        yield _text((action.help or "").replace("%(prog)s", "atlas").replace("%%", "%")) or "\\&"


def _value(action: argparse.Action) -> str:
    if action.metavar:
        return " ".join(action.metavar) if isinstance(action.metavar, tuple) else action.metavar
    if action.choices:
        return "|".join(map(str, action.choices))
    return action.dest.upper()


def _commands(parser: argparse.ArgumentParser, path: str) -> Iterator[str]:
    """Yields every command below `parser` with the options it has beyond the global ones."""
    everywhere = frozenset(
        name
        for action in build_parser()._actions  # noqa: SLF001
        for name in action.option_strings
    )
    for action in parser._actions:  # noqa: SLF001
        if not isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            continue
        words = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
        for name, child in action.choices.items():
            yield f".SS {_text(f'{path} {name}')}"
            yield _text(child.description or words.get(name, ""))
            yield from _options(child, everywhere)
            yield from _commands(child, f"{path} {name}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
