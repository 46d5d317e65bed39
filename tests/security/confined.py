"""A process that settles in as a model's worker does, then tries what it may not; prints what it could do."""

import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from models.worker import settle_in


def could(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except OSError as error:
        return type(error).__name__
    return "done"


def main() -> None:
    model, outside, folder, port = sys.argv[1:5]
    settle_in([Path(model)], writable=[Path(given) for given in sys.argv[5:]])
    address = ("127.0.0.1", int(port))
    attempts: dict[str, Callable[[], object]] = {
        "read the model": lambda: Path(model).read_bytes(),
        "read beside the model": lambda: Path(model).with_name("other").read_bytes(),
        "read outside": lambda: Path(outside).read_bytes(),
        "list outside": lambda: list(Path(outside).parent.iterdir()),
        "read through /proc": lambda: Path(f"/proc/self/root{outside}").read_bytes(),
        "write the model": lambda: os.close(os.open(model, os.O_RDWR)),
        "write outside": lambda: os.close(os.open(outside, os.O_WRONLY)),
        "write in the folder": lambda: (Path(folder) / "new").write_bytes(b"x"),
        "connect": lambda: socket.create_connection(address),
        "send a datagram": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", address),
        "use a local socket": lambda: socket.socket(socket.AF_UNIX),
        "listen": lambda: socket.create_server(("127.0.0.1", 0)),
        "look up a name": lambda: socket.getaddrinfo("localhost", 80),
        "read the parent's environment": lambda: Path("/proc/1/environ").read_bytes(),
    }
    print(json.dumps({name: could(attempt) for name, attempt in attempts.items()}))


main()
