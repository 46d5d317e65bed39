"""`atlas`: parses arguments. Each command imports the heavy modules that it needs."""

if __name__ == "__main__":
    # This comes before the other imports, because Ctrl-C during them would print a traceback.
    from atlas_desktop.interrupts import be_the_program

    be_the_program()
import argparse
import gc
import io
import itertools
import os
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

from atlas_desktop import __version__, locale
from atlas_desktop.interrupts import as_program, raise_interrupts, stop, stop_at_once
from atlas_desktop.locale import N_, _


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    given = sys.argv[1:] if argv is None else argv
    if given == ["--version"]:
        print(f"atlas {__version__}")  # noqa: T201 - the fastest answer
        return 0
    chosen = language(given, os.environ)
    locale.use(chosen)
    # argparse asks the environment for the language of its own texts.
    os.environ["LANGUAGE"] = chosen or "C"
    return run(_for_the_interface(given) or build_parser(given).parse_args(queried(given)))


def language(given: list[str], environ: Mapping[str, str]) -> str:
    """Returns the language to use: `ui.locale` of the home in the arguments, otherwise the environment's.

    It is needed before anything with texts is imported. Errors in the settings are reported when they are
    loaded again.
    """
    from atlas_desktop.paths import NoSuchHome, Paths, find_home

    pairs = itertools.pairwise([*given, ""])
    homes = [word[7:] or after for word, after in pairs if word == "--home" or word.startswith("--home=")]
    with suppress(OSError, ValueError, NoSuchHome):
        config = Paths(find_home(homes[-1] if homes else None)).config
        # Most homes do not have this setting, and then nothing needs to be imported for it.
        written = config.is_file() and "locale" in config.read_text(encoding="utf-8")
        if written or environ.get("ATLAS_UI_LOCALE"):
            from atlas_desktop.settings.file import SettingsError, SettingsFile

            with suppress(SettingsError):
                return SettingsFile(config, environ).load().ui.locale or locale.locale_of(environ)
    return locale.locale_of(environ)


def queried(given: list[str]) -> list[str]:
    """Returns the arguments, with a space before query words such as `-fox`.

    Without the space, the parser would take them for options.
    """
    begun = next((at for at in range(2, len(given)) if tuple(given[at - 2 : at]) in _SEARCHES), len(given))

    def left_out(at: int, word: str) -> bool:
        option = word[1:2] == "-" or word in ("-h", "-y")
        return word[:1] == "-" and (given[at - 1] == "--query" or (at >= begun and not option))

    return [f" {word}" if left_out(at, word) else word for at, word in enumerate(given)]


_SEARCHES = (("sessions", "search"), ("sessions", "searches"))


class _Parser(argparse.ArgumentParser):
    """Reports usage errors as JSON if the command line asks for JSON."""

    def error(self, message: str) -> NoReturn:
        if {"--json", "--jsonl"} & set(sys.argv):
            from atlas_desktop.cli.context import dumps
            from atlas_desktop.error_table import explain
            from atlas_desktop.errors import UsageError

            error = UsageError(f"{message}.", _("See `{program} --help`.", program=self.prog))
            print(dumps(explain(error).as_json()))  # noqa: T201
            raise SystemExit(2)
        super().error(message)


# By name: the module in `cli`, its function unless that is `register`, and the help text as in the module.
COMMANDS = {
    "ask": ("ask", N_("send one message and print the reply")),
    "chat": ("chat", N_("chat line by line")),
    "sessions": ("sessions", N_("manage past conversations")),
    "project": ("projects", N_("manage projects")),
    "memory": ("memory", N_("manage memories")),
    "docs": ("documents", N_("manage documents and search in them")),
    "notes": ("notes", N_("write notes and link them")),
    "skills": ("skills", N_("manage instructions for recurring work")),
    "task": ("tasks", N_("delegate work that takes more than a turn")),
    "personas": ("personas", N_("manage instructions for the model")),
    "templates": ("templates", N_("manage prompts with {variables}")),
    "insights": ("insights", N_("show your statistics, computed locally")),
    "export": ("exporting", N_("export conversations")),
    "import": ("importing", N_("import conversations from files")),
    "serve": ("serve", N_("let other programs use your models and memory")),
    "mcp": ("serve:register_mcp", N_("serve one program over the Model Context Protocol")),
    "clients": ("serve:register_clients", N_("manage the programs that may ask Atlas")),
    "sync": ("sync", N_("keep the same memory on several computers")),
    "engines": ("engines", N_("manage other model servers, such as Ollama")),
    "models": ("models", N_("download, import, choose and measure models")),
    "jobs": ("jobs", N_("manage background work")),
    "vault": ("vault", N_("manage keys, recovery, integrity")),
    "doctor": ("doctor", N_("check everything and show how to fix problems")),
    "config": ("config", N_("show and change settings")),
    "demo": ("demo", N_("try Atlas in a temporary home folder with sample conversations")),
}


# Texts of argparse, which looks them up in the program's catalogue.
_BY_ARGPARSE = (
    N_("usage: "),
    N_("options"),
    N_("positional arguments"),
    N_("show this help message and exit"),
    N_("show program's version number and exit"),
    N_("%(prog)s: error: %(message)s\n"),
    N_("argument %(argument_name)s: %(message)s"),
    N_("the following arguments are required: %s"),
    N_("unrecognized arguments: %s"),
    N_("invalid choice: %(value)r (choose from %(choices)s)"),
    N_("invalid %(type)s value: %(value)r"),
    N_("expected one argument"),
    N_("not allowed with argument %s"),
    N_("ambiguous option: %(option)s could match %(matches)s"),
)


def build_parser(given: Collection[str] | None = None) -> argparse.ArgumentParser:
    """Returns the parser of the whole command line.

    With `given`, commands not among these words get only a name and a help text, so that their modules need
    not be imported.
    """
    common = _global_options()
    parser = _Parser(
        prog="atlas",
        description=_(
            "A private assistant that runs on this computer. Without a command, the interface opens."
        ),
        parents=[common, _interface_options()],
    )
    parser.add_argument("--version", action="version", version=f"atlas {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, (module, words) in COMMANDS.items():
        if given is None or name in given:
            module, _colon, function = module.partition(":")
            getattr(import_module(f"atlas_desktop.cli.{module}"), function or "register")(commands, common)
        else:
            commands.add_parser(name, help=_(words), add_help=False)
    return parser


def _global_options() -> argparse.ArgumentParser:
    """Returns the options allowed before and after the command. Absent ones must not overwrite given ones."""
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    options = common.add_argument_group(_("global options"))
    options.add_argument("--home", metavar="DIR", help=_("the home folder (default: ATLAS_HOME)"))
    options.add_argument("--passphrase-file", metavar="FILE", help=_("read the passphrase from FILE"))
    options.add_argument("--passphrase-fd", metavar="N", type=int, help=_("read it from file descriptor N"))
    options.add_argument(
        "--private", action="store_true", help=_("also open the private room; asks for the passphrase again")
    )
    options.add_argument("--json", action="store_true", help=_("print one JSON value"))
    options.add_argument("--yes", "-y", action="store_true", help=_("answer yes to every question"))
    return common


def _interface_options() -> argparse.ArgumentParser:
    """Returns the options of the interface."""
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument(
        "--continue",
        dest="resume",
        nargs="?",
        const="last",
        metavar="last|ID",
        help=_("open the interface in this session"),
    )
    options.add_argument(
        "--off-record", action="store_true", help=_("open the interface in a session that is never saved")
    )
    # Set when locking replaces the running program with a locked one.
    options.add_argument("--locked", action="store_true", help=argparse.SUPPRESS)
    return options


def _for_the_interface(given: list[str]) -> argparse.Namespace | None:
    """Returns the arguments if they name no command; the interface then starts without their modules."""
    quick = argparse.ArgumentParser(
        add_help=False, exit_on_error=False, parents=[_global_options(), _interface_options()]
    )
    try:
        args, rest = quick.parse_known_args(given)
    except argparse.ArgumentError:
        # The full parser reports the error.
        return None
    return None if rest else args


def run(args: argparse.Namespace) -> int:
    """Runs the parsed command. Every error becomes a message and an exit status."""
    if getattr(args, "handler", None) is None:
        # No garbage collection before the first screen: it would take a tenth of the time and find nothing.
        gc.disable()
    from atlas_desktop.cli.context import Context
    from atlas_desktop.process import harden

    harden()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # On a terminal that is not UTF-8, show question marks instead of crashing.
            stream.reconfigure(errors="replace")
    if isinstance(sys.stdin, io.TextIOWrapper):
        # Keep bytes that are not UTF-8, so that the reader of the text can report them and none are lost.
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
        # The reader has closed the pipe. Discard what Python would still flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - every error becomes a message
        stop_at_once()
        if isinstance(error, KeyboardInterrupt) and not ctx.json:
            stop()
        return ctx.fail(error)
    finally:
        stop_at_once()
        gc.enable()


def _let_signals_wake_the_loop() -> None:
    """Makes every signal wake the event loop.

    Python handles a signal only when it next runs code. Without this, Ctrl-C just before the loop sleeps
    would wait for the next event, which at a prompt never comes. Once the loop has a signal handler, every
    signal wakes it. The handler added below is for a signal without any other effect.
    """
    import asyncio
    import signal

    if sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGURG, lambda: None)


def _check_keys(keys: Mapping[str, str], only: str | None = None) -> None:
    from atlas_desktop.tui.keymap import check

    check(keys, only)


async def _command(ctx: Any, args: argparse.Namespace, handler: Any) -> int:
    from contextlib import nullcontext

    from atlas_desktop.process import InstanceLock

    _let_signals_wake_the_loop()
    exclusive = getattr(args, "exclusive", False)
    if exclusive:
        ctx.paths.ensure()
    if getattr(args, "hand_over", None) is not None and (ctx.paths.home / "commands").exists():
        from atlas_desktop.cli.handing_over import hand_over

        if (status := await hand_over(ctx, args)) is not None:
            return status
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

        with throw_away_home(ctx) as demo:
            status = int(show(demo.ctx, key=demo.key, resume="last", demo_passphrase=demo.passphrase))
        if args.and_back:
            from atlas_desktop.process import relaunch_locked

            relaunch_locked(ctx.paths.home, off_record=False)
        return status
    return int(
        launch(ctx, resume=args.resume, off_record=args.off_record, locked=args.locked, commands=_handed_over)
    )


def _handed_over(desk: Any, consent: Any) -> Any:
    """Returns the handler for commands that other terminals hand over to the interface."""
    from atlas_desktop.cli.handing_over import answer

    return lambda exchange: answer(desk, exchange, consent)


if __name__ == "__main__":
    sys.exit(as_program(main))
