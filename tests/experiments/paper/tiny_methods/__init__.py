"""Methods that do what methods may do: work, raise, refuse, take too long."""
