"""The shapes rows come in, and from one to another."""
