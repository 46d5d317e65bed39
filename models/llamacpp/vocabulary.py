"""A model's vocabulary in llama.cpp: text to tokens and back."""

import ctypes
from typing import Any

import llama_cpp.llama_cpp as C  # noqa: N812 - the C interface


class Vocabulary:
    """The tokens of a model: text to ids, ids to bytes, and which ids steer the model."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self.size = int(C.llama_vocab_n_tokens(handle))
        self.kind = int(C.llama_vocab_type(handle))
        self._pieces: dict[int, bytes] = {}
        self._buffer = (C.llama_token * 4096)()

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Token ids of a text; control tokens in it are recognised only with `special`."""
        return self._tokenize(text, add=False, special=special)

    def framed(self, text: str) -> list[int]:
        """Token ids of a text inside the marks the model was trained with (BERT: [CLS], [SEP])."""
        return self._tokenize(text, add=True, special=False)

    def _tokenize(self, text: str, *, add: bool, special: bool) -> list[int]:
        data = text.encode("utf-8", "replace")
        size = len(self._buffer)
        count = C.llama_tokenize(self._handle, data, len(data), self._buffer, size, add, special)
        if count < 0:
            self._buffer = (C.llama_token * -count)()
            count = C.llama_tokenize(self._handle, data, len(data), self._buffer, -count, add, special)
        return list(self._buffer[:count])

    def piece(self, token: int) -> bytes:
        """The bytes of a token; empty for control tokens."""
        known = self._pieces.get(token)
        if known is None:
            known = self._pieces[token] = self._piece(token, special=False)
        return known

    def _piece(self, token: int, *, special: bool) -> bytes:
        buffer = ctypes.create_string_buffer(64)
        length = C.llama_token_to_piece(self._handle, token, buffer, 64, 0, special)
        if length < 0:
            buffer = ctypes.create_string_buffer(-length)
            length = C.llama_token_to_piece(self._handle, token, buffer, -length, 0, special)
        return buffer.raw[: max(0, length)]

    def written(self, token: int) -> str:
        """The text of a token, also of control tokens (`<|im_end|>`)."""
        return self._piece(token, special=True).decode("utf-8", "replace")

    def raw_text(self, token: int) -> bytes:
        """The token as the vocabulary stores it (byte-level BPE: in its printable alphabet)."""
        return C.llama_vocab_get_text(self._handle, token) or b""

    def attributes(self, token: int) -> int:
        return int(C.llama_vocab_get_attr(self._handle, token))

    def is_end(self, token: int) -> bool:
        """Whether a token ends generation: end of text, of turn, of message."""
        return bool(C.llama_vocab_is_eog(self._handle, token))

    def is_control(self, token: int) -> bool:
        return bool(C.llama_vocab_is_control(self._handle, token))

    @property
    def bos(self) -> int:
        """Token that begins a text, or -1."""
        return int(C.llama_vocab_bos(self._handle))

    @property
    def eos(self) -> int:
        return int(C.llama_vocab_eos(self._handle))

    @property
    def adds_bos(self) -> bool:
        return bool(C.llama_vocab_get_add_bos(self._handle))
