"""What is shown, and the program itself."""

TEXTS = {
    "view.sidebar.name": "Show or hide the list",
    "view.sidebar.help": "Fold the list of conversations away, or bring it back.",
    "view.aside.name": "What is known here",
    "view.aside.help": "Show, beside the conversation, how full its context is and what Atlas remembers of "
    "it; again: fold that away.",
    "view.up.name": "Scroll up",
    "view.up.help": "One page up in the conversation; older messages are loaded at the top.",
    "view.down.name": "Scroll down",
    "view.down.help": "One page down in the conversation.",
    "view.end.name": "Go to the newest message",
    "view.end.help": "Jump to the end and follow the reply again.",
    "view.theme.name": "Colours",
    "view.theme.help": "Choose light or dark, high contrast, or the terminal's own colours; each is shown as "
    "it is marked.",
    "app.palette.name": "Commands",
    "app.palette.label": "Commands",
    "app.palette.help": "Find any action by its name.",
    "app.help.name": "Help",
    "app.help.label": "Help",
    "app.help.help": "Show every action and its key.",
    "app.demo.name": "Look around in sample conversations",
    "app.demo.help": "Lock what is yours, and look around in a throw-away home with sample conversations. "
    "Quitting them brings back your locked door.",
    "app.lock.name": "Lock",
    "app.lock.help": "End the model, close everything, and show the locked door. What you are typing is "
    "kept, encrypted; a conversation off the record is not.",
    "app.quit.name": "Quit",
    "app.quit.label": "Quit",
    "app.quit.help": "Stop and save what is under way, lock everything and leave.",
}
