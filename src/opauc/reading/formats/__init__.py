"""One file a format: its name, its endings, and how to make its reader."""
