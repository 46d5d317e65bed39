"""The system keyring, which only a child process talks to: `python -m memory.vault.system_keyring`.

A locked keyring can wait forever for a dialogue that nobody sees, so the process that serves the user never
calls it directly, and waits only a few seconds for the child. One request on standard input, one answer on
standard output.

The child may read what is installed and configured, and talk to other programs of this computer (to the bus,
behind which the keyring is). It writes nothing, starts nothing and has no network.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from memory.errors import KeyringUnavailable
from memory.vault.keyring import KeyringTrouble
from models.confinement import begin_child, child_environment, confine

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "atlas-desktop"

# Keyrings that keep secrets encrypted for the user who is logged in. Everything else is refused: `null`
# discards secrets, `fail` refuses, and the files of `keyrings.alt` are readable or merely encoded.
TRUSTED = frozenset(
    {
        "keyring.backends.SecretService.Keyring",
        "keyring.backends.kwallet.DBusKeyring",
        "keyring.backends.macOS.Keyring",
        "keyring.backends.Windows.WinVaultKeyring",
    }
)
_REFUSES = "keyring.backends.fail.Keyring"
LIMIT_S = 10.0
# They locate the user's keyring, and name the one that is configured.
_ENVIRONMENT = (
    "HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CURRENT_DESKTOP",
    "DBUS_SESSION_BUS_ADDRESS", "PYTHON_KEYRING_BACKEND", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
)  # fmt: skip
CHILD = (sys.executable, "-m", "memory.vault.system_keyring")


class Request(msgspec.Struct, frozen=True):
    op: Literal["backend", "store", "fetch", "remove"]
    entry: str = ""
    secret: bytes | None = None


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """`trouble` is None on success."""

    backend: str = ""
    secret: bytes | None = None
    trouble: KeyringTrouble | None = None


class SystemKeyring:
    """`memory.vault.keyring.KeyringPort` on the keyring that the system provides.

    `limit_s` bounds each exchange with the child process, in seconds; `command` starts that process. Secrets
    pass through pipes only.
    """

    def __init__(self, *, limit_s: float = LIMIT_S, command: Sequence[str] = CHILD) -> None:
        self._limit_s = limit_s
        self._command = tuple(command)

    def backend(self) -> str:
        return self._ask(Request("backend")).backend

    def store(self, entry: str, secret: bytes) -> str:
        stored = self._ask(Request("store", entry, secret))
        # Read by another process: a secret that exists only in the process that wrote it is not kept.
        if self._ask(Request("fetch", entry)).secret != secret:
            raise KeyringUnavailable(stored.backend, KeyringTrouble.NOT_KEPT)
        return stored.backend

    def fetch(self, entry: str) -> bytes | None:
        return self._ask(Request("fetch", entry)).secret

    def remove(self, entry: str) -> None:
        self._ask(Request("remove", entry))

    def _ask(self, request: Request) -> Answer:
        try:
            done = subprocess.run(
                self._command,
                input=msgspec.json.encode(request),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=self._limit_s,
                env=child_environment(_ENVIRONMENT),
                start_new_session=True,
                check=False,
            )
            answer = msgspec.json.decode(done.stdout, type=Answer)
        except subprocess.TimeoutExpired as error:
            raise KeyringUnavailable("", KeyringTrouble.TIMEOUT) from error
        except (OSError, msgspec.DecodeError) as error:
            raise KeyringUnavailable("", KeyringTrouble.FAILED) from error
        if answer.trouble is not None:
            raise KeyringUnavailable(answer.backend, answer.trouble)
        return answer


# --- the child process ---------------------------------------------------------------------------------


def main(trusted: frozenset[str] = TRUSTED, *, confined: bool = True) -> None:
    begin_child()
    # Output of a backend must not get into the answer.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out, open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
        if confined:
            give_up_rights()
        request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)
        out.write(msgspec.json.encode(answer(request, trusted)))


def give_up_rights() -> None:
    """Gives up all rights except those keyrings need: to read what is installed and configured, and the
    bus."""
    from keyring.util import platform_

    installed = (*filter(None, sys.path), "/usr", "/lib", "/lib64", "/etc", "/var/lib/dbus")
    confine([*map(Path, installed), Path(platform_.config_root())], local_sockets=True)


def answer(request: Request, trusted: frozenset[str] = TRUSTED) -> Answer:
    """Performs the request on the keyring that this machine is configured to use, if it is a trusted one."""
    from keyring.errors import KeyringLocked

    name = ""
    try:
        backend = _chosen()
        if backend is None:
            return Answer(_REFUSES, trouble=KeyringTrouble.NONE)
        name = _name(backend)
        if name not in trusted:
            return Answer(name, trouble=KeyringTrouble.NONE if name == _REFUSES else KeyringTrouble.UNTRUSTED)
        return Answer(name, secret=_perform(backend, request))
    except KeyringLocked:
        return Answer(name, trouble=KeyringTrouble.LOCKED)
    except Exception:  # noqa: BLE001  # backends raise whatever the libraries below them raise
        return Answer(name, trouble=KeyringTrouble.FAILED)


def _chosen() -> "KeyringBackend | None":
    """Returns the configured keyring; of a chain only the first: the user did not agree to the others."""
    import keyring
    from keyring.backends.chainer import ChainerBackend

    backend = keyring.get_keyring()
    if isinstance(backend, ChainerBackend):
        return next(iter(backend.backends), None)
    return backend


def _name(backend: "KeyringBackend") -> str:
    return f"{type(backend).__module__}.{type(backend).__qualname__}"


def _perform(backend: "KeyringBackend", request: Request) -> bytes | None:
    if request.op == "store":
        backend.set_password(SERVICE, request.entry, (request.secret or b"").hex())
    elif request.op == "fetch":
        found = backend.get_password(SERVICE, request.entry)
        return None if found is None else bytes.fromhex(found)
    elif request.op == "remove" and backend.get_password(SERVICE, request.entry) is not None:
        backend.delete_password(SERVICE, request.entry)
    return None


if __name__ == "__main__":
    main()
