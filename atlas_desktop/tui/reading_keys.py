"""What comes from the terminal, and where it is."""

import codecs
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.driver import Driver


def forgiving(driver: "type[Driver]") -> "type[Driver]":
    """Textual's own driver, which reads bytes that are no UTF-8 (a paste from an old file, a terminal with
    another encoding) as a sign each. Otherwise the program ends with the first of them.

    It draws to standard error; where that goes into a file (`atlas 2>errors.txt`), to the terminal all the
    same."""
    module: Any = sys.modules[driver.__module__]
    if hasattr(module, "getincrementaldecoder"):
        module.getincrementaldecoder = _decoder
    return _on_standard_output(driver) if _only_standard_output() else driver


def _only_standard_output() -> bool:
    out, errors = sys.__stdout__, sys.__stderr__
    return out is not None and out.isatty() and (errors is None or not errors.isatty())


def _on_standard_output(driver: "type[Driver]") -> "type[Driver]":
    def begin(self: Any, *args: Any, **options: Any) -> None:
        driver.__init__(self, *args, **options)
        self._file = sys.__stdout__

    return type(driver.__name__, (driver,), {"__init__": begin, "__module__": driver.__module__})


def _decoder(encoding: str) -> "partial[codecs.IncrementalDecoder]":
    return partial(codecs.getincrementaldecoder(encoding), errors="replace")
