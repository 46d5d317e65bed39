"""The program itself: how it ends, what it remarks."""

TEXTS = {
    "loading_model": "loading the model",
    "off_record_ends": "This conversation is off the record: it is kept nowhere, and it ends here.",
    "stay": "Stay",
    "lock": "Lock",
    "lock_anyway": "Lock, and let it go",
    "quit": "Quit",
    "quit_anyway": "Quit, and let it go",
    "quit_hint": "{quit} quits. Ctrl+C copies what is marked.",
    "stop_hint": "{stop} stops the reply, {quit} quits. Ctrl+C copies what is marked.",
    "model_begin": "New model: {name}. You can begin.",
    "model_arrived": "New model: {name}. `/model {name}` makes it the one that answers.",
    "not_noted": "It could not be written down",
    "no_terminal": "The interface needs a terminal to be drawn in and to be typed into; there is none here.",
    "no_terminal_step": "Run `atlas` in a terminal. In scripts: `atlas ask`, `atlas chat --jsonl`.",
    "error_id": "Error id: {id}",
}
