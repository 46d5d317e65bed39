"""An attempt to find any trace of conversations that are not to leave one.

    python -m tests.security.attempt

It makes conversations with the installed `atlas` and its real model: one off the record, some that are kept,
one of them killed in mid-sentence, one that is moved to the private room; then it locks, and forgets them
all. Each says words that exist nowhere else. After each it searches, in every form that the scanner beside
it knows: the home, the temporary folders, logs and crash files; the bytes of the whole disk that they lie on,
free blocks and journal included; what every process was started with; and the memory of the program. It
prints what it looked at and what it found, and ends with status 1 if that is anything.

For the disk and for the memory it has to be root (it works on a small disk image of its own); otherwise it
looks at what it can and says what it left out. Nothing of the person's own home is touched; of the models in
it, links are made.
"""

import argparse
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil

from atlas_desktop.paths import Paths, find_home
from memory.entities import RoomKind
from tests.e2e.terminal import Terminal, ctrl
from tests.security.pages import ROOM, STATES, log_pages, pages
from tests.security.processes import memory_hits, memory_needles, told_hits
from tests.security.rows import counts_of, key_of, vectors_of
from tests.security.scanner import Needle, find, needles_of, scan, scan_written, vector_needles

DISK_MB = 96
SYSTEM = ("/tmp", "/var/tmp", "/dev/shm", "/var/log", "/var/crash", "/var/lib/systemd/coredump")
STEPS = ("off_the_record", "kept_and_killed", "private", "locked", "forgotten")
TELLING = (
    ("sessions", "list", "--json"),
    ("sessions", "search", "Vassdal", "--json"),
    ("memory", "recall", "Vassdal heron", "--json"),
    ("memory", "list", "--json"),
    ("export", "--all", "--format", "jsonl"),
    ("jobs", "list", "--json"),
    ("vault", "status", "--json"),
)
_INSIDE = "ATLAS_ATTEMPT_INSIDE"


def canary(name: str) -> str:
    """Words that nobody has ever written, of which a model has something to say."""
    return f"{name} {secrets.token_hex(3)} Vassdal {secrets.token_hex(4)} heron"


@dataclass(frozen=True, slots=True)
class Looked:
    """One search: when, where, how much was looked at, and what was found."""

    when: str
    where: str
    amount: str
    hits: tuple[str, ...]


@dataclass
class Ground:
    """Where the program lives in this attempt: a folder, and the image of the disk that it lies on."""

    folder: Path
    image: Path | None
    outside: Path
    begun: float = field(default_factory=time.time)

    @property
    def paths(self) -> Paths:
        return Paths(self.folder / "home")

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"


@contextmanager
def ground() -> Iterator[Ground]:
    """A disk of its own for root, else a folder. `outside` is for what the attacker keeps for himself."""
    base = Path(tempfile.mkdtemp(prefix="attempt-"))
    try:
        folder, image = base / "disk", None
        folder.mkdir()
        outside = base / "outside"
        outside.mkdir()
        if os.environ.get(_INSIDE):
            image = base / "disk.img"
            with image.open("wb") as file:
                file.truncate(DISK_MB * 1024 * 1024)
            subprocess.run(["mkfs.ext4", "-q", image], check=True)
            subprocess.run(["mount", "-o", "loop,nodiscard", image, folder], check=True)
        try:
            (folder / "tmp").mkdir(mode=0o700)
            yield Ground(folder, image, outside)
        finally:
            if image is not None:
                subprocess.run(["umount", folder], check=True)
    finally:
        shutil.rmtree(base, ignore_errors=True)


class Attempt:
    """The conversations, and the searches after each."""

    def __init__(self, place: Ground, report: Callable[[Looked], None], spared: Sequence[Path] = ()) -> None:
        """`spared` are folders that others write to in the meantime, and that are not looked at."""
        self._place = place
        self._spared = (place.outside.parent, *spared)
        self._report = report
        self._passphrase = f"{secrets.token_hex(5)} small herons {secrets.token_hex(5)}"
        self._texts = {"passphrase": self._passphrase}
        self._keys: dict[str, bytes] = {}
        self._vectors: list[Needle] = []
        paths = place.paths
        paths.ensure()
        for model in Paths(find_home()).models.iterdir():
            if model.suffix == ".gguf":
                (paths.models / model.name).symlink_to(model)
            elif model.is_file():
                shutil.copy(model, paths.models)

    def run(self, steps: Sequence[str]) -> None:
        """Raises `AssertionError` when the program does not do what is asked of it."""
        self._control()
        self._atlas("vault", "create", "--json")
        self._key = key_of(self._place.paths, self._passphrase)
        self._keys["key"] = self._key.data
        for name in steps:
            getattr(self, name)()

    # --- the program -------------------------------------------------------------------------------

    def _environment(self) -> dict[str, str]:
        folder = str(self._place.temporary)
        home = str(self._place.paths.home)
        return {**os.environ, "ATLAS_HOME": home, "TMPDIR": folder, "TEMP": folder, "TMP": folder}

    def _command(self, *args: str) -> list[str]:
        return [str(Path(sys.executable).with_name("atlas")), *args]

    @contextmanager
    def _started(self, *args: str) -> Iterator[tuple[subprocess.Popen[str], IO[str], IO[str]]]:
        """The program with the passphrase in a pipe: it is in no file and in no argument."""
        reader, writer = os.pipe()
        os.write(writer, f"{self._passphrase}\n".encode())
        os.close(writer)
        with subprocess.Popen(
            self._command(*args, "--passphrase-fd", str(reader)),
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=(reader,),
            cwd=self._place.folder,
        ) as child:
            os.close(reader)
            assert child.stdin is not None
            assert child.stdout is not None
            yield child, child.stdin, child.stdout

    def _atlas(self, *args: str) -> Any:
        with self._started(*args) as (child, _, _):
            out, _ = child.communicate(timeout=240)
        assert child.returncode == 0, f"atlas {args[0]} ended with {child.returncode}"
        return json.loads(out)

    def _canary(self, name: str) -> str:
        self._texts[name] = canary(name)
        return self._texts[name]

    # --- searching ---------------------------------------------------------------------------------

    def _needles(self) -> list[Needle]:
        return [*needles_of(self._texts, self._keys), *self._vectors]

    def _look(self, when: str) -> None:
        """Everywhere but in the memory of processes."""
        place, needles = self._place, self._needles()
        inside = scan([place.folder], needles)
        self._tell(when, "home, temporary folder", inside.files, inside.bytes, inside.hits)
        roots = [Path(root) for root in (*SYSTEM, tempfile.gettempdir())]
        around = scan(dict.fromkeys(roots), needles, since=place.begun, but=self._spared)
        self._tell(when, "system's temporary folders, logs", around.files, around.bytes, around.hits)
        if place.image is not None:
            os.sync()
            raw = scan_written(place.image, needles)
            self._tell(when, "the whole disk, free blocks too", 0, raw.bytes, raw.hits)
        size, told = told_hits(needles)
        self._tell(when, "arguments, environments", 0, size, sorted(told))

    def _tell(self, when: str, where: str, files: int, size: int, hits: Sequence[object]) -> None:
        amount = f"{size / 1e6:,.1f} MB" + (f" in {files:,} files" if files else "")
        self._report(Looked(when, where, amount, tuple(map(str, hits))))

    def _control(self) -> None:
        """Shows that the search would find a file that was there for a moment."""
        text = canary("control")
        planted = self._place.temporary / "planted"
        planted.write_text(text)
        assert scan([self._place.folder], needles_of({"control": text})).hits
        os.sync()
        planted.unlink()
        os.sync()
        if self._place.image is not None:
            assert scan_written(self._place.image, needles_of({"control": text})).hits

    # --- the conversations -------------------------------------------------------------------------

    def off_the_record(self) -> None:
        before = counts_of(self._place.paths, self._key)
        with self._started("chat", "--memory", "off", "--jsonl", "--max-tokens", "24") as (_, say, hear):
            say.write(f"Do you know {self._canary('off-the-record')}?\n")
            say.flush()
            _reply(hear)
            self._look("off the record, while it is open")
            say.write(f"And {self._canary('second-off')}?\n")
            say.flush()
            _reply(hear)
        self._look("off the record, after it")
        after = counts_of(self._place.paths, self._key)
        changed = [table for table, rows in after.items() if rows != before.get(table)]
        rows = f"{sum(after.values())} rows in {len(after)} tables"
        self._report(Looked("off the record, after it", "rows of every table", rows, tuple(changed)))

    def kept_and_killed(self) -> None:
        self._import()
        with self._started("chat", "--jsonl") as (child, say, hear):
            say.write(f"What is {self._canary('kept-message')}?\n")
            say.flush()
            _reply(hear)
            self._look("kept, while it is open")
            say.write(f"Tell me a long story of {self._canary('killed-message')}.\n")
            say.flush()
            while json.loads(hear.readline())["type"] != "delta":
                pass
            for process in (*psutil.Process(child.pid).children(recursive=True), psutil.Process(child.pid)):
                process.kill()
        self._look("kept, after kill -9")
        self._atlas("jobs", "run", "--json")
        vectors = vectors_of(self._place.paths, self._key)
        assert vectors
        for number, vector in enumerate(vectors[-3:]):
            self._vectors += vector_needles(f"vector {number}", vector, numbers=len(vector) // 2)
        self._atlas("vault", "verify", "--json")
        self._look("kept, after it")

    def _import(self) -> None:
        """A session from elsewhere, whose title, tag and file name are canaries too."""
        line = {
            "id": "s",
            "title": self._canary("title"),
            "tags": [self._canary("tag")],
            "created_at": "2025-05-05T05:05:05Z",
            "messages": [{"id": "m", "role": "user", "content": self._canary("imported")}],
        }
        file = self._place.outside / f"{self._canary('file-name')}.jsonl"
        file.write_text(json.dumps(line) + "\n")
        self._atlas("import", str(file), "--json")

    def private(self) -> None:
        """Moved to the private room: all that can be had without that room's key."""
        with self._started("chat", "--jsonl", "--max-tokens", "24") as (_, say, hear):
            say.write(f"Do not tell of {self._canary('private-message')}.\n")
            say.flush()
            session = str(_reply(hear)["session"])
        self._atlas("sessions", "private", session, "--json")
        moved = needles_of({"private-message": self._texts["private-message"], "session": session})
        self._look("private, closed")
        self._pages("private, closed", RoomKind.OPEN, moved)
        size, told = 0, set[str]()
        for command in TELLING:
            with self._started(*command) as (child, _, _):
                out, _ = child.communicate(timeout=240)
            size += len(out)
            told |= {what for _, what in find(out.encode(), moved)}
        self._tell("private, closed", "what the program tells without it", 0, size, sorted(told))
        listed = self._atlas("sessions", "list", "--private", "--json")
        assert any(found["id"] == session for found in listed), "the private session is lost"

    def locked(self) -> None:
        """The interface in a terminal: what is in its memory before Ctrl+L, and after."""
        needles = [n for name, text in self._texts.items() for n in memory_needles(name, text)]
        needles += [n for name, data in self._keys.items() for n in memory_needles(name, data)]
        command = self._command("--continue", "last")
        with Terminal(command, self._environment(), columns=100, rows=30) as terminal:
            terminal.see("(?i)passphrase")
            terminal.settle()
            terminal.write(self._passphrase)
            terminal.press("enter")
            terminal.see("killed-message")
            terminal.settle()
            root = os.geteuid() == 0
            if root:
                _, before = memory_hits(terminal.pid, needles)
                assert any("killed-message" in what for what in before)
                assert any(what.startswith("key") for what in before)
            workers = psutil.Process(terminal.pid).children(recursive=True)
            terminal.press(ctrl("l"))
            terminal.see("Locked", timeout=30)
            terminal.see("Enter unlocks")
            psutil.wait_procs(workers, timeout=5)
            if root:
                size, after = memory_hits(terminal.pid, needles)
                self._tell("locked", "memory of the program", 0, size, sorted(after))
            left = [f"process {worker.pid}" for worker in workers if worker.is_running()]
            self._report(Looked("locked", "processes that held it", f"{len(workers)}", tuple(left)))
            self._look("locked")
        self._look("locked, after it")

    def forgotten(self) -> None:
        listed = self._atlas("sessions", "list", "--private", "--json")
        assert listed, "no session was listed"
        for found in listed:
            room = ["--private"] if found["room"] == "private" else []
            receipt = self._atlas("sessions", "delete", found["id"], *room, "--forever", "--yes", "--json")
            assert receipt["verified"], "a receipt was not verified"
        self._look("forgotten")
        words = {name: text for name, text in self._texts.items() if name != "passphrase"}
        for kind in (RoomKind.OPEN, RoomKind.PRIVATE):
            self._pages("forgotten", kind, [*needles_of(words), *self._vectors])

    def _pages(self, when: str, room: RoomKind, needles: Sequence[Needle]) -> None:
        """What is in a room and in the model's states beside it, for who has its key."""
        key = key_of(self._place.paths, self._passphrase, room)
        plain: list[bytes] = []
        for name, form in ((f"{room}.db", ROOM), (f"{room}-states.db", STATES)):
            path = self._place.paths.rooms / name
            plain += [*pages(path, key, form), *log_pages(path, key, form)]
        hits = sorted({what for page in plain for _, what in find(page, needles)})
        self._tell(when, f"every page of the {room} room, decrypted", 0, sum(map(len, plain)), hits)


def _reply(hear: IO[str]) -> Any:
    """The event that ends a turn."""
    for line in hear:
        event = json.loads(line)
        if event["type"] == "reply":
            return event
        assert event["type"] != "error", event
    raise AssertionError("the program ended before it had replied")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.security.attempt", description=__doc__)
    parser.add_argument(
        "--spare", metavar="FOLDER", action="append", default=[], type=Path, help="do not look into FOLDER"
    )
    parser.add_argument("--only", metavar="STEP", action="append", choices=STEPS, help="one of %(choices)s")
    given = parser.parse_args(arguments)
    alone = os.geteuid() == 0 if hasattr(os, "geteuid") else False
    able = alone and all(shutil.which(name) for name in ("unshare", "mount", "mkfs.ext4"))
    if able and not os.environ.get(_INSIDE):
        # Mounts of its own, which end with it however it ends.
        command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-m", __spec__.name]
        command += arguments
        return subprocess.run(command, env={**os.environ, _INSIDE: "1"}, check=False).returncode
    found: list[Looked] = []

    def report(looked: Looked) -> None:
        found.append(looked)
        print(
            f"{looked.when:34} {looked.where:44} {looked.amount:>26} {len(looked.hits):>5} hits", flush=True
        )
        for hit in looked.hits:
            print(f"    {hit}", flush=True)

    with ground() as place:
        if place.image is None:
            print("Not root: the raw disk and the memory of processes are not looked at.")
        Attempt(place, report, given.spare).run(given.only or STEPS)
    if "/" in Path("/proc/swaps").read_text():
        print("This computer swaps: what was swapped out was not looked at.")
    hits = sum(len(looked.hits) for looked in found)
    print(f"{len(found)} searches, {hits} hits")
    return 1 if hits else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
