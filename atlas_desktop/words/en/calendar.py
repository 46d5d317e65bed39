"""Days, as lists are grouped by them."""

TEXTS = {
    "today": "Today",
    "yesterday": "Yesterday",
    "this_week": "This week",
    "older": "Older",
}
