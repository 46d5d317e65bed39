"""A process that settles in as a model's worker does, then tries what it may not; prints what it could do."""

import ctypes
import fcntl
import json
import os
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from models import confinement
from models.confinement import begin_child
from models.worker.main import settle_in

LIBC = ctypes.CDLL(None, use_errno=True)
EMPTY = ctypes.create_string_buffer(b"")
PTRACE_ATTACH, CLONE_NEWUSER, AT_EMPTY_PATH = 16, 0x10000000, 0x1000
PAGE, PRIVATE = 4096, 0o1600


def could(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except OSError as error:
        return type(error).__name__
    return "done"


def c(name: str, *arguments: Any) -> int:
    """A function of the C library; raises as Python's own would."""
    result: int = getattr(LIBC, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def system_call(number: int, *arguments: int) -> int:
    return c("syscall", ctypes.c_long(number), *map(ctypes.c_long, arguments))


def fork() -> None:
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)


def run_from_memory() -> None:
    """A program that is in no file."""
    memory = os.memfd_create("program")
    os.write(memory, Path(sys.executable).read_bytes())
    os.execve(memory, ["program"], {})


def start_threads() -> None:
    thread = threading.Thread(target=time.sleep, args=(0,))
    thread.start()
    thread.join()


def own_signals(owner: int) -> None:
    """Lets the owner be sent signals for what happens at a pipe."""
    reader, writer = os.pipe()
    try:
        fcntl.fcntl(reader, fcntl.F_SETOWN, owner)
    finally:
        os.close(reader)
        os.close(writer)


def lawful() -> dict[str, Callable[[], object]]:
    return {
        "start threads": start_threads,
        "know its own limits": lambda: resource.getrlimit(resource.RLIMIT_AS),
        "signal itself": lambda: os.kill(os.getpid(), 0),
    }


def with_files(model: Path, opened: int, outside: Path) -> dict[str, Callable[[], object]]:
    folder, parent = model.parent, os.getppid()
    return {
        "read the model": model.read_bytes,
        "read beside the model": model.with_name("other").read_bytes,
        "read outside": outside.read_bytes,
        "list outside": lambda: list(outside.parent.iterdir()),
        "read through /proc": Path(f"/proc/self/root{outside}").read_bytes,
        "read the parent's environment": Path(f"/proc/{parent}/environ").read_bytes,
        "write the model": lambda: os.close(os.open(model, os.O_RDWR)),
        "write outside": lambda: os.close(os.open(outside, os.O_WRONLY)),
        "write in the folder": lambda: (folder / "new").write_bytes(b"x"),
        "make a nameless file": lambda: os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY)),
        "cut the model": lambda: os.truncate(model, 7),
        "remove what is beside": model.with_name("beside").unlink,
        "make a folder": (folder / "made").mkdir,
        "make a link": lambda: (folder / "link").symlink_to(model),
        "make a second name": lambda: (folder / "second").hardlink_to(model),
        "rename": lambda: model.rename(folder / "renamed"),
        "make a pipe with a name": lambda: os.mkfifo(folder / "pipe"),
        "change modes": lambda: model.chmod(0o644),
        "change modes of what is open": lambda: os.chmod(opened, 0o644),
        "change modes by the newest call": lambda: system_call(
            452, opened, ctypes.addressof(EMPTY), 0o644, AT_EMPTY_PATH
        ),
        "change the owner": lambda: os.chown(model, os.getuid(), os.getgid()),
        "change times": lambda: os.utime(model, (1, 1)),
        "set an attribute": lambda: os.setxattr(model, "user.word", b"x"),
        "remove an attribute": lambda: os.removexattr(model, "user.there"),
        "watch a folder": lambda: c("inotify_init1", 0),
    }


def with_sockets(port: int) -> dict[str, Callable[[], object]]:
    address = ("127.0.0.1", port)
    return {
        "connect": lambda: socket.create_connection(address),
        "send a datagram": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", address),
        "use a local socket": lambda: socket.socket(socket.AF_UNIX),
        "use a pair of sockets": socket.socketpair,
        "listen": lambda: socket.create_server(("127.0.0.1", 0)),
        "look up a name": lambda: socket.getaddrinfo("localhost", 80),
    }


def with_others() -> dict[str, Callable[[], object]]:
    parent = os.getppid()
    return {
        "fork": fork,
        "start a program": lambda: os.posix_spawn("/bin/true", ["true"], {}),
        "become a program": lambda: os.execv("/bin/true", ["true"]),
        "run a program from memory": run_from_memory,
        "share memory": lambda: c("shmget", 0, PAGE, PRIVATE),
        "share a semaphore": lambda: c("semget", 0, 1, PRIVATE),
        "share a queue": lambda: c("msgget", 0, PRIVATE),
        "slow the parent down": lambda: os.setpriority(os.PRIO_PROCESS, parent, 19),
        "bind the parent to a processor": lambda: os.sched_setaffinity(parent, {0}),
        "limit the parent": lambda: resource.prlimit(parent, resource.RLIMIT_CORE, (0, 0)),
        "signal the parent": lambda: os.kill(parent, 0),
        "have the parent signalled": lambda: own_signals(parent),
        "hold the parent": lambda: os.pidfd_open(parent),
        "trace the parent": lambda: c("ptrace", PTRACE_ATTACH, parent, None, None),
        "outlive the parent": lambda: c("prctl", confinement.PR_SET_PDEATHSIG, 0, 0, 0, 0),
        "show its memory": lambda: c("prctl", confinement.PR_SET_DUMPABLE, 1, 0, 0, 0),
        "enter a name space": lambda: c("unshare", CLONE_NEWUSER),
        "use calls that came later": lambda: system_call(470),
    }


def main() -> None:
    model, outside = map(Path, sys.argv[1:3])
    with model.open("rb") as file:
        os.setxattr(model, "user.there", b"x")
        begin_child()
        settle_in([model], writable=[Path(given) for given in sys.argv[4:]])
        attempts = {
            **lawful(),
            **with_files(model, file.fileno(), outside),
            **with_sockets(int(sys.argv[3])),
            **with_others(),
        }
        print(json.dumps({name: could(attempt) for name, attempt in attempts.items()}))


main()
