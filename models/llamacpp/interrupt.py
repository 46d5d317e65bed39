"""A switch that llama.cpp looks at while it evaluates, without ever calling into Python.

llama.cpp asks its abort callback after every node of the graph: some five hundred times a token. Asked in
Python, each answer takes the interpreter's lock, which costs several percent of the speed and more while
another thread is busy. The callback is therefore the C library's `strlen`, on a buffer that is the empty
string while all is well (0, "go on") and one character long when the evaluation shall end (1, "abort").
"""

import ctypes
import sys
from typing import Any

import llama_cpp.llama_cpp as C  # noqa: N812 - the C interface

_LIBRARY = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)


class Interrupt:
    """Off at first. `set` and `clear` may be called from any thread."""

    def __init__(self) -> None:
        self._buffer = ctypes.create_string_buffer(2)
        self.callback = ctypes.cast(_LIBRARY.strlen, C.ggml_abort_callback)
        self.data = ctypes.cast(self._buffer, ctypes.c_void_p)

    def set(self) -> None:
        self._buffer[0] = b"\x01"

    def clear(self) -> None:
        self._buffer[0] = b"\x00"

    def attach(self, context: Any) -> None:
        """Lets it end evaluations of a llama.cpp context. It must live as long as the context."""
        C.llama_set_abort_callback(context, self.callback, self.data)
