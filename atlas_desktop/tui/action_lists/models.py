"""What is done with models."""

from atlas_desktop.tui.action import Action, Where

ACTIONS: tuple[Action, ...] = (
    Action(
        "models.show",
        "Models",
        "What is installed, what could be, what other programs have: download, choose, measure, remove.",
        Where.EVERYWHERE,
        "show_models",
        "f6",
        priority=True,
    ),
    Action(
        "models.named",
        "Use another model",
        "`/model NAME` lets another model answer from the next reply on; without a name all are shown.",
        Where.EVERYWHERE,
        "use_model",
        in_palette=False,
        slash="/model",
        words=True,
    ),
    *(
        Action(f"models.{run}", name, text, Where.MODELS, f"model_{run}", key, label, in_palette=False)
        for run, name, key, label, text in (
            (
                "choose",
                "Use, download or take in",
                "enter,space",
                "Choose",
                "Whatever the marked one needs.",
            ),
            ("pause", "Pause or go on", "p", "Pause", "Stop the download and keep what came; again: go on."),
            (
                "cancel",
                "Cancel",
                "x",
                "Cancel",
                "End what is under way, or forget a paused download.",
            ),
            ("import", "Take in a file", "i", "Import", "A GGUF file of yours, copied or left where it is."),
            ("bench", "Measure", "b", "Measure", "How fast it reads and writes on this machine."),
            ("tune", "Tune", "t", "Tune", "Find the fastest way of running it, in the background."),
            ("verify", "Check the file", "v", "Check", "Read the whole file again and compare its checksum."),
            ("remove", "Remove", "delete", "Remove", "Delete its file, after a question; linked: forget it."),
            ("back", "Back", "escape,f6", "Back", "Leave; a download goes on."),
        )
    ),
)
