"""Days, as lists are grouped by them."""

TEXTS = {
    "starred": "★ Starred and pinned",
    "today": "Today",
    "yesterday": "Yesterday",
    "this_week": "This week",
    "older": "Older",
}
