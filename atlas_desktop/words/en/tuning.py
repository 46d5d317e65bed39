"""What is told while the fastest way of running a model is looked for."""

TEXTS = {
    "reading": "reading the fixed text",
    "no_memory": "{layout}: too little memory is free to hold it beside the model",
    "writing": "{layout}: writing the model in this layout",
    "in_turns": "as downloaded and tuned, in turns",
}
