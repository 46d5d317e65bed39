"""Every setting, defined once: type, default, bounds and words. Docs and forms are made from this."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from atlas_desktop.setting_ui import UiSettings


class ChatSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How replies are made."""

    system_prompt: Annotated[
        str, Meta(max_length=20_000, description="What every new conversation begins with.")
    ] = "You are a helpful AI assistant named Atlas, and answer clearly and briefly."
    max_tokens: Annotated[int, Meta(ge=1, le=32_768, description="Longest reply, in tokens.")] = 1024
    temperature: Annotated[
        float, Meta(ge=0, le=2, description="Variety of the words; 0 always takes the likeliest.")
    ] = 0.7
    top_k: Annotated[int, Meta(ge=0, le=1000, description="Choose among this many tokens; 0: all.")] = 40
    top_p: Annotated[float, Meta(ge=0, le=1, description="Choose among this share of probability.")] = 0.95
    min_p: Annotated[
        float, Meta(ge=0, le=1, description="Leave out tokens less likely than this share of the likeliest.")
    ] = 0.05
    repeat_penalty: Annotated[
        float, Meta(ge=0.5, le=2, description="Above 1 makes repetition less likely; 1 is off.")
    ] = 1.0
    seed: Annotated[
        int | None, Meta(description="Fixes the random choices, so that a reply can be made again.")
    ] = None
    stop: Annotated[list[str], Meta(max_length=16, description="Texts that end a reply.")] = msgspec.field(
        default_factory=list
    )
    automatic_titles: Annotated[
        bool, Meta(description="Let the model name conversations in the background.")
    ] = True


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How models are run."""

    context_length: Annotated[
        int, Meta(ge=0, le=1_048_576, description="Tokens of context; 0: the model's own, at most 8192.")
    ] = 0
    threads: Annotated[int, Meta(ge=0, le=512, description="Processor threads; 0: all real cores.")] = 0
    gpu_layers: Annotated[int, Meta(ge=-1, le=1000, description="Layers on the graphics card; -1: all.")] = -1
    load_timeout_s: Annotated[int, Meta(ge=5, le=3600, description="Longest wait for a model to load.")] = 300


class ContextSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What of a conversation the model is given."""

    max_tokens: Annotated[
        int,
        Meta(
            ge=512,
            le=1_048_576,
            description="Working memory: beyond so many tokens older turns are summarised in the background. "
            "Scaled down to the model (docs/context.md).",
        ),
    ] = 30_000
    summary_target: Annotated[
        int,
        Meta(
            ge=256,
            le=1_048_576,
            description="What remains after that, in tokens, scaled down alike; two thirds where that is not "
            "less.",
        ),
    ] = 20_000
    immediate_turns: Annotated[
        int, Meta(ge=1, le=1000, description="At most so many turns stay word for word when older ones fold.")
    ] = 10
    recent_messages_min: Annotated[
        int, Meta(ge=2, le=100, description="The newest messages that are never summarised.")
    ] = 4
    summary_turns: Annotated[int, Meta(ge=1, le=100, description="Turns that one summary stands for.")] = 5
    max_summaries: Annotated[
        int, Meta(ge=1, le=50, description="Summaries in a prompt; older ones are merged.")
    ] = 3
    max_archived_in_view: Annotated[
        int, Meta(ge=0, le=10_000, description="Summarised messages listed at once in a session's history.")
    ] = 50
    relevance_decay: Annotated[
        float,
        Meta(gt=0, le=1, description="How much of its weight an old message keeps with every turn."),
    ] = 0.9
    recall: Annotated[bool, Meta(description="Bring earlier words that matter into the newest turn.")] = True
    recall_tokens: Annotated[
        int, Meta(ge=0, le=32_768, description="Most tokens for what is recalled in one turn.")
    ] = 400
    date_and_time: Annotated[
        bool, Meta(description="Tell the model the date and time when they have moved on.")
    ] = True
    snapshots: Annotated[
        bool, Meta(description="Keep the model's state of recent sessions, encrypted, to resume at once.")
    ] = True
    snapshots_mb: Annotated[
        int, Meta(ge=16, le=1_048_576, description="Most megabytes for these states; the oldest go first.")
    ] = 1024


class SessionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a conversation is over and another begins."""

    new_session: Annotated[
        Literal["off", "offer", "automatic"],
        Meta(description="What to do when a message seems to begin something new."),
    ] = "offer"
    after_minutes: Annotated[
        int, Meta(ge=1, le=525_600, description="A pause after which a new session is thought of.")
    ] = 30
    after_turns: Annotated[
        int, Meta(ge=1, le=100_000, description="Turns after which a new session is thought of.")
    ] = 50
    topic_similarity: Annotated[
        float,
        Meta(ge=-1, le=1, description="Below this likeness to what was talked about, the topic has changed."),
    ] = 0.2
    reminder: Annotated[bool, Meta(description="Show what it was about when a session is resumed.")] = True
    categories: Annotated[
        bool, Meta(description="Give conversations everyday categories; yours are never changed.")
    ] = True
    suggest_tags: Annotated[
        bool, Meta(description="Suggest tags that you have used for conversations like it.")
    ] = True
    private_idle_minutes: Annotated[
        int, Meta(ge=1, le=1440, description="The private room closes when it was not used for so long.")
    ] = 5


class MemorySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is learned, and how long it is kept (docs/memory.md)."""

    learn: Annotated[
        Literal["off", "patterns", "on"],
        Meta(
            description="Learn from what you say: not at all, by patterns alone, or with the model's help. "
            "What is said while this is off is never learned."
        ),
    ] = "on"
    ask_first: Annotated[
        bool, Meta(description="Use nothing that was learned until you have accepted it in the inbox.")
    ] = False
    decay: Annotated[
        Literal["bounded", "published", "none"],
        Meta(description="How age and use weigh what is recalled (docs/recall.md)."),
    ] = "bounded"
    vector_index: Annotated[
        Literal["auto", "lancedb", "exact"],
        Meta(
            description="What searches by meaning, in memory (docs/recall.md): LanceDB, or one matrix, "
            "which auto takes from 20,000 passages on."
        ),
    ] = "auto"
    session_hours: Annotated[
        float, Meta(ge=0, le=168, description="What was said within so many hours is looked through first.")
    ] = 2.0
    session_turns: Annotated[
        int, Meta(ge=0, le=1000, description="At most so many turns of that; 0: none of it.")
    ] = 50
    working_hours: Annotated[
        float, Meta(gt=0, le=168, description="Working memories are kept for so many hours.")
    ] = 2.0
    short_term_hours_min: Annotated[
        float, Meta(gt=0, le=8760, description="Short-term memories of no importance: so many hours.")
    ] = 24.0
    short_term_hours_max: Annotated[
        float,
        Meta(gt=0, le=8760, description="Short-term memories of full importance: so many hours."),
    ] = 72.0
    episodic_days: Annotated[
        float,
        Meta(ge=0, le=36_500, description="Episodic memories stay so many days after their project ends."),
    ] = 30.0
    archive_days: Annotated[
        int,
        Meta(ge=0, le=36_500, description="What is in the archive is erased after so many days; 0: never."),
    ] = 0
    lasting_importance: Annotated[
        float, Meta(ge=0, le=1, description="From this importance on, facts and events are kept for good.")
    ] = 0.4
    promote_uses: Annotated[
        int, Meta(ge=0, le=10_000, description="What was of use more often than this is kept for good.")
    ] = 5
    promote_importance: Annotated[
        float, Meta(ge=0, le=1, description="From this importance on, a memory is promoted at once.")
    ] = 0.8
    promote_similarity: Annotated[
        float,
        Meta(ge=0, le=1, description="As near as this to a lasting memory, a session's memories last too."),
    ] = 0.7
    promote_turns: Annotated[
        int, Meta(ge=1, le=10_000, description="But only if that session had so many turns.")
    ] = 3
    consolidate_similarity: Annotated[
        float, Meta(ge=0.5, le=1, description="Memories as near as this to one another become one.")
    ] = 0.75
    consolidate_with_model: Annotated[
        bool, Meta(description="Let the model word what was merged, if every name and number stays.")
    ] = False
    often: Annotated[
        int, Meta(ge=1, le=10_000, description="A topic that came up so often in a month is not let go.")
    ] = 3


class JobSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Work in the background: summaries, titles, vectors, states."""

    enabled: Annotated[bool, Meta(description="Work in the background while no reply is made.")] = True
    on_battery: Annotated[bool, Meta(description="Go on when the computer runs on its battery.")] = False
    cpu_cap: Annotated[
        float, Meta(ge=0.05, le=1, description="Share of the time that background work may take.")
    ] = 1.0


class BackupSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Backups that are made by themselves. They hold what you delete later: docs/backup.md."""

    every_days: Annotated[
        int, Meta(ge=0, le=365, description="Make a backup when so many days have gone by; 0: never.")
    ] = 0
    keep: Annotated[
        int, Meta(ge=1, le=1000, description="Dated backups that are kept in the folder; older ones go.")
    ] = 5
    folder: Annotated[
        str, Meta(max_length=4096, description="Where they are kept; empty: `backups` in the home.")
    ] = ""


class RetentionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What goes by itself. Starred, important and pinned conversations do not, unless they are in the bin."""

    open_days: Annotated[
        int,
        Meta(ge=0, le=36_500, description="Conversations not used for so many days are erased; 0: never."),
    ] = 0
    private_days: Annotated[
        int, Meta(ge=0, le=36_500, description="The same in the private room; 0: never.")
    ] = 0
    bin_days: Annotated[
        int, Meta(ge=0, le=36_500, description="Days until what is in the bin is erased; 0: never.")
    ] = 30


class PrivacySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When the interface locks by itself. A conversation off the record ends with a lock."""

    lock_after_minutes: Annotated[
        int,
        Meta(
            ge=0,
            le=10_080,
            description="Lock when nobody was there for so long; 0: never. What is off the record ends then.",
        ),
    ] = 15
    lock_after_sleep: Annotated[bool, Meta(description="Lock when the computer has been asleep.")] = True


class SamplingOverride(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Sampling for one model, by its id: `[sampling."smollm2-135m-instruct"]`."""

    temperature: Annotated[float | None, Meta(description="As chat.temperature.")] = None
    top_k: Annotated[int | None, Meta(description="As chat.top_k.")] = None
    top_p: Annotated[float | None, Meta(description="As chat.top_p.")] = None
    min_p: Annotated[float | None, Meta(description="As chat.min_p.")] = None
    repeat_penalty: Annotated[float | None, Meta(description="As chat.repeat_penalty.")] = None
    stop: Annotated[list[str] | None, Meta(description="As chat.stop.")] = None


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
