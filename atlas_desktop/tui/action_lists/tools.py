"""What a conversation is given (files, instructions, prompts to fill in), and how it is filed."""

from atlas_desktop.tui.action import Action, Where

ACTIONS: tuple[Action, ...] = (
    *(
        Action(f"tools.{run}", name, text, Where.CHAT, run, key, priority=bool(key), slash=slash, words=words)
        for run, name, key, slash, words, text in (
            (
                "attach",
                "Attach a file",
                "",
                "/attach",
                True,
                "`/attach` and a path (or paste the path): text, Markdown, code, or a PDF is read here.",
            ),
            (
                "detach",
                "Take an attachment out",
                "",
                "/detach",
                True,
                "`/detach` and its name: the model is not given it any more.",
            ),
            (
                "documents",
                "Documents",
                "",
                "/documents",
                False,
                "The files that conversations read: go to one that reads it, read it here too, take it out.",
            ),
            (
                "persona",
                "Persona",
                "f7",
                "/persona",
                True,
                "Choose who the model is to be here (or `/persona NAME`), and keep personas.",
            ),
            (
                "instruct",
                "Instructions",
                "",
                "/system",
                True,
                "`/system` and a text: other instructions for the model in this conversation.",
            ),
            (
                "use_template",
                "Templates of prompts",
                "",
                "/template",
                True,
                "Choose a prompt (or `/template NAME`); what it leaves open is asked for. Keep templates.",
            ),
            (
                "resume",
                "Resume a conversation",
                "",
                "/resume",
                True,
                "`/resume`, and an id or words of the title; alone: the list.",
            ),
            (
                "star",
                "Star or unstar",
                "",
                "/star",
                False,
                "Star this conversation, or take its star away.",
            ),
            (
                "tag",
                "Tag",
                "",
                "/tag",
                True,
                "`/tag` and words: tag this conversation; `-word` takes a tag away.",
            ),
        )
    ),
)
