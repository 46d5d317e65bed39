"""A vault and a real Secret Service: run it in a D-Bus session of its own, with a HOME of its own.

    dbus-run-session -- python -m tests.security.secret_service FOLDER

Prints what happened at each step, as JSON.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from memory.entities import RoomKind
from memory.errors import KeyringUnavailable
from memory.vault.system_keyring import SystemKeyring
from memory.vault.vault import Vault
from tests.security.scanner import bytes_needles, scan
from tests.security.scenarios.secrets import CHEAP, passphrase

LIMIT_S = 4.0


class Heard(SystemKeyring):
    """The system keyring; remembers the secret that it was given."""

    secret: bytes = b""

    def store(self, entry: str, secret: bytes) -> str:
        self.secret = secret
        return super().store(entry, secret)


def unlock_daemon() -> None:
    subprocess.run(
        ["gnome-keyring-daemon", "--unlock", "--components=secrets"],
        input=b"the login passphrase",
        stdout=subprocess.DEVNULL,
        check=True,
    )


def lock_collection() -> None:
    import secretstorage

    secretstorage.get_default_collection(secretstorage.dbus_init()).lock()


def timed(work: Callable[[], object]) -> tuple[str, float]:
    """The reason why the keyring did not answer, or `opened`; and the seconds it took."""
    begun = time.monotonic()
    try:
        work()
    except KeyringUnavailable as fault:
        return str(fault.reason), time.monotonic() - begun
    return "opened", time.monotonic() - begun


def main(folder: Path) -> dict[str, object]:
    unlock_daemon()
    keyring = Heard(limit_s=LIMIT_S)
    vault = Vault(folder / "rooms", RoomKind.OPEN, CHEAP, keyring)
    key, recovery_key = vault.create(passphrase(0))
    told: dict[str, object] = {"backend": vault.keyring_on(key)}
    told["opens"] = vault.unlock_with_keyring() == key
    needles = [*bytes_needles("key", key.data), *bytes_needles("secret", keyring.secret)]
    told["files"] = len(list(Path.home().rglob("*.keyring")))
    told["hits"] = [str(hit) for hit in scan([Path.home(), folder], needles).hits]
    lock_collection()
    told["locked"], told["seconds"] = timed(vault.unlock_with_keyring)
    told["passphrase opens"] = vault.unlock(passphrase(0)) == key
    told["recovery key opens"] = vault.unlock_with_recovery(recovery_key) == key
    return told


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
