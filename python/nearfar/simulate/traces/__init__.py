"""Trace files: reading, converting and recording them."""
