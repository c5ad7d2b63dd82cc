"""Delimited text: finding its records, its header and its values, with line numbers and resume positions."""
