"""Every setting, defined once: type, default and bounds. Its words are in `words.en.preferences`."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class UiSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the terminal interface looks."""

    theme: Literal["dark", "light", "contrast-dark", "contrast-light", "terminal"] = "dark"
    reduced_motion: bool = False
    locale: Annotated[str, Meta(max_length=35)] = ""
    frame_rate: Annotated[int, Meta(ge=5, le=60)] = 15


class ChatSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How replies are made."""

    system_prompt: Annotated[str, Meta(max_length=20_000)] = (
        "You are a helpful AI assistant named Atlas, and answer clearly and briefly."
    )
    max_tokens: Annotated[int, Meta(ge=1, le=32_768)] = 1024
    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.7
    top_k: Annotated[int, Meta(ge=0, le=1000)] = 40
    top_p: Annotated[float, Meta(ge=0, le=1)] = 0.95
    min_p: Annotated[float, Meta(ge=0, le=1)] = 0.05
    repeat_penalty: Annotated[float, Meta(ge=0.5, le=2)] = 1.0
    seed: int | None = None
    stop: Annotated[list[str], Meta(max_length=16)] = msgspec.field(default_factory=list)
    automatic_titles: bool = True


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How models are run."""

    context_length: Annotated[int, Meta(ge=0, le=1_048_576)] = 0
    threads: Annotated[int, Meta(ge=0, le=512)] = 0
    gpu_layers: Annotated[int, Meta(ge=-1, le=1000)] = -1
    load_timeout_s: Annotated[int, Meta(ge=5, le=3600)] = 300


class ContextSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What of a conversation the model is given."""

    max_tokens: Annotated[int, Meta(ge=512, le=1_048_576)] = 30_000
    summary_target: Annotated[int, Meta(ge=256, le=1_048_576)] = 20_000
    immediate_turns: Annotated[int, Meta(ge=1, le=1000)] = 10
    recent_messages_min: Annotated[int, Meta(ge=2, le=100)] = 4
    summary_turns: Annotated[int, Meta(ge=1, le=100)] = 5
    max_summaries: Annotated[int, Meta(ge=1, le=50)] = 3
    max_archived_in_view: Annotated[int, Meta(ge=0, le=10_000)] = 50
    relevance_decay: Annotated[float, Meta(gt=0, le=1)] = 0.9
    recall: bool = True
    recall_tokens: Annotated[int, Meta(ge=0, le=32_768)] = 400
    date_and_time: bool = True
    snapshots: bool = True
    snapshots_mb: Annotated[int, Meta(ge=16, le=1_048_576)] = 1024


class SessionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a conversation is over and another begins."""

    new_session: Literal["off", "offer", "automatic"] = "offer"
    after_minutes: Annotated[int, Meta(ge=1, le=525_600)] = 30
    after_turns: Annotated[int, Meta(ge=1, le=100_000)] = 50
    topic_similarity: Annotated[float, Meta(ge=-1, le=1)] = 0.2
    reminder: bool = True
    categories: bool = True
    suggest_tags: bool = True
    private_idle_minutes: Annotated[int, Meta(ge=1, le=1440)] = 5


class MemorySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is learned, and how long it is kept (docs/memory.md)."""

    learn: Literal["off", "patterns", "on"] = "on"
    ask_first: bool = False
    decay: Literal["bounded", "published", "none"] = "bounded"
    vector_index: Literal["auto", "lancedb", "exact"] = "auto"
    session_hours: Annotated[float, Meta(ge=0, le=168)] = 2.0
    session_turns: Annotated[int, Meta(ge=0, le=1000)] = 50
    working_hours: Annotated[float, Meta(gt=0, le=168)] = 2.0
    short_term_hours_min: Annotated[float, Meta(gt=0, le=8760)] = 24.0
    short_term_hours_max: Annotated[float, Meta(gt=0, le=8760)] = 72.0
    episodic_days: Annotated[float, Meta(ge=0, le=36_500)] = 30.0
    archive_days: Annotated[int, Meta(ge=0, le=36_500)] = 0
    lasting_importance: Annotated[float, Meta(ge=0, le=1)] = 0.4
    promote_uses: Annotated[int, Meta(ge=0, le=10_000)] = 5
    promote_importance: Annotated[float, Meta(ge=0, le=1)] = 0.8
    promote_similarity: Annotated[float, Meta(ge=0, le=1)] = 0.7
    promote_turns: Annotated[int, Meta(ge=1, le=10_000)] = 3
    consolidate_similarity: Annotated[float, Meta(ge=0.5, le=1)] = 0.75
    consolidate_with_model: bool = False
    often: Annotated[int, Meta(ge=1, le=10_000)] = 3


class JobSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Work in the background: summaries, titles, vectors, states."""

    enabled: bool = True
    on_battery: bool = False
    cpu_cap: Annotated[float, Meta(ge=0.05, le=1)] = 1.0


class BackupSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Backups that are made by themselves. They hold what you delete later: docs/backup.md."""

    every_days: Annotated[int, Meta(ge=0, le=365)] = 0
    keep: Annotated[int, Meta(ge=1, le=1000)] = 5
    folder: Annotated[str, Meta(max_length=4096)] = ""


class RetentionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What goes by itself. Starred, important and pinned conversations do not, unless they are in the bin."""

    open_days: Annotated[int, Meta(ge=0, le=36_500)] = 0
    private_days: Annotated[int, Meta(ge=0, le=36_500)] = 0
    bin_days: Annotated[int, Meta(ge=0, le=36_500)] = 30


class PrivacySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When the interface locks by itself. A conversation off the record ends with a lock."""

    lock_after_minutes: Annotated[int, Meta(ge=0, le=10_080)] = 15
    lock_after_sleep: bool = True


class SamplingOverride(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Sampling for one model, by its id: `[sampling."smollm2-135m-instruct"]`."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    stop: list[str] | None = None


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings, by section."""

    chat: ChatSettings = msgspec.field(default_factory=ChatSettings)
    models: ModelSettings = msgspec.field(default_factory=ModelSettings)
    context: ContextSettings = msgspec.field(default_factory=ContextSettings)
    sessions: SessionSettings = msgspec.field(default_factory=SessionSettings)
    memory: MemorySettings = msgspec.field(default_factory=MemorySettings)
    jobs: JobSettings = msgspec.field(default_factory=JobSettings)
    backup: BackupSettings = msgspec.field(default_factory=BackupSettings)
    retention: RetentionSettings = msgspec.field(default_factory=RetentionSettings)
    privacy: PrivacySettings = msgspec.field(default_factory=PrivacySettings)
    ui: UiSettings = msgspec.field(default_factory=UiSettings)
    sampling: dict[str, SamplingOverride] = msgspec.field(default_factory=dict)
    keys: dict[str, str] = msgspec.field(default_factory=dict)

    def chat_for(self, model_id: str, recommended: Mapping[str, int | float] | None = None) -> ChatSettings:
        """The chat settings for one model.

        What is `recommended` for it goes before the general values, what the person set for this very model
        before everything.
        """
        values = msgspec.structs.asdict(self.chat) | dict(recommended or {})
        override = self.sampling.get(model_id)
        if override is not None:
            values.update({k: v for k, v in msgspec.structs.asdict(override).items() if v is not None})
        return msgspec.convert(values, ChatSettings)
