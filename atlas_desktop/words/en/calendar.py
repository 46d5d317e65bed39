"""Days, as lists are grouped by them."""

TEXTS = {
    "starred": "★ Starred",
    "today": "Today",
    "yesterday": "Yesterday",
    "this_week": "This week",
    "older": "Older",
}
