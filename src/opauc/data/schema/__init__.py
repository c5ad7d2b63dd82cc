"""What the columns of a table are: one type inference, one number grammar, dates."""
