"""The window over the files that conversations read."""

TEXTS = {
    "title": "Documents",
    "hint": "What conversations read. Enter goes to one that reads it. Atlas keeps the text of a file, "
    "never the file itself.",
    "none": "No conversation reads a file yet. Press a to attach one: text, Markdown, code or PDF.",
    "keys": "Enter opens · h reads it here · a attaches · d takes out · Esc",
    "here": "Read it here",
    "read_here": "read here",
    "more.one": "1 more",
    "more.other": "{count} more",
    "removed.one": "The text of “{name}” is taken out of the conversation that reads it. "
    "The file on your disk stays.",
    "removed.other": "The text of “{name}” is taken out of the {count} conversations that read it. "
    "The file on your disk stays.",
    "which": "Which conversation?",
}
