"""Access to the system keyring, through a child process and with a time limit of a few seconds."""

import subprocess
import sys
from collections.abc import Sequence

import msgspec

from memory.errors import KeyringUnavailable
from memory.vault.keyring import KeyringTrouble
from memory.vault.keyring_child import Answer, Request
from models.confinement import child_environment

LIMIT_S = 10.0
# They locate the user's keyring, and name the one that is configured.
_ENVIRONMENT = (
    "HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CURRENT_DESKTOP",
    "DBUS_SESSION_BUS_ADDRESS", "PYTHON_KEYRING_BACKEND", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
)  # fmt: skip
CHILD = (sys.executable, "-m", "memory.vault.keyring_child")


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
