"""The address, settings and capabilities of an engine. Imports nothing heavy."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit


class Family(StrEnum):
    """The server programs that differ in what they offer in addition to the common interface."""

    LLAMA_SERVER = "llama-server"
    LLAMA_CPP_PYTHON = "llama-cpp-python"
    OLLAMA = "Ollama"
    LM_STUDIO = "LM Studio"
    OTHER = ""


async def no_key() -> str:
    """The key of an engine that needs none."""
    return ""


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """How to talk to an engine.

    `url` is the address of its interface, with `/v1` where it has that. `key` returns the key to send; empty:
    none. `context_length` 0 asks the server. `template` chatml sends prompts as text, for servers without a
    chat template. `sampling` openai leaves out what only llama.cpp and its kin understand. `timeout_s` is the
    longest wait for the next piece of an answer.
    """

    name: str
    url: str
    key: Callable[[], Awaitable[str]] = no_key
    context_length: int = 0
    template: Literal["server", "chatml"] = "server"
    stop: tuple[str, ...] = ()
    stream: bool = True
    sampling: Literal["all", "openai"] = "all"
    reasoning: Literal["hide", "show"] = "hide"
    timeout_s: float = 300.0

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def root(self) -> str:
        """The address of what a server offers in addition to the OpenAI interface."""
        return self.url.removesuffix("/v1")


_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def is_name(text: str) -> bool:
    """Whether an engine may have this name: the colon after it separates it from a model's."""
    return 0 < len(text) <= 60 and _NAME_CHARS.issuperset(text)


def is_local(url: str) -> bool:
    """Whether an address is on this computer, by its text alone: no name server can change the answer."""
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def full_url(given: str) -> str:
    """Returns an address as `EngineSpec.url` needs it. Raises `ValueError` if it is not an HTTP address.

    An address without a path gets `/v1`, where every known server has its interface.
    """
    text = given.strip()
    parts = urlsplit(text if "://" in text else f"http://{text}")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise ValueError("not an HTTP address")
    if parts.query or parts.fragment or not text.isprintable() or " " in text:
        raise ValueError("not an HTTP address")
    if parts.port == 0:  # one that is not a number raises ValueError by itself
        raise ValueError("not an HTTP address")
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}"


@dataclass(frozen=True, slots=True)
class EngineReport:
    """The capabilities of an engine. `context` is 0 where the server does not report it; `exact_tokens`: it
    counts tokens itself.
    """

    family: Family
    models: tuple[str, ...]
    chat_model: str
    stream: bool
    json_schema: bool
    embeddings: bool
    context: int
    exact_tokens: bool
