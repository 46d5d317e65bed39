"""`atlas config`: settings, each checked before it is written."""

import argparse
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context, command_group, open_in_editor
from atlas_desktop.errors import Exit
from atlas_desktop.locale import _

if TYPE_CHECKING:
    from atlas_desktop.settings.file import SettingsFile


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    add = command_group(subparsers, common, "config", _("show and change settings"), exclusive=False)

    add("list", list_settings, _("list every setting with its value and bounds"))
    add("get", get, _("print one setting")).add_argument("key", metavar="KEY")
    setting = add("set", set_value, _("change one setting or reset it to its default"))
    setting.add_argument("key", metavar="KEY")
    setting.add_argument("value", metavar="VALUE", nargs="?", help=_("default if omitted"))
    add("edit", edit, _("open config.toml in your editor and check it afterwards"))
    add("path", path, _("print the path of config.toml"))


def _file(ctx: Context) -> "SettingsFile":
    from atlas_desktop.settings.file import SettingsFile, any_keys

    ctx.paths.check()
    return SettingsFile(ctx.paths.config, check_keys=ctx.check_keys or any_keys)


def _load(ctx: Context) -> "SettingsFile":
    """Loads the settings for reading only: an invalid keymap is not an error then."""
    from atlas_desktop.settings.file import SettingsFile

    ctx.paths.check()
    file = SettingsFile(ctx.paths.config)
    file.load()
    return file


async def list_settings(ctx: Context, _args: argparse.Namespace) -> int:
    from atlas_desktop.error_table import explain
    from atlas_desktop.settings.file import SettingsError, SettingsFile

    ctx.paths.check()
    file = SettingsFile(ctx.paths.config)
    try:
        file.load()
    except SettingsError as error:
        # Leave out the next step: it suggests this same command, which lists the allowed values.
        words = explain(error)
        ctx.note(f"{words.title}: {words.message}")
    from atlas_desktop.phrases import unknown_variable
    from atlas_desktop.settings.file import describe, unknown_variables

    for name, near in unknown_variables(file.environ).items():
        ctx.note(unknown_variable(name, near))
    rows = [(info, file.get(info.key)) for info in describe()]
    ctx.emit(
        [
            {
                "key": info.key,
                "value": value,
                "default": info.default,
                "type": info.type,
                "bounds": info.bounds,
                "environment": info.env,
                "description": info.description,
            }
            for info, value in rows
        ],
        lambda: "\n".join(
            f"{info.key} = {value!r}{f'  ({bounds})' if bounds else ''}\n    {info.description}"
            for info, value, bounds in ((info, value, info.bounds_text) for info, value in rows)
        ),
    )
    return Exit.DONE


async def get(ctx: Context, args: argparse.Namespace) -> int:
    value = _load(ctx).get(args.key)
    ctx.emit({"key": args.key, "value": value}, str(value))
    return Exit.DONE


async def set_value(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.settings.file import read_value

    file = _file(ctx)
    file.set(args.key, None if args.value is None else read_value(args.value))
    value = file.get(args.key)
    ctx.emit({"key": args.key, "value": value}, f"{args.key} = {value!r}")
    return Exit.DONE


async def edit(ctx: Context, _args: argparse.Namespace) -> int:
    ctx.paths.ensure()
    ctx.paths.config.touch(mode=0o600)
    status = open_in_editor(ctx.paths.config)
    _file(ctx).load()
    ctx.emit({"path": str(ctx.paths.config), "checked": True}, _("The settings are valid."))
    return Exit.DONE if status == 0 else Exit.FAILED


async def path(ctx: Context, _args: argparse.Namespace) -> int:
    ctx.emit({"path": str(ctx.paths.config)}, str(ctx.paths.config))
    return Exit.DONE
