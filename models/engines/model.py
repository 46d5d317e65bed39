"""An engine as a `ChatModel`, `TokenCounter` and `Embedder`, and tests of its capabilities."""

import asyncio
import hashlib
import json
import math
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from models import errors
from models.engines.client import EngineClient
from models.engines.spec import EngineReport, Family
from models.messages import (
    ESTIMATE,
    ChatMessage,
    Completion,
    GenerationParams,
    Lane,
    ModelInfo,
    PromptShape,
    Role,
    StopReason,
    Timings,
    TokenDelta,
)

EXACT = "server"
"""The `ModelInfo.tokenizer` of an engine that counts tokens itself."""
_BYTES_PER_TOKEN = 3.2
"""An English token is 4.5 bytes long, one of code 3: prompts are estimated longer than they are."""
_USUAL_SHAPE = PromptShape(base=4, overhead=dict.fromkeys(Role, 6))
_GO_ON = "Go on exactly where your last message stopped. Repeat nothing of it."
_KNOWN_COUNTS = 8192
_CHARS_PER_TOKEN = 32
"""The longest reply: a server that ignores the limit of a reply is stopped there."""
_THINK, _THOUGHT = "<think>", "</think>"
_TEXTS_AT_ONCE = 32
_LONGEST_TEXT = 2000
"""Characters of a text to embed; the models for that read about 256 tokens."""
_EMBEDDING_NAMES = ("embed", "minilm", "bge-", "gte-", "e5-", "nomic-")


# What a server that does not say it runs with: the default of its makers.
_USUAL_CONTEXT = {Family.LLAMA_CPP_PYTHON: 2048}
_CONTEXT = 4096
_KNOWS_GRAMMARS = frozenset({Family.LLAMA_SERVER, Family.LLAMA_CPP_PYTHON})


class EngineModel:
    """One model of an engine. `ref` is its whole name, `NAME:MODEL`.

    Its prompts are held by the server, if at all, so there is nothing to prefill or to save.
    """

    def __init__(self, client: EngineClient, model: str) -> None:
        self.client = client
        self.model = model
        self._family: Family | None = None
        self._info: ModelInfo | None = None
        self._starting = asyncio.Lock()
        self._counts: OrderedDict[bytes, int] = OrderedDict()
        self._start_of_text = 0

    @property
    def ref(self) -> str:
        return f"{self.client.spec.name}:{self.model}"

    @property
    def fingerprint(self) -> str:
        """Identifies the model by its server and name, because its weights cannot be read."""
        return hashlib.sha256(f"engine\0{self.client.spec.url}\0{self.model}".encode()).hexdigest()

    async def close(self) -> None:
        await self.client.close()

    # --- chat -------------------------------------------------------------------------------------

    async def info(self) -> ModelInfo:
        """Asks the server about the model, once. Raises `EngineError`."""
        async with self._starting:
            if self._info is None:
                async with self.client.turn(Lane.CHAT):
                    self._info = await self._asked()
            return self._info

    async def _asked(self) -> ModelInfo:
        offered = await self.models()
        if offered and self.model not in offered:
            raise errors.EngineModelUnknown(self.client.spec.name, self.model)
        family = self._family = await self.find_family()
        exact = await self._find_counting(family)
        shape = await self._shape() if exact else _USUAL_SHAPE
        context = self.client.spec.context_length or await self.find_context(family)
        context = context or _USUAL_CONTEXT.get(family, _CONTEXT)
        return ModelInfo(
            id=self.ref,
            fingerprint=self.fingerprint,
            architecture=family or "engine",
            context_length=context,
            train_context=context,
            vocabulary=0,
            embedding_length=0,
            prefix_stable=True,
            shape=shape,
            tokenizer=EXACT if exact else ESTIMATE,
        )

    def generate(
        self, messages: Sequence[ChatMessage], params: GenerationParams, lane: Lane = Lane.CHAT
    ) -> "EngineGeneration":
        return EngineGeneration(self, messages, params, lane)

    def learn_context(self, limit: int) -> None:
        """Corrects the size of the context by the server's answer when it refuses a prompt."""
        if self._info is not None and 0 < limit < self._info.context_length:
            self._info = replace(self._info, context_length=limit, train_context=limit)

    def request(
        self, messages: Sequence[ChatMessage], params: GenerationParams, *, stream: bool
    ) -> tuple[str, dict[str, Any]]:
        """Returns the path and the body that ask for a reply."""
        spec = self.client.spec
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": params.max_tokens,
            "temperature": params.temperature,
            "top_p": params.top_p,
            "stream": stream,
        }
        if stream:
            body["stream_options"] = {"include_usage": True}
        if params.seed is not None:
            body["seed"] = params.seed
        stop = list(dict.fromkeys((*params.stop, *spec.stop)))
        if spec.sampling == "all":
            body |= {"top_k": params.top_k, "min_p": params.min_p, "repeat_penalty": params.repeat_penalty}
        if params.grammar is not None and self._family in _KNOWS_GRAMMARS:
            body["grammar"] = params.grammar
        if params.json_schema is not None:
            body["response_format"] = _format(json.loads(params.json_schema), self._family)
        if spec.template == "chatml":
            body["prompt"] = _chatml(messages)
            stop.append("<|im_end|>")
            path = "completions"
        else:
            body["messages"] = [{"role": str(m.role), "content": m.content} for m in messages]
            if messages and messages[-1].role is Role.ASSISTANT:
                body["messages"].append({"role": "user", "content": _GO_ON})
            path = "chat/completions"
        if stop:
            body["stop"] = stop
        return path, body

    # --- tokens -----------------------------------------------------------------------------------

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Counts with the server's own tokenizer where it offers that, and estimates otherwise."""
        info = await self.info()
        if info.estimated:
            return [estimate(text) for text in texts]
        digests = [_digest(text) for text in texts]
        unknown = {d: t for d, t in zip(digests, texts, strict=True) if d not in self._counts}
        found = {d: self._counts[d] for d in digests if d in self._counts}
        if unknown:
            async with self.client.turn(Lane.CHAT):
                for digest, text in unknown.items():
                    found[digest] = await self._counted(text)
        self._counts.update(found)
        while len(self._counts) > _KNOWN_COUNTS:
            self._counts.popitem(last=False)
        return [found[digest] for digest in digests]

    async def count_within(self, texts: Sequence[str]) -> list[int]:
        """Like `count`, for a request that has the engine to itself."""
        info = await self.info()
        if info.estimated:
            return [estimate(text) for text in texts]
        return [self._counts.get(_digest(text)) or await self._counted(text) for text in texts]

    async def _counted(self, text: str) -> int:
        if not text:
            return 0
        if self._family is Family.LLAMA_SERVER:
            answer = await self.client.post("tokenize", {"content": text}, root=True)
            tokens = answer.get("tokens") if isinstance(answer, dict) else None
            if not isinstance(tokens, list):
                raise errors.EngineBadAnswer(self.client.spec.name, "shape")
            return len(tokens)
        answer = await self.client.post("extras/tokenize/count", {"input": text}, root=True)
        count = answer.get("count") if isinstance(answer, dict) else None
        if not isinstance(count, int):
            raise errors.EngineBadAnswer(self.client.spec.name, "shape")
        # It also counts the token at the beginning of every text.
        return max(count - self._start_of_text, 0)

    async def _find_counting(self, family: Family) -> bool:
        """Returns whether the server counts tokens."""
        if family is Family.LLAMA_CPP_PYTHON:
            answer = await self.client.offers("extras/tokenize/count", {"input": ""})
            count = answer.get("count") if isinstance(answer, dict) else None
            self._start_of_text = count if isinstance(count, int) else 0
            return isinstance(count, int)
        return family is Family.LLAMA_SERVER

    async def _shape(self) -> PromptShape:
        """Measures what the template adds, by the sizes that the server reports for three small prompts."""
        word = await self._counted("Hi")

        async def cost(*roles: Role) -> int:
            messages = [ChatMessage(role, "Hi") for role in roles]
            path, body = self.request(messages, GenerationParams(max_tokens=1, temperature=0), stream=False)
            used = _usage(await self.client.post(path, body))
            if used.prompt is None:
                raise errors.EngineBadAnswer(self.client.spec.name, "shape")
            return used.prompt - word * len(roles)

        try:
            one = await cost(Role.USER)
            pair = await cost(Role.USER, Role.ASSISTANT, Role.USER) - one
            system = await cost(Role.SYSTEM, Role.USER) - one
        except (errors.EngineFailed, errors.EngineBadAnswer):
            # A template without a system message, or a server that reports no sizes.
            return _USUAL_SHAPE
        user = pair // 2
        overhead = {Role.USER: user, Role.ASSISTANT: pair - user, Role.SYSTEM: system}
        return PromptShape(one - user, overhead)

    # --- embeddings -------------------------------------------------------------------------------

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Returns vectors of length 1. Of a text its first `_LONGEST_TEXT` characters are read."""
        found: list[list[float]] = []
        for at in range(0, len(texts), _TEXTS_AT_ONCE):
            some = [text[:_LONGEST_TEXT] or " " for text in texts[at : at + _TEXTS_AT_ONCE]]
            body = {"model": self.model, "input": some, "encoding_format": "float"}
            async with self.client.turn(Lane.EMBED):
                found += self._vectors(await self.client.post("embeddings", body), len(some))
        return found

    async def embedding_fingerprint(self) -> str:
        return self.fingerprint

    def _vectors(self, answer: Any, expected: int) -> list[list[float]]:
        try:
            rows = sorted(answer["data"], key=lambda row: row.get("index", 0))
            vectors = [[float(x) for x in row["embedding"]] for row in rows]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise errors.EngineBadAnswer(self.client.spec.name, "vectors") from error
        lengths = [math.sqrt(sum(x * x for x in vector)) for vector in vectors]
        usable = len(vectors) == expected and len({len(vector) for vector in vectors}) == 1
        if not usable or not all(math.isfinite(n) and n > 0 for n in lengths):
            raise errors.EngineBadAnswer(self.client.spec.name, "vectors")
        return [[x / n for x in vector] for vector, n in zip(vectors, lengths, strict=True)]

    # --- what the server is -----------------------------------------------------------------------

    async def models(self) -> tuple[str, ...]:
        """The models that the server lists, of which it may list none. Raises `EngineError`."""
        answer = await self.client.get("models")
        try:
            return tuple(str(one["id"]) for one in answer["data"])
        except (KeyError, TypeError) as error:
            raise errors.EngineBadAnswer(self.client.spec.name, "shape") from error

    async def find_family(self) -> Family:
        ask = self.client.offers
        if isinstance(answer := await ask("props"), dict) and "default_generation_settings" in answer:
            return Family.LLAMA_SERVER
        if (
            isinstance(answer := await ask("extras/tokenize/count", {"input": ""}), dict)
            and "count" in answer
        ):
            return Family.LLAMA_CPP_PYTHON
        if isinstance(answer := await ask("api/version"), dict) and "version" in answer:
            return Family.OLLAMA
        if isinstance(answer := await ask("api/v0/models"), dict) and "data" in answer:
            return Family.LM_STUDIO
        return Family.OTHER

    async def find_context(self, family: Family) -> int:
        """Returns the size of the context in tokens, 0 where the server does not report it."""
        if family is Family.LLAMA_SERVER:
            answer = await self.client.offers("props")
            return _number(answer, "default_generation_settings", "n_ctx")
        if family is Family.OLLAMA:
            # Only a model that is loaded has a size; until then it is the default of Ollama's settings.
            loaded = await self.client.offers("api/ps")
            return _number(_named(loaded, "models", "name", self.model), "context_length")
        if family is Family.LM_STUDIO:
            one = _named(await self.client.offers("api/v0/models"), "data", "id", self.model)
            return _number(one, "loaded_context_length")
        one = _named(await self.client.get("models"), "data", "id", self.model)
        return _number(one, "max_model_len") or _number(one, "context_length")

    async def report(self) -> EngineReport:
        """Tests the engine's capabilities: a word in a stream, a reply by a schema, a vector.

        Without a `model`, its models with suitable names are tried. Raises `EngineError` if it cannot be
        reached or lists no models.
        """
        async with self.client.turn(Lane.DOOR):
            offered = await self.models()
            family = self._family = await self.find_family()
            chat = self.model or next((one for one in offered if not _embeds(one)), "")
            vectors = self.model or next((one for one in offered if _embeds(one)), chat)
            self.model = chat
            return EngineReport(
                family=family,
                models=offered,
                chat_model=chat,
                stream=bool(chat) and await self.streams(),
                json_schema=bool(chat) and await self.obeys_schema(),
                embeddings=bool(vectors) and await EngineModel(self.client, vectors).makes_vectors(),
                context=self.client.spec.context_length or await self.find_context(family),
                exact_tokens=await self._find_counting(family),
            )

    async def streams(self) -> bool:
        """Whether a reply is streamed as events."""
        path, body = self.request(_trial("Say hello."), _BRIEF, stream=True)
        try:
            async with aclosing(self.client.events(path, body)) as events:
                return any([("delta" in choice or "text" in choice) async for choice in _choices(events)])
        except (errors.EngineFailed, errors.EngineBadAnswer, errors.EngineCutOff):
            return False

    async def obeys_schema(self) -> bool:
        """Whether a reply follows a JSON schema that the question does not mention."""
        params = replace(_BRIEF, max_tokens=24, json_schema=json.dumps(_SCHEMA))
        path, body = self.request(_trial("Say hello."), params, stream=False)
        try:
            text = _text_of(await self.client.post(path, body))
            return bool(json.loads(text) == {"word": "harbour"})
        except (errors.EngineFailed, errors.EngineBadAnswer, errors.EngineCutOff, ValueError):
            return False

    async def makes_vectors(self) -> bool:
        body = {"model": self.model, "input": ["Hello."], "encoding_format": "float"}
        try:
            return bool(self._vectors(await self.client.post("embeddings", body), 1))
        except (errors.EngineFailed, errors.EngineBadAnswer, errors.EngineCutOff):
            return False


_BRIEF = GenerationParams(max_tokens=2, temperature=0)
_SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string", "enum": ["harbour"]}},
    "required": ["word"],
    "additionalProperties": False,
}


class EngineGeneration:
    """A reply that an engine is making.

    Background work is delivered as a whole: when the chat needs the engine, it is interrupted and sent again.
    """

    def __init__(
        self, model: EngineModel, messages: Sequence[ChatMessage], params: GenerationParams, lane: Lane
    ) -> None:
        self._model = model
        self._messages = messages
        self._params = params
        self._lane = lane
        self._cancelled = asyncio.Event()
        self._interrupted = False
        self._reply: _Reply | None = None

    def cancel(self) -> None:
        self._cancelled.set()

    async def __aiter__(self) -> AsyncIterator[TokenDelta | Completion]:
        queue: asyncio.Queue[TokenDelta | Completion | Exception] = asyncio.Queue()
        reading = asyncio.create_task(self._read_all(queue), name="engine")
        watching = asyncio.create_task(self._stop(reading), name="engine-cancel")
        try:
            while True:
                found = await queue.get()
                if isinstance(found, Exception):
                    raise found
                yield found
                if isinstance(found, Completion):
                    return
        finally:
            watching.cancel()
            reading.cancel()
            await asyncio.wait({reading, watching})

    async def _stop(self, reading: "asyncio.Task[None]") -> None:
        await self._cancelled.wait()
        reading.cancel()

    async def _read_all(self, queue: "asyncio.Queue[TokenDelta | Completion | Exception]") -> None:
        """Puts the reply in the queue, and at the end its completion or the error."""
        began = time.perf_counter()
        try:
            await self._model.info()
            while not await self._read(queue):
                # Interrupted: it waits for its turn again.
                self._interrupted = False
        except asyncio.CancelledError:
            if not self._cancelled.is_set():
                raise
            reply = self._reply or _Reply(self._model, began)
            queue.put_nowait(reply.completion(self._messages, stopped=True))
        except errors.PromptTooLong as error:
            self._model.learn_context(error.limit)
            queue.put_nowait(error)
        except Exception as error:  # noqa: BLE001 - raised where the reply is read
            queue.put_nowait(error)

    async def _read(self, queue: "asyncio.Queue[TokenDelta | Completion | Exception]") -> bool:
        """Reads the reply; returns False if it was interrupted by something more urgent."""
        whole = self._lane is Lane.TASK
        reading: asyncio.Task[None] | None = None

        def interrupt() -> None:
            self._interrupted = True
            if reading is not None:
                reading.cancel()

        async with self._model.client.turn(self._lane, interrupt if whole else None):
            # Set again: the wait for the turn is not part of the reply's time.
            self._reply = reply = _Reply(self._model, time.perf_counter())
            reading = asyncio.ensure_future(self._read_into(reply, None if whole else queue))
            try:
                await reading
            except asyncio.CancelledError:
                if self._interrupted and not self._cancelled.is_set():
                    return False
                raise
            finally:
                reading.cancel()
                await asyncio.wait({reading})
            await reply.count(self._messages)
        queue.put_nowait(reply.completion(self._messages))
        return True

    async def _read_into(
        self, reply: "_Reply", queue: "asyncio.Queue[TokenDelta | Completion | Exception] | None"
    ) -> None:
        model, params = self._model, self._params
        spec = model.client.spec
        path, body = model.request(self._messages, params, stream=spec.stream)
        most, events_left = params.max_tokens * _CHARS_PER_TOKEN, 4 * params.max_tokens + 1000
        async with aclosing(model.client.events(path, body)) as events:
            async for event in _in_time(events, spec.name, spec.timeout_s):
                events_left -= 1
                for text in reply.take(event):
                    if queue is not None:
                        queue.put_nowait(TokenDelta(text, ()))
                if reply.size > most or events_left < 0:
                    # It ignores the limit of a reply.
                    reply.reason = StopReason.LENGTH
                    break
        if reply.reason is None:
            raise errors.EngineCutOff(spec.name)
        if (rest := reply.rest()) and queue is not None:
            queue.put_nowait(TokenDelta(rest, ()))


async def _in_time(
    events: AsyncIterator[dict[str, Any]], name: str, limit_s: float
) -> AsyncIterator[dict[str, Any]]:
    """Passes events on. Raises `EngineSilent`: comments that keep a connection open are not an answer."""
    while True:
        try:
            async with asyncio.timeout(limit_s):
                event = await anext(events)
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            raise errors.EngineSilent(name, limit_s) from error
        yield event


class _Reply:
    """The part of a reply that has arrived."""

    def __init__(self, model: EngineModel, began: float) -> None:
        self.reason: StopReason | None = None
        self.size = 0
        self._model = model
        self._began = began
        self._first = 0.0
        self._texts: list[str] = []
        self._shows = model.client.spec.reasoning == "show"
        self._thinking = _HiddenThoughts() if not self._shows else None
        self._reasoned = False
        self._used = _Usage()

    def take(self, event: dict[str, Any]) -> list[str]:
        """Takes an event, and returns the texts to show. Raises `EngineBadAnswer`."""
        if (used := _usage(event)).prompt is not None:
            self._used = used
        found: list[str] = []
        try:
            for choice in event.get("choices") or ():
                found += self._shown(choice)
                if choice.get("finish_reason"):
                    self.reason = (
                        StopReason.LENGTH if choice["finish_reason"] == "length" else StopReason.STOP
                    )
        except (AttributeError, TypeError) as error:
            raise errors.EngineBadAnswer(self._model.client.spec.name, "shape") from error
        self._texts += found
        return found

    def _shown(self, choice: dict[str, Any]) -> list[str]:
        part = choice.get("delta") or choice.get("message") or choice
        found: list[str] = []
        thought = part.get("reasoning_content") or part.get("reasoning") or ""
        text = part.get("content") or part.get("text") or ""
        if not isinstance(text, str) or not isinstance(thought, str):
            raise TypeError(type(text))
        self.size += len(text) + len(thought)
        if (text or thought) and not self._first:
            self._first = time.perf_counter()
        if thought and self._shows:
            self._reasoned = True
            found.append(thought)
        if text and self._reasoned:
            self._reasoned = False
            found.append("\n\n")
        if text:
            text = text if self._thinking is None else self._thinking.without(text)
            found.append(text)
        return [one for one in found if one]

    def rest(self) -> str:
        """Returns the text held back because it might have become a thought."""
        rest = "" if self._thinking is None else self._thinking.rest()
        self._texts += [rest] if rest else []
        return rest

    async def count(self, messages: Sequence[ChatMessage]) -> None:
        """Counts what the server did not report."""
        used = self._used
        if used.prompt is None:
            shape = (await self._model.info()).shape
            each = await self._model.count_within([m.content for m in messages])
            added = sum(shape.overhead[m.role] for m in messages)
            used = replace(used, prompt=max(shape.base + sum(each) + added, 0))
        if used.completion is None:
            (made,) = await self._model.count_within(["".join(self._texts)])
            used = replace(used, completion=made)
        self._used = used

    def completion(self, messages: Sequence[ChatMessage], *, stopped: bool = False) -> Completion:
        now, text, used = time.perf_counter(), "".join(self._texts), self._used
        first = self._first or now
        prompt = used.prompt
        if prompt is None:
            prompt = sum(estimate(m.content) + _USUAL_SHAPE.overhead[m.role] for m in messages)
        made = used.completion if used.completion is not None else estimate(text)
        seconds = now - first
        return Completion(
            text,
            (),
            StopReason.CANCELLED if stopped else self.reason or StopReason.STOP,
            Timings(
                first_token_ms=1000 * (first - self._began),
                total_ms=1000 * (now - self._began),
                prompt_tokens=prompt,
                cached_tokens=used.cached,
                evaluated_tokens=prompt - used.cached,
                completion_tokens=made,
                tokens_per_second=(made - 1) / seconds if made > 1 and seconds > 0 else 0.0,
            ),
        )


class _HiddenThoughts:
    """Leaves out what a reasoning model writes between `<think>` and `</think>` at the beginning."""

    def __init__(self) -> None:
        self._held = ""
        self._state = "begin"

    def without(self, text: str) -> str:
        if self._state == "after":
            return text
        self._held += text
        if self._state == "begin":
            begun = self._held.lstrip()
            if begun.startswith(_THINK):
                self._state = "within"
            elif not _THINK.startswith(begun):
                self._state = "after"
                held, self._held = self._held, ""
                return held
            else:
                return ""
        _, end, after = self._held.partition(_THOUGHT)
        if not end:
            return ""
        if not (after := after.lstrip()):
            # White space after the thought is also left out.
            self._held = _THINK + _THOUGHT
            return ""
        self._state, self._held = "after", ""
        return after

    def rest(self) -> str:
        held, self._held = self._held, ""
        return held if self._state == "begin" else ""


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def estimate(text: str) -> int:
    """Returns about how many tokens a text has; rather too many than too few."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class _Usage:
    """Tokens that a server reports; None where it does not."""

    prompt: int | None = None
    completion: int | None = None
    cached: int = 0


def _usage(event: Any) -> _Usage:
    """Returns the tokens that an event or answer reports: as OpenAI does, or llama-server in `timings`."""
    if not isinstance(event, dict):
        return _Usage()
    used = event.get("usage")
    if isinstance(used, dict) and isinstance(used.get("prompt_tokens"), int):
        made = used.get("completion_tokens")
        cached = min(_number(used, "prompt_tokens_details", "cached_tokens"), used["prompt_tokens"])
        cached = cached or min(_number(event, "timings", "cache_n"), used["prompt_tokens"])
        return _Usage(used["prompt_tokens"], made if isinstance(made, int) else None, cached)
    timed = event.get("timings")
    if isinstance(timed, dict) and isinstance(timed.get("prompt_n"), int):
        cached, made = _number(timed, "cache_n"), timed.get("predicted_n")
        return _Usage(timed["prompt_n"] + cached, made if isinstance(made, int) else None, cached)
    return _Usage()


def _number(value: Any, *path: str) -> int:
    """Returns a number that is not negative from nested objects; 0 where there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, int) and value > 0 else 0


def _named(value: Any, key: str, name: str, wanted: str) -> Any:
    """Returns the object of a list whose `name` is `wanted`, or None."""
    rows = value.get(key) if isinstance(value, dict) else None
    if not isinstance(rows, list):
        return None
    return next((row for row in rows if isinstance(row, dict) and row.get(name) == wanted), None)


def _format(schema: Any, family: Family | None) -> dict[str, Any]:
    """Returns the field that gives a server the schema of a reply."""
    if family is Family.LLAMA_CPP_PYTHON:
        return {"type": "json_object", "schema": schema}
    return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}


def _chatml(messages: Sequence[ChatMessage]) -> str:
    """Returns a prompt as text. Marks of the template that are part of a message are broken up."""
    *before, last = messages
    going_on = last.role is Role.ASSISTANT
    parts = [f"<|im_start|>{m.role}\n{_unmarked(m.content)}<|im_end|>\n" for m in before]
    if going_on:
        return "".join([*parts, f"<|im_start|>assistant\n{_unmarked(last.content)}"])
    return "".join(
        [*parts, f"<|im_start|>{last.role}\n{_unmarked(last.content)}<|im_end|>\n<|im_start|>assistant\n"]
    )


def _unmarked(text: str) -> str:
    return text.replace("<|", "< |")


def _trial(text: str) -> list[ChatMessage]:
    return [ChatMessage(Role.USER, text)]


async def _choices(events: AsyncGenerator[dict[str, Any], None]) -> AsyncIterator[dict[str, Any]]:
    async for event in events:
        for choice in event.get("choices") or ():
            if isinstance(choice, dict):
                yield choice


def _text_of(answer: Any) -> str:
    """Returns the text of a reply that was not streamed."""
    choices = answer.get("choices") if isinstance(answer, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict):
        return ""
    message = first.get("message")
    text = message.get("content") if isinstance(message, dict) else first.get("text")
    return text if isinstance(text, str) else ""


def _embeds(model: str) -> bool:
    """Whether a model's name suggests that it makes vectors and does not chat."""
    return any(word in model.lower() for word in _EMBEDDING_NAMES)
