"""Sockets on this computer: loopback addresses and Unix sockets, and the names they are asked by."""

import ipaddress
import os
import socket
import stat
from collections.abc import Collection
from pathlib import Path

from atlas_desktop.errors import DoorRefused
from atlas_desktop.locale import _
from atlas_desktop.paths import PRIVATE_FILE


def listen_on(host: str, port: int) -> socket.socket:
    """Returns a listening socket on a loopback address. Raises `DoorRefused`."""
    address = "127.0.0.1" if host.lower() == "localhost" else host
    try:
        loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise DoorRefused("address", 400, host=host)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name != "nt":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((address, port))
        found.listen(1_024)
    except (OSError, OverflowError) as error:
        found.close()
        why = getattr(error, "strerror", None) or _("the port is out of range")
        raise DoorRefused("port", 400, where=f"{host}:{port}", why=why) from None
    return found


def listen_at(path: Path) -> socket.socket:
    """Returns a listening Unix socket that only this user can connect to. Replaces a dead one. Raises
    `DoorRefused`."""
    if not hasattr(socket, "AF_UNIX"):
        raise DoorRefused("port", 400, where=str(path), why=_("this system has no Unix sockets"))
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        remove_dead(path)
        found.bind(str(path))
        path.chmod(PRIVATE_FILE)
        found.listen(1_024)
    except OSError as error:
        found.close()
        why = error.strerror or _("the path is too long")
        raise DoorRefused("port", 400, where=str(path), why=why) from None
    finally:
        os.umask(before)
    return found


def remove_dead(path: Path) -> None:
    """Removes a socket that nobody listens on. Raises OSError for a live one, and for any other file."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise FileExistsError(17, _("there is another file with this name"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
    raise FileExistsError(17, _("another program listens there"))


def names_of(listening: socket.socket) -> Collection[str] | None:
    """Returns the allowed values of the Host header; None for a Unix socket, where none matters."""
    if listening.family not in (socket.AF_INET, socket.AF_INET6):
        return None
    address, port = listening.getsockname()[:2]
    shown = f"[{address}]" if ":" in address else address
    hosts = {shown, "localhost", "127.0.0.1", "[::1]"}
    return frozenset({f"{host}:{port}" for host in hosts} | (hosts if port == 80 else set()))


def url_of(listening: socket.socket) -> str:
    """Returns the address, without a path."""
    if listening.family not in (socket.AF_INET, socket.AF_INET6):
        return f"unix:{listening.getsockname()}"
    address, port = listening.getsockname()[:2]
    return f"http://{f'[{address}]' if ':' in address else address}:{port}"
