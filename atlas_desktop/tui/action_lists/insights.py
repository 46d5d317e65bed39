"""What is done on the screen of insights."""

from atlas_desktop.tui.action import Action, Where

ACTIONS: tuple[Action, ...] = (
    Action("insights.show", Where.VIEWS, "show_insights", "f4", priority=True, slash="/insights"),
    Action("insights.next", Where.INSIGHTS, "insights_next", "right", in_palette=False),
    Action("insights.previous", Where.INSIGHTS, "insights_previous", "left", in_palette=False),
    Action("insights.span", Where.INSIGHTS, "insights_span", "s", in_palette=False),
    Action("insights.words", Where.INSIGHTS, "insights_words", "w", in_palette=False),
    Action("insights.back", Where.INSIGHTS, "insights_back", "escape", in_palette=False),
)
