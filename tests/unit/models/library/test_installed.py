import multiprocessing
import shutil
import tomllib
from collections import namedtuple
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from models.errors import (
    DownloadCancelled,
    ModelDamaged,
    ModelExists,
    ModelFileMissing,
    ModelLoadFailed,
    NoModel,
    NotEnoughDisk,
    NotGguf,
    TruncatedGguf,
    UnknownArchitecture,
    UnknownModel,
    WrongChecksum,
)
from models.library.catalog import Catalog, CatalogEntry, HubSource, ModelRole, clean_id
from models.library.files import Progress
from models.library.installed import ModelLibrary
from tests.unit.models.gguf_files import write_gguf


def entry(
    model_id: str, *, role: ModelRole = ModelRole.CHAT, size: int = 1, sha: str | None = None
) -> CatalogEntry:
    return CatalogEntry(
        id=model_id,
        name=model_id.title(),
        family="Test",
        parameters=8,
        quantization="F16",
        bytes=size,
        licence="MIT",
        licence_open=True,
        context_length=2048,
        roles=(role,),
        prefix_stable=True,
        verified=sha is not None,
        sha256=sha,
        hub=(HubSource("test/test", "test.gguf"),),
    )


CATALOG = Catalog((entry("second"), entry("first")))


@pytest.fixture
def library(tmp_path: Path) -> ModelLibrary:
    return ModelLibrary(tmp_path / "home" / "models", CATALOG)


def test_an_empty_home_has_no_model_and_is_not_written_to(library: ModelLibrary) -> None:
    assert library.installed() == ()
    with pytest.raises(NoModel):
        library.default(ModelRole.CHAT)
    with pytest.raises(UnknownModel):
        library.get("anything")
    assert not library.folder.exists()


def test_an_imported_copy_is_complete_private_and_described(library: ModelLibrary, tmp_path: Path) -> None:
    source = write_gguf(tmp_path / "My Model.Q4_1.gguf")
    reports: list[Progress] = []
    model = library.import_file(source, report=reports.append)
    assert model.id == "my-model.q4_1"
    assert model.path == library.folder / "my-model.q4_1.gguf"
    assert model.path.read_bytes() == source.read_bytes()
    assert model.sha256 == sha256(source.read_bytes()).hexdigest()
    assert (model.roles, model.licence, model.context_length) == ((ModelRole.CHAT,), "mit", 2048)
    assert (model.linked, model.source) == (False, "file")
    assert reports[-1] == Progress("place", model.bytes, model.bytes)
    assert {path.name for path in library.folder.iterdir()} == {".lock", "installed.toml", model.path.name}
    for path in library.folder.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
    assert library.folder.stat().st_mode & 0o777 == 0o700


def test_a_link_leaves_the_file_where_it_is(library: ModelLibrary, tmp_path: Path) -> None:
    source = write_gguf(tmp_path / "big.gguf")
    model = library.import_file(source, link=True)
    assert model.linked
    assert model.path == source
    assert not (library.folder / "big.gguf").exists()
    library.remove("big")
    assert source.exists()
    assert library.installed() == ()


def test_a_link_whose_disk_is_away_comes_back(library: ModelLibrary, tmp_path: Path) -> None:
    source = write_gguf(tmp_path / "disk" / "big.gguf")
    library.import_file(source, link=True)
    away = source.parent.rename(tmp_path / "unplugged")
    assert library.installed() == ()
    assert library.get("big").path == source
    away.rename(source.parent)
    assert [model.id for model in library.installed()] == ["big"]


def test_the_same_bytes_twice_are_no_error_and_others_are(library: ModelLibrary, tmp_path: Path) -> None:
    one = write_gguf(tmp_path / "one.gguf")
    other = write_gguf(tmp_path / "other" / "one.gguf", fill=2)
    first = library.import_file(one)
    assert library.import_file(one) == first
    assert library.import_file(one, link=True) == first
    for link in (False, True):
        with pytest.raises(ModelExists):
            library.import_file(other, link=link)
    assert library.import_file(other, model_id="Two").id == "two"
    assert first.path.read_bytes() == one.read_bytes()


def test_bad_files_each_have_their_own_error_and_leave_nothing(library: ModelLibrary, tmp_path: Path) -> None:
    text = tmp_path / "text.gguf"
    text.write_text("hello")
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(write_gguf(tmp_path / "good.gguf").read_bytes()[:-64])
    part = write_gguf(tmp_path / "part.gguf", split=2)
    for path, error in (
        (tmp_path / "none.gguf", ModelFileMissing),
        (text, NotGguf),
        (cut, TruncatedGguf),
        (part, ModelLoadFailed),
    ):
        with pytest.raises(error):
            library.import_file(path)
    assert not library.folder.exists() or list(library.folder.iterdir()) == []


def test_what_the_probe_refuses_is_not_taken_in(library: ModelLibrary, tmp_path: Path) -> None:
    def probe(path: Path) -> None:
        raise UnknownArchitecture(path, "strange")

    with pytest.raises(UnknownArchitecture):
        library.import_file(write_gguf(tmp_path / "strange.gguf"), probe=probe)
    assert library.installed() == ()


def test_a_cancelled_import_leaves_nothing(library: ModelLibrary, tmp_path: Path) -> None:
    with pytest.raises(DownloadCancelled):
        library.import_file(write_gguf(tmp_path / "a.gguf"), cancelled=lambda: True)
    assert list(library.folder.glob("*.gguf")) == list(library.folder.glob(".*.part")) == []


def test_a_full_disk_is_told_before_anything_is_written(
    library: ModelLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")  # noqa: PYI024
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage(100, 99, 1))
    source = write_gguf(tmp_path / "a.gguf")
    with pytest.raises(NotEnoughDisk) as caught:
        library.import_file(source)
    assert caught.value.needed > source.stat().st_size
    assert caught.value.free == 1
    assert library.import_file(source, link=True).linked


def test_a_file_that_was_dropped_in_is_there(library: ModelLibrary) -> None:
    write_gguf(library.folder / "Dropped.gguf", architecture="bert")
    write_gguf(library.folder / "part.gguf", split=2)
    (library.folder / "not.gguf").write_text("nothing")
    (model,) = library.installed()
    assert (model.id, model.sha256, model.roles) == ("dropped", "", (ModelRole.EMBED,))
    assert library.default(ModelRole.EMBED).path == library.folder / "Dropped.gguf"
    assert library.verify("dropped").sha256 == sha256(model.path.read_bytes()).hexdigest()


def test_files_whose_names_clash_are_both_there(library: ModelLibrary) -> None:
    write_gguf(library.folder / "A b.gguf")
    write_gguf(library.folder / "a-b.gguf", fill=2)
    assert [model.id for model in library.installed()] == ["a-b", "a-b-2"]


def test_a_file_that_was_replaced_or_deleted_by_hand(library: ModelLibrary, tmp_path: Path) -> None:
    model = library.import_file(write_gguf(tmp_path / "m.gguf"))
    library.choose(ModelRole.CHAT, "m")
    write_gguf(model.path, tokens=40)
    (replaced,) = library.installed()
    assert (replaced.sha256, replaced.chosen_for) == ("", (ModelRole.CHAT,))
    model.path.unlink()
    assert library.installed() == ()


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def overwrite(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(bytes(64) + content[64:])


@pytest.mark.parametrize("spoil", [cut_short, overwrite])
def test_a_damaged_file_is_told_of_and_a_sound_one_takes_its_place(
    library: ModelLibrary, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    source = write_gguf(tmp_path / "m.gguf")
    model = library.import_file(source)
    library.choose(ModelRole.CHAT, "m")
    assert (library.damaged(), library.sound_default(ModelRole.CHAT).id) == ((), "m")
    spoil(model.path)
    with pytest.raises(ModelDamaged) as caught:
        library.sound_default(ModelRole.CHAT)
    assert (caught.value.role, caught.value.ref, caught.value.path) == ("chat", "m", model.path)
    assert [(one.id, flaw.detail) for one, flaw in library.damaged()] == [("m", caught.value.detail)]
    assert library.get("m").sha256 == model.sha256
    again = library.import_file(source)
    assert (again.sha256, again.chosen_for, library.damaged()) == (model.sha256, (ModelRole.CHAT,), ())
    assert library.sound_default(ModelRole.CHAT) == again


def test_a_file_that_was_cut_short_is_not_used(library: ModelLibrary, tmp_path: Path) -> None:
    model = library.import_file(write_gguf(tmp_path / "m.gguf"))
    cut_short(model.path)
    assert library.installed() == ()
    with pytest.raises(ModelDamaged):
        library.default(ModelRole.CHAT)
    other = library.import_file(write_gguf(tmp_path / "other.gguf", fill=2.0))
    assert library.default(ModelRole.CHAT) == other
    assert [one.id for one, _ in library.damaged()] == ["m"]


@pytest.mark.parametrize("text", ["not toml [", "model = 3", '[[model]]\nid = "x"', "\xff"])
def test_a_damaged_index_is_rebuilt_from_the_folder(library: ModelLibrary, tmp_path: Path, text: str) -> None:
    library.import_file(write_gguf(tmp_path / "m.gguf"))
    (library.folder / "installed.toml").write_text(text, encoding="latin-1")
    assert [model.id for model in library.installed()] == ["m"]
    assert tomllib.loads((library.folder / "installed.toml").read_text())["model"][0]["id"] == "m"


def test_an_index_that_points_outside_the_folder_is_not_followed(
    library: ModelLibrary, tmp_path: Path
) -> None:
    outside = write_gguf(tmp_path / "outside.gguf")
    library.import_file(write_gguf(tmp_path / "m.gguf"))
    index = library.folder / "installed.toml"
    index.write_text(index.read_text().replace('file = "m.gguf"', 'file = "../../outside.gguf"'))
    library.installed()
    library.remove("m")
    assert outside.exists()


def test_a_models_folder_may_be_copied_to_another_home(library: ModelLibrary, tmp_path: Path) -> None:
    first = library.import_file(write_gguf(tmp_path / "m.gguf"))
    library.choose(ModelRole.CHAT, "m")
    shutil.copytree(library.folder, tmp_path / "copy")
    (copied,) = ModelLibrary(tmp_path / "copy", CATALOG).installed()
    assert copied.path == tmp_path / "copy" / "m.gguf"
    assert (copied.sha256, copied.chosen_for) == (first.sha256, (ModelRole.CHAT,))


def test_the_default_is_the_chosen_else_the_first_of_the_catalogue(
    library: ModelLibrary, tmp_path: Path
) -> None:
    for name in ("other", "first", "second"):
        library.import_file(write_gguf(tmp_path / f"{name}.gguf"))
    library.import_file(write_gguf(tmp_path / "vectors.gguf", pooling=1))
    assert [model.id for model in library.installed()] == ["second", "first", "other", "vectors"]
    assert library.default(ModelRole.CHAT).id == "second"
    assert library.choose(ModelRole.CHAT, "OTHER").chosen_for == (ModelRole.CHAT,)
    assert library.default(ModelRole.CHAT).id == "other"
    assert library.default(ModelRole.EMBED).id == "vectors"
    with pytest.raises(NoModel):
        library.choose(ModelRole.CHAT, "vectors")
    library.remove("other")
    assert library.default(ModelRole.CHAT).id == "second"


def test_verify_notices_a_changed_byte(library: ModelLibrary, tmp_path: Path) -> None:
    model = library.import_file(write_gguf(tmp_path / "m.gguf"))
    assert library.verify("m") == model
    with model.path.open("r+b") as file:
        file.seek(-40, 2)
        file.write(b"X")
    with pytest.raises(WrongChecksum) as caught:
        library.verify("m")
    assert caught.value.expected == model.sha256


def test_a_dropped_file_is_held_to_the_catalogues_checksum(tmp_path: Path) -> None:
    source = write_gguf(tmp_path / "known.gguf")
    known = entry("known", size=source.stat().st_size, sha="0" * 64)
    library = ModelLibrary(tmp_path / "models", Catalog((known,)))
    write_gguf(library.folder / "known.gguf")
    assert library.get("known").licence == "MIT"
    with pytest.raises(WrongChecksum):
        library.verify("known")


def _import_many(folder: Path, sources: list[Path]) -> None:
    library = ModelLibrary(folder, CATALOG)
    for source in sources:
        library.import_file(source)


def test_two_processes_lose_nothing(library: ModelLibrary, tmp_path: Path) -> None:
    sources = [write_gguf(tmp_path / f"m{n:02}.gguf", fill=n + 1) for n in range(16)]
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_import_many, args=(library.folder, sources[n::2])) for n in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert [model.id for model in library.installed()] == [path.stem for path in sources]
    assert all(model.sha256 for model in library.installed())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Foo Bar.GGUF", "foo-bar"),
        ("../../etc/passwd", "etc-passwd"),
        ("..x", "x"),
        ("Ünï", "n"),
        ("a" * 99, "a" * 80),
    ],
)
def test_ids_are_plain_names(name: str, expected: str) -> None:
    assert clean_id(name) == expected


def test_a_name_without_a_usable_character_is_refused() -> None:
    with pytest.raises(UnknownModel):
        clean_id("...")


@pytest.mark.parametrize("link", [False, True])
def test_a_file_of_the_catalogue_is_recognised_by_its_bytes(tmp_path: Path, *, link: bool) -> None:
    source = write_gguf(tmp_path / "download (1).gguf")
    digest = sha256(source.read_bytes()).hexdigest()
    library = ModelLibrary(
        tmp_path / "models", Catalog((entry("known", size=source.stat().st_size, sha=digest),))
    )
    model = library.import_file(source, link=link)
    assert (model.id, model.licence, model.linked) == ("known", "MIT", link)
    assert library.import_file(source, link=link, model_id="mine").id == "mine"


def test_the_smallest_model_with_the_same_vocabulary_may_guess_for_a_large_one(
    library: ModelLibrary, tmp_path: Path
) -> None:
    def put(name: str, layers: int = 0, *, tokens: int = 20, pooling: int | None = None) -> Path:
        file = tmp_path / f"{name}.gguf"
        return library.import_file(write_gguf(file, layers=layers, tokens=tokens, pooling=pooling)).path

    large = put("large", layers=60)
    assert library.draft_for(large) is None
    put("nearly as large", layers=40)
    put("other words", tokens=21)
    put("for searching", pooling=1)
    assert library.draft_for(large) is None
    put("middle", layers=5)
    assert library.draft_for(large) == library.folder / "middle.gguf"
    small = put("small")
    assert library.draft_for(large) == small
    assert library.draft_for(small) is None
