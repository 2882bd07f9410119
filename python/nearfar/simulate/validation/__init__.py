"""Models against published measurements of hardware."""
