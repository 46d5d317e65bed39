"""What all tests share: a home of their own, and the real small models when they ask for them."""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import settings

from atlas_desktop import locale
from atlas_desktop.paths import Paths, find_home
from atlas_desktop.settings.file import describe
from tests.order import pytest_collection_modifyitems
from tests.security.figures import pytest_terminal_summary

__all__ = ["pytest_collection_modifyitems", "pytest_terminal_summary"]

VARIABLES = tuple(info.env for info in describe())
"""All by which a setting can be given."""
CHAT_MODEL = "smollm2-135m-instruct"
EMBED_MODEL = "all-minilm-l6-v2"


@pytest.fixture(scope="session")
def installed_models() -> Path:
    """The model folder that `make setup` filled. Only read, never written."""
    folder = Path(os.environ["ATLAS_TEST_MODELS"]) if "ATLAS_TEST_MODELS" in os.environ else None
    folder = folder or _models_of_the_person
    if not any(folder.glob("*.gguf")):
        pytest.skip("the real models are not installed: run `make setup`")
    return folder


# A shell that runs the suite in the background has it ignore Ctrl-C, and all that it starts would do so too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The programs that tests start speak English, whatever this computer's language is.
os.environ.update(LANG="C.UTF-8", LC_ALL="C.UTF-8")
# Chosen before any screen is imported.
locale.use(os.environ.get("ATLAS_TEST_LANGUAGE", ""))

# Every run tries the same examples, so that a new failure comes from the change that is tested. How long an
# example takes depends on what else the machine does.
settings.register_profile("atlas", deadline=None, derandomize=True)
settings.load_profile("atlas")

# Days of the tests begin where those of no computer in particular do; `test_zones.py` tries others.
if sys.platform != "win32":
    os.environ["TZ"] = "UTC"
    time.tzset()

# Found before any test changes the environment.
_models_of_the_person = Paths(find_home()).models


@pytest.fixture(autouse=True)
def no_home_of_a_person(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A test that forgets to say where its home is must not find the person's."""
    monkeypatch.setenv("ATLAS_HOME", str(tmp_path_factory.getbasetemp() / "nobodys-home"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    # The program makes its temporary files in its home: not the next test's.
    monkeypatch.setattr(tempfile, "tempdir", tempfile.tempdir)
    for name in VARIABLES:
        if name in os.environ:
            monkeypatch.delenv(name)


@pytest.fixture
def home(tmp_path: Path) -> Paths:
    paths = Paths(tmp_path / "home")
    paths.ensure()
    return paths


@pytest.fixture
def home_with_models(home: Paths, installed_models: Path) -> Paths:
    """A home whose model folder holds the real models (linked file by file)."""
    for source in installed_models.iterdir():
        if source.suffix == ".gguf":
            (home.models / source.name).symlink_to(source)
        elif source.is_file():
            (home.models / source.name).write_bytes(source.read_bytes())
    return home


@pytest.fixture(scope="session")
def chat_model(installed_models: Path) -> Path:
    return installed_models / f"{CHAT_MODEL}.gguf"


@pytest.fixture(scope="session")
def embed_model(installed_models: Path) -> Path:
    return installed_models / f"{EMBED_MODEL}.gguf"
