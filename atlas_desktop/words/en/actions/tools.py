"""What a conversation is given (files, instructions, prompts to fill in), and how it is filed."""

TEXTS = {
    "tools.attach.name": "Attach a file",
    "tools.attach.help": "`/attach` and a path (or paste the path): text, Markdown, code, or a PDF is read "
    "here.",
    "tools.detach.name": "Take an attachment out",
    "tools.detach.help": "`/detach` and its name: the model is not given it any more.",
    "tools.documents.name": "Documents",
    "tools.documents.help": "The files that conversations read: go to one that reads it, read it here too, "
    "take it out.",
    "tools.persona.name": "Persona",
    "tools.persona.help": "Choose who the model is to be here (or `/persona NAME`), and keep personas.",
    "tools.instruct.name": "Instructions",
    "tools.instruct.help": "`/system` and a text: other instructions for the model in this conversation.",
    "tools.use_template.name": "Templates of prompts",
    "tools.use_template.help": "Choose a prompt (or `/template NAME`); what it leaves open is asked for. "
    "Keep templates.",
    "tools.resume.name": "Resume a conversation",
    "tools.resume.help": "`/resume`, and an id or words of the title; alone: the list.",
    "tools.star.name": "Star or unstar",
    "tools.star.help": "Star this conversation, or take its star away.",
    "tools.tag.name": "Tag",
    "tools.tag.help": "`/tag` and words: tag this conversation; `-word` takes a tag away.",
}
