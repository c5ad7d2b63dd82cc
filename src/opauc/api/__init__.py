"""What the command does, as functions on files and frames."""
