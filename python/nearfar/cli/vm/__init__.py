"""The verbs of `nearfar vm`, one file each."""
