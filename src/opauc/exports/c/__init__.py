"""Models as C99: constants, and the code that reads and scores rows with them."""
