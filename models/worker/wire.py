"""Values of the application as messages of the pipe, and back."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from models import errors
from models.messages import (
    ChatMessage,
    Completion,
    GenerationParams,
    ModelInfo,
    PromptShape,
    Role,
    StopReason,
    Timings,
)
from models.worker import protocol


def model_info(name: str, loaded: protocol.Loaded) -> ModelInfo:
    return ModelInfo(
        id=name,
        fingerprint=loaded.fingerprint,
        architecture=loaded.architecture,
        context_length=loaded.context_length,
        train_context=loaded.train_context,
        vocabulary=loaded.vocabulary,
        embedding_length=loaded.embedding_length,
        prefix_stable=loaded.prefix_stable,
        shape=PromptShape(loaded.base, {Role(r): n for r, n in loaded.overhead.items()}),
        tokenizer=loaded.tokenizer,
        parameters=loaded.parameters,
    )


def completion(answer: protocol.AnyAnswer | errors.ModelsError) -> Completion:
    if isinstance(answer, errors.ModelsError):
        raise answer
    if isinstance(answer, protocol.Failed):
        raise error_of(answer, Path())
    if not isinstance(answer, protocol.Done):
        raise errors.ProtocolError(f"{type(answer).__name__} instead of Done")
    return Completion(
        text=answer.text,
        tokens=tuple(answer.tokens),
        stop_reason=StopReason(answer.stop_reason),
        timings=Timings(
            first_token_ms=answer.first_token_ms,
            total_ms=answer.total_ms,
            prompt_tokens=answer.prompt_tokens,
            cached_tokens=answer.cached_tokens,
            evaluated_tokens=answer.evaluated_tokens,
            completion_tokens=answer.completion_tokens,
            tokens_per_second=answer.tokens_per_second,
        ),
        prompt_hash=answer.prompt_hash,
        held_hash=answer.held_hash,
        held_tokens=answer.held_tokens,
    )


def error_of(failed: protocol.Failed, path: Path) -> errors.ModelsError:
    """The worker's failure as the exception that it was there."""
    kind = getattr(errors, failed.kind, None)
    if kind is errors.PromptTooLong:
        return errors.PromptTooLong(*failed.numbers)
    if isinstance(kind, type) and issubclass(kind, errors.ModelFileError):
        return kind(path, failed.detail)
    if kind is errors.TemplateFailed:
        return errors.TemplateFailed(failed.detail)
    if kind is errors.ProtocolError:
        return errors.ProtocolError(failed.detail)
    if kind is errors.StateNotHeld:
        return errors.StateNotHeld()
    if kind is errors.BadGrammar:
        return errors.BadGrammar()
    if kind is errors.StateRefused:
        return errors.StateRefused(failed.detail)
    return errors.WorkerFault(failed.detail)


def wire_messages(messages: Sequence[ChatMessage]) -> list[protocol.WireMessage]:
    return [protocol.WireMessage(str(m.role), m.content, list(m.tokens)) for m in messages]


def wire_params(params: GenerationParams) -> protocol.WireParams:
    values = {f.name: getattr(params, f.name) for f in fields(params)}
    return protocol.WireParams(**{**values, "stop": list(params.stop)})
