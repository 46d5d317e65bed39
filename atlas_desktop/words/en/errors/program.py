"""The program itself."""

TEXTS = {
    "aside": " ({what})",
    "unexpected.title": "Something unexpected went wrong",
    "unexpected.what": "Atlas met an error that it has no words for ({kind}). What was saved before is still "
    "saved.",
    "unexpected.next": "Try again; if it happens again, `atlas doctor` checks everything.",
    "disk_full.title": "The disk is full",
    "disk_full.what": "Something could not be written. Everything acknowledged before is saved.",
    "disk_full.next": "Free some space, then try again.",
    "system.title": "The system refused something",
    "system.what": "{reason}. What was saved before is still saved.",
    "system.next": "Check the permissions and the free space of the home folder.",
    "already_running.title": "Atlas is already open with this home",
    "already_running.what": "Another Atlas{who} holds it, and two would write over each other. Nothing was "
    "changed.",
    "already_running.who": "process {id}",
    "already_running.next": "Use the other window, or close it first.",
    "bad_setting.title": "A setting cannot be used",
    "bad_setting.what": "{where}: {reason}. The file was left as it is.",
    "bad_setting.next": "`atlas config list` shows every setting with its bounds; `atlas config edit` opens "
    "the file.",
    "bad_setting.key_next": "`atlas config set {where}` takes it back to its default; `atlas config edit` "
    "opens the file.",
    "bad_setting.variable": "{variable} of the environment ({where}): {reason}.",
    "bad_setting.unset": "Give the variable such a value, or unset it: without it the file holds, or the "
    "default.",
    "unknown_setting.title": "There is no such setting",
    "unknown_setting.what": "Nothing is called {where}.",
    "unknown_setting.next": "`atlas config list` shows every setting.",
    "usage.title": "That does not work",
    "usage.next": "See `atlas --help`.",
    "no_such_home.title": "That home cannot be found",
    "no_such_home.what": "Its path names a user who does not exist here.",
    "no_such_home.next": "Give --home or ATLAS_HOME the path of a folder.",
    "unsafe_home.title": "The home cannot be used as it is",
    "unsafe_home.writable": "Other users of this computer can write to {path}, so what is in it cannot be "
    "trusted. Nothing was changed.",
    "unsafe_home.writable_next": "Take that right away: chmod go-w {path}",
    "unsafe_home.owner": "{path} belongs to another user. Nothing was changed.",
    "unsafe_home.owner_next": 'Make it yours (sudo chown -R "$(id -un)" {path}), or choose another home with '
    "--home.",
    "unsafe_home.link": "{path} is a symbolic link: something else would be written through it. Nothing was "
    "changed.",
    "unsafe_home.link_next": "Remove the link: rm {path}",
    "unsafe_home.kind": "{path} should be a file, and is a folder, a pipe, a socket or a device. Nothing was "
    "changed.",
    "unsafe_home.kind_next": "Move it away: mv {path} {path}.aside",
    "declined.title": "Nothing was changed",
    "declined.what": "You did not agree.",
    "declined.next": "Run the command again when you like; --yes agrees beforehand.",
    "interrupted.title": "Stopped",
    "interrupted.what": "The command was interrupted. What was saved before is saved.",
    "interrupted.next": "Run it again when you like.",
    "out_of_memory.title": "Not enough memory",
    "out_of_memory.what": "The system gave Atlas no more memory. What was saved before is still saved.",
    "out_of_memory.next": "Close other programs, or raise the limit that Atlas was started with "
    "(`ulimit -v`). Then try again.",
    "bad_setting.not_a_file": "this is not an ordinary file",
    "bad_setting.too_large": "this is larger than any settings are ({bytes} bytes)",
    "bad_setting.too_deep": "its tables and lists are nested too deeply",
    "bad_setting.locale": "no such language is known; examples: de_DE, en_GB",
    "bad_setting.not_toml": "this is not TOML: {fault}",
    "unknown_setting.reason": "there is no such setting",
}
