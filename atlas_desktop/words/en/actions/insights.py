"""What is done on the screen of insights."""

TEXTS = {
    "insights.show.name": "Insights",
    "insights.show.help": "Your own statistics: when you talk and about what, which memories serve, what "
    "takes room, how fast the model is. Computed here, kept nowhere.",
    "insights.next.name": "Next tab",
    "insights.next.label": "Next",
    "insights.next.help": "Go to the next kind of insight.",
    "insights.previous.name": "Tab before",
    "insights.previous.label": "Before",
    "insights.previous.help": "Go to the kind of insight before.",
    "insights.span.name": "Another time",
    "insights.span.label": "Time",
    "insights.span.help": "The last year, 12 weeks, 30 days, or all the time.",
    "insights.words.name": "In words",
    "insights.words.label": "Words",
    "insights.words.help": "Without plots: the same in words; again: with them.",
    "insights.back.name": "Back",
    "insights.back.label": "Back",
    "insights.back.help": "Leave the insights.",
}
