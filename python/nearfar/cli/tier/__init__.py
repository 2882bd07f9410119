"""The verbs of `nearfar tier`, one file each."""
