"""Words for what can go wrong with the program itself."""

import errno
import shlex

from atlas_desktop.explain import (
    AlreadyRunning,
    Declined,
    Exit,
    Explained,
    UsageError,
    Words,
    aside,
    named,
    told,
)
from atlas_desktop.paths import NoSuchHome, UnsafeHome
from atlas_desktop.settings import KEYS, SettingsError, UnknownSetting
from atlas_desktop.words.catalogue import tr


def _system(error: OSError) -> Explained:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return told("disk_full")
    return told("system", reason=error.strerror or type(error).__name__)


def _running(e: AlreadyRunning) -> Explained:
    who = aside(e.holder and tr("errors.already_running.who", id=e.holder))
    return told("already_running", who=who)


def _unsafe(e: UnsafeHome) -> Explained:
    where = shlex.quote(str(e.path))
    return told(
        "unsafe_home",
        what=tr(f"errors.unsafe_home.{e.danger}", path=e.path),
        next_step=tr(f"errors.unsafe_home.{e.danger}_next", path=where),
    )


def unknown_variable(name: str, near: str) -> str:
    """Of a variable that looks like a setting's and is none's; `near` is one that is, if any is like it."""
    if near:
        return tr("settings.unknown_variable.meant", name=name, near=near)
    return tr("settings.unknown_variable", name=name)


def _setting(e: SettingsError) -> Explained:
    if not e.variable and e.where.startswith(f"{KEYS}."):
        next_step = tr("errors.bad_setting.key_next", where=e.where)
        return told("bad_setting", Exit.USAGE, next_step=next_step, where=e.where, reason=e.reason)
    if not e.variable:
        return told("bad_setting", Exit.USAGE, where=e.where, reason=e.reason)
    return told(
        "bad_setting",
        Exit.USAGE,
        what=tr("errors.bad_setting.variable", variable=e.variable, where=e.where, reason=e.reason),
        next_step=tr("errors.bad_setting.unset"),
    )


WORDS: Words = {
    SettingsError: _setting,
    UnknownSetting: lambda e: told("unknown_setting", Exit.USAGE, where=e.where),
    UsageError: lambda e: told("usage", Exit.USAGE, what=str(e), next_step=e.next_step),
    AlreadyRunning: _running,
    NoSuchHome: named("no_such_home", Exit.USAGE),
    UnsafeHome: _unsafe,
    Declined: named("declined"),
    KeyboardInterrupt: named("interrupted", Exit.INTERRUPTED),
    OSError: _system,
    MemoryError: named("out_of_memory"),
}
