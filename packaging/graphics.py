"""Installs llama.cpp for the graphics card of this computer, or for its processor.

`graphics.py REQUEST LOCK`: REQUEST is auto, cuda, rocm, vulkan, metal or off (`make run GPU=…`), LOCK is
requirements.lock. Prints what it does and why. Where compiling for the card fails, llama.cpp is compiled for
the processor. Runs with the Python of the environment that it installs into, and needs only the standard
library.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

REQUESTS = ("auto", "cuda", "rocm", "vulkan", "metal", "off")
NAMES = {"cuda": "CUDA", "rocm": "ROCm", "vulkan": "Vulkan", "metal": "Metal"}
OPTIONS = {
    "cuda": "-DGGML_CUDA=ON",
    "rocm": "-DGGML_HIP=ON",
    "vulkan": "-DGGML_VULKAN=ON",
    "metal": "-DGGML_METAL=ON",
}
PACKAGE = "llama-cpp-python"


@dataclass(frozen=True)
class Computer:
    """Where to look: the system, its folders of programs, and the root of its files."""

    system: str
    machine: str
    path: str
    root: Path = Path("/")

    def program(self, *names: str, also: tuple[str, ...] = ()) -> str | None:
        """The first of these programs on the path or in the folders `also` (patterns below the root)."""
        folders = [str(one) for pattern in also for one in sorted(self.root.glob(pattern), reverse=True)]
        search = os.pathsep.join([self.path, *folders])
        return next((found for name in names if (found := shutil.which(name, path=search))), None)

    def has(self, *patterns: str) -> bool:
        return any(True for pattern in patterns for _ in self.root.glob(pattern))


@dataclass(frozen=True)
class Choice:
    """What llama.cpp is compiled for: `kind` is a key of `NAMES` or `off`, `why` a sentence."""

    kind: str
    why: str

    @property
    def options(self) -> str:
        return OPTIONS.get(self.kind, "")


def this_computer() -> Computer:
    return Computer(platform.system(), platform.machine(), os.environ.get("PATH", ""))


_DEVICES = {
    "cuda": ("proc/driver/nvidia/gpus/*", "dev/nvidia0", "dev/dxg"),
    "rocm": ("dev/kfd",),
    "vulkan": ("dev/dri/renderD*", "dev/dxg"),
}
_NO_CARD = {
    "cuda": "no NVIDIA card with a driver was found",
    "rocm": "no AMD card with ROCm's driver (/dev/kfd) was found",
    "vulkan": "no graphics device (/dev/dri/renderD*) was found",
}
# On systems other than Linux, a program that comes with the driver shows that there is a card.
_DRIVERS = {"cuda": "nvidia-smi", "vulkan": "vulkaninfo"}
_HEADERS = ("usr/include/vulkan/vulkan.h", "usr/local/include/vulkan/vulkan.h")


def no_card(kind: str, computer: Computer) -> str:
    """Why this kind of graphics cannot be used, whatever is installed; empty if it can."""
    if kind == "metal":
        if computer.system != "Darwin":
            return "Metal only exists on macOS"
        return "" if computer.machine == "arm64" else "Metal is only used on Apple silicon"
    if computer.system == "Darwin":
        return f"{NAMES[kind]} is not used on macOS"
    if computer.system == "Linux":
        return "" if computer.has(*_DEVICES[kind]) else _NO_CARD[kind]
    if kind not in _DRIVERS:
        return f"{NAMES[kind]} is only used on Linux"
    return "" if computer.program(_DRIVERS[kind]) else f"{_DRIVERS[kind]} was not found"


def no_tools(kind: str, computer: Computer) -> list[str]:
    """What is missing to compile for this kind of graphics."""
    missing = []
    if kind == "cuda" and computer.program("nvcc", also=("usr/local/cuda*/bin", "opt/cuda/bin")) is None:
        missing.append("the CUDA compiler (nvcc) is not installed")
    if kind == "rocm" and computer.program("hipcc", "hipconfig", also=("opt/rocm*/bin",)) is None:
        missing.append("the ROCm compiler (hipcc) is not installed")
    if kind == "vulkan":
        if computer.program("glslc") is None:
            missing.append("the Vulkan shader compiler (glslc) is not installed")
        if computer.system == "Linux" and not computer.has(*_HEADERS):
            missing.append("the Vulkan headers (libvulkan-dev) are not installed")
    return missing


def choose(request: str, computer: Computer) -> Choice:
    """Decides what to compile for.

    A kind that was asked for by name is refused with a reason where something is missing.
    """
    if request == "off":
        return Choice("off", "you asked for it (GPU=off)")
    wanted = tuple(NAMES) if request == "auto" else (request,)
    without_tools = []
    for kind in wanted:
        card, tools = no_card(kind, computer), no_tools(kind, computer)
        if not card and not tools:
            return Choice(kind, "found on this computer" if request == "auto" else f"GPU={request}")
        if request != "auto":
            reasons = "; ".join([card, *tools] if card else tools)
            return Choice("off", f"{NAMES[request]} cannot be used: {reasons}")
        if not card:
            without_tools.append(f"{NAMES[kind]}: {'; '.join(tools)}")
    # A card whose compiler is missing is worth a word; kinds without a card are not.
    return Choice("off", "; ".join(without_tools) or "no graphics card that llama.cpp can use was found")


def entry_of(lock: Path) -> str:
    """The lines of the lock file for llama-cpp-python, with its hashes."""
    kept, lines = False, []
    for line in lock.read_text("utf-8").splitlines():
        if line and not line.startswith((" ", "#")):
            kept = line.startswith(f"{PACKAGE}==")
        if kept:
            lines.append(line)
    if not lines:
        raise SystemExit(f"{lock} does not hold {PACKAGE}")
    return "\n".join(lines) + "\n"


def install(choice: Choice, lock: Path, *, again: bool) -> bool:
    """Compiles and installs llama-cpp-python; returns whether that worked.

    pip's cache does not know for which card a wheel was compiled, so only wheels for the processor use it.
    """
    with tempfile.TemporaryDirectory() as folder:
        one = Path(folder) / "llama.lock"
        one.write_text(entry_of(lock), "utf-8")
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        command += ["--require-hashes", "--no-build-isolation", "--no-deps", "--requirement", str(one)]
        environment = dict(os.environ)
        options = choice.options
        if platform.system() == "Darwin" and choice.kind == "off":
            # On macOS llama.cpp uses Metal unless it is told otherwise.
            options = "-DGGML_METAL=OFF"
        if options:
            command.append("--no-cache-dir")
            environment["CMAKE_ARGS"] = f"{environment.get('CMAKE_ARGS', '')} {options}".strip()
        if again or options:
            command.append("--force-reinstall")
        return subprocess.run(command, env=environment, check=False).returncode == 0


def main(arguments: list[str]) -> int:
    if len(arguments) not in (2, 3) or arguments[0] not in REQUESTS:
        print(f"usage: graphics.py {'|'.join(REQUESTS)} LOCK [--again]", file=sys.stderr)
        return 2
    request, lock, again = arguments[0], Path(arguments[1]), "--again" in arguments
    choice = choose(request, this_computer())
    name = NAMES.get(choice.kind)
    if name:
        print(f"llama.cpp is compiled for {name} ({choice.why}), which takes some minutes.", flush=True)
        if install(choice, lock, again=again):
            print(f"llama.cpp is installed for {name}. `atlas doctor` shows whether models run on the card.")
            return 0
        print(
            f"Compiling for {name} failed (see above), so llama.cpp is compiled for the processor.",
            flush=True,
        )
        choice, again = Choice("off", f"compiling for {name} failed"), False
    print(f"llama.cpp is compiled for the processor: {choice.why}.", flush=True)
    return 0 if install(choice, lock, again=again) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
