"""Traces the pager's threads of a tree, so that no other process can stop them.

A tracer such as `strace -f -p` stops all threads of a process, and then reads memory that may be
far. Were the threads stopped that bring memory in, both would wait for each other for ever. A
thread has one tracer at most; this one lets the threads run.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
from collections.abc import Iterator
from pathlib import Path

from nearfar.tier.ptrace import (
    ANY_CHILD,
    CONTINUE,
    DETACH,
    INTERRUPT,
    LISTEN,
    SEIZE,
    ptrace,
)

_REQUEST = struct.Struct("<2i")  # core/tier/service/own_tracer.h
_EVENT_STOP = 128  # PTRACE_EVENT_STOP
_STOPS = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)


@contextlib.contextmanager
def tracer_requests() -> Iterator[int]:
    """A pipe for requests to a tracer: one descriptor, to read and write."""
    reading, writing = os.pipe()
    try:
        both = os.open(f"/proc/self/fd/{writing}", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.close(reading)
        os.close(writing)
    try:
        yield both
    finally:
        os.close(both)


class OwnTracer:
    """In a process of its own: follows requests, and lets threads go on that have stopped."""

    def __init__(self, requests: int) -> None:
        self._requests = requests
        self._traced: set[int] = set()
        self._to_detach: set[int] = set()
        self._wakes, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(woken)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])

    def wait_for(self, other: int) -> None:
        """Serve until the descriptor `other` has something to read."""
        poll = select.poll()
        for descriptor in (other, self._requests, self._wakes):
            poll.register(descriptor, select.POLLIN)
        while True:
            self._let_go_on()
            ready = dict(poll.poll())
            if self._wakes in ready:
                os.read(self._wakes, 4096)
            if self._requests in ready:
                self._follow_requests()
            if other in ready:
                return

    def _follow_requests(self) -> None:
        with contextlib.suppress(BlockingIOError):
            for process, thread in _REQUEST.iter_unpack(os.read(self._requests, 4096)):
                if thread != 0:
                    self._trace(thread)
                else:
                    self._release(process)

    def _trace(self, thread: int) -> None:
        self._to_detach.discard(thread)
        with contextlib.suppress(OSError):  # this user may not, another does, or it has ended
            ptrace(SEIZE, thread, 0, 0)
            self._traced.add(thread)

    def _release(self, process: int) -> None:
        """Only a thread that has stopped can be detached from."""
        for thread in self._traced:
            if Path(f"/proc/{process}/task/{thread}").exists():
                self._to_detach.add(thread)
                with contextlib.suppress(OSError):
                    ptrace(INTERRUPT, thread, 0, 0)

    def _let_go_on(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG | ANY_CHILD))[0] != 0:
                thread, status = found
                if not os.WIFSTOPPED(status):
                    self._traced.discard(thread)
                    self._to_detach.discard(thread)
                    continue
                self._traced.add(thread)  # perhaps a new one, that was started by one of these
                with contextlib.suppress(OSError):
                    self._resume(thread, status)

    def _resume(self, thread: int, status: int) -> None:
        """Have a stopped thread go on as if it were not traced."""
        number, event = os.WSTOPSIG(status), status >> 16
        if thread in self._to_detach:
            self._to_detach.discard(thread)
            self._traced.discard(thread)
            ptrace(DETACH, thread, 0, 0 if event else number)
        elif event == _EVENT_STOP and number in _STOPS:
            ptrace(LISTEN, thread, 0, 0)
        else:
            ptrace(CONTINUE, thread, 0, 0 if event else number)
