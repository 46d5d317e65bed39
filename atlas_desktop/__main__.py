"""`atlas`: arguments only. Whatever is heavy is imported by the command that needs it."""

if __name__ == "__main__":
    # Before anything else is imported: Ctrl-C meanwhile would leave a traceback.
    from atlas_desktop.process.interrupts import be_the_program

    be_the_program()

import argparse
import gc
import io
import os
import sys
from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any, NoReturn

from atlas_desktop import __version__
from atlas_desktop.process.interrupts import as_program, raise_interrupts, stop, stop_at_once


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    given = sys.argv[1:] if argv is None else argv
    if given == ["--version"]:
        print(f"atlas {__version__}")  # noqa: T201 - the quickest answer there is
        return 0
    return run(_for_the_interface(given) or build_parser(given).parse_args(queried(given)))


def queried(given: list[str]) -> list[str]:
    """The arguments with a space before words of a query such as `-fox`: what begins so is no option
    to the parser."""
    begun = next((at for at in range(2, len(given)) if tuple(given[at - 2 : at]) in _SEARCHES), len(given))

    def left_out(at: int, word: str) -> bool:
        option = word[1:2] == "-" or word in ("-h", "-y")
        return word[:1] == "-" and (given[at - 1] == "--query" or (at >= begun and not option))

    return [f" {word}" if left_out(at, word) else word for at, word in enumerate(given)]


_SEARCHES = (("sessions", "search"), ("sessions", "searches"))


class _Parser(argparse.ArgumentParser):
    """Wrong usage as JSON too, when the command line asks for JSON."""

    def error(self, message: str) -> NoReturn:
        if {"--json", "--jsonl"} & set(sys.argv):
            from atlas_desktop.cli.context import dumps
            from atlas_desktop.error_table import explain
            from atlas_desktop.errors import UsageError

            print(dumps(explain(UsageError(f"{message}.", f"See `{self.prog} --help`.")).as_json()))  # noqa: T201
            raise SystemExit(2)
        super().error(message)


# By name: the module in `cli`, and what it is for (as the module itself says).
COMMANDS = {
    "ask": ("ask", "say one thing and print the reply"),
    "chat": ("chat", "talk line by line"),
    "sessions": ("sessions", "past conversations"),
    "project": ("projects", "conversations that belong together"),
    "memory": ("memory", "what is remembered"),
    "personas": ("personas", "instructions for the model, by name"),
    "templates": ("templates", "prompts with {variables}, by name"),
    "insights": ("insights", "your own statistics, computed here"),
    "export": ("exporting", "write conversations out"),
    "import": ("importing", "take in conversations from files"),
    "models": ("models", "download, import, choose and measure models"),
    "jobs": ("jobs", "work in the background"),
    "vault": ("vault", "keys, recovery, integrity"),
    "doctor": ("doctor", "check everything and say how to mend what is wrong"),
    "config": ("config", "settings"),
    "demo": ("demo", "look around in a throw-away home with sample conversations"),
}


def build_parser(given: Collection[str] | None = None) -> argparse.ArgumentParser:
    """Everything that the command line understands. With `given`, of the commands that are not among these
    words only the names are known: their modules are not waited for."""
    common = _global_options()
    parser = _Parser(
        prog="atlas",
        description="A private assistant that lives on this computer. Without a command: its interface.",
        parents=[common, _interface_options()],
    )
    parser.add_argument("--version", action="version", version=f"atlas {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, (module, words) in COMMANDS.items():
        if given is None or name in given:
            import_module(f"atlas_desktop.cli.{module}").register(commands, common)
        else:
            commands.add_parser(name, help=words, add_help=False)
    return parser


def _global_options() -> argparse.ArgumentParser:
    """Options that may stand before and after the command: absent ones must not overwrite given ones."""
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    options = common.add_argument_group("global options")
    options.add_argument("--home", metavar="DIR", help="where everything is kept (default: ATLAS_HOME)")
    options.add_argument("--passphrase-file", metavar="FILE", help="read the passphrase from FILE")
    options.add_argument("--passphrase-fd", metavar="N", type=int, help="read it from descriptor N")
    options.add_argument(
        "--private", action="store_true", help="open the private room too; asks for the passphrase again"
    )
    options.add_argument("--json", action="store_true", help="print one JSON value")
    options.add_argument("--yes", "-y", action="store_true", help="agree to what would be asked")
    return common


def _interface_options() -> argparse.ArgumentParser:
    """What the interface is told."""
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument(
        "--continue",
        dest="resume",
        nargs="?",
        const="last",
        metavar="last|ID",
        help="open the interface in that session",
    )
    options.add_argument(
        "--off-record", action="store_true", help="open the interface in a session that is never saved"
    )
    # Given by a lock to the program that it puts in its place.
    options.add_argument("--locked", action="store_true", help=argparse.SUPPRESS)
    return options


def _for_the_interface(given: list[str]) -> argparse.Namespace | None:
    """The arguments when they name no command: the interface does not wait for the commands' modules."""
    quick = argparse.ArgumentParser(
        add_help=False, exit_on_error=False, parents=[_global_options(), _interface_options()]
    )
    try:
        args, rest = quick.parse_known_args(given)
    except argparse.ArgumentError:
        # Whatever is wrong is said by the parser that knows everything.
        return None
    return None if rest else args


def run(args: argparse.Namespace) -> int:
    """Runs what was parsed; every error leaves through its words and its exit status."""
    if getattr(args, "handler", None) is None:
        # Nothing is garbage before the first screen is there; looking for it takes a tenth of the time.
        gc.disable()
    from atlas_desktop.cli.context import Context
    from atlas_desktop.process.hardening import harden

    harden()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that is not UTF-8 shows question marks rather than ending the program.
            stream.reconfigure(errors="replace")
    if isinstance(sys.stdin, io.TextIOWrapper):
        # What is not UTF-8 stays to be seen: whoever takes the text says so, and nothing is lost in silence.
        sys.stdin.reconfigure(errors="surrogateescape")
    ctx = Context.blank(args)
    try:
        ctx = Context.from_args(args)
        ctx.check_keys = _check_keys
        if (handler := getattr(args, "handler", None)) is not None:
            import asyncio

            raise_interrupts()
            return asyncio.run(_command(ctx, args, handler))
        return _interface(ctx, args)
    except BrokenPipeError:
        stop_at_once()
        # Whoever read has seen enough. What Python would still flush at the end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - every error leaves as words
        stop_at_once()
        if isinstance(error, KeyboardInterrupt) and not ctx.json:
            stop()
        return ctx.fail(error)
    finally:
        stop_at_once()
        gc.enable()


def _let_signals_wake_the_loop() -> None:
    """Python notices a signal when it next runs. Ctrl-C in the instant before the loop goes to sleep would be
    noticed when something else happens, which at a prompt is never. With the first handler of its own the
    loop is woken by every signal; this one is for a signal that does nothing anyway."""
    import asyncio
    import signal

    if sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGURG, lambda: None)


def _check_keys(keys: Mapping[str, str], only: str | None = None) -> None:
    from atlas_desktop.tui.keymap import check

    check(keys, only)


async def _command(ctx: Any, args: argparse.Namespace, handler: Any) -> int:
    from contextlib import nullcontext

    from atlas_desktop.process.instance import InstanceLock

    _let_signals_wake_the_loop()
    exclusive = getattr(args, "exclusive", False)
    if exclusive:
        ctx.paths.ensure()
    with InstanceLock(ctx.paths) if exclusive else nullcontext():
        try:
            return int(await handler(ctx, args))
        finally:
            await ctx.close()


def _interface(ctx: Any, args: argparse.Namespace) -> int:
    from atlas_desktop.tui.launch import launch, needs_a_terminal, show

    needs_a_terminal()
    if getattr(args, "demo", False):
        from atlas_desktop.cli.demo import throw_away_home

        with throw_away_home(ctx) as (inner, key):
            status = int(show(inner, key=key, resume="last", is_demo=True))
        if args.and_back:
            from atlas_desktop.process.relaunch import relaunch_locked

            relaunch_locked(ctx.paths.home, off_record=False)
        return status
    return int(launch(ctx, resume=args.resume, off_record=args.off_record, locked=args.locked))


if __name__ == "__main__":
    sys.exit(as_program(main))
