"""The floor: compiled loops over arrays. Arrays in, arrays out; everything is checked before it gets here."""
