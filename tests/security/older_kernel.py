"""Starts a program as a kernel without Landlock, or without filters of system calls, would run it.

python -m tests.security.older_kernel landlock|seccomp|landlock+seccomp PROGRAM ARGUMENT…
"""

import os
import sys

from models.confinement import UNKNOWN, Refusal, refuse_calls

LACKING = {
    "landlock": Refusal(444, 444, answer=UNKNOWN),
    "seccomp": Refusal(317, 277, answer=UNKNOWN),
}

if __name__ == "__main__":
    _, lacking, *command = sys.argv
    if not refuse_calls([LACKING[name] for name in lacking.split("+")], 1 << 29):
        sys.exit("this kernel cannot be made to look older")
    os.execv(command[0], command)
