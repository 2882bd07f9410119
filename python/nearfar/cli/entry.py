"""Where the process begins: Ctrl-C is one line and a status from here to its end.

This imports little: until it has, Ctrl-C is Python's.
"""

from __future__ import annotations

from nearfar.cli.interrupt import leave, take_over


def main() -> int:
    """The console script `nearfar`; returns its exit status."""
    try:
        take_over()
    except KeyboardInterrupt:
        leave()
    from nearfar.cli.main import main as command_line

    return command_line()
