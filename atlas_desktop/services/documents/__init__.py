"""Documents: files and folders read into a room, searched, cited and summarised."""
