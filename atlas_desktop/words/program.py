"""Words for what can go wrong with the program itself."""

import errno

from atlas_desktop.explain import AlreadyRunning, Declined, Exit, Explained, UsageError, Words, named
from atlas_desktop.paths import NoSuchHome
from atlas_desktop.settings import SettingsError, UnknownSetting


def _system(error: OSError) -> Explained:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Explained(
            "disk_full",
            "The disk is full",
            "Something could not be written. Everything acknowledged before is saved.",
            "Free some space, then try again.",
        )
    return Explained(
        "system",
        "The system refused something",
        f"{error.strerror or type(error).__name__}. What was saved before is still saved.",
        "Check the permissions and the free space of the home folder.",
    )


def _running(e: AlreadyRunning) -> Explained:
    who = f" (process {e.holder})" if e.holder else ""
    return Explained(
        "already_running",
        "Atlas is already open with this home",
        f"Another Atlas{who} holds it, and two would write over each other. Nothing was changed.",
        "Use the other window, or close it first.",
    )


def unknown_variable(name: str, near: str) -> str:
    """Of a variable that looks like a setting's and is none's; `near` is one that is, if any is like it."""
    meant = f" Did you mean {near}?" if near else ""
    return f"{name} sets nothing: there is no such setting.{meant}"


def _setting(e: SettingsError) -> Explained:
    if e.variable:
        return Explained(
            "bad_setting",
            "A setting cannot be used",
            f"{e.variable} of the environment ({e.where}): {e.reason}.",
            "Give the variable such a value, or unset it: without it the file holds, or the default.",
            Exit.USAGE,
        )
    return Explained(
        "bad_setting",
        "A setting cannot be used",
        f"{e.where}: {e.reason}. The file was left as it is.",
        "`atlas config list` shows every setting with its bounds; `atlas config edit` opens the file.",
        Exit.USAGE,
    )


WORDS: Words = {
    SettingsError: _setting,
    UnknownSetting: lambda e: Explained(
        "unknown_setting",
        "There is no such setting",
        f"Nothing is called {e.where}.",
        "`atlas config list` shows every setting.",
        Exit.USAGE,
    ),
    UsageError: lambda e: Explained("usage", "That does not work", str(e), e.next_step, Exit.USAGE),
    AlreadyRunning: _running,
    NoSuchHome: named(
        "no_such_home",
        "That home cannot be found",
        "Its path names a user who does not exist here.",
        "Give --home or ATLAS_HOME the path of a folder.",
        Exit.USAGE,
    ),
    Declined: named(
        "declined",
        "Nothing was changed",
        "You did not agree.",
        "Run the command again when you like; --yes agrees beforehand.",
    ),
    KeyboardInterrupt: named(
        "interrupted",
        "Stopped",
        "The command was interrupted. What was saved before is saved.",
        "Run it again when you like.",
        Exit.INTERRUPTED,
    ),
    OSError: _system,
}
