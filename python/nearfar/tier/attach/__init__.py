"""Programs that run already: pages moved between two nodes from outside."""
