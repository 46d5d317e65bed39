"""What comes from the terminal."""

import codecs
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.driver import Driver


def forgiving(driver: "type[Driver]") -> "type[Driver]":
    """Textual's own driver, which reads bytes that are no UTF-8 (a paste from an old file, a terminal with
    another encoding) as a sign each. Otherwise the program ends with the first of them."""
    module: Any = sys.modules[driver.__module__]
    if hasattr(module, "getincrementaldecoder"):
        module.getincrementaldecoder = _decoder
    return driver


def _decoder(encoding: str) -> "partial[codecs.IncrementalDecoder]":
    return partial(codecs.getincrementaldecoder(encoding), errors="replace")
