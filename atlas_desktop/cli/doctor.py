"""`atlas doctor`: is everything in place, and what to do when it is not."""

import argparse
from typing import Any

from atlas_desktop.cli.context import Context
from atlas_desktop.error_table import explain
from atlas_desktop.errors import Exit

_SIGNS = {"good": "ok  ", "warning": "note", "bad": "BAD "}


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "doctor",
        parents=[common],
        help="check everything and say how to mend what is wrong",
        description="Check everything and say how to mend it. Needs no passphrase, changes nothing.",
    )
    parser.set_defaults(handler=doctor)


async def doctor(ctx: Context, _args: argparse.Namespace) -> int:
    from atlas_desktop.bootstrap import build_doctor
    from atlas_desktop.paths import UnsafeHome
    from atlas_desktop.services.doctor import Finding, Verdict
    from atlas_desktop.settings.file import any_keys

    try:
        ctx.paths.check()
        found = await build_doctor(ctx.paths, ctx.check_keys or any_keys).examine()
    except UnsafeHome as error:
        # Nothing else in it is looked at: a pipe in place of a file could be waited for, for ever.
        words = explain(error)
        found = [Finding("home", Verdict.BAD, words.message, words.next_step)]
    bad = any(f.verdict == "bad" for f in found)
    ctx.emit(
        {
            "healthy": not bad,
            "findings": [
                {"check": f.check, "verdict": f.verdict, "message": f.message, "next_step": f.next_step}
                for f in found
            ],
        },
        lambda: "\n".join(
            f"{_SIGNS[f.verdict]} {f.check}: {f.message}" + (f"\n       {f.next_step}" if f.next_step else "")
            for f in found
        ),
    )
    return Exit.FAILED if bad else Exit.DONE
