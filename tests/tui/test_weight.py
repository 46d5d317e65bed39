"""What the first screen needs, and how much of a long conversation is made."""

import subprocess
import sys

HEAVY = (
    "argon2 cryptography gguf huggingface_hub keyring lancedb llama_cpp markdown_it numpy psutil pydantic "
    "pygments sqlcipher3 tiktoken tomlkit zxcvbn"
)


def test_the_first_screen_loads_nothing_heavy() -> None:
    code = (
        "import sys, atlas_desktop.tui.launch, atlas_desktop.tui.app, atlas_desktop.tui.setup.unlock;"
        f"print([m for m in {HEAVY!r}.split() if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
