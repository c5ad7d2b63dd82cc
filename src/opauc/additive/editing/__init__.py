"""Terms that users set or remove, and the ledger of that."""
