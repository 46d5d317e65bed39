"""Documents of a room: files read from disk, folders scanned and watched."""
