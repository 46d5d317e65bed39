"""The choice of a first model."""

TEXTS = {
    "stage.download": "Downloading",
    "stage.verify": "Checking",
    "stage.convert": "Converting",
    "stage.place": "Putting in place",
    "cancel": "Cancel the download",
    "skip": "Go on without a model",
    "title": "Choose a model",
    "get": "Take it",
    "start_now": "start now",
    "recommended": "recommended for this computer",
    "found": "already here, from {program}",
    "found_note": "used where it is, nothing is copied",
    "about": "It answers you on this computer, without the network. You can add others and change later "
    "(F6).",
    "companion": "A small model that finds things by meaning comes with it: {bytes}.",
    "companion_failed": "{title}. What finds things by meaning is missing: F6 fetches {name} later.",
    "stopped": "Stopped.",
    "kept": "What has come is kept: choose it again to go on from there.",
    "starting": "{name}: starting…",
    "of": " of {total}",
}
