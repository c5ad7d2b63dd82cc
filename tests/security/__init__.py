"""Files that nobody wrote by saving a model: they are refused in one line, in little memory, and never crash."""
