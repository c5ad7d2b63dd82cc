"""One file a format: how it is recognized, and its reader."""
