"""What a conversation is given (files, instructions, prompts to fill in), and how it is filed."""

from atlas_desktop.tui.action import Action, Where

ACTIONS: tuple[Action, ...] = (
    Action("tools.attach", Where.CHAT, "attach", slash="/attach", words=True),
    Action("tools.detach", Where.CHAT, "detach", slash="/detach", words=True),
    Action("tools.documents", Where.CHAT, "documents", slash="/documents"),
    Action("tools.persona", Where.CHAT, "persona", "f7", priority=True, slash="/persona", words=True),
    Action("tools.instruct", Where.CHAT, "instruct", slash="/system", words=True),
    Action("tools.use_template", Where.CHAT, "use_template", slash="/template", words=True),
    Action("tools.resume", Where.CHAT, "resume", slash="/resume", words=True),
    Action("tools.star", Where.CHAT, "star", slash="/star"),
    Action("tools.tag", Where.CHAT, "tag", slash="/tag", words=True),
)
