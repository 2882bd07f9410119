"""The open device /dev/nearfar: calls of the Linux module, and what its refusals mean."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
from collections.abc import Mapping

from nearfar.errors import InputError
from nearfar.measuring.kernel import protocol

_BUILD = "make -C integrations/linux-module && sudo make -C integrations/linux-module load"


class Device:
    """The device, open until it is deleted. Raises InputError if it cannot be opened."""

    def __init__(self, path: str = protocol.DEVICE) -> None:
        self._descriptor = -1
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise InputError(_not_opened(path, error.errno or 0)) from None
        self.info = protocol.Info()
        self.ask(self.info)
        if self.info.protocol != protocol.PROTOCOL:
            raise InputError(
                f"kernel: the loaded module speaks protocol {self.info.protocol}, this nearfar "
                f"{protocol.PROTOCOL}; build and load the module that belongs to it: {_BUILD}"
            )

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def ask(self, struct: ctypes.Structure, meanings: Mapping[int, str] | None = None) -> None:
        """Make the call that takes `struct`, which is answered in place.

        Raises InputError with the meaning of a refusal.
        """
        while True:
            try:
                fcntl.ioctl(self._descriptor, protocol.command(type(struct)), struct, True)
                return
            except InterruptedError:
                continue  # Ctrl-C has been raised by now; another signal changes nothing
            except OSError as error:
                raise InputError(refusal(error.errno or 0, meanings)) from None

    def ns(self, cycles: int) -> float:
        """Cycles of its clock as ns."""
        return cycles * 1e6 / (self.info.tsc_khz or 2_000_000)


_MEANINGS = {
    errno.EPROTO: f"the loaded module belongs to another version; build and load it: {_BUILD}",
    errno.ENOTTY: f"the loaded module belongs to another version; build and load it: {_BUILD}",
    errno.EOPNOTSUPP: "this processor or this kernel has not what that needs",
    errno.E2BIG: "more than the module takes in one call (see docs/linux-module.md, limits)",
    errno.ENOMEM: "the kernel has no memory left for it",
    errno.ETIMEDOUT: "the measurement was ended after its limit of 10 minutes",
}


def refusal(number: int, meanings: Mapping[int, str] | None = None) -> str:
    """What an error of the module means; `meanings` of the call come before the usual ones."""
    known = {**_MEANINGS, **(meanings or {})}
    return f"kernel: {known.get(number, os.strerror(number))}"


def _not_opened(path: str, number: int) -> str:
    if number in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        return f"kernel: found no {path}, the module is not loaded; build and load it: {_BUILD}"
    if number in (errno.EACCES, errno.EPERM):
        return f"kernel: {path} opens for root alone; run this command as root"
    return f"kernel: {path}: {os.strerror(number)}"
