"""Secret Services that go wrong, and what the keyring makes of them: run it in a D-Bus session of its own.

    dbus-run-session -- python -m tests.security.broken_secret_service FOLDER

Prints for each the reason why it cannot be used, and the seconds that took, as JSON.
"""

import json
import os
import subprocess
import sys

from jeepney import (
    DBusAddress,
    HeaderFields,
    MessageType,
    new_error,
    new_method_return,
    new_signal,
)
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection
from jeepney.low_level import Message

from memory.vault.system_keyring import SystemKeyring
from tests.security.secret_service import timed

LIMIT_S, PATIENT_S = 1.5, 60.0
"""For what never answers, and for the rest: a busy machine is no trouble of theirs."""
NAME = "org.freedesktop.secrets"
PROMPT = "/org/freedesktop/secrets/prompt/1"
SILENT = ("keeps waiting", "says nothing")
WAYS = (*SILENT, "dismisses", "dies", "says nonsense")


def answer(way: str, message: Message) -> list[Message]:
    """What a locked collection answers, whose person is asked to unlock it."""
    match message.header.fields[HeaderFields.member]:
        case "Get" if message.body[1] == "Locked":
            if way == "dies":
                os._exit(1)
            if way == "says nothing":
                return []
            return [new_method_return(message, "v", (("b", True),))]
        case "Get" if way == "says nonsense":
            return [new_method_return(message, "s", ("login",))]
        case "Get":
            return [new_method_return(message, "v", (("s", "login"),))]
        case "Unlock":
            return [new_method_return(message, "aoo", ([], PROMPT))]
        case "Prompt":
            prompt = DBusAddress(PROMPT, interface="org.freedesktop.Secret.Prompt")
            completed = new_signal(prompt, "Completed", "bv", (True, ("ao", [])))
            return [new_method_return(message), *([completed] if way == "dismisses" else [])]
    return [new_error(message, "org.freedesktop.DBus.Error.NotSupported")]


def serve(way: str) -> None:
    """Owns the name on the bus and answers for ever."""
    with open_dbus_connection(bus="SESSION") as connection:
        connection.send_and_get_reply(message_bus.RequestName(NAME))
        print("ready", flush=True)
        while True:
            message = connection.receive()
            if message.header.message_type is MessageType.method_call:
                for each in answer(way, message):
                    connection.send(each)


def asked(way: str = "") -> tuple[str, float]:
    limit = LIMIT_S if way in SILENT else PATIENT_S
    return timed(lambda: SystemKeyring(limit_s=limit).fetch("entry"))


def main() -> dict[str, tuple[str, float]]:
    told = {"is not there": asked()}
    for way in WAYS:
        service = subprocess.Popen([sys.executable, "-m", __spec__.name, way], stdout=subprocess.PIPE)
        with service:
            assert service.stdout is not None
            assert service.stdout.readline() == b"ready\n"
            told[way] = asked(way)
            service.kill()
    os.environ["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nowhere/bus"
    told["has no bus"] = asked()
    return told


if __name__ == "__main__":
    if sys.argv[1] in WAYS:
        serve(sys.argv[1])
    else:
        print(json.dumps(main()))
