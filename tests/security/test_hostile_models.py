"""Model files that are damaged or lie: found, taken in and loaded, they are refused in words and cost at most
the process that loads them."""

import asyncio
import random
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from atlas_desktop.error_table import explain
from models.errors import ModelsError, WorkerCrashed
from models.library.catalog import Catalog
from models.library.gguf import read_header
from models.library.installed import ModelLibrary, discover
from models.worker.client import HostSpec, Supervisor
from tests.e2e.conftest import spec  # noqa: F401 - a fixture
from tests.security.figures import Figures
from tests.unit.models.gguf_files import write_gguf

MOST_MEMORY = 16 << 20
HEADER = 1_785_664
"""How long that of the small chat model is."""
EXTREMES = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63, (1 << 63) - 1, (1 << 64) - 1)


def mutated(sound: bytes, chance: random.Random) -> bytes:
    """One to eight changes of a header: flipped bits, extreme numbers, bytes that came or went."""
    content = bytearray(sound)
    for _ in range(chance.choice((1, 1, 2, 8))):
        at = _place(len(content), chance)
        match chance.randrange(5):
            case 0:
                content[at] ^= 1 << chance.randrange(8)
            case 1:
                content[at : at + 8] = chance.choice(EXTREMES).to_bytes(8, "little")
            case 2:
                content[at : at + 4] = (chance.choice(EXTREMES) & 0xFFFFFFFF).to_bytes(4, "little")
            case 3:
                del content[at : at + chance.randrange(1, 40)]
            case 4:
                content[at:at] = content[at : at + chance.randrange(1, 40)]
    return bytes(content)


def _place(length: int, chance: random.Random) -> int:
    """Mostly near the beginning, where the counts are, or near the end, where the tensors are described."""
    first, last = chance.choice(((0, 2_000), (length - 20_000, length), (0, length)))
    return chance.randrange(max(first, 0), min(last, length))


def mutations(sound: bytes, count: int) -> Iterator[bytes]:
    chance = random.Random(f"{len(sound)} {count}")
    return (mutated(sound, chance) for _ in range(count))


def assert_told(error: ModelsError) -> None:
    words = explain(error)
    assert words.code != "unexpected"
    assert words.next_step


def assert_all_told(sound: bytes, file: Path, count: int) -> None:
    """None is more than an error, or takes much memory."""
    tracemalloc.start()
    for content in mutations(sound, count):
        file.write_bytes(content)
        try:
            header = read_header(file)
        except ModelsError as error:
            assert_told(error)
        else:
            assert header.size <= len(content)
    assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
    tracemalloc.stop()


def test_no_damaged_header_is_more_than_an_error(tmp_path: Path, figures: Figures) -> None:
    sound = write_gguf(tmp_path / "sound.gguf").read_bytes()
    assert_all_told(sound, tmp_path / "damaged.gguf", 1000)
    figures.add("damaged model headers", attempts=1000)


@pytest.mark.soak
def test_no_damaged_header_is_more_than_an_error_in_a_long_run(tmp_path: Path, figures: Figures) -> None:
    sound = write_gguf(tmp_path / "sound.gguf").read_bytes()
    assert_all_told(sound, tmp_path / "damaged.gguf", 100_000)
    figures.add("damaged model headers", attempts=100_000)


def test_folders_of_damaged_models_are_looked_through_and_taken_from(tmp_path: Path) -> None:
    """What another program keeps is found or left out; what lies in the own folder is taken in or left alone;
    what is given by name is imported or refused."""
    sound = write_gguf(tmp_path / "sound.gguf").read_bytes()
    theirs, ours = tmp_path / ".lmstudio" / "models", tmp_path / "models"
    for folder in (theirs, ours):
        folder.mkdir(parents=True)
        for number, content in enumerate(mutations(sound, 60)):
            (folder / f"{number}.gguf").write_bytes(content)
    whole = {path.stem for path in theirs.iterdir() if _is_whole(path)}
    assert 0 < len(whole) < 60
    assert {model.name for model in discover(tmp_path)} == whole
    library = ModelLibrary(ours, Catalog(()))
    assert {model.id for model in library.installed()} == whole
    assert library.damaged() == ()
    imported = set()
    elsewhere = ModelLibrary(tmp_path / "elsewhere", Catalog(()))
    for path in theirs.iterdir():
        try:
            imported.add(elsewhere.import_file(path).id)
        except ModelsError as error:
            assert_told(error)
    assert imported == whole


def _is_whole(path: Path) -> bool:
    try:
        return read_header(path).split_count == 1
    except ModelsError:
        return False


async def load_all(spec: HostSpec, folder: Path, count: int) -> tuple[int, int]:  # noqa: F811
    """Loads a real model with a damaged header and weights of zeros `count` times. How often it was refused,
    and how often its process died of it."""
    model = spec.chat()[1]
    size = model.stat().st_size
    with model.open("rb") as file:
        sound = file.read(HEADER)
    path = folder / "damaged.gguf"
    path.touch()
    worker = Supervisor(replace(spec, context_length=256, embed=None))
    refused = died = 0
    for content in mutations(sound, count):
        with path.open("r+b") as file:
            file.truncate(0)
            file.write(content)
            file.truncate(size)
        try:
            async with asyncio.timeout(60):
                await worker.load(path, "chat")
        except ModelsError as error:
            refused, died = refused + 1, died + isinstance(error, WorkerCrashed)
            assert_told(error)
    await worker.close()
    return refused, died


@pytest.mark.real_model
async def test_a_damaged_model_costs_at_most_its_process(
    spec: HostSpec,  # noqa: F811
    tmp_path: Path,
    figures: Figures,
) -> None:
    refused, died = await load_all(spec, tmp_path, 20)
    assert refused > 5
    figures.add("damaged models loaded", attempts=20, refused=refused, died=died)


@pytest.mark.soak
@pytest.mark.real_model
async def test_a_damaged_model_costs_at_most_its_process_in_a_long_run(
    spec: HostSpec,  # noqa: F811
    tmp_path: Path,
    figures: Figures,
) -> None:
    refused, died = await load_all(spec, tmp_path, 3000)
    assert refused > 750
    figures.add("damaged models loaded", attempts=3000, refused=refused, died=died)
