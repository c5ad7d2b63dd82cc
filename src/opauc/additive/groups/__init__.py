"""Ranks within groups: the levels of groups fitted beside the terms, and how many groups there are."""
