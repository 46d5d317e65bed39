"""What is done with one message."""

TEXTS = {
    "forked.one": "A copy up to that message: 1 message. The original stays.",
    "forked.other": "A copy up to that message: {count} messages. The original stays.",
    "no_code": "There is no code in this message.",
    "code": "code",
    "code_lines.one": "{language} · 1 line",
    "code_lines.other": "{language} · {count} lines",
    "which_code": "Which code?",
    "message_copied": "The message is on the clipboard.",
    "code_copied": "The code is on the clipboard.",
    "copy": "Copy to the clipboard?",
    "copy_hint": "Other programs can read the clipboard, and some keep what was on it. "
    "What you copy leaves this room.",
    "copy_it": "Copy",
    "copy_not": "Leave it",
    "marked": "The message is marked as important: it stays in sight longest.",
    "unmarked": "The message is like others again.",
    "newest": "It is your newest one: {key} selects another.",
    "no_more_variants": "There is no other variant that way.",
    "no_variants": "It has no variants.",
    "close": "Close",
    "whole": "The whole message",
    "whole_keys": "{count} characters · arrows and pages scroll · Esc closes",
    "branches": "Branches",
    "branches_keys": "Enter goes there · Esc closes",
    "one_branch": "{count} messages, one after the other. Editing a message (e) or answering again "
    "(Ctrl+R) makes a branch.",
    "many_branches": "{count} messages on {branches} branches. ● is the one that is shown.",
    "branch_empty": "(nothing came)",
    "branch_length": "{count} messages",
}
