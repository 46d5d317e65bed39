"""Runs the installed program where nothing more can be written, in a mount namespace of its own.

Its standard input gives the kind (`full`, `read-only`), the program, a vault's folder of rooms, a passphrase
file and a folder to mount in, one a line. It prints JSON: what commands came to, and what a chat said.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

SESSION = (
    '{"id": "s", "title": "Birds", "created_at": "2025-01-01T00:00:00Z", "messages": [{"id": "m",'
    ' "role": "user", "content": "A cormorant dives.", "created_at": "2025-01-01T00:00:00Z"}]}\n'
)
COMMANDS = (
    ("sessions", "list"),
    ("sessions", "show", "last"),
    ("sessions", "search", "cormorant"),
    ("memory", "recall", "cormorant"),
    ("export", "--all", "--format", "txt"),
    ("memory", "add", "Anything"),
)


def main(kind: str, program: str, rooms: str, secret: str, folder: Path) -> dict[str, object]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(folder)], check=True)
    home = folder / "home"
    shutil.copytree(rooms, home / "rooms")
    environment = {**os.environ, "ATLAS_HOME": str(home), "ATLAS_JOBS_ENABLED": "true"}

    def command(*arguments: str) -> list[str]:
        return [program, *arguments, "--passphrase-file", secret]

    (folder / "s.jsonl").write_text(SESSION)
    subprocess.run(
        command("import", str(folder / "s.jsonl")), env=environment, check=True, capture_output=True
    )
    ballast = folder / "ballast"
    if kind == "read-only":
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    else:
        fill(ballast)
    came: dict[str, list[object]] = {}
    for arguments in COMMANDS:
        done = subprocess.run(
            command(*arguments), env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        told = "room is read-only" in done.stderr
        came[" ".join(arguments[:2])] = [done.returncode, "cormorant" in done.stdout, told]
    talk = subprocess.Popen(
        command("chat", "--jsonl"), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert talk.stdin is not None
    assert talk.stdout is not None
    said = []
    for line in ("Is there space?", "And now?"):
        talk.stdin.write(line + "\n")
        talk.stdin.flush()
        while (event := json.loads(talk.stdout.readline()))["type"] != "error":
            said.append(event["type"])
        said.append(event["error"]["code"])
        if kind == "read-only":
            subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)
        else:
            ballast.unlink(missing_ok=True)
    talk.stdin.close()
    talk.wait(60)
    return {"came": came, "said": said, "status": talk.returncode}


def fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1024))
        except OSError:
            return


if __name__ == "__main__":
    kind, program, rooms, secret, folder = sys.stdin.read().splitlines()
    print(json.dumps(main(kind, program, rooms, secret, Path(folder))))
