"""Core files of managed programs."""
