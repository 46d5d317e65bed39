"""Words for exports: what is said before something leaves, and what can keep it from leaving."""

from atlas_desktop.explain import Exit, Explained, Words, named
from atlas_desktop.services.exporting.errors import BadRecipient, NothingToExport, TargetExists, TargetRefused

WORDS: Words = {
    TargetExists: lambda e: Explained(
        "target_exists",
        "Something is there already",
        f"{e.path} exists. Nothing was written, and it is as it was.",
        "Choose another name; --force replaces what is there.",
        Exit.USAGE,
    ),
    TargetRefused: lambda e: Explained(
        "target_refused",
        "It cannot be written there",
        f"{e.path} cannot be made: {e.reason}. Nothing was written.",
        "Choose another place, or look at its permissions and free space.",
        Exit.USAGE,
    ),
    BadRecipient: named(
        "bad_recipient",
        "That is no recipient that age knows",
        "A recipient begins with `age1`, or is an SSH public key (ssh-ed25519 or ssh-rsa). "
        "Nothing was written.",
        "`age-keygen` makes a key and shows its recipient.",
        Exit.USAGE,
    ),
    NothingToExport: named(
        "nothing_to_export",
        "There is nothing to export",
        "No conversation fits what you asked for. Nothing was written.",
        "`atlas sessions list` shows what there is; those of the private room need --include-private.",
        Exit.FAILED,
    ),
}


def leaving(sessions: int, where: str, *, sealed: bool, private: int, redacted: bool) -> str:
    """What is said before anything is written. `private` counts sessions of the private room."""
    what = (
        "1 conversation"
        if sessions == 1
        else f"{sessions} conversations"
        if sessions
        else "What is remembered"
    )
    some = f", {private} of the private room among them" if private and private < sessions else ""
    some = " of the private room" if private and private == sessions else some
    if sealed:
        return (
            f"{what}{some} will be written to {where}, encrypted: whoever opens it needs what you chose now."
        )
    less = " What was found of personal data is taken out; what was not found is not." if redacted else ""
    open_to = "unencrypted: whoever can read it there knows what was said."
    return f"{what}{some} will be written to {where} {open_to}{less}"
