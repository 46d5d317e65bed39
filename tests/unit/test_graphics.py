"""Which graphics `make run` compiles llama.cpp for, on made-up computers."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def graphics() -> ModuleType:
    spec = importlib.util.spec_from_file_location("packaging_graphics", ROOT / "packaging" / "graphics.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


Decide = Callable[..., tuple[str, str]]


@pytest.fixture
def decide(graphics: ModuleType, tmp_path: Path) -> Decide:
    """Decides for a computer with these programs and files."""

    def made(
        request: str,
        programs: tuple[str, ...] = (),
        files: tuple[str, ...] = (),
        system: str = "Linux",
        machine: str = "x86_64",
    ) -> tuple[str, str]:
        folder = tmp_path / "bin"
        folder.mkdir()
        for name in programs:
            (folder / name).write_text("#!/bin/sh\n")
            (folder / name).chmod(0o755)
        for name in files:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("")
            (tmp_path / name).chmod(0o755)
        found = graphics.choose(request, graphics.Computer(system, machine, str(folder), tmp_path))
        return found.kind, found.why

    return made


NVIDIA = ("proc/driver/nvidia/gpus/0000:01:00.0/information",)
VULKAN = ("dev/dri/renderD128", "usr/include/vulkan/vulkan.h")


def test_without_a_card_it_is_the_processor(decide: Decide) -> None:
    assert decide("auto", ("nvcc", "glslc", "hipcc")) == (
        "off",
        "no graphics card that llama.cpp can use was found",
    )


def test_cuda_needs_a_card_and_its_compiler(decide: Decide) -> None:
    assert decide("auto", ("nvcc",), NVIDIA)[0] == "cuda"


def test_the_compiler_is_found_where_its_installer_puts_it(decide: Decide) -> None:
    assert decide("auto", (), (*NVIDIA, "usr/local/cuda-13.0/bin/nvcc"))[0] == "cuda"


def test_a_card_without_its_compiler_is_named(decide: Decide) -> None:
    assert decide("auto", (), NVIDIA) == ("off", "CUDA: the CUDA compiler (nvcc) is not installed")


def test_a_card_without_cuda_can_use_vulkan(decide: Decide) -> None:
    assert decide("auto", ("glslc",), (*NVIDIA, *VULKAN))[0] == "vulkan"


def test_rocm_comes_before_vulkan(decide: Decide) -> None:
    assert decide("auto", ("hipcc", "glslc"), ("dev/kfd", *VULKAN))[0] == "rocm"


def test_apple_silicon_uses_metal(decide: Decide) -> None:
    assert decide("auto", system="Darwin", machine="arm64")[0] == "metal"


def test_other_macs_use_the_processor(decide: Decide) -> None:
    assert decide("metal", system="Darwin", machine="x86_64") == (
        "off",
        "Metal cannot be used: Metal is only used on Apple silicon",
    )


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ("cuda", "CUDA cannot be used: no NVIDIA card with a driver was found; the CUDA compiler (nvcc)"),
        ("rocm", "ROCm cannot be used: no AMD card with ROCm's driver"),
        ("vulkan", "Vulkan cannot be used: no graphics device"),
        ("metal", "Metal cannot be used: Metal only exists on macOS"),
    ],
)
def test_what_was_asked_for_and_is_missing_has_a_reason(decide: Decide, request_: str, reason: str) -> None:
    kind, why = decide(request_)
    assert kind == "off"
    assert why.startswith(reason)


def test_off_is_off_beside_a_card(decide: Decide) -> None:
    assert decide("off", ("nvcc",), NVIDIA) == ("off", "you asked for it (GPU=off)")


def test_compiling_that_fails_falls_back_to_the_processor(
    graphics: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried: list[str] = []

    def install(choice: object, lock: Path, *, again: bool) -> bool:
        tried.append(choice.kind)  # type: ignore[attr-defined]
        assert lock.is_file()
        assert not again
        return tried[-1] == "off"

    monkeypatch.setattr(graphics, "choose", lambda *_: graphics.Choice("vulkan", "found on this computer"))
    monkeypatch.setattr(graphics, "install", install)
    assert graphics.main(["auto", str(ROOT / "requirements.lock")]) == 0
    assert tried == ["vulkan", "off"]
    told = capsys.readouterr().out
    assert "Compiling for Vulkan failed" in told
    assert "compiled for the processor: compiling for Vulkan failed" in told


def test_only_wheels_for_the_processor_use_the_cache(
    graphics: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[list[str], dict[str, str]]] = []

    class Done:
        returncode = 0

    def run(command: list[str], *, env: dict[str, str], check: bool) -> Done:
        assert not check
        ran.append((command, env))
        return Done()

    monkeypatch.delenv("CMAKE_ARGS", raising=False)
    monkeypatch.setattr(graphics.subprocess, "run", run)
    monkeypatch.setattr(graphics.platform, "system", lambda: "Linux")
    lock = ROOT / "requirements.lock"
    assert graphics.install(graphics.Choice("cuda", ""), lock, again=False)
    assert graphics.install(graphics.Choice("off", ""), lock, again=False)
    (card, with_card), (processor, without) = ran
    assert {"--no-cache-dir", "--force-reinstall", "--require-hashes"} <= set(card)
    assert with_card["CMAKE_ARGS"] == "-DGGML_CUDA=ON"
    assert not {"--no-cache-dir", "--force-reinstall"} & set(processor)
    assert "CMAKE_ARGS" not in without


def test_the_entry_of_the_lock_has_its_hash(graphics: ModuleType) -> None:
    lines = graphics.entry_of(ROOT / "requirements.lock").splitlines()
    assert lines[0].startswith("llama-cpp-python==")
    assert "--hash=sha256:" in lines[1]
    assert not any(line.startswith("lxml") for line in lines)
