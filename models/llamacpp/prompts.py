"""Builds prompts as token lists: the template may steer the model, the text in it may not."""

from collections.abc import Sequence

from models.errors import TemplateFailed
from models.llamacpp.native import Model, Vocabulary
from models.llamacpp.templates import CHATML, ChatTemplate
from models.messages import Role, common_tokens
from models.worker.protocol import WireMessage

_PROBE = (Role.USER, Role.ASSISTANT)


class PromptBuilder:
    """Renders messages for one model; caches the tokens of the previous prompt's text."""

    def __init__(self, model: Model) -> None:
        self._vocab = model.vocab
        source = model.chat_template or CHATML
        vocab = model.vocab
        self._template = ChatTemplate(
            source,
            bos=vocab.written(vocab.bos) if vocab.bos >= 0 else "",
            eos=vocab.written(vocab.eos) if vocab.eos >= 0 else "",
        )
        self._steering = _steering_texts(vocab, source)
        self._known: dict[tuple[str, bool], list[int]] = {}

    def build(self, messages: Sequence[WireMessage]) -> list[int]:
        """Token ids of the whole prompt. Raises `TemplateFailed`.

        If the last message is a reply, the prompt ends with it and generation continues it.
        """
        if not messages:
            raise TemplateFailed("there is nothing to answer")
        *before, last = messages
        begun = last if before and last.role == Role.ASSISTANT else None
        answered = messages if begun is None else before
        used: dict[tuple[str, bool], list[int]] = {}
        prompt: list[int] = []
        for segment in self._template.segments([Role(m.role) for m in answered]):
            if segment.message is None:
                prompt += self._tokens(segment.text, used, special=True)
            elif self._may_use(stored := messages[segment.message].tokens):
                prompt += stored
            else:
                prompt += self._tokens(messages[segment.message].content, used, special=False)
        if begun is not None:
            usable = self._may_use(begun.tokens)
            prompt += begun.tokens if usable else self._tokens(begun.content, used, special=False)
        self._known = used
        if self._vocab.adds_bos and prompt[:1] != [self._vocab.bos]:
            prompt.insert(0, self._vocab.bos)
        return prompt

    def stable_prefix(self, messages: Sequence[WireMessage]) -> list[int]:
        """The tokens with which every prompt that continues these messages begins. Raises `TemplateFailed`.

        Only the template determines where they end, so two continuations are built and compared.
        """
        remembered = self._known
        answered = [WireMessage(Role.ASSISTANT, "1")] if messages and messages[-1].role == Role.USER else []
        first, second = (
            self.build(
                [*messages, *(WireMessage(m.role, word) for m in answered), WireMessage(Role.USER, word)]
            )
            for word in ("1", "2")
        )
        # Keeps the cached tokens of the prompt built before this, which is the chat's.
        self._known = {**self._known, **remembered}
        return first[: common_tokens(first, second)]

    def _may_use(self, tokens: Sequence[int]) -> bool:
        """Whether stored tokens exist, belong to this vocabulary and steer nothing."""
        size = self._vocab.size
        return bool(tokens) and not any(
            not 0 <= t < size or self._vocab.is_control(t) or self._vocab.is_end(t) for t in tokens
        )

    def plain(self, text: str) -> list[int]:
        """Tokens of text from users or documents, none of which steers the model.

        Control tokens are not recognised in it. Some model files mark them as ordinary words, however, so
        text that spells one out is cut inside it.
        """
        pieces = [text]
        for written in self._steering:
            if written in text:
                pieces = [part for piece in pieces for part in _cut_inside(piece, written)]
        return [token for piece in pieces for token in self._vocab.tokenize(piece, special=False)]

    def _tokens(self, text: str, used: dict[tuple[str, bool], list[int]], *, special: bool) -> list[int]:
        key = (text, special)
        tokens = used.get(key) or self._known.get(key)
        if tokens is None:
            tokens = self._vocab.tokenize(text, special=True) if special else self.plain(text)
        used[key] = tokens
        return tokens

    def shape(self) -> tuple[int, dict[str, int]]:
        """Token costs of the template: once per prompt, and per message of each role."""

        def cost(*roles: Role) -> int:
            return len(self.build([WireMessage(role, "") for role in roles]))

        one, two = cost(Role.USER), cost(*_PROBE, Role.USER)
        pair = two - one
        user = pair // 2
        base = one - user
        overhead = {Role.USER: user, Role.ASSISTANT: pair - user}
        try:
            overhead[Role.SYSTEM] = cost(Role.SYSTEM, Role.USER) - one
        except TemplateFailed:
            overhead[Role.SYSTEM] = 0
        return base, {str(role): tokens for role, tokens in overhead.items()}

    def only_appends(self) -> bool:
        """Whether a prompt with another turn begins with the whole previous prompt, including the reply."""
        texts = ["One", "Two", "Three", "Four", "Five"]
        roles = [*_PROBE, *_PROBE, Role.USER]
        turns = [WireMessage(role, text) for role, text in zip(roles, texts, strict=True)]
        before, after = self.build(turns[:3]), self.build(turns)
        said = before + self.plain(texts[3])
        return after[: len(said)] == said


def _steering_texts(vocab: Vocabulary, template: str) -> list[str]:
    """Texts of the tokens that steer the model but are marked as ordinary words in its file."""
    found = []
    for token in range(vocab.size):
        if vocab.is_control(token):
            continue
        raw = vocab.raw_text(token)
        named_in_template = raw.startswith((b"<", b"[")) and raw.endswith((b">", b"]")) and len(raw) > 3
        if vocab.is_end(token) or (named_in_template and raw.decode("utf-8", "replace") in template):
            found.append(vocab.written(token))
    return [text for text in found if len(text) > 1]


def _cut_inside(text: str, written: str) -> list[str]:
    """Splits a text so that no piece contains all of `written`."""
    parts = text.split(written)
    pieces = [parts[0] + written[0]]
    pieces += [written[1:] + part + written[0] for part in parts[1:-1]]
    pieces.append(written[1:] + parts[-1])
    return pieces if len(parts) > 1 else [text]
