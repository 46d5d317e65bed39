"""The folder through which devices sync: its keys, and encrypted, signed and padded files for each device."""

import base64
import hashlib
import hmac
import os
import re
import secrets
import struct
import uuid
import zlib
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import msgspec
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from memory.errors import SyncCodeMistyped, SyncFolderMissing, SyncFolderUnusable
from memory.sync.entities import VERSION, KeySet, Sealed
from memory.vault.files import open_regular, sync_folder

NAME = re.compile(r"[0-9a-f]{32}")
_DRAFT = re.compile(r"\.[0-9a-f]{32}\.tmp")
_OF_TOOLS = frozenset({".stfolder", ".stversions", ".stignore", ".DS_Store", "desktop.ini", "Thumbs.db"})
"""Files that copying tools and systems put into every folder."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What is in the folder: sizes of the files of each device's folder by name, and files of others."""

    places: dict[str, dict[str, int]]
    foreign: list[str]


class SyncFolder:
    """Reads and writes files below `path`. Raises `SyncFolderMissing`, `SyncFolderUnusable`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def path(self) -> Path:
        return self._path

    def check(self) -> None:
        if not self._path.is_dir():
            raise SyncFolderMissing(self._path)

    def make_place(self) -> str:
        """Makes a folder for a device; its name is random."""
        self.check()
        name = secrets.token_hex(16)
        try:
            (self._path / name).mkdir(mode=0o700)
        except OSError as error:
            raise SyncFolderUnusable(self._path, error.strerror or "") from error
        return name

    def look(self) -> Listing:
        self.check()
        places: dict[str, dict[str, int]] = {}
        foreign: list[str] = []
        try:
            for entry in os.scandir(self._path):
                if entry.name in _OF_TOOLS or _DRAFT.fullmatch(entry.name):
                    continue
                if NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                    places[entry.name] = self._list_place(entry.name, foreign)
                else:
                    foreign.append(entry.name)
        except OSError as error:
            raise SyncFolderUnusable(self._path, error.strerror or "") from error
        return Listing(places, sorted(foreign))

    def _list_place(self, place: str, foreign: list[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for entry in os.scandir(self._path / place):
            if entry.name in _OF_TOOLS or _DRAFT.fullmatch(entry.name):
                continue
            if NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                # A tool may remove a file while the folder is being listed.
                with suppress(FileNotFoundError):
                    found[entry.name] = entry.stat().st_size
            else:
                foreign.append(f"{place}/{entry.name}")
        return found

    def read(self, place: str, name: str) -> bytes | None:
        """Returns a file; None if there is none, or it cannot be read now."""
        try:
            with open_regular(self._path / place / name) as file:
                return file.read()
        except OSError:
            return None

    def has(self, place: str, name: str) -> bool:
        return (self._path / place / name).is_file()

    def write(self, place: str, name: str, data: bytes) -> None:
        """Writes a file so that it is there as a whole or not at all, also after a crash."""
        target = self._path / place
        draft = target / f".{secrets.token_hex(16)}.tmp"
        try:
            target.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                draft.replace(target / name)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
        except OSError as error:
            self.check()
            raise SyncFolderUnusable(self._path, error.strerror or "") from error
        sync_folder(target)

    def remove(self, place: str, name: str) -> None:
        """Removes a file of this device. One that is open elsewhere stays until the next time."""
        with suppress(OSError):
            (self._path / place / name).unlink(missing_ok=True)

    def remove_drafts(self, place: str) -> None:
        """Removes what a crash left of files of this device."""
        with suppress(OSError):
            for entry in os.scandir(self._path / place):
                if _DRAFT.fullmatch(entry.name):
                    self.remove(place, entry.name)

    def remove_place(self, place: str) -> None:
        """Removes the folder of this device with its files."""
        with suppress(OSError):
            for entry in os.scandir(self._path / place):
                self.remove(place, entry.name)
            (self._path / place).rmdir()


KEY_BYTES = 32
_NONCE = bytes(12)
_CODE_BYTES = 20
_CHECK_BYTES = 2
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_GROUP = 4


def new_keys() -> KeySet:
    return KeySet(secrets.token_bytes(KEY_BYTES), [secrets.token_bytes(KEY_BYTES)])


def derived(key: bytes, salt: bytes, purpose: bytes) -> bytes:
    return HKDF(SHA256(), KEY_BYTES, salt, b"atlas sync " + purpose).derive(key)


def key_id(key: bytes) -> bytes:
    """Returns six bytes that show which of several keys encrypts a file, and nothing else."""
    return hmac.new(key, b"atlas sync key", hashlib.sha256).digest()[:6]


def name_of(key: bytes, *parts: object) -> str:
    """Returns the name of a file: 32 hexadecimal digits that reveal nothing without the key."""
    said = "\x00".join(str(part) for part in parts).encode()
    return hmac.new(key, b"atlas sync name\x00" + said, hashlib.sha256).hexdigest()[:32]


def address_of(naming: bytes, value: bytes) -> bytes:
    """Returns the digest that names a long value; without the key it reveals nothing about the value."""
    return hmac.new(naming, value, hashlib.sha256).digest()


def encrypt(key: bytes, salt: bytes, content: bytes, about: bytes) -> bytes:
    """Encrypts under a key that the random salt makes the file's own, so that a fixed nonce is safe."""
    return AESGCM(derived(key, salt, b"file")).encrypt(_NONCE, content, about)


def decrypt(key: bytes, salt: bytes, content: bytes, about: bytes) -> bytes | None:
    """Returns the content; None if it was not encrypted like this, or has been changed."""
    try:
        return AESGCM(derived(key, salt, b"file")).decrypt(_NONCE, content, about)
    except InvalidTag:
        return None


def new_device_id() -> str:
    """Returns a random id (UUIDv4): it reveals nothing about when the device joined."""
    return str(uuid.uuid4())


# --- devices ---------------------------------------------------------------------------------------


def signing_pair() -> tuple[bytes, bytes]:
    """Returns a new private key for signatures (Ed25519), and its public key."""
    private = Ed25519PrivateKey.generate()
    return private.private_bytes_raw(), private.public_key().public_bytes_raw()


def sealing_pair() -> tuple[bytes, bytes]:
    """Returns a new private key that opens what is sealed for a device (X25519), and its public key."""
    private = X25519PrivateKey.generate()
    return private.private_bytes_raw(), private.public_key().public_bytes_raw()


def sign(private: bytes, content: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(private).sign(content)


def is_signed(public: bytes, content: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, content)
    except (InvalidSignature, ValueError):
        return False
    return True


def seal(public: bytes, content: bytes) -> bytes:
    """Encrypts so that only the device with the private key can read it."""
    once = X25519PrivateKey.generate()
    own = once.public_key().public_bytes_raw()
    key = once.exchange(X25519PublicKey.from_public_bytes(public))
    return own + AESGCM(derived(key, own + public, b"seal")).encrypt(_NONCE, content, None)


def unseal(private: bytes, sealed: bytes) -> bytes | None:
    """Returns the content; None if it is not sealed for this device."""
    mine = X25519PrivateKey.from_private_bytes(private)
    own, content = sealed[:KEY_BYTES], sealed[KEY_BYTES:]
    try:
        key = mine.exchange(X25519PublicKey.from_public_bytes(own))
        public = mine.public_key().public_bytes_raw()
        return AESGCM(derived(key, own + public, b"seal")).decrypt(_NONCE, content, None)
    except (InvalidTag, ValueError):
        return None


# --- the code --------------------------------------------------------------------------------------


def new_code() -> str:
    """Returns a code of 160 random bits with a checksum, in groups of four letters and digits."""
    secret = secrets.token_bytes(_CODE_BYTES)
    text = base64.b32encode(secret + _check(secret)).decode().rstrip("=")
    return "-".join(text[at : at + _GROUP] for at in range(0, len(text), _GROUP))


def secret_of(code: str) -> bytes:
    """Returns the secret of a code. Raises `SyncCodeMistyped`; case, spaces and hyphens do not matter."""
    text = "".join(char for char in code.upper() if char.isalnum()).translate(str.maketrans("018", "OIB"))
    try:
        data = base64.b32decode(text + "=" * (-len(text) % 8))
    except ValueError:
        raise SyncCodeMistyped from None
    secret, check = data[:_CODE_BYTES], data[_CODE_BYTES:]
    if len(data) != _CODE_BYTES + _CHECK_BYTES or not hmac.compare_digest(check, _check(secret)):
        raise SyncCodeMistyped
    return secret


def _check(secret: bytes) -> bytes:
    return hashlib.sha256(b"atlas sync code" + secret).digest()[:_CHECK_BYTES]


def invitation_key(secret: bytes) -> bytes:
    return derived(secret, b"", b"invitation")


MAGIC = b"ATLASYNC"
_PREFIX = struct.Struct(">8sBB6s32s")
_LENGTH = struct.Struct(">Q")
_LEAST = 4096
_TAG = 16
MOST = 1 << 31
"""The maximum size of an unpacked content, in bytes."""


class Kind(IntEnum):
    SEGMENT = 1
    HEAD = 2
    BLOB = 3
    INVITATION = 4
    ROTATION = 5


class Fault(IntEnum):
    """Why a file cannot be read."""

    FOREIGN = 1
    INCOMPLETE = 2
    NEWER = 3
    KEY_UNKNOWN = 4
    DAMAGED = 5


class Prefix(NamedTuple):
    version: int
    kind: int
    key: bytes


def digest(data: bytes) -> bytes:
    """Returns the digest by which the next file refers to a file."""
    return hashlib.sha256(data).digest()


def padded(size: int) -> int:
    """Returns the size to pad to (Padmé): at most an eighth more, and few different sizes."""
    size = max(size, _LEAST)
    exponent = size.bit_length() - 1
    low = exponent - exponent.bit_length()
    mask = (1 << low) - 1
    return (size + mask) & ~mask


def write(kind: Kind, key: bytes, content: bytes, signing: bytes) -> bytes:
    """Returns a file with this content, signed with the private key `signing`."""
    packed = zlib.compress(content, 6 if len(content) < 1 << 20 else 3)
    inner = msgspec.msgpack.encode(Sealed(packed, sign(signing, _signed(kind, packed))))
    framed = _LENGTH.pack(len(inner)) + inner
    size = padded(_PREFIX.size + _TAG + len(framed)) - _PREFIX.size - _TAG
    prefix = _PREFIX.pack(MAGIC, VERSION, kind, key_id(key), secrets.token_bytes(32))
    return prefix + encrypt(key, prefix[-32:], framed.ljust(size, b"\0"), prefix)


def look(data: bytes) -> Prefix | Fault:
    """Returns the contents of a file's header."""
    if not data.startswith(MAGIC):
        return Fault.INCOMPLETE if MAGIC.startswith(data[: len(MAGIC)]) else Fault.FOREIGN
    if len(data) < _PREFIX.size:
        return Fault.INCOMPLETE
    _, version, kind, key, _ = _PREFIX.unpack_from(data)
    return Fault.NEWER if version > VERSION else Prefix(version, kind, key)


class Opened(NamedTuple):
    """The content of a file that the key of the folder opened. It is the writer's only if `signed_by`."""

    kind: int
    packed: bytes
    signature: bytes
    content: bytes

    def signed_by(self, public: bytes) -> bool:
        return is_signed(public, _signed(self.kind, self.packed), self.signature)


def read(data: bytes, known: list[bytes]) -> Opened | Fault:
    """Opens a file with the key that it names, one of `known`."""
    found = look(data)
    if isinstance(found, Fault):
        return found
    fitting = [key for key in known if key_id(key) == found.key]
    if not fitting:
        return Fault.KEY_UNKNOWN
    prefix = data[: _PREFIX.size]
    framed = decrypt(fitting[0], prefix[-32:], data[_PREFIX.size :], prefix)
    if framed is None:
        whole = len(data) >= _LEAST and padded(len(data)) == len(data)
        return Fault.DAMAGED if whole else Fault.INCOMPLETE
    try:
        (length,) = _LENGTH.unpack_from(framed)
        sealed = msgspec.msgpack.decode(framed[_LENGTH.size : _LENGTH.size + length], type=Sealed)
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(sealed.content, MOST)
        if not unpacking.eof:
            return Fault.DAMAGED
    except (msgspec.DecodeError, struct.error, zlib.error):
        return Fault.DAMAGED
    return Opened(found.kind, sealed.content, sealed.signature, content)


def _signed(kind: int, packed: bytes) -> bytes:
    return b"atlas sync %d " % kind + hashlib.sha256(packed).digest()
