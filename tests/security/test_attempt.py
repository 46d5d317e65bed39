"""The attempt to find traces, as anyone can make it (`python -m tests.security.attempt`)."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.security.attempt import STEPS
from tests.security.figures import Figures

pytestmark = [
    pytest.mark.real_model,
    pytest.mark.skipif(sys.platform == "win32", reason="looks for traces as they are left on Unix"),
]

ROOT = Path(__file__).parents[2]
_LINE = re.compile(r"^(.{34}) (.{44}) +\S.* (\d+) hits$", re.MULTILINE)


@pytest.fixture
def models(installed_models: Path) -> Path:
    """The attempt takes the models from where they are installed."""
    return installed_models.parent


def assert_no_trace(models: Path, tmp_path: Path, figures: Figures, steps: tuple[str, ...]) -> None:
    # Other tests write canaries of their own to the folders that pytest gives them.
    options = ["--spare", str(tmp_path.parents[1]), *(part for step in steps for part in ("--only", step))]
    done = subprocess.run(
        [sys.executable, "-m", "tests.security.attempt", *options],
        cwd=ROOT,
        env={**os.environ, "ATLAS_HOME": str(models)},
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    looked = _LINE.findall(done.stdout)
    assert len(looked) > 5 * len(steps)
    assert sum(int(hits) for _, _, hits in looked) == 0
    for when, _, _ in looked:
        figures.add(f"traces: {when.partition(',')[0].strip()}", attempts=1, hits=0)


def test_no_trace_of_what_was_off_the_record(models: Path, tmp_path: Path, figures: Figures) -> None:
    assert_no_trace(models, tmp_path, figures, ("off_the_record",))


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_no_trace_of_anything(models: Path, tmp_path: Path, figures: Figures) -> None:
    assert_no_trace(models, tmp_path, figures, STEPS)
