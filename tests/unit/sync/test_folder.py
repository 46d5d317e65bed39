"""The files of sync: what can be read, what is refused and why, and what sizes tell."""

import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.sync import folder
from memory.sync.folder import MAGIC, Fault, Kind, Opened

KEY = secrets.token_bytes(32)
SIGNING, PUBLIC = folder.signing_pair()


def _file(content: bytes = b"words " * 500) -> bytes:
    return folder.write(Kind.SEGMENT, KEY, content, SIGNING)


@given(st.binary(max_size=20_000))
def test_a_file_gives_back_what_was_written(content: bytes) -> None:
    opened = folder.read(folder.write(Kind.BLOB, KEY, content, SIGNING), [KEY])
    assert isinstance(opened, Opened)
    assert (opened.kind, opened.content) == (Kind.BLOB, content)
    assert opened.signed_by(PUBLIC)


def test_another_device_has_not_signed_it() -> None:
    opened = folder.read(_file(), [KEY])
    assert isinstance(opened, Opened)
    assert not opened.signed_by(folder.signing_pair()[1])


def test_the_right_one_of_several_keys_opens_it() -> None:
    assert isinstance(folder.read(_file(), [secrets.token_bytes(32), KEY]), Opened)
    assert folder.read(_file(), [secrets.token_bytes(32)]) is Fault.KEY_UNKNOWN


@given(st.integers(0, 4095))
def test_a_file_that_was_cut_is_never_read(length: int) -> None:
    assert folder.read(_file()[:length], [KEY]) in (Fault.INCOMPLETE, Fault.FOREIGN)


@given(st.integers(0, 4095), st.integers(0, 7))
def test_every_changed_bit_is_noticed(at: int, bit: int) -> None:
    data = bytearray(_file())
    data[at] ^= 1 << bit
    assert isinstance(folder.read(bytes(data), [KEY]), Fault)


def test_a_newer_version_is_told_apart_from_damage() -> None:
    data = bytearray(_file())
    data[len(MAGIC)] = 200
    assert folder.read(bytes(data), [KEY]) is Fault.NEWER


def test_a_file_of_another_program_is_foreign() -> None:
    assert folder.read(b"hello" * 2000, [KEY]) is Fault.FOREIGN


@given(st.integers(1, 1 << 30))
def test_padding_adds_at_most_an_eighth_and_leaves_few_sizes(size: int) -> None:
    padded = folder.padded(size)
    assert max(size, 4096) <= padded <= max(size * 9 // 8 + 1, 4096)
    assert folder.padded(padded) == padded


def test_no_word_of_the_content_is_in_the_file() -> None:
    assert b"words" not in _file()


def test_a_code_survives_how_people_type_it() -> None:
    code = folder.new_code()
    assert folder.secret_of(code.lower().replace("-", " ")) == folder.secret_of(code)


def test_a_mistyped_code_is_refused() -> None:
    from memory.errors import SyncCodeMistyped

    code = folder.new_code()
    wrong = ("B" if code[0] == "A" else "A") + code[1:]
    for typed in (wrong, code[:-1], "", "hello"):
        with pytest.raises(SyncCodeMistyped):
            folder.secret_of(typed)


def test_only_the_device_opens_what_is_sealed_for_it() -> None:
    private, public = folder.sealing_pair()
    sealed = folder.seal(public, KEY)
    assert folder.unseal(private, sealed) == KEY
    assert folder.unseal(folder.sealing_pair()[0], sealed) is None
