"""What is loaded when: seen in a fresh interpreter, where nothing else has been imported yet."""

import pkgutil
import subprocess
import sys

import pytest

import memory
import models

HEAVY = {
    "textual",
    "llama_cpp",
    "lancedb",
    "pyarrow",
    "numpy",
    "gguf",
    "huggingface_hub",
    "keyring",
    "tiktoken",
    "cryptography",
    "sqlcipher3",
    "zxcvbn",
}
# The worker's own packages load llama.cpp: nobody else may import them.
OF_THE_WORKER = "models.llamacpp"


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys; print(' '.join(sorted(m for m in sys.modules if '.' not in m)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def modules_of(package: object) -> list[str]:
    path = [str(p) for p in package.__path__]  # type: ignore[attr-defined]
    name = package.__name__  # type: ignore[attr-defined]
    found = [m.name for m in pkgutil.walk_packages(path, f"{name}.")]
    return [m for m in found if not m.startswith(OF_THE_WORKER)]


@pytest.mark.parametrize("package", [memory, models], ids=lambda p: str(p.__name__))
def test_the_packages_load_without_interface_model_and_index(package: object) -> None:
    names = modules_of(package)
    assert len(names) > 5
    loaded = loaded_by("\n".join(f"import {name}" for name in names))
    assert not {"textual", "llama_cpp", "lancedb", "atlas_desktop"} & loaded


def test_version_and_help_load_nothing_heavy() -> None:
    version = loaded_by("from atlas_desktop.__main__ import main; main(['--version'])")
    assert not HEAVY & version
    assert "msgspec" not in version
    assert not HEAVY & loaded_by(
        "from atlas_desktop.__main__ import build_parser; build_parser().format_help()"
    )


def test_the_unlock_screen_needs_neither_model_nor_database() -> None:
    loaded = loaded_by("import atlas_desktop.tui.app, atlas_desktop.tui.screens.unlock")
    assert not (HEAVY - {"textual"}) & loaded
