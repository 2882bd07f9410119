"""Published or saved curves, turned into findings."""
