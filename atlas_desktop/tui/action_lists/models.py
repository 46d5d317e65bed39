"""What is done with models."""

from atlas_desktop.tui.action import Action, Where

ACTIONS: tuple[Action, ...] = (
    Action("models.show", Where.EVERYWHERE, "show_models", "f6", priority=True),
    Action("models.named", Where.EVERYWHERE, "use_model", in_palette=False, slash="/model", words=True),
    Action("models.choose", Where.MODELS, "model_choose", "enter,space", in_palette=False),
    Action("models.pause", Where.MODELS, "model_pause", "p", in_palette=False),
    Action("models.cancel", Where.MODELS, "model_cancel", "x", in_palette=False),
    Action("models.import", Where.MODELS, "model_import", "i", in_palette=False),
    Action("models.bench", Where.MODELS, "model_bench", "b", in_palette=False),
    Action("models.tune", Where.MODELS, "model_tune", "t", in_palette=False),
    Action("models.verify", Where.MODELS, "model_verify", "v", in_palette=False),
    Action("models.remove", Where.MODELS, "model_remove", "delete", in_palette=False),
    Action("models.back", Where.MODELS, "model_back", "escape,f6", in_palette=False),
)
