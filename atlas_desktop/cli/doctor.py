"""`atlas doctor`: checks everything and shows how to fix problems."""

import argparse
from typing import Any

from atlas_desktop.cli.context import Context
from atlas_desktop.error_table import explain
from atlas_desktop.errors import Exit
from atlas_desktop.locale import N_, _

_SIGNS = {"good": N_("ok"), "warning": N_("note"), "bad": N_("BAD")}


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "doctor",
        parents=[common],
        help=_("check everything and show how to fix problems"),
        description=_("Check everything and show how to fix problems. Needs no passphrase, changes nothing."),
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
        # Check nothing else in it: reading a pipe in place of a file could block forever.
        words = explain(error)
        found = [Finding("home", Verdict.BAD, words.message, words.next_step)]
    bad = any(f.verdict == "bad" for f in found)
    signs = {verdict: _(sign) for verdict, sign in _SIGNS.items()}
    width = max(map(len, signs.values()))
    ctx.emit(
        {
            "healthy": not bad,
            "findings": [
                {"check": f.check, "verdict": f.verdict, "message": f.message, "next_step": f.next_step}
                for f in found
            ],
        },
        lambda: "\n".join(
            f"{signs[f.verdict]:<{width}} {f.check}: {f.message}"
            + (f"\n       {f.next_step}" if f.next_step else "")
            for f in found
        ),
    )
    return Exit.FAILED if bad else Exit.DONE
