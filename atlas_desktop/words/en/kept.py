"""Windows over things kept by name: personas, templates, projects."""

TEXTS = {
    "close": "Close",
    "add": "Add",
    "edit": "Edit",
    "remove": "Remove",
    "keys": "Enter uses it · a adds · e edits · d removes · Esc closes",
    "remove_asked": "Remove?",
    "removed": "“{name}” will be removed for good.",
    "keep": "Keep",
    "archive": "Archive",
    "no_project": "No project",
    "personas": "Personas",
    "personas_hint": "Who the model is in this conversation. "
    "It holds from your next words on; /persona none ends it.",
    "personas_none": "There are none yet. Press a to write one: a name, and what the model is to be.",
    "persona_hint": "What it is told before everything else. "
    "Conversations that took it up keep the words they have.",
    "personas_stay": "Conversations that took it up keep its words.",
    "persona_new": "New persona",
    "persona_edit": "Edit the persona",
    "persona_now": "in use · {text}",
    "templates": "Templates of prompts",
    "templates_hint": "What stands in {braces} is asked for; then the text is put into the prompt.",
    "templates_none": "There are none yet. Press a to write one: “Write a letter to {whom} about {what}.”",
    "template_hint": "What stands in {braces} is asked for when it is used.",
    "template_new": "New template",
    "template_edit": "Edit the template",
}
