"""What is done with a conversation, its messages, and the list of conversations."""

TEXTS = {
    "chat.send.name": "Send",
    "chat.send.help": "Send what is typed; while a reply is coming it waits its turn. Shift+Enter or Ctrl+J: "
    "a new line.",
    "chat.stop.name": "Stop the reply",
    "chat.stop.label": "Stop",
    "chat.stop.help": "End the reply and keep what has come, marked as stopped. With nothing coming: take "
    "back a waiting message.",
    "chat.back.name": "Back to typing",
    "chat.back.help": "Close the list if it lies over the conversation, and go on typing.",
    "session.new.name": "New conversation",
    "session.new.label": "New",
    "session.new.help": "Start with an empty page. What you were typing is kept where it was.",
    "session.list.name": "Conversations",
    "session.list.label": "List",
    "session.list.help": "Go to the list: type to filter by title and text, Enter opens.",
    "chat.regenerate.name": "Answer again",
    "chat.regenerate.label": "Again",
    "chat.regenerate.help": "Ask the model for another answer to your newest message; the earlier one is "
    "kept.",
    "session.rename.name": "Rename the conversation",
    "session.rename.help": "Give this conversation (or the one marked in the list) a title of your own.",
    "session.delete.name": "Delete the conversation",
    "session.delete.help": "Move this conversation (or the one marked in the list) to the bin. It can be "
    "undone.",
    "session.export.name": "Export the conversation",
    "session.export.help": "Write this conversation (or the one marked in the list) to a file: Markdown, web "
    "page, PDF, others; without personal data, or encrypted, if you like.",
    "session.import.name": "Import conversations…",
    "session.import.help": "Take in what you said elsewhere (ChatGPT, Claude, Open WebUI, LM Studio, Jan, "
    "llm, Markdown); `/import` and a path looks into it at once.",
    "session.delete_marked.name": "Delete the marked conversation",
    "session.delete_marked.label": "Delete",
    "session.delete_marked.help": "In the list: move the marked conversation to the bin. It can be undone.",
    "session.undo.name": "Undo the deletion",
    "session.undo.help": "Bring back the conversation that was just deleted (for ten seconds).",
    "session.undo_in_list.name": "Undo the deletion",
    "session.undo_in_list.help": "In the list: bring back the conversation that was just deleted.",
    "context.show.name": "What the model is given",
    "context.show.help": "Show the tiers of the context, the summaries (to read and to edit), and the exact "
    "next prompt.",
    "context.summarise.name": "Summarise older turns now",
    "context.summarise.help": "Put summaries in the place of all but the newest messages of this "
    "conversation.",
    "chat.split.name": "Say it in parts",
    "chat.split.help": "Say a text that is too long for the model in parts that fit: what follows `/split`, "
    "else your newest message. Each part is a turn; the last one is answered.",
    "chat.earlier_variant.name": "Earlier answer",
    "chat.earlier_variant.help": "Go back to the answer before this one, where the newest message was "
    "answered more than once.",
    "chat.later_variant.name": "Later answer",
    "chat.later_variant.help": "Go on to the answer after this one.",
}
