"""Compares speculative replies with bare llama.cpp: `python -m benchmarks.speculation [--wide N]`.

The small model is made as slow as a large one without changing what it says: its layers get N times as many
hidden units, and the new ones are multiplied by zero. So every token costs what it costs a model of that
size. `--wide 1` measures the small model itself; `--layout` is how weights are stored.

One process writes the same replies in three ways, in turns: a loop over `llama_decode` and the sampler
(bare), the program's own loop without speculation (plain), and with it (ours). The prompt is read before;
what is measured is writing the reply.

`--draft` lets the small model itself guess where the conversation gives no guess. It is stored as Q4_0, so
that it is sometimes wrong; it agrees with the wide one more often than two models of a family usually do.

Answers that quote: the prompt has passages of this program's documentation. The small model cannot quote, so
the replies are given: own words (what the model says by itself), then two sentences of the passage, then own
words again. Every token is evaluated and sampled, and then exchanged for the given one, in all three ways.
Free talk is what the model says, and is compared token by token. Bars: at least 1.3 times as fast as bare for
answers that quote, .98 for free talk.
"""

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import llama_cpp.llama_cpp as C  # noqa: N812 - the C interface
import numpy as np
from gguf import GGUFReader, GGUFValueType, GGUFWriter

from atlas_desktop.settings.schema import ChatSettings
from benchmarks.talk import default_chat_model
from models.llamacpp import chat_runtime, jobs
from models.llamacpp.jobs import ContextRunner, Sampler
from models.llamacpp.native import Context, Interrupt, Vocabulary, start_backend
from models.llamacpp.speculation import BatchCosts, PromptLookup
from models.messages import ChatMessage, GenerationParams, Role
from models.tuning.kernels import KernelsNote, real_cores
from models.worker import protocol

QUOTING, TALKING = 1.3, 0.98
OWN_WORDS = 32
LAYOUTS = {"f16": 1, "q4_0": 2, "q8_0": 7, "q4_k_m": 15}
DOCS = Path(__file__).parents[1] / "docs"
_ASKED = "Which passage is about {heading}? Quote it, and explain it in your own words."
_SUBJECTS: tuple[str, ...] = (
    "the sea in winter",
    "learning to play chess",
    "a good breakfast",
    "city trains",
    "old clocks",
)
_SUBJECTS += ("growing tomatoes", "the moon", "writing letters", "a birthday party", "moving to another town")
_TALK = (
    "Tell me a short story about {subject}.",
    "Give me five ideas that have to do with {subject}.",
    "Write a friendly letter to a friend about {subject}.",
    "What should a beginner know about {subject}?",
    "What do you like about {subject}?",
    "Write a poem about {subject}.",
    "Explain {subject} to a child.",
    "What are the advantages and disadvantages of {subject}?",
    "Plan a weekend around {subject}.",
    "Invent a dialogue between two people who talk about {subject}.",
)


def widen(source: Path, target: Path, times: int) -> None:
    """Copies a GGUF file with `times` as many hidden units in its layers; the new ones contribute nothing."""
    read = GGUFReader(source)
    write = GGUFWriter(target, read.fields["general.architecture"].contents())
    for key, field in read.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        value: Any = field.contents()
        if key.endswith(".feed_forward_length"):
            value *= times
        inner = field.types[1] if field.types[0] == GGUFValueType.ARRAY else None
        write.add_key_value(key, value, field.types[0], sub_type=inner)
    for tensor in read.tensors:
        data = tensor.data
        if "ffn_gate" in tensor.name or "ffn_up" in tensor.name:
            data = np.tile(data, (times, 1))
        elif "ffn_down" in tensor.name:
            rows, width = data.shape
            data = np.concatenate([data, np.zeros((rows, width * (times - 1)), data.dtype)], 1)
        write.add_tensor(tensor.name, data, raw_dtype=tensor.tensor_type)
    write.write_header_to_file()
    write.write_kv_data_to_file()
    write.write_tensors_to_file()
    write.close()


def store_as(layout: str, source: Path, target: Path) -> None:
    params = C.llama_model_quantize_default_params()
    params.allow_requantize = True
    params.ftype = LAYOUTS[layout]
    params.nthread = real_cores()
    if C.llama_model_quantize(str(source).encode(), str(target).encode(), params) != 0:
        raise SystemExit(f"{source} could not be stored as {layout}")


@dataclass(frozen=True)
class Asked:
    """A prompt, and the sentences that the reply quotes."""

    messages: list[ChatMessage]
    quotation: str = ""


def quoting(count: int) -> Iterator[Asked]:
    """Prompts that ask for quotations, several in a row about the same passages."""
    system = ChatMessage(Role.SYSTEM, ChatSettings().system_prompt)
    made = 0
    for path in sorted(DOCS.glob("*.md")):
        sections = [one.partition("\n") for one in path.read_text("utf-8").split("\n## ")[1:]]
        texts = [(title.strip(), " ".join(text.split())[:700]) for title, _, text in sections]
        usable = [(title, text) for title, text in texts if len(text) > 300 and "|" not in text][:5]
        lines = [f"[{n}] {path.name}: {title}. {text}" for n, (title, text) in enumerate(usable, 1)]
        told = "Passages from the documents. Answer from them, and cite them by number, like [1]:\n"
        for title, text in usable:
            asked = told + "\n".join(lines) + "\n\n" + _ASKED.format(heading=title.lower())
            sentences = text.split(". ")[:-1]
            first = made % max(1, len(sentences) - 1)
            yield Asked(
                [system, ChatMessage(Role.USER, asked)], ". ".join(sentences[first : first + 2]) + "."
            )
            made += 1
            if made == count:
                return


def talking(count: int) -> Iterator[Asked]:
    system = ChatMessage(Role.SYSTEM, ChatSettings().system_prompt)
    for number in range(count):
        subject = _SUBJECTS[number // len(_TALK) % len(_SUBJECTS)]
        asked = _TALK[number % len(_TALK)].format(subject=subject)
        yield Asked([system, ChatMessage(Role.USER, asked)])


@dataclass(frozen=True)
class Written:
    tokens: tuple[int, ...]
    seconds: float
    drafted: int = 0
    accepted: int = 0


class Given(Sampler):
    """Samples as usual, then says what is given instead."""

    def __init__(self, vocab: Vocabulary, params: GenerationParams, *, tokens: Sequence[int]) -> None:
        super().__init__(vocab, params)
        self._tokens = iter([*tokens, vocab.eos])

    def sample(self, context: Context, at: int = -1) -> int:
        super().sample(context, at)
        return next(self._tokens)


class Ways:
    """The three ways to write a reply with one context, whose prompt has been read before."""

    def __init__(self, runtime: chat_runtime.ChatRuntime) -> None:
        self._runtime = runtime
        self._ours = runtime.chat
        chat = runtime.chat
        self._plain = ContextRunner(
            chat.model, chat.prompts, chat.context, chat.states, chat.batch, keeps=False
        )
        self._ours.keeps = False

    def prompt(self, messages: list[ChatMessage]) -> list[int]:
        return self._runtime.prompts.build(protocol.wire_messages(messages))

    def given(self, prompt: list[int], quotation: str, params: GenerationParams) -> list[int]:
        """The tokens of a reply: the model's own words around the quotation."""
        vocab = self._ours.model.vocab
        own = list(self.plain(prompt, replace(params, max_tokens=OWN_WORDS)).tokens)
        quoted = vocab.tokenize(f' The passage says: "{quotation}" [1]', special=False)
        return [*own[: OWN_WORDS // 2], *quoted, *own[OWN_WORDS // 2 :]]

    def read(self, prompt: list[int]) -> None:
        self._run(self._plain, prompt, GenerationParams(max_tokens=1))

    def plain(self, prompt: list[int], params: GenerationParams) -> Written:
        return self._run(self._plain, prompt, params)

    def ours(self, prompt: list[int], params: GenerationParams) -> Written:
        return self._run(self._ours, prompt, params)

    def _run(self, runner: ContextRunner, prompt: list[int], params: GenerationParams) -> Written:
        answers: list[protocol.AnyAnswer] = []
        request = protocol.Generate(1, "chat", [], protocol.wire_params(params))
        began = time.perf_counter()
        for _ in runner.generate(request, prompt, began, answers.append, lambda: False):
            pass
        took = time.perf_counter() - began
        done = answers[-1]
        if not isinstance(done, protocol.Done):
            raise SystemExit(f"{type(done).__name__} instead of a reply")
        return Written(tuple(done.tokens), took, done.drafted_tokens, done.accepted_tokens)

    def bare(self, prompt: list[int], params: GenerationParams) -> Written:
        context, vocab = self._ours.context, self._ours.model.vocab
        C.llama_memory_seq_rm(C.llama_get_memory(context.handle), 0, len(prompt) - 1, -1)
        said: list[int] = []
        began = time.perf_counter()
        sampler, token = jobs.Sampler(vocab, params), prompt[-1]
        while len(said) < params.max_tokens:
            array = (C.llama_token * 1)(token)
            if C.llama_decode(context.handle, C.llama_batch_get_one(array, 1)) != 0:
                raise SystemExit("llama_decode failed")
            token = sampler.sample(context)
            if vocab.is_end(token):
                break
            said.append(token)
        took = time.perf_counter() - began
        sampler.close()
        C.llama_memory_seq_rm(C.llama_get_memory(context.handle), 0, len(prompt) - 1, -1)
        context.tokens = prompt[:-1]
        return Written(tuple(said), took)


def quoted(prompt: list[int], tokens: tuple[int, ...], least: int = 8) -> int:
    """How many tokens of a reply belong to runs of at least `least` that the prompt has, too."""
    runs = {tuple(prompt[at : at + least]) for at in range(len(prompt) - least + 1)}
    marked = set[int]()
    for at in range(len(tokens) - least + 1):
        if tokens[at : at + least] in runs:
            marked.update(range(at, at + least))
    return len(marked)


def compare(ways: Ways, prompts: list[Asked], params: GenerationParams, name: str, bar: float) -> bool:
    sides: list[Callable[[list[int], GenerationParams], Written]] = [ways.bare, ways.plain, ways.ours]
    usual = jobs.Sampler
    found: list[list[Written]] = []
    share = said = 0
    for number, asked in enumerate(prompts):
        prompt = ways.prompt(asked.messages)
        ways.read(prompt)
        order = random.Random(number).sample(range(3), 3)
        if asked.quotation:
            tokens = ways.given(prompt, asked.quotation, params)
            jobs.Sampler = partial(Given, tokens=tokens)  # type: ignore[assignment,misc]
        written = {side: sides[side](prompt, params) for side in order}
        jobs.Sampler = usual  # type: ignore[misc]
        found.append([written[side] for side in range(3)])
        share += quoted(prompt, written[0].tokens)
        said += len(written[0].tokens)
        if sys.stderr.isatty():
            print(f"\r{name} {number + 1}/{len(prompts)}", end="", file=sys.stderr)
    bare, plain, ours = (sum(one[side].seconds for one in found) for side in range(3))
    tokens = [sum(len(one[side].tokens) for one in found) for side in range(3)]
    speed = [count / seconds for count, seconds in zip(tokens, (bare, plain, ours), strict=True)]
    each = sorted(one[0].seconds / one[2].seconds for one in found if one[0].tokens == one[2].tokens)
    same = sum(one[0].tokens == one[2].tokens for one in found)
    alike = sum(one[0].tokens == one[1].tokens for one in found)
    drafted, accepted = (sum(getattr(one[2], what) for one in found) for what in ("drafted", "accepted"))
    total = speed[2] / speed[0]
    print(
        f"\r{name}: {len(found)} replies, {said} tokens, {share / max(1, said):.0%} of them quoted\n"
        f"  bare {speed[0]:.1f} tok/s, plain {speed[1]:.1f}, ours {speed[2]:.1f}: "
        f"{total:.2f} x bare (bar {bar}), median reply {statistics.median(each):.2f}, "
        f"slowest {each[0]:.2f}; plain loop {speed[1] / speed[0]:.2f}\n"
        f"  {accepted} of {drafted} guesses accepted; token by token the same as bare: "
        f"ours {same}, plain {alike} of {len(found)}",
        flush=True,
    )
    return total >= bar


def lookup_seconds(tokens: int) -> float:
    """Seconds that preparing the guesses takes for a prompt of that length."""
    made = [random.Random(at).randrange(40_000) for at in range(tokens)]
    began = time.perf_counter()
    PromptLookup(made)
    return time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wide", type=int, default=6, help="how many times as many hidden units")
    parser.add_argument("--layout", choices=LAYOUTS, default="f16")
    parser.add_argument("--answers", type=int, default=100, help="how many answers that quote")
    parser.add_argument("--talks", type=int, default=50, help="how many replies of free talk")
    parser.add_argument("--tokens", type=int, default=160)
    parser.add_argument("--draft", action="store_true", help="with a draft model")
    parser.add_argument("--greedy", action="store_true", help="instead of the program's sampling")
    asked = parser.parse_args()
    start_backend()
    source = default_chat_model()
    kernels = KernelsNote.beside(source.parent).read()
    with tempfile.TemporaryDirectory() as folder:
        stored, wide = Path(folder) / "stored.gguf", Path(folder) / "wide.gguf"
        store_as(asked.layout, source, stored)
        widen(stored, wide, asked.wide)
        draft = Path(folder) / "draft.gguf"
        if asked.draft:
            store_as("q4_0", source, draft)
        load = protocol.Load(
            1,
            str(wide),
            "chat",
            4096,
            real_cores(),
            0,
            kernels=kernels,
            draft=str(draft) if asked.draft else "",
        )
        runtime, loaded = chat_runtime.load_chat(load, Interrupt())
        size = wide.stat().st_size
        print(
            f"{loaded.parameters / 1e9:.2f} billion weights, {size / 1e9:.2f} GB as {asked.layout}",
            flush=True,
        )
        chat = ChatSettings()
        params = GenerationParams(
            max_tokens=asked.tokens,
            temperature=0.0 if asked.greedy else chat.temperature,
            top_k=chat.top_k,
            top_p=chat.top_p,
            min_p=chat.min_p,
            repeat_penalty=chat.repeat_penalty,
            seed=1,
        )
        ways = Ways(runtime)
        fast = compare(ways, list(quoting(asked.answers)), params, "quoting", QUOTING)
        steady = compare(ways, list(talking(asked.talks)), params, "free talk", TALKING)
        costs = runtime.chat.costs or BatchCosts()
        print("cost of a batch: " + ", ".join(f"{n} tokens {costs.of(n):.1f}" for n in (1, 4, 8, 16)))
        print(f"preparing the guesses for 8,192 tokens: {1000 * lookup_seconds(8192):.1f} ms")
        runtime.close()
    return 0 if fast and steady else 1


if __name__ == "__main__":
    sys.exit(main())
