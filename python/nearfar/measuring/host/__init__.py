"""Measuring this machine's own memory."""
