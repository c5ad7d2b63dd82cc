"""The same sums on a torch device."""
