"""A question."""

TEXTS = {
    "no": "No",
}
