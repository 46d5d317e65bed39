"""The note of what a machine can run."""

from pathlib import Path

import pytest

from models.tuning.kernels import Kernels, KernelsNote, this_processor


@pytest.fixture
def note(tmp_path: Path) -> KernelsNote:
    return KernelsNote(tmp_path / "plain-kernels", lambda: "A processor, build 1")


@pytest.mark.parametrize("kernels", list(Kernels))
def test_what_is_noted_is_read_again_on_the_same_machine_alone(note: KernelsNote, kernels: Kernels) -> None:
    assert note.read() is Kernels.ALL
    note.write(kernels)
    assert note.read() is kernels
    assert note.path.stat().st_mode & 0o777 == 0o600
    assert KernelsNote(note.path, lambda: "A processor, build 2").read() is Kernels.ALL


def test_a_note_without_a_level_tells_that_not_everything_runs(
    note: KernelsNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    note.path.write_text("A processor, build 1\n")
    monkeypatch.setattr("models.tuning.kernels.can_hide_amx", lambda: True)
    assert note.read() is Kernels.WITHOUT_AMX
    monkeypatch.setattr("models.tuning.kernels.can_hide_amx", lambda: False)
    assert note.read() is Kernels.PLAIN


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"A processor, build 1, plain\n"])
def test_what_makes_no_sense_is_no_note(note: KernelsNote, content: bytes) -> None:
    note.path.write_bytes(content)
    assert note.read() is Kernels.ALL


@pytest.mark.parametrize("hidden", [True, False])
def test_every_chain_ends_with_plain_kernels(monkeypatch: pytest.MonkeyPatch, *, hidden: bool) -> None:
    monkeypatch.setattr("models.tuning.kernels.can_hide_amx", lambda: hidden)
    chain = [Kernels.ALL]
    while (weaker := chain[-1].weaker) is not None:
        chain.append(weaker)
    assert chain == (list(Kernels) if hidden else [Kernels.ALL, Kernels.PLAIN])


def test_the_processor_and_the_build_are_named() -> None:
    name, _, build = this_processor().rpartition(", llama-cpp-python ")
    assert name
    assert build[0].isdigit()
