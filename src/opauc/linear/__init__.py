"""Linear scorers of the square pair loss: the paper's algorithms and their exact form."""
