"""Bytes of text files to numbers."""
