"""Where cards and additive models meet: rows wait until a card can be made of them, then they are sums."""
