"""Ranks within groups: the levels of groups fitted together with the terms, and how many groups there are."""
