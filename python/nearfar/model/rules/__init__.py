"""Combinations of values that no machine can have."""
