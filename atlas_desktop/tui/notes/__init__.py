"""The Notes view: the list, the editor, the preview and the links."""
