"""Keys of sync: of files, of names, of devices, and the code by which a device joins."""

import base64
import hashlib
import hmac
import secrets
import uuid

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from memory.errors import SyncCodeMistyped
from memory.sync.records import KeySet

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
    """Returns six bytes that tell which of several keys encrypts a file, and nothing else."""
    return hmac.new(key, b"atlas sync key", hashlib.sha256).digest()[:6]


def name_of(key: bytes, *parts: object) -> str:
    """Returns the name of a file: 32 hexadecimal digits that tell nothing without the key."""
    said = "\x00".join(str(part) for part in parts).encode()
    return hmac.new(key, b"atlas sync name\x00" + said, hashlib.sha256).hexdigest()[:32]


def address_of(naming: bytes, value: bytes) -> bytes:
    """Returns the digest that a long value is known by; without the key nobody can tell what it is of."""
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
    """Returns a random id (UUIDv4): it tells nothing about when the device joined."""
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
