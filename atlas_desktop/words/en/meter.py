"""What stands in the meter of a prompt: its tiers, and what is counted in each."""

TEXTS = {
    "in_all": "{tokens} of {limit} tokens ({share:.0%}), beside {reply} for the reply; older turns are "
    "summarised beyond {working}, down to {target}",
    "system": "instructions",
    "profile": "profile",
    "pinned": "kept word for word",
    "summary": "summaries",
    "document": "documents",
    "recent": "recent, verbatim",
    "recall": "recalled",
    "time": "date and time",
    "user": "newest message",
    "profile.count.one": "1 memory",
    "profile.count.other": "{count} memories",
    "pinned.count.one": "1 message",
    "pinned.count.other": "{count} messages",
    "summary.count.one": "1 summary",
    "summary.count.other": "{count} summaries",
    "document.count.one": "1 file",
    "document.count.other": "{count} files",
    "recent.count.one": "1 message",
    "recent.count.other": "{count} messages",
    "recall.count.one": "1 passage",
    "recall.count.other": "{count} passages",
}
