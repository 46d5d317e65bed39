"""What is no export."""

TEXTS = {
    "unknown_export.title": "No conversations were found there",
    "unknown_export.what": "{reasons} Nothing was changed.",
    "unknown_export.next": "Export it once more where it comes from; `atlas import --format` says whose it "
    "is, and then what is whole in it is read.",
    "unknown_export.name_it": "Give the export of ChatGPT, Claude, Open WebUI, LM Studio, Jan or llm as it "
    "is, Markdown or JSON lines; --format says which it is.",
    "unknown_export.alien": "nothing in it is in a format that Atlas reads",
    "unknown_export.of": "{names}: {why}.",
    "unknown_export.some": "{names} and {more} more",
    "unknown_export.more": "{count} more cannot be read either.",
}
