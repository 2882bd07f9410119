"""The command line: one file a command, each parses, calls and reports.

Nothing here loads numpy or the core until a command needs them, so that `nearfar --help`
and wrong usage answer at once.
"""
