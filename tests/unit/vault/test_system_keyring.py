"""The system keyring is asked in another process, trusted by name, and never waited for in vain."""

import sys
import time
from pathlib import Path

import pytest

from memory.errors import KeyringUnavailable
from memory.vault.keyring import KeyringTrouble
from memory.vault.system_keyring import TRUSTED, Request, SystemKeyring, answer

ROOT = Path(__file__).parents[3]
TRUSTING = (sys.executable, "-m", "tests.unit.vault.trusting_child")
SECRET = bytes(range(32))
PATIENT_S = 120.0
"""A busy machine is no trouble of a keyring that answers."""


@pytest.fixture(autouse=True)
def own_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test can reach the keyring of the person who runs it."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def use(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    full = name if "." in name else f"tests.unit.vault.backends.{name}"
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", full)


def trouble(keyring: SystemKeyring) -> tuple[str, str]:
    with pytest.raises(KeyringUnavailable) as caught:
        keyring.fetch("entry")
    return caught.value.backend, caught.value.reason


def test_a_trusted_keyring_keeps_gives_and_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, "FileKeyring")
    keyring = SystemKeyring(limit_s=PATIENT_S, command=TRUSTING)
    assert keyring.backend() == "tests.unit.vault.backends.FileKeyring"
    assert keyring.fetch("entry") is None
    assert keyring.store("entry", SECRET) == keyring.backend()
    assert keyring.fetch("entry") == SECRET
    keyring.remove("entry")
    keyring.remove("entry")
    assert keyring.fetch("entry") is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("keyring.backends.fail.Keyring", KeyringTrouble.NONE),
        ("keyring.backends.null.Keyring", KeyringTrouble.UNTRUSTED),
        ("tests.unit.vault.backends.Plaintext", KeyringTrouble.UNTRUSTED),
    ],
)
def test_refusing_forgetting_and_plaintext_keyrings_are_not_used(
    monkeypatch: pytest.MonkeyPatch, name: str, reason: KeyringTrouble
) -> None:
    use(monkeypatch, name)
    keyring = SystemKeyring(limit_s=PATIENT_S)
    assert trouble(keyring) == (name, reason)
    with pytest.raises(KeyringUnavailable) as caught:
        keyring.store("entry", SECRET)
    assert caught.value.reason == reason


def test_a_keyring_that_does_not_exist_is_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, "no.such.Keyring")
    assert trouble(SystemKeyring(limit_s=PATIENT_S)) == ("", KeyringTrouble.FAILED)


def test_a_chain_counts_as_its_first_link(monkeypatch: pytest.MonkeyPatch) -> None:
    from keyring.backends.chainer import ChainerBackend
    from keyring.core import load_keyring

    first = "tests.unit.vault.backends.FileKeyring"
    good, bad = load_keyring(first), load_keyring("tests.unit.vault.backends.Plaintext")
    monkeypatch.setattr("keyring.get_keyring", ChainerBackend)
    monkeypatch.setattr(ChainerBackend, "backends", [good, bad])
    assert answer(Request("backend"), frozenset({first})).backend == first
    monkeypatch.setattr(ChainerBackend, "backends", [bad, good])
    assert answer(Request("backend"), frozenset({first})).trouble is KeyringTrouble.UNTRUSTED
    monkeypatch.setattr(ChainerBackend, "backends", [])
    assert answer(Request("backend")).trouble is KeyringTrouble.NONE


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("LockedKeyring", KeyringTrouble.LOCKED),
        ("BrokenKeyring", KeyringTrouble.FAILED),
    ],
)
def test_a_keyring_s_own_troubles_are_named(
    monkeypatch: pytest.MonkeyPatch, name: str, reason: KeyringTrouble
) -> None:
    use(monkeypatch, name)
    assert trouble(SystemKeyring(limit_s=PATIENT_S, command=TRUSTING)) == (
        f"tests.unit.vault.backends.{name}",
        reason,
    )


def test_a_keyring_that_dies_takes_nobody_along(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, "DyingKeyring")
    assert trouble(SystemKeyring(limit_s=PATIENT_S, command=TRUSTING)) == ("", KeyringTrouble.FAILED)


def test_a_hanging_keyring_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, "HangingKeyring")
    begun = time.monotonic()
    assert trouble(SystemKeyring(limit_s=1.5, command=TRUSTING)) == ("", KeyringTrouble.TIMEOUT)
    assert time.monotonic() - begun < 8


def test_a_keyring_that_keeps_nothing_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, "ForgetfulKeyring")
    with pytest.raises(KeyringUnavailable) as caught:
        SystemKeyring(limit_s=PATIENT_S, command=TRUSTING).store("entry", SECRET)
    assert caught.value.reason == KeyringTrouble.NOT_KEPT


def test_a_child_that_cannot_be_started_is_trouble() -> None:
    assert trouble(SystemKeyring(command=("/no/such/program",))) == ("", KeyringTrouble.FAILED)


def test_nothing_in_the_current_folder_can_pose_as_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("memory", "keyring"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('taken over')")
    monkeypatch.chdir(tmp_path)
    assert trouble(SystemKeyring(limit_s=PATIENT_S)) == ("keyring.backends.fail.Keyring", KeyringTrouble.NONE)


def test_the_trusted_keyrings_are_those_of_the_documentation() -> None:
    assert {name.split(".")[2] for name in TRUSTED} == {"SecretService", "kwallet", "macOS", "Windows"}
