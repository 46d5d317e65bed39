"""Model files on this computer: catalogue, download, verification, installation and folder watching."""
