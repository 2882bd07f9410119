"""Real programs on a simulated machine."""
