"""Fitted models written in other languages and formats, from one portable form of them."""
