"""Whether `atlas doctor` says that models run on a graphics card, on made-up installations."""

from collections.abc import Callable
from pathlib import Path

import pytest

from atlas_desktop.bootstrap import build_doctor
from atlas_desktop.paths import Paths
from atlas_desktop.services.doctor import Finding, Verdict
from atlas_desktop.settings.file import any_keys
from models.library import catalog
from models.library.catalog import Machine, built_for

Examine = Callable[..., Finding]


@pytest.fixture
def examine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Examine:
    def made(*libraries: str, card: str | None, responds: bool = True, layers: int = -1) -> Finding:
        folder = tmp_path / "lib"
        folder.mkdir()
        for name in libraries:
            (folder / name).touch()
        monkeypatch.setattr(catalog, "llama_libraries", lambda: folder)
        monkeypatch.setattr(catalog, "card_responds", lambda: responds)
        monkeypatch.setattr(catalog, "this_machine", lambda: Machine(1, 1, 1, 1, card))
        monkeypatch.setenv("ATLAS_MODELS_GPU_LAYERS", str(layers))
        return build_doctor(Paths(tmp_path / "home"), any_keys)._graphics()

    return made


def test_no_card_is_fine(examine: Examine) -> None:
    found = examine("libggml-cpu.so", card=None)
    assert (found.verdict, found.next_step) == (Verdict.GOOD, "")
    assert "processor" in found.message


def test_a_card_that_is_not_used_is_a_note_with_a_way_out(examine: Examine) -> None:
    found = examine("libggml-cpu.so", card="NVIDIA graphics")
    assert found.verdict is Verdict.WARNING
    assert "NVIDIA graphics" in found.message
    assert "make run GPU=auto" in found.next_step


def test_a_card_that_does_not_respond_is_a_note(examine: Examine) -> None:
    found = examine("libggml-cpu.so", "libggml-cuda.so.0", card="NVIDIA graphics", responds=False)
    assert found.verdict is Verdict.WARNING
    assert "CUDA" in found.message


@pytest.mark.parametrize(
    ("layers", "text"), [(-1, "All layers"), (0, "models.gpu_layers is 0"), (1, "1 layer"), (12, "Up to 12")]
)
def test_the_layers_on_the_card_are_told(examine: Examine, layers: int, text: str) -> None:
    found = examine("libggml-vulkan.so", card="AMD graphics", layers=layers)
    assert found.verdict is Verdict.GOOD
    assert text in found.message
    assert "Vulkan" in found.message


def test_the_build_is_read_from_its_libraries(tmp_path: Path) -> None:
    for name in ("libggml-cpu.so", "libggml-hip.so", "libggml-metal.dylib", "libllama.so"):
        (tmp_path / name).touch()
    assert built_for(tmp_path) == ("ROCm", "Metal")


def test_this_build_answers_whether_a_card_responds() -> None:
    libraries = catalog.llama_libraries()
    assert libraries is not None
    assert libraries.is_dir()
    if not built_for(libraries):
        assert not catalog.card_responds()
