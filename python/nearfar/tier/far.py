"""Where what is not near lies: a file to be made, memory, or the memory of one NUMA node.

Whatever it is, it has no name once it is made and ends with the last descriptor of it, so that
nothing is left behind, however the program ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from nearfar.errors import InputError, NearfarError, check_one_of
from nearfar.tier.control import COMPRESSIONS, PAGE, SLOTS
from nearfar.tier.far_names import ANONYMOUS, COMPRESSED, NODE, backing, kind_of, refuse_misspelt
from nearfar.tier.new_file import create

NAME = "nearfar-far"  # of a memory file
LARGEST = SLOTS * PAGE

_NODES = Path("/sys/devices/system/node/has_memory")
_MBIND = 237  # the system call's number on x86-64
_BIND = 2  # MPOL_BIND: from these nodes only
_KEEPS_ITS_SIZE = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_READ_WRITE, _SHARED_NORESERVE = 0x3, 0x4001


def compressed(name: str, compress: str | None = None) -> tuple[str, str]:
    """Where far memory lies, as `far_memory` has it, and what of COMPRESSIONS it is compressed
    with.

    "compressed" is memory compressed by lz4, "compressed:zstd" by zstd; `compress` says it of any
    other place. Raises InputError for a compression that is not known, or is named twice.
    """
    base, colon, named = name.partition(":")
    if base != COMPRESSED:
        return name, _known(compress or "none", "--compress")
    if compress is not None:
        raise InputError(f"--compress: found {compress} beside --far {name}, which says it already")
    known = _known(named if colon else "lz4", f"--far {COMPRESSED}", but="none")
    return ANONYMOUS, known


def _known(compression: str, option: str, but: str = "") -> str:
    check_one_of(option, compression, [name for name in COMPRESSIONS if name != but])
    return compression


def store_of(name: str, compression: str) -> str:
    """The kind of far memory, of control.FAR_STORES, that `far_memory` makes of a name."""
    return kind_of(name) if compression == COMPRESSIONS[0] else COMPRESSED


@contextlib.contextmanager
def far_memory(name: str) -> Iterator[int]:
    """Make the far memory that `name` says, empty: its descriptor.

    `name`: "anonymous", "node:N", or a file that is not there yet; ./ in front of a file's name
    that looks like one of the others tells them apart. Raises InputError for a node that is not
    there or a file that cannot be made.
    """
    descriptor = _open(name)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def nodes() -> tuple[int, ...]:
    """The NUMA nodes of this machine that have memory."""
    try:
        words = _NODES.read_text(encoding="ascii").strip().split(",")
    except OSError:
        return (0,)  # a kernel without NUMA
    ends = [word.split("-") for word in words if word]
    return tuple(node for end in ends for node in range(int(end[0]), int(end[-1]) + 1))


def _open(name: str) -> int:
    match backing(kind_of(name)):
        case "memory":
            return _in_memory()
        case "node":
            return _on_node(node_of(name))
        case _:
            refuse_misspelt(name)
            return _new_file(name)


def _in_memory() -> int:
    """A memory file of LARGEST bytes, a hole at first, that no process can cut short: the pager may
    then read and write it in place. Where files may not be so large (RLIMIT_FSIZE) it is empty, and
    grows as it is written."""
    descriptor = os.memfd_create(NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with contextlib.suppress(OSError):
        os.truncate(descriptor, LARGEST)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _KEEPS_ITS_SIZE)
    return descriptor


def _new_file(name: str) -> int:
    descriptor = create(name, 0o600)
    Path(name).unlink()
    return descriptor


def node_of(name: str) -> int:
    """The node that "node:N" names. Raises InputError for one that is not there, or has no
    memory."""
    number, there = name.removeprefix(NODE), nodes()
    if not (number.isascii() and number.isdigit() and int(number) in there):
        known = ", ".join(map(str, there))
        raise InputError(
            f"--far {name}: found no such NUMA node with memory, expected node:N with N one of "
            f"{known} (a file of that name: ./{name})"
        )
    return int(number)


def _on_node(node: int) -> int:
    """Memory whose pages all come from one node, whichever process touches them first."""
    descriptor = _in_memory()
    try:
        _bind(descriptor, node)
    except OSError as error:
        os.close(descriptor)
        if error.errno == errno.ENOSYS:
            raise NearfarError(f"--far node:{node}: this kernel was built without NUMA") from None
        raise NearfarError(f"--far node:{node}: {error.strerror}") from None
    return descriptor


def _bind(descriptor: int, node: int) -> None:
    """Set the policy of a memory file, which stays when the mapping that sets it is gone."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    length = ctypes.c_size_t(LARGEST)
    at = libc.mmap(None, length, _READ_WRITE, _SHARED_NORESERVE, descriptor, ctypes.c_long(0))
    if at == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    words = (ctypes.c_ulong * (node // 64 + 1))()
    words[node // 64] = 1 << node % 64
    bits = ctypes.c_ulong(len(words) * 64 + 1)  # the kernel takes one bit fewer
    try:
        if libc.syscall(_MBIND, ctypes.c_void_p(at), length, _BIND, words, bits, 0) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        libc.munmap(ctypes.c_void_p(at), length)
