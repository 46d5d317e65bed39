"""The choice of a first model."""

TEXTS = {
    "stage.download": "Downloading",
    "stage.verify": "Checking",
    "stage.convert": "Converting",
    "stage.place": "Putting in place",
    "cancel": "Cancel the download",
    "skip": "Go on without a model",
    "title": "Choose a model",
    "start_now": "  start now",
    "about": "It answers you on this computer, without the network. You can add others and change later.",
    "stopped": "Stopped.",
    "kept": "What has come is kept: choose it again to go on from there.",
    "starting": "{name}: starting…",
    "of": " of {total}",
}
