import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from models.errors import (
    DownloadCancelled,
    DownloadFailed,
    ModelExists,
    NotEnoughDisk,
    NotGguf,
    UnknownModel,
    WrongChecksum,
)
from models.library.catalog import Catalog, CatalogEntry, HubSource, ModelRole
from models.library.download import HubSettings, ModelFetcher
from models.library.files import Progress
from models.library.installed import ModelLibrary
from tests.unit.models.gguf_files import write_gguf
from tests.unit.models.hub_server import Hub, serve

KEY = "owner/repo/main/tiny.gguf"
REF = "hf:owner/repo/tiny.gguf"
SWITCHES = ("TELEMETRY", "IMPLICIT_TOKEN", "UPDATE_CHECK", "XET")


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    return write_gguf(tmp_path / "made" / "tiny.gguf", tokens=40_000).read_bytes()


@pytest.fixture
def hub(content: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    for name in ("HF_HOME", "HF_HUB_CACHE", *(f"HF_HUB_DISABLE_{switch}" for switch in SWITCHES)):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    with serve(Hub({KEY: content})) as hub:
        yield hub


@pytest.fixture
def library(tmp_path: Path) -> ModelLibrary:
    return ModelLibrary(tmp_path / "home" / "models", Catalog(()))


@pytest.fixture
def fetcher(library: ModelLibrary, hub: Hub, tmp_path: Path) -> ModelFetcher:
    return ModelFetcher(library, Catalog(()), tmp_path / "home" / "cache", hub=HubSettings(hub.endpoint))


def parts(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "home" / "cache").rglob("*.part"))


def known(content: bytes, **changes: object) -> CatalogEntry:
    entry = CatalogEntry(
        id="known",
        name="Known",
        family="Test",
        parameters=8,
        quantization="F16",
        bytes=len(content),
        bytes_approximate=True,
        licence="Some Community Licence",
        licence_open=False,
        context_length=2048,
        roles=(ModelRole.CHAT,),
        prefix_stable=True,
        verified=False,
        hub=(HubSource("owner/repo", "tiny.gguf"),),
    )
    return replace(entry, **changes)  # type: ignore[arg-type]


def test_pulls_a_file_and_records_the_hubs_checksum(
    fetcher: ModelFetcher, hub: Hub, content: bytes, tmp_path: Path
) -> None:
    reports: list[Progress] = []
    model = fetcher.pull(REF, progress=reports.append)
    assert model.path.read_bytes() == content
    assert (model.id, model.source, model.sha256) == ("tiny", REF, sha256(content).hexdigest())
    downloads = [report for report in reports if report.stage == "download"]
    assert downloads[-1] == Progress("download", len(content), len(content))
    assert [report.done for report in downloads] == sorted(report.done for report in downloads)
    assert parts(tmp_path) == []
    assert all(authorization is None for _, _, authorization in hub.requests)


def test_the_endpoint_comes_from_the_environment(
    library: ModelLibrary, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint + "/")
    assert ModelFetcher(library, Catalog(()), tmp_path / "home/cache").pull(REF).id == "tiny"


def test_a_token_is_sent_only_when_it_is_given(library: ModelLibrary, hub: Hub, tmp_path: Path) -> None:
    settings = HubSettings(hub.endpoint, token="hf_secret")
    ModelFetcher(library, Catalog(()), tmp_path / "home/cache", hub=settings).pull(REF)
    assert {authorization for _, _, authorization in hub.requests} == {"Bearer hf_secret"}


def test_a_revision_and_a_name_of_ones_own(fetcher: ModelFetcher, hub: Hub, content: bytes) -> None:
    hub.files = {"owner/repo/v2/sub/tiny.gguf": content}
    model = fetcher.pull("hf:owner/repo@v2/sub/tiny.gguf", model_id="Mine")
    assert (model.id, model.source) == ("mine", "hf:owner/repo@v2/sub/tiny.gguf")


def test_a_broken_connection_is_taken_up_where_it_ended(
    fetcher: ModelFetcher, hub: Hub, content: bytes
) -> None:
    hub.cuts = [300_000]
    assert fetcher.pull(REF).path.read_bytes() == content
    ranges = [wanted for method, wanted, _ in hub.requests if method == "GET"]
    assert len(ranges) == 2
    assert ranges[0] is None
    assert ranges[1] is not None
    assert 0 < int(ranges[1].removeprefix("bytes=").rstrip("-")) <= 300_000


def test_a_cancelled_pull_is_resumed_by_the_next(
    fetcher: ModelFetcher, hub: Hub, content: bytes, tmp_path: Path
) -> None:
    seen: list[Progress] = []
    with pytest.raises(DownloadCancelled):
        fetcher.pull(REF, progress=seen.append, cancelled=lambda: bool(seen))
    (part,) = parts(tmp_path)
    kept = part.stat().st_size
    assert 0 < kept < len(content)
    assert part.stat().st_mode & 0o777 == 0o600
    assert fetcher.pull(REF).path.read_bytes() == content
    assert hub.requests[-1][:2] == ("GET", f"bytes={kept}-")


def test_a_server_without_ranges_is_read_from_the_start(
    fetcher: ModelFetcher, hub: Hub, content: bytes
) -> None:
    hub.ranges = False
    hub.cuts = [300_000]
    assert fetcher.pull(REF).path.read_bytes() == content


def test_other_bytes_than_promised_are_refused_and_not_kept(
    fetcher: ModelFetcher, hub: Hub, library: ModelLibrary, tmp_path: Path
) -> None:
    hub.promised = {KEY: "d" * 64}
    with pytest.raises(WrongChecksum) as caught:
        fetcher.pull(REF)
    assert caught.value.expected == "d" * 64
    assert parts(tmp_path) == []
    assert library.installed() == ()


def test_the_catalogues_checksum_counts_more_than_the_hubs(
    fetcher: ModelFetcher, hub: Hub, content: bytes, library: ModelLibrary
) -> None:
    with pytest.raises(DownloadFailed, match="no longer the one in the catalogue"):
        fetcher.pull(known(content, sha256="e" * 64))
    hub.plain_etag = True
    with pytest.raises(WrongChecksum):
        fetcher.pull(known(content, sha256="e" * 64))
    assert library.installed() == ()
    assert fetcher.pull(known(content, sha256=sha256(content).hexdigest())).id == "known"


def test_an_entry_keeps_its_own_id_and_licence(fetcher: ModelFetcher, content: bytes) -> None:
    model = fetcher.pull(known(content))
    assert (model.id, model.licence) == ("known", "Some Community Licence")
    assert model.sha256 == sha256(content).hexdigest()


def test_the_next_source_is_tried(fetcher: ModelFetcher, content: bytes) -> None:
    sources = (HubSource("owner/repo", "gone.gguf"), HubSource("owner/repo", "tiny.gguf"))
    assert fetcher.pull(known(content, hub=sources)).source == REF
    with pytest.raises(DownloadFailed, match=r"no file gone\.gguf"):
        fetcher.pull(known(content, id="other", hub=sources[:1]))


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        (None, "no file none.gguf"),
        ("GatedRepo", "access has to be granted"),
        ("RepoNotFound", "no such repository"),
        ("RevisionNotFound", "no revision main"),
        ("Other", "HTTP status 403"),
    ],
)
def test_what_the_hub_refuses_is_said(fetcher: ModelFetcher, hub: Hub, code: str | None, detail: str) -> None:
    hub.denied = code
    with pytest.raises(DownloadFailed, match=detail) as caught:
        fetcher.pull("hf:owner/repo/none.gguf")
    assert caught.value.source == "hf:owner/repo/none.gguf"


@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("circles", [("HEAD", "GET"), ("GET",)])
def test_redirects_in_a_circle_are_said(
    fetcher: ModelFetcher, hub: Hub, circles: tuple[str, ...], *, relative: bool
) -> None:
    hub.circles, hub.plain_etag = circles, relative
    with pytest.raises(DownloadFailed, match="the server redirects in a circle"):
        fetcher.pull(REF)


def test_no_network_is_said(library: ModelLibrary, hub: Hub, tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        settings = HubSettings(f"http://127.0.0.1:{unused.getsockname()[1]}")
        fetcher = ModelFetcher(library, Catalog(()), tmp_path / "home/cache", hub=settings)
        with pytest.raises(DownloadFailed, match="no connection to the server"):
            fetcher.pull(REF)


def test_no_model_and_no_room_are_their_own_errors(
    fetcher: ModelFetcher, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.files["owner/repo/main/text.gguf"] = b"hello"
    with pytest.raises(NotGguf):
        fetcher.pull("hf:owner/repo/text.gguf")
    assert parts(tmp_path) == []
    with pytest.raises(UnknownModel):
        fetcher.pull("hf:owner/repo")
    with pytest.raises(DownloadFailed, match="not a repository name"):
        fetcher.pull("hf:own er/re:po/tiny.gguf")
    monkeypatch.setattr("models.library.files.RESERVE", 1 << 60)
    with pytest.raises(NotEnoughDisk):
        fetcher.pull(REF)


def test_a_different_model_of_that_name_stays(
    fetcher: ModelFetcher, library: ModelLibrary, tmp_path: Path
) -> None:
    other = library.import_file(write_gguf(tmp_path / "tiny.gguf"))
    with pytest.raises(ModelExists):
        fetcher.pull(REF)
    assert library.installed() == (other,)
