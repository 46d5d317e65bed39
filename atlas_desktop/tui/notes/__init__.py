"""The Notes view: the list, the editor, the preview, what is linked."""
