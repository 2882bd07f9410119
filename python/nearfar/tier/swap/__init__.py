"""Programs over the kernel's own swap."""
