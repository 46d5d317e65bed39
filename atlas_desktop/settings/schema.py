"""Every setting, defined once: type, default, bounds, name and description."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from atlas_desktop.locale import N_


class UiSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The appearance of the terminal interface."""

    theme: Annotated[
        Literal["dark", "light", "sepia", "contrast-dark", "contrast-light", "terminal"],
        Meta(
            title=N_("Theme"),
            description=N_(
                "Dark, light, old paper, dark or light in high contrast, or the terminal's own colours."
            ),
        ),
    ] = "dark"
    density: Annotated[
        Literal["comfortable", "compact"],
        Meta(
            title=N_("Density"),
            description=N_("Comfortable has empty lines between messages and rows; compact shows more."),
        ),
    ] = "comfortable"
    images: Annotated[
        Literal["auto", "kitty", "iterm", "sixel", "off"],
        Meta(
            title=N_("Pictures"),
            description=N_(
                "Protocol for pictures in the terminal. auto asks the terminal when Atlas starts, and is off "
                "within tmux and screen. Without pictures, Atlas shows text."
            ),
        ),
    ] = "auto"
    reduced_motion: Annotated[
        bool, Meta(title=N_("Reduced motion"), description=N_("No sliding, fading or blinking."))
    ] = False
    locale: Annotated[
        str,
        Meta(
            max_length=35,
            title=N_("Language"),
            description=N_(
                "Language of texts (en, de, es), dates and numbers, like de_DE; empty: the system's (LC_ALL, "
                "LANG). Texts change at the next start."
            ),
        ),
    ] = ""
    frame_rate: Annotated[
        int,
        Meta(
            ge=5,
            le=60,
            title=N_("Frames per second"),
            description=N_("How many times per second a streaming reply is drawn."),
        ),
    ] = 15


class ChatSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How replies are generated."""

    system_prompt: Annotated[
        str,
        Meta(
            max_length=20_000,
            title=N_("Instructions"),
            description=N_("System prompt for every new conversation."),
        ),
    ] = "You are a helpful AI assistant named Atlas, and answer clearly and briefly."
    max_tokens: Annotated[
        int,
        Meta(
            ge=1, le=32_768, title=N_("Longest reply (tokens)"), description=N_("Longest reply, in tokens.")
        ),
    ] = 1024
    temperature: Annotated[
        float,
        Meta(
            ge=0,
            le=2,
            title=N_("Temperature"),
            description=N_("How random replies are; 0 always picks the likeliest."),
        ),
    ] = 0.7
    top_k: Annotated[
        int,
        Meta(ge=0, le=1000, title=N_("Top-k"), description=N_("Number of tokens to choose from; 0: all.")),
    ] = 40
    top_p: Annotated[
        float, Meta(ge=0, le=1, title=N_("Top-p"), description=N_("Share of probability to choose from."))
    ] = 0.95
    min_p: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            title=N_("Min-p"),
            description=N_("Skip tokens less likely than this share of the likeliest."),
        ),
    ] = 0.05
    repeat_penalty: Annotated[
        float,
        Meta(
            ge=0.5,
            le=2,
            title=N_("Repeat penalty"),
            description=N_("Above 1 makes repetition less likely; 1 is off."),
        ),
    ] = 1.0
    seed: Annotated[
        int | None,
        Meta(title=N_("Seed"), description=N_("Fixes the random choices, so that you can repeat a reply.")),
    ] = None
    stop: Annotated[
        list[str], Meta(max_length=16, title=N_("Stop words"), description=N_("Texts that end a reply."))
    ] = msgspec.field(default_factory=list)
    automatic_titles: Annotated[
        bool,
        Meta(
            title=N_("Automatic titles"),
            description=N_("Let the model name conversations in the background."),
        ),
    ] = True


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How models are run."""

    context_length: Annotated[
        int,
        Meta(
            ge=0,
            le=1_048_576,
            title=N_("Context length (tokens)"),
            description=N_("Context in tokens; 0: the model's own, at most 8192."),
        ),
    ] = 0
    threads: Annotated[
        int, Meta(ge=0, le=512, title=N_("Threads"), description=N_("CPU threads; 0: all physical cores."))
    ] = 0
    gpu_layers: Annotated[
        int,
        Meta(ge=-1, le=1000, title=N_("GPU layers"), description=N_("Layers on the graphics card; -1: all.")),
    ] = -1
    speculation: Annotated[
        bool,
        Meta(
            title=N_("Guess ahead"),
            description=N_(
                "Guess what a reply repeats from the conversation and check several tokens at once; a much "
                "smaller model of the same family guesses, too. Replies come sooner from large models; "
                "rounding may word a reply differently."
            ),
        ),
    ] = False
    load_timeout_s: Annotated[
        int,
        Meta(
            ge=5,
            le=3600,
            title=N_("Load timeout (seconds)"),
            description=N_("Maximum wait for a model to load."),
        ),
    ] = 300
    chat_engine: Annotated[
        str,
        Meta(
            max_length=300,
            title=N_("Chat through an engine"),
            description=N_("NAME:MODEL of an engine (docs/engines.md) to chat with; empty: an own model."),
        ),
    ] = ""
    embed_engine: Annotated[
        str,
        Meta(
            max_length=300,
            title=N_("Search through an engine"),
            description=N_("NAME:MODEL of an engine for search by meaning; empty: an own model."),
        ),
    ] = ""


class ContextSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much of a session the model is given."""

    max_tokens: Annotated[
        int,
        Meta(
            ge=512,
            le=1_048_576,
            title=N_("Summarise above (tokens)"),
            description=N_(
                "Working memory: above this many tokens, older turns are summarised in "
                "the background. Scaled down to fit the model (docs/context.md)."
            ),
        ),
    ] = 30_000
    summary_target: Annotated[
        int,
        Meta(
            ge=256,
            le=1_048_576,
            title=N_("Kept after summarising (tokens)"),
            description=N_(
                "Tokens kept after summarising, scaled the same way; two thirds of the limit if not below it."
            ),
        ),
    ] = 20_000
    immediate_turns: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            title=N_("Turns kept word for word"),
            description=N_("Maximum turns kept word for word when older ones are summarised."),
        ),
    ] = 10
    recent_messages_min: Annotated[
        int,
        Meta(
            ge=2,
            le=100,
            title=N_("Latest messages not summarised"),
            description=N_("Number of latest messages to never summarise."),
        ),
    ] = 4
    summary_turns: Annotated[
        int,
        Meta(
            ge=1, le=100, title=N_("Turns per summary"), description=N_("Number of turns one summary covers.")
        ),
    ] = 5
    max_summaries: Annotated[
        int,
        Meta(
            ge=1,
            le=50,
            title=N_("Summaries in prompt"),
            description=N_("Maximum summaries in a prompt; older ones merge."),
        ),
    ] = 3
    max_archived_in_view: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000,
            title=N_("Summarised messages listed"),
            description=N_("Summarised messages listed at once in a conversation's history."),
        ),
    ] = 50
    relevance_decay: Annotated[
        float,
        Meta(
            gt=0,
            le=1,
            title=N_("Relevance kept per turn"),
            description=N_("Share of its weight that an old message keeps each turn."),
        ),
    ] = 0.9
    recall: Annotated[
        bool,
        Meta(
            title=N_("Recall memories"),
            description=N_("Add relevant earlier messages and memories to each turn."),
        ),
    ] = True
    recall_tokens: Annotated[
        int,
        Meta(
            ge=0,
            le=32_768,
            title=N_("Recall limit (tokens)"),
            description=N_("Maximum tokens recalled in one turn."),
        ),
    ] = 400
    date_and_time: Annotated[
        bool,
        Meta(
            title=N_("Share date and time"),
            description=N_("Tell the model the date and time when they have changed."),
        ),
    ] = True
    snapshots: Annotated[
        bool,
        Meta(
            title=N_("Save model states"),
            description=N_("Save the model's state of recent conversations, encrypted, to resume instantly."),
        ),
    ] = True
    snapshots_mb: Annotated[
        int,
        Meta(
            ge=16,
            le=1_048_576,
            title=N_("Model state limit (MB)"),
            description=N_("Maximum megabytes of saved states; the oldest go first."),
        ),
    ] = 1024


class SessionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a session ends and another begins."""

    new_session: Annotated[
        Literal["off", "offer", "automatic"],
        Meta(
            title=N_("Offer a new conversation"),
            description=N_("What to do when a message seems to start something new."),
        ),
    ] = "offer"
    after_minutes: Annotated[
        int,
        Meta(
            ge=1,
            le=525_600,
            title=N_("Pause (minutes)"),
            description=N_("Pause before considering a new conversation."),
        ),
    ] = 30
    after_turns: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000,
            title=N_("Long conversation (turns)"),
            description=N_("Turns before considering a new conversation."),
        ),
    ] = 50
    topic_similarity: Annotated[
        float,
        Meta(
            ge=-1,
            le=1,
            title=N_("Same-topic similarity"),
            description=N_("Below this similarity to earlier messages, the topic has changed."),
        ),
    ] = 0.2
    reminder: Annotated[
        bool,
        Meta(
            title=N_("“Last time …” reminder"),
            description=N_("Show what a conversation was about when you resume it."),
        ),
    ] = True
    categories: Annotated[
        bool,
        Meta(
            title=N_("Categories"),
            description=N_("Assign everyday categories; the ones you set are never changed."),
        ),
    ] = True
    suggest_tags: Annotated[
        bool,
        Meta(
            title=N_("Suggest tags"), description=N_("Suggest tags you have used for similar conversations.")
        ),
    ] = True
    private_idle_minutes: Annotated[
        int,
        Meta(
            ge=1,
            le=1440,
            title=N_("Close private room after (minutes)"),
            description=N_("Close the private room after this long without use."),
        ),
    ] = 5


class MemorySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is learned, and how long it is kept (docs/memory.md)."""

    learn: Annotated[
        Literal["off", "patterns", "on"],
        Meta(
            title=N_("Learn from messages"),
            description=N_(
                "Learn from what you write: not at all, by patterns only, or with the "
                "model's help. Nothing you write while this is off is ever learned."
            ),
        ),
    ] = "on"
    learn_from_notes: Annotated[
        bool,
        Meta(
            title=N_("Learn from notes"),
            description=N_("Learn also from your own words in notes, by patterns; never from quotations."),
        ),
    ] = True
    ask_first: Annotated[
        bool,
        Meta(
            title=N_("Ask before remembering"),
            description=N_("Use new memories only after you accept them in the inbox."),
        ),
    ] = False
    decay: Annotated[
        Literal["bounded", "published", "none"],
        Meta(
            title=N_("How memories fade"),
            description=N_("How age and use affect what is recalled (docs/recall.md)."),
        ),
    ] = "bounded"
    vector_index: Annotated[
        Literal["auto", "lancedb", "exact"],
        Meta(
            title=N_("Vector index"),
            description=N_(
                "In-memory index for search by meaning (docs/recall.md): LanceDB, or "
                "one matrix, which auto uses from 20,000 passages."
            ),
        ),
    ] = "auto"
    session_hours: Annotated[
        float,
        Meta(
            ge=0,
            le=168,
            title=N_("Session memory (hours)"),
            description=N_("Hours of recent messages to search first."),
        ),
    ] = 2.0
    session_turns: Annotated[
        int,
        Meta(
            ge=0,
            le=1000,
            title=N_("Session memory (turns)"),
            description=N_("Maximum turns to search first; 0: none."),
        ),
    ] = 50
    working_hours: Annotated[
        float,
        Meta(
            gt=0,
            le=168,
            title=N_("Working memory (hours)"),
            description=N_("Keep working memories for this many hours."),
        ),
    ] = 2.0
    short_term_hours_min: Annotated[
        float,
        Meta(
            gt=0,
            le=8760,
            title=N_("Short-term memory, minimum (hours)"),
            description=N_("Time to keep short-term memories of no importance."),
        ),
    ] = 24.0
    short_term_hours_max: Annotated[
        float,
        Meta(
            gt=0,
            le=8760,
            title=N_("Short-term memory, maximum (hours)"),
            description=N_("Time to keep short-term memories of full importance."),
        ),
    ] = 72.0
    episodic_days: Annotated[
        float,
        Meta(
            ge=0,
            le=36_500,
            title=N_("Episodes (days)"),
            description=N_("Keep episodic memories this many days after their project ends."),
        ),
    ] = 30.0
    archive_days: Annotated[
        int,
        Meta(
            ge=0,
            le=36_500,
            title=N_("Archive: erase after (days)"),
            description=N_("Erase archived memories after this many days; 0: never."),
        ),
    ] = 0
    lasting_importance: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            title=N_("Long-term importance"),
            description=N_("Facts and events of at least this importance are long-term."),
        ),
    ] = 0.4
    promote_uses: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000,
            title=N_("Promotion: uses"),
            description=N_("Memories used more often than this become long-term."),
        ),
    ] = 5
    promote_importance: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            title=N_("Promotion: importance"),
            description=N_("Promote memories of at least this importance at once."),
        ),
    ] = 0.8
    promote_similarity: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            title=N_("Promotion: similarity"),
            description=N_("Promote a conversation's memories this similar to a long-term memory."),
        ),
    ] = 0.7
    promote_turns: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            title=N_("Promotion: turns"),
            description=N_("Minimum turns for promotion by similarity."),
        ),
    ] = 3
    consolidate_similarity: Annotated[
        float,
        Meta(
            ge=0.5,
            le=1,
            title=N_("Merging: similarity"),
            description=N_("Merge memories that are at least this similar."),
        ),
    ] = 0.75
    consolidate_with_model: Annotated[
        bool,
        Meta(
            title=N_("Merging: use model"),
            description=N_("Let the model word merged memories if every name and number stays."),
        ),
    ] = False
    often: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            title=N_("Frequent topics"),
            description=N_("Keep topics that came up at least this often in a month."),
        ),
    ] = 3


class JobSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Background work: summaries, titles, vectors, model states."""

    enabled: Annotated[
        bool, Meta(title=N_("Background work"), description=N_("Run background work between replies."))
    ] = True
    on_battery: Annotated[
        bool, Meta(title=N_("Also on battery"), description=N_("Continue when the computer runs on battery."))
    ] = False
    cpu_cap: Annotated[
        float,
        Meta(
            ge=0.05,
            le=1,
            title=N_("Processor limit"),
            description=N_("Maximum share of time for background work."),
        ),
    ] = 1.0


class BackupSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Scheduled backups. They contain what is deleted later: docs/backup.md."""

    every_days: Annotated[
        int,
        Meta(
            ge=0,
            le=365,
            title=N_("Backup every (days)"),
            description=N_("Make a backup after this many days; 0: never."),
        ),
    ] = 0
    keep: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            title=N_("Backups kept"),
            description=N_("Dated backups to keep in the folder; older ones are deleted."),
        ),
    ] = 5
    folder: Annotated[
        str,
        Meta(
            max_length=4096,
            title=N_("Backup folder"),
            description=N_("Backup location; empty: `backups` in the home folder."),
        ),
    ] = ""


class RetentionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Automatic deletion. Starred, important and pinned sessions are exempt, unless they are in the bin."""

    open_days: Annotated[
        int,
        Meta(
            ge=0,
            le=36_500,
            title=N_("Open room: erase after (days)"),
            description=N_("Erase conversations not used for this many days; 0: never."),
        ),
    ] = 0
    private_days: Annotated[
        int,
        Meta(
            ge=0,
            le=36_500,
            title=N_("Private room: erase after (days)"),
            description=N_("The same for the private room; 0: never."),
        ),
    ] = 0
    bin_days: Annotated[
        int,
        Meta(
            ge=0,
            le=36_500,
            title=N_("Bin: erase after (days)"),
            description=N_("Days before items in the bin are erased; 0: never."),
        ),
    ] = 30


class PrivacySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When the interface locks automatically. A session off the record ends with a lock."""

    lock_after_minutes: Annotated[
        int,
        Meta(
            ge=0,
            le=10_080,
            title=N_("Lock after (minutes)"),
            description=N_(
                "Lock after this long without activity; 0: never. This ends off-the-record conversations."
            ),
        ),
    ] = 15
    lock_after_sleep: Annotated[
        bool, Meta(title=N_("Lock after sleep"), description=N_("Lock after the computer has been asleep."))
    ] = True


class DoorSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What other programs on this computer may use while Atlas is open. Each needs a client's token."""

    serve: Annotated[
        bool,
        Meta(
            title=N_("Open the door"),
            description=N_(
                "Let programs with a token use your models and memory while Atlas is open. "
                "/programs lists them."
            ),
        ),
    ] = False
    port: Annotated[
        int,
        Meta(ge=1024, le=65_535, title=N_("Port"), description=N_("Programs connect to 127.0.0.1:PORT.")),
    ] = 8642
    commands: Annotated[
        bool,
        Meta(
            title=N_("Answer commands"),
            description=N_("Answer commands such as `atlas ask` in other terminals while Atlas is open."),
        ),
    ] = True


class SamplingOverride(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Sampling for one model, by its id: `[sampling."smollm2-135m-instruct"]`."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    stop: list[str] | None = None


class EngineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An OpenAI-compatible server, by its name: `[engines.ollama]` (docs/engines.md).

    `key` is the place where the key is stored, and `allowed` the address for which the user agreed that text
    leaves this computer. Atlas writes both.
    """

    url: Annotated[str, Meta(max_length=2000)]
    context_length: Annotated[int, Meta(ge=0, le=10_000_000)] = 0
    template: Literal["server", "chatml"] = "server"
    stop: Annotated[list[str], Meta(max_length=16)] = msgspec.field(default_factory=list)
    stream: bool = True
    sampling: Literal["all", "openai"] = "all"
    reasoning: Literal["hide", "show"] = "hide"
    timeout_s: Annotated[float, Meta(ge=1, le=86_400)] = 300.0
    key: Annotated[str, Meta(max_length=100)] = ""
    allowed: Annotated[str, Meta(max_length=2000)] = ""


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
    doors: DoorSettings = msgspec.field(default_factory=DoorSettings)
    ui: UiSettings = msgspec.field(default_factory=UiSettings)
    sampling: dict[str, SamplingOverride] = msgspec.field(default_factory=dict)
    engines: dict[str, EngineSettings] = msgspec.field(default_factory=dict)
    keys: dict[str, str] = msgspec.field(default_factory=dict)

    def chat_for(self, model_id: str, recommended: Mapping[str, int | float] | None = None) -> ChatSettings:
        """Returns the chat settings for one model.

        `recommended` values replace the general ones, and what the user set for this model replaces both.
        """
        values = msgspec.structs.asdict(self.chat) | dict(recommended or {})
        override = self.sampling.get(model_id)
        if override is not None:
            values.update({k: v for k, v in msgspec.structs.asdict(override).items() if v is not None})
        return msgspec.convert(values, ChatSettings)
