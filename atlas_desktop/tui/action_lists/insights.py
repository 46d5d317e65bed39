"""What is done on the screen of insights."""

from atlas_desktop.tui.action import Action, Where

ACTIONS: tuple[Action, ...] = (
    Action(
        "insights.show",
        "Insights",
        "Your own statistics: when you talk and about what, which memories serve, what takes room, how fast "
        "the model is. Computed here, kept nowhere.",
        Where.CHAT,
        "show_insights",
        "f4",
        priority=True,
        slash="/insights",
    ),
    *(
        Action(f"insights.{run}", name, text, Where.INSIGHTS, f"insights_{run}", key, label, in_palette=False)
        for run, name, key, label, text in (
            ("next", "Next tab", "right", "Next", "Go to the next kind of insight."),
            ("previous", "Tab before", "left", "Before", "Go to the kind of insight before."),
            ("span", "Another time", "s", "Time", "The last year, 12 weeks, 30 days, or all the time."),
            ("words", "In words", "w", "Words", "Without plots: the same in words; again: with them."),
            ("back", "Back", "escape,f4", "Back", "Leave the insights."),
        )
    ),
)
