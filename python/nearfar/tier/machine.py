"""Whether this machine can run programs on two tiers, and if not, why and what to do."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import importlib.util
import os
import platform
import struct
from dataclasses import dataclass
from pathlib import Path

from nearfar.errors import NearfarError, check_one_of
from nearfar.tier.control import BEST, COPY, EVICTIONS, MOVE

LIBRARY = "libnearfar_tier.so"
GET_ALLOCATOR = "apt-get install libmimalloc2.0"
GET_LIBRARY = "make install (on Linux, x86-64)"
GET_DESCRIPTORS = "ulimit -n 64, or more"
GET_PERMISSION = (
    "sysctl vm.unprivileged_userfaultfd=1, or chmod a+rw /dev/userfaultfd; or without either, "
    "--sigbus, for programs whose system calls are libc's"
)

_CACHE = Path("/etc/ld.so.cache")  # of the dynamic linker, with the names that it finds
_ALLOCATORS = ("libmimalloc.so.2", "libmimalloc.so.3", "libmimalloc.so")
_ABSENT = os.strerror(errno.ENOENT)
_USERFAULTFD = 323  # the system call's number on x86-64
_USER_MODE_ONLY = 1
_DEVICE = "/dev/userfaultfd"
_DEVICE_NEW = 0xAA00
_API_IOCTL = 0xC018AA3F
_API = 0xAA
_FEATURE_MOVE = 1 << 16
_FEATURE_PROTECT = 1 << 0
_FEATURES_OF_WRITES = 1 << 15 | 1 << 0
_FEATURES_OF_ACCESSES = 1 << 17 | 1 << 18


@dataclass(frozen=True)
class Obstacle:
    """What keeps programs from running on two tiers, and what mends it, if anything does."""

    reason: str
    mend: str = ""

    def __str__(self) -> str:
        return f"{self.reason}; to mend it: {self.mend}" if self.mend else self.reason


def library() -> Path:
    """The library that is preloaded into programs; it may not have been built."""
    spec = importlib.util.find_spec("nearfar._core")
    base = Path(spec.origin) if spec and spec.origin else Path(__file__).parent
    return base.parent / "_tier" / LIBRARY


def headers() -> Path:
    """The folder of nearfar/tier.h. Raises NearfarError if this installation has none."""
    folder = library().parent / "include"
    if not (folder / "nearfar" / "tier.h").is_file():
        raise NearfarError(f"this installation has no nearfar/tier.h; to mend it: {GET_LIBRARY}")
    return folder


def preloaded(*, sigbus: bool = False, heap: bool = True) -> str:
    """What LD_PRELOAD takes; without `heap`, for a program of whose memory only a guest's is
    managed. Raises NearfarError if programs cannot run on two tiers here.
    """
    require(sigbus=sigbus)
    own = str(library())
    if any(character in own for character in " :"):
        raise NearfarError(f"{own}: the dynamic linker takes no path with a space or a colon")
    return f"{own}:{allocator()}" if heap else own


def allocator() -> str | None:
    """The name of the allocator whose memory is managed, for the dynamic linker; None if it does
    not find it. Raises OSError if that cannot be known.

    Its cache says so without a program that has to be started, as ctypes.util.find_library does,
    and without the allocator being loaded here, which may reserve memory at once.
    """
    try:
        cached = _CACHE.read_bytes()
    except FileNotFoundError:
        cached = b""
    for name in _ALLOCATORS:
        if f"\0{name}\0".encode() in cached:
            return name
        try:
            ctypes.CDLL(name)  # where LD_LIBRARY_PATH says, or there is no cache
        except OSError as error:
            if _ABSENT not in str(error):  # dlopen has a text, and no number
                raise
        else:
            return name
    return None


def obstacle(*, sigbus: bool = False) -> Obstacle | None:
    """What is missing on this machine; None if nothing is. With `sigbus`, no permission is needed
    for faults inside system calls.
    """
    if not library().is_file():
        return Obstacle(f"this installation has no {LIBRARY}", GET_LIBRARY)
    try:
        if allocator() is None:
            return Obstacle("the allocator mimalloc is not installed", GET_ALLOCATOR)
    except OSError as error:
        return _of_files(error) or Obstacle(f"the allocator mimalloc cannot be loaded: {error}")
    try:
        found = evictions(sigbus=sigbus)
    except OSError as error:
        of_files = _of_files(error)
        if of_files is not None:
            return of_files
        if error.errno == errno.ENOSYS:
            return Obstacle("this kernel was built without userfaultfd")
        return Obstacle("userfaultfd is not permitted to this user", GET_PERMISSION)
    if not found:
        release = platform.release()
        return Obstacle(
            f"userfaultfd can neither move nor write-protect pages in Linux {release}, but in 5.7 "
            "and newer"
        )
    return None


def _of_files(error: OSError) -> Obstacle | None:
    """Whether it is that no more files can be opened, by this process or the system."""
    for number in (errno.EMFILE, errno.ENFILE):
        reason = os.strerror(number)
        if error.errno == number or reason in str(error):
            return Obstacle(reason.lower(), GET_DESCRIPTORS)
    return None


def evictions(*, sigbus: bool = False) -> tuple[str, ...]:
    """How pages can leave in this kernel, of control.EVICTIONS. OSError without permission."""
    return tuple(
        eviction
        for eviction, feature in ((MOVE, _FEATURE_MOVE), (COPY, _FEATURE_PROTECT))
        if _has(feature, sigbus)
    )


def tracks(accesses: bool) -> bool:
    """Whether the kernel notes writes to pages, or all `accesses`. OSError without permission."""
    return _has(_FEATURES_OF_ACCESSES if accesses else _FEATURES_OF_WRITES, sigbus=False)


def possible_eviction(wanted: str = BEST, *, sigbus: bool = False) -> str:
    """How pages leave if it is to be `wanted`, of control.EVICTIONS.

    Raises InputError if that is none of them, NearfarError if this machine cannot.
    """
    check_one_of("--evict", wanted, EVICTIONS)
    require(sigbus=sigbus)
    possible = evictions(sigbus=sigbus)
    if wanted == BEST:
        return possible[0]
    if wanted not in possible:
        release = platform.release()
        raise NearfarError(
            f"tier: userfaultfd cannot {wanted} pages in Linux {release}, but in 6.8 and newer; "
            f"without --evict, they leave by {possible[0]}"
        )
    return wanted


def require(*, sigbus: bool = False) -> None:
    """Raise NearfarError if programs cannot run on two tiers here."""
    found = obstacle(sigbus=sigbus)
    if found is not None:
        raise NearfarError(f"tier: {found}")


def kills_for_memory() -> int:
    """How many processes the kernel has killed since it started, as memory had run out."""
    for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(" ")
        if name == "oom_kill":
            return int(value)
    return 0


def _has(feature: int, sigbus: bool) -> bool:
    """Whether userfaultfd has a feature. Raises OSError if there is none, or not for this user."""
    descriptor = _open(sigbus)
    try:
        fcntl.ioctl(descriptor, _API_IOCTL, bytearray(struct.pack("<3Q", _API, feature, 0)))
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _open(sigbus: bool) -> int:
    """A userfaultfd that waits inside system calls too, or with `sigbus` never. Raises OSError."""
    flags = os.O_CLOEXEC | os.O_NONBLOCK | (_USER_MODE_ONLY if sigbus else 0)
    descriptor: int = ctypes.CDLL(None, use_errno=True).syscall(_USERFAULTFD, flags)
    if descriptor >= 0:
        return descriptor
    refused = ctypes.get_errno()
    try:
        device = os.open(_DEVICE, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        raise OSError(refused, os.strerror(refused)) from None
    try:
        return fcntl.ioctl(device, _DEVICE_NEW, flags)
    finally:
        os.close(device)
