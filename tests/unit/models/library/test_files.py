import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from models.library.files import files_below


def test_every_file_below_a_folder_with_its_size(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "one").write_bytes(b"1")
    (tmp_path / "a" / "b" / "three").write_bytes(b"333")
    assert dict(files_below(tmp_path)) == {tmp_path / "one": 1, tmp_path / "a" / "b" / "three": 3}


def test_a_folder_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    assert list(files_below(tmp_path / "none")) == []


def test_what_goes_away_while_it_is_looked_at_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "going").mkdir()
    (tmp_path / "going" / "two").write_bytes(b"22")
    (tmp_path / "gone").symlink_to(tmp_path / "nothing")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "one").write_bytes(b"1")
    look = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("going"):
            shutil.rmtree(path)
        return look(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert list(files_below(tmp_path)) == [(tmp_path / "one", 1)]
