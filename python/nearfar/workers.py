"""Processes that are forked to work for this one."""

from __future__ import annotations

import signal


def take_signals() -> None:
    """In a worker that was forked while SIGINT was held back: that is for the process that it works
    for, and what ends other processes ends it, without Python's handlers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
