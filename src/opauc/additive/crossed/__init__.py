"""Crossed codes: combinations of inputs as random effects."""
