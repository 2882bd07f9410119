"""What Ctrl-C does: it ends the process at once, but where work runs that cleans up behind itself.

The rest of the program is imported under a handler that ends the process at once; work runs under
Python's own handler.
"""

from __future__ import annotations

import atexit
import os
import signal

INTERRUPTED = 130
_TOLD = {signal.SIGTERM: "terminated", signal.SIGHUP: "terminal closed"}  # to end


def take_over() -> None:
    """From now on Ctrl-C ends the process with one line, unless it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)
        # When all is done, and last of all: what Python takes down then, no handler can follow.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


class Interruptible:
    """While work runs: SIGINT raises KeyboardInterrupt, where it would end the process; and so does
    SIGTERM and SIGHUP, since what was finished is kept for each.
    """

    told = 0  # the signal, if it was one of these two

    @property
    def why(self) -> str:
        """What that signal means."""
        return _TOLD[signal.Signals(self.told)]

    @property
    def status(self) -> int:
        """Of a process that it ended."""
        return 128 + self.told

    def __enter__(self) -> Interruptible:
        for number in _TOLD:
            if signal.getsignal(number) is signal.SIG_DFL:  # or it is ignored
                signal.signal(number, self._end)
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is leave:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return self

    def __exit__(self, *_: object) -> None:
        for number in _TOLD:
            if signal.getsignal(number) == self._end:
                signal.signal(number, signal.SIG_DFL)
        if self._before is leave:
            signal.signal(signal.SIGINT, leave)

    def _end(self, number: int, *_: object) -> None:
        if self.told:  # a terminal that closes may tell twice, while work cleans up
            return
        self.told = number
        raise KeyboardInterrupt


def leave(*_: object) -> None:
    """End the process with the line and the status of an interrupted one."""
    try:
        os.write(2, b"nearfar: interrupted\n")
    finally:  # also if standard error is closed; the exit status still tells
        os._exit(INTERRUPTED)
