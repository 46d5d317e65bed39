"""Keys that do not show themselves, recovery keys that survive handwriting, files that survive crashes."""

import copy
import pickle
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import KeyslotsDamaged, RecoveryKeyMistyped, StorageFull
from memory.vault import keys
from memory.vault.files import write_durably
from memory.vault.keys import KdfParams, RoomKey, derive, estimate, to_bytes
from memory.vault.keyslots import (
    KeyslotFile,
    Keyslots,
    PassphraseSlot,
    SlotPlace,
    open_slot,
    passphrase_slot,
    recovery_slot,
)
from tests.fakes.clock import FakeClock

NOW = FakeClock().now()


def test_a_key_is_compared_whole_and_shown_never() -> None:
    key = RoomKey.generate()
    same = RoomKey(key.data, key.salt)
    assert key == same
    assert key != RoomKey(key.data, bytes(16))
    assert key != RoomKey(bytes(32), key.salt)
    assert key != key.data
    for shown in (repr(key), str(key), f"{key}", f"{[key]!r}"):
        assert key.data.hex() not in shown
        assert str(key.data) not in shown
    assert key.sqlcipher_hex() == key.data.hex() + key.salt.hex()
    assert len(key.sqlcipher_hex()) == 96


def test_a_key_is_neither_serialised_copied_nor_hashed() -> None:
    key = RoomKey.generate()
    with pytest.raises(TypeError):
        pickle.dumps(key)
    with pytest.raises(TypeError):
        copy.deepcopy(key)
    with pytest.raises(TypeError):
        hash(key)
    with pytest.raises(TypeError):
        msgspec.json.encode(key)


@pytest.mark.parametrize(("data", "salt"), [(b"", b""), (bytes(31), bytes(16)), (bytes(32), bytes(15))])
def test_a_key_of_the_wrong_size_is_refused(data: bytes, salt: bytes) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        RoomKey(data, salt)


def test_argon2id_gives_the_reference_value() -> None:
    """The reference implementation's own test: version 19, t=2, m=2^16, p=1, "password", "somesalt"."""
    derived = derive(b"password", b"somesalt", KdfParams(1 << 16, 2, 1))
    assert derived.hex() == "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7"


@pytest.mark.parametrize(
    "params",
    [
        KdfParams(memory_kib=64 * 1024 - 1),
        KdfParams(memory_kib=2 * 1024 * 1024 + 1),
        KdfParams(iterations=0),
        KdfParams(iterations=21),
        KdfParams(lanes=0),
        KdfParams(lanes=17),
    ],
    ids=str,
)
def test_costs_out_of_bounds_are_refused_in_a_call_and_in_a_file(params: KdfParams, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="between"):
        derive(b"x", bytes(16), params)
    place = SlotPlace("vault", "open", bytes(16))
    slot = passphrase_slot(place, RoomKey.generate(), b"x", KdfParams(1 << 16, 1, 1), NOW)
    costly = msgspec.structs.replace(
        slot, memory_kib=params.memory_kib, iterations=params.iterations, lanes=params.lanes
    )
    file = KeyslotFile(tmp_path / "open.keys")
    file.write(
        Keyslots(
            vault_id="vault",
            room="open",
            salt=bytes(16),
            generation=1,
            created_at=NOW,
            room_made=True,
            slots=(costly,),
        )
    )
    with pytest.raises(KeyslotsDamaged, match="between"):
        file.read()


def test_a_slot_opens_only_where_it_was_made() -> None:
    key = RoomKey.generate()
    place = SlotPlace("vault", "open", key.salt)
    secret = keys.generate()
    slot = recovery_slot(place, key, secret, NOW)
    kek = slot.kek(secret)

    assert open_slot(slot, place, kek) == key
    assert open_slot(slot, place, bytes(32)) is None
    for elsewhere in (
        SlotPlace("other", "open", key.salt),
        SlotPlace("vault", "private", key.salt),
        SlotPlace("vault", "open", bytes(16)),
    ):
        assert open_slot(slot, elsewhere, kek) is None
    assert open_slot(msgspec.structs.replace(slot, id="another"), place, kek) is None
    assert open_slot(msgspec.structs.replace(slot, salt=bytes(16)), place, kek) is None


@pytest.mark.parametrize("field", ["memory_kib", "iterations", "lanes"])
def test_the_cost_of_a_slot_is_authenticated(field: str) -> None:
    key = RoomKey.generate()
    place = SlotPlace("vault", "open", key.salt)
    slot: PassphraseSlot = passphrase_slot(place, key, b"secret", KdfParams(1 << 16, 1, 1), NOW)
    kek = slot.kek(b"secret")
    assert open_slot(slot, place, kek) == key
    changed = msgspec.structs.replace(slot, **{field: getattr(slot, field) + 1})
    assert open_slot(changed, place, kek) is None


@given(secret=st.binary(min_size=20, max_size=20), lower=st.booleans(), between=st.sampled_from("- ._\n\t–"))
def test_a_recovery_key_survives_being_written_by_hand(secret: bytes, lower: bool, between: str) -> None:
    text = keys.to_text(secret)
    assert len(text) == 44
    assert text == text.upper()
    assert [len(group) for group in text.split("-")] == [4] * 9
    copied = f"  {text.replace('-', between)} ".replace("O", "0").replace("I", "1").replace("B", "8")
    assert keys.from_text(copied.lower() if lower else copied) == secret
    assert keys.from_text(text.replace("-", "")) == secret


@given(secret=st.binary(min_size=20, max_size=20), at=st.integers(0, 31), by=st.integers(1, 31))
def test_a_slip_of_the_pen_is_noticed(secret: bytes, at: int, by: int) -> None:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    letters = keys.to_text(secret).replace("-", "")
    wrong = alphabet[(alphabet.index(letters[at]) + by) % 32]
    try:
        found = keys.from_text(letters[:at] + wrong + letters[at + 1 :])
    except RecoveryKeyMistyped:
        return
    # Twenty bits of checksum let one slip in a million pass; it must not pass as the right key.
    assert found != secret


@given(text=st.text(max_size=60))
def test_whatever_is_typed_is_a_key_or_mistyped(text: str) -> None:
    try:
        assert len(keys.from_text(text)) == 20
    except RecoveryKeyMistyped:
        assert text != keys.to_text(bytes(20))


@given(text=st.text(max_size=30))
def test_every_passphrase_has_bytes(text: str) -> None:
    assert (to_bytes(text) == b"") == (text == "")


def test_a_file_is_replaced_whole_and_old_drafts_go(tmp_path: Path) -> None:
    path = tmp_path / "open.keys"
    (tmp_path / ".open.keys.0123.tmp").write_bytes(b"left by a crash")
    write_durably(path, b"one")
    write_durably(path, b"two")
    assert path.read_bytes() == b"two"
    assert [file.name for file in tmp_path.iterdir()] == ["open.keys"]


def test_a_file_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "open.keys"
    write_durably(path, b"one")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageFull, match="No space"):
        write_durably(path, b"two")
    assert path.read_bytes() == b"one"
    assert [file.name for file in tmp_path.iterdir()] == ["open.keys"]


def test_strength_grows_with_the_passphrase_and_never_takes_long() -> None:
    assert estimate("").score == 0
    weak = estimate("password1")
    assert weak.score == 0
    assert weak.warning
    assert weak.suggestions
    # An example that everybody knows is guessed first.
    assert estimate("Correct horse battery staple").score == 0
    strong = estimate("wombat quarry lantern oboe")
    assert strong.score == 4
    assert strong.crack_time_text
    assert estimate("a1b2c3d4" * 1000).score >= 0
