"""The wheel, installed as docs/install.md says, and the commands of that page."""

import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "install.md").read_text("utf-8")


def examples(title: str) -> list[str]:
    """The lines of the examples under a heading."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    assert section, title
    return [
        line for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL) for line in block.splitlines()
    ]


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def atlas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of a wheel, in an environment of its own that borrows the dependencies of this one."""
    folder = tmp_path_factory.mktemp("install")
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    made = run([*wheel, "--wheel-dir", str(folder), str(ROOT)])
    assert made.returncode == 0, made.stderr
    venv.create(folder / "venv", with_pip=False, symlinks=os.name != "nt")
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    (one,) = folder.glob("*.whl")
    # `pip --python` installs into the other environment, which has no pip of its own.
    install = [sys.executable, "-m", "pip", "--python", str(scripts / "python"), "install", "--quiet"]
    done = run([*install, "--no-deps", "--no-index", str(one)])
    assert done.returncode == 0, done.stderr
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    return scripts / "atlas"


@pytest.mark.parametrize("line", examples("Check the installation"))
def test_the_installed_wheel_answers(atlas: Path, tmp_path: Path, line: str) -> None:
    name, *arguments = line.split()
    assert name == "atlas"
    done = run([str(atlas), *arguments], ATLAS_HOME=str(tmp_path / "home"), PYTHONSAFEPATH="1")
    # A home without models is something that the doctor reports.
    assert done.returncode == (1 if arguments == ["doctor"] else 0), done.stderr
    assert done.stdout
    if arguments == ["doctor"]:
        assert "graphics: " in done.stdout


def test_the_wheel_is_what_runs_and_has_its_translations(atlas: Path, tmp_path: Path) -> None:
    where = run(
        [str(atlas.with_name("python")), "-P", "-c", "import atlas_desktop; print(atlas_desktop.__file__)"]
    )
    assert str(atlas.parents[1]) in where.stdout, where.stderr
    told = run([str(atlas), "doctor"], ATLAS_HOME=str(tmp_path), LANG="de_DE.UTF-8", LC_ALL="de_DE.UTF-8")
    assert "Grafikkarte" in told.stdout or "Prozessor" in told.stdout


@pytest.mark.parametrize(
    "line",
    [
        one
        for title in ("From a clone, for trying and developing", "Graphics cards")
        for one in examples(title)
    ],
)
def test_the_examples_of_make_are_understood(line: str) -> None:
    if not line.startswith("make "):
        assert re.fullmatch(r'CMAKE_ARGS="-DGGML_(CUDA|VULKAN)=ON" (uv tool|pipx) install .*\.', line)
        return
    done = run(["make", "--dry-run", "--always-make", *line.split()[1:]])
    assert done.returncode == 0, done.stderr
    wanted = line.partition("GPU=")[2] or "(auto|off|cuda|rocm|vulkan|metal)"
    assert re.search(rf"packaging/graphics\.py {wanted} requirements\.lock", done.stdout)


def test_make_refuses_an_unknown_card() -> None:
    done = run([sys.executable, "packaging/graphics.py", "voodoo", "requirements.lock"])
    assert done.returncode == 2
    assert "usage: graphics.py auto|cuda|rocm|vulkan|metal|off" in done.stderr
