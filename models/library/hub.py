"""Downloads model files from the Hugging Face hub or a compatible server (`HF_ENDPOINT`).

`hf_hub_download` discards a partial file when it fails. The metadata therefore comes from `huggingface_hub`,
and the bytes are streamed here through its HTTP session to a partial file that the next attempt continues.
"""

import contextlib
import hashlib
import importlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from models.errors import DownloadCancelled, DownloadFailed, WrongChecksum
from models.library.catalog import HubSource
from models.library.files import (
    Cancelled,
    Progress,
    Report,
    open_private,
    private_folder,
    require_space,
    sha256_of,
    sync,
)

_HEX_DIGITS = frozenset("0123456789abcdef")
_PUBLIC = "huggingface.co"
_ATTEMPTS = 5
_SECONDS = 20.0
_PAUSE_SECONDS = 0.5
_STEP = 1 << 18


@dataclass(frozen=True, slots=True)
class _Remote:
    """What the hub reports about a file; `sha256` only for files in large-file storage."""

    url: str
    size: int
    etag: str
    sha256: str | None


def fetch_file(
    source: HubSource,
    cache: Path,
    *,
    expected_sha256: str | None,
    endpoint: str | None,
    token: str | None,
    report: Report,
    cancelled: Cancelled,
) -> tuple[Path, str]:
    """Downloads a file to `cache`; returns its path and its SHA-256, verified where one is known.

    A broken connection is resumed where it ended, and so is an earlier attempt. `expected_sha256` is the
    catalogue's checksum; the hub's own is compared too. Raises `DownloadFailed`, `DownloadCancelled`,
    `WrongChecksum`, `NotEnoughDisk`.
    """
    _settle_environment(private_folder(cache))
    with _explained(source):
        remote = _look_up(source, endpoint, token)
        if expected_sha256 and remote.sha256 and remote.sha256 != expected_sha256:
            raise DownloadFailed(str(source), "the hub's file is no longer the one in the catalogue")
        part = cache / f"{hashlib.sha256(f'{remote.url} {remote.etag}'.encode()).hexdigest()[:24]}.part"
        have = part.stat().st_size if part.exists() else 0
        require_space(cache, max(remote.size - have, 0))
        _download(source, remote, part, token, report, cancelled)
    digest = sha256_of(part, report=report, cancelled=cancelled)
    promised = expected_sha256 or remote.sha256 or digest
    if digest != promised:
        part.unlink(missing_ok=True)
        raise WrongChecksum(part, promised, digest)
    return part, digest


def _settle_environment(cache: Path) -> None:
    """Keeps the client's files in `cache`; disables its reporting and its use of stored tokens.

    The client reads these variables when it is first imported.
    """
    os.environ["HF_HOME"] = os.environ["HF_HUB_CACHE"] = str(cache)
    for switch in ("TELEMETRY", "IMPLICIT_TOKEN", "UPDATE_CHECK", "XET"):
        os.environ[f"HF_HUB_DISABLE_{switch}"] = "1"


def hub_host() -> str:
    """The host that files come from when no other endpoint is given."""
    return urlsplit(os.environ.get("HF_ENDPOINT") or _PUBLIC).hostname or _PUBLIC


def _look_up(source: HubSource, endpoint: str | None, token: str | None) -> _Remote:
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    endpoint = (endpoint or os.environ.get("HF_ENDPOINT") or "").rstrip("/") or None
    url = hf_hub_url(source.repo, source.file, revision=source.revision, endpoint=endpoint)
    found = get_hf_file_metadata(url, token=token or False, endpoint=endpoint, timeout=_SECONDS)
    if found.size is None or found.etag is None:
        raise DownloadFailed(str(source), "the server does not say how long the file is")
    etag = found.etag.casefold()
    lfs = len(etag) == 64 and set(etag) <= _HEX_DIGITS
    return _Remote(url, found.size, etag, etag if lfs else None)


def _download(
    source: HubSource, remote: _Remote, part: Path, token: str | None, report: Report, cancelled: Cancelled
) -> None:
    """Returns when `part` is complete; gives up after five connections in a row without a new byte."""
    transport_error: type[Exception] = _http_library().TransportError
    idle = 0
    with open_private(part, append=True) as file:
        file.seek(0, os.SEEK_END)
        if file.tell() > remote.size:
            file.seek(0)
            file.truncate()
        while file.tell() < remote.size:
            if cancelled():
                raise DownloadCancelled(str(source))
            before = file.tell()
            failure: Exception | None = None
            try:
                _stream(source, remote, file, token, report, cancelled)
            except transport_error as error:
                failure = error
            finally:
                sync(file)
            idle = idle + 1 if file.tell() <= before else 0
            if idle:
                time.sleep(idle * _PAUSE_SECONDS)
            if idle >= _ATTEMPTS:
                detail = type(failure).__name__ if failure else "the server ends the file early"
                raise DownloadFailed(str(source), detail) from failure
        report(Progress("download", remote.size, remote.size))


def _stream(
    source: HubSource, remote: _Remote, file: Any, token: str | None, report: Report, cancelled: Cancelled
) -> None:
    from huggingface_hub import get_session
    from huggingface_hub.utils import build_hf_headers, hf_raise_for_status  # type: ignore[attr-defined]

    start = file.tell()
    headers = build_hf_headers(token=token or False)
    headers["Accept-Encoding"] = "identity"
    if start:
        headers["Range"] = f"bytes={start}-"
    with get_session().stream("GET", remote.url, headers=headers, timeout=_SECONDS) as response:
        hf_raise_for_status(response)
        if start and response.status_code != 206:
            file.seek(0)  # the server cannot resume: start again
            file.truncate()
        for chunk in response.iter_bytes(_STEP):
            if cancelled():
                raise DownloadCancelled(str(source))
            file.write(chunk)
            if file.tell() > remote.size:
                raise DownloadFailed(str(source), "the server sends more than it promised")
            report(Progress("download", file.tell(), remote.size))


def _http_library() -> Any:
    """The HTTP library that `huggingface_hub` uses, which differs between its versions."""
    from huggingface_hub import get_session

    return importlib.import_module(type(get_session()).__module__.partition(".")[0])


@contextlib.contextmanager
def _explained(source: HubSource) -> Iterator[None]:
    """Converts exceptions of `huggingface_hub` and its HTTP library to `DownloadFailed` with a reason."""
    from huggingface_hub import errors

    library = _http_library()
    details: tuple[tuple[type[Exception], str], ...] = (
        (errors.GatedRepoError, "access has to be granted on the hub first"),
        (errors.RepositoryNotFoundError, "no such repository, or it is private"),
        (errors.RevisionNotFoundError, f"no revision {source.revision}"),
        (errors.EntryNotFoundError, f"no file {source.file}"),
        (errors.OfflineModeIsEnabled, "HF_HUB_OFFLINE is set"),
        (errors.HFValidationError, "not a repository name"),
        (errors.HfHubHTTPError, "HTTP status {status}"),
        (library.TimeoutException, "the server does not answer"),
        (library.TransportError, "no connection to the server"),
        (library.TooManyRedirects, "the server redirects in a circle"),
        (library.RequestError, "the answer of the server cannot be understood"),
        (library.InvalidURL, "the server redirects to what is no address"),
        (errors.FileMetadataError, "the server does not describe the file"),
    )
    try:
        yield
    except tuple(kind for kind, _ in details) as error:
        detail = next(detail for kind, detail in details if isinstance(error, kind))
        status = getattr(getattr(error, "response", None), "status_code", "")
        raise DownloadFailed(str(source), detail.replace("{status}", str(status))) from error
