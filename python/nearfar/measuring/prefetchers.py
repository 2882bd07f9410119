"""Whether the hardware prefetchers are on, from the model-specific registers that say so."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from nearfar.measuring import machine

# Intel: bits 0 to 3 of 0x1a4 turn off the L2 streamer, the L2 adjacent line, the L1 streamer and
# the L1 stride prefetcher ("Disclosure of Hardware Prefetcher Control on Some Intel Processors").
# AMD: bits 0 to 3 and 5 of 0xc0000108 turn off L1 stream, stride, region, L2 stream and up/down
# (Processor Programming Reference, family 19h model 11h).
_REGISTERS = {"GenuineIntel": (0x1A4, 0x0F), "AuthenticAMD": (0xC0000108, 0x2F)}

State = tuple[bool | None, str, str]  # on or off, what was found, the command that mends it


def prefetcher_state(device: Path = Path("/dev/cpu/0/msr")) -> State:
    """On, off or None where it cannot be told."""
    vendor = machine.cpu_vendor()
    if vendor not in _REGISTERS:
        return None, f"not known how to ask a processor of {vendor}", ""
    register, bits = _REGISTERS[vendor]
    disable = f"modprobe msr && wrmsr -a 0x{register:x} 0x{bits:x}"
    if machine.virtual():
        found = "a virtual machine's registers are not the processor's"
        return None, found, "measure on the bare machine"
    try:
        value = _read(device, register)
    except OSError as error:
        return None, f"register 0x{register:x} cannot be read: {error.strerror}", disable
    off = value & bits
    found = f"register 0x{register:x} is 0x{value:x}"
    if off == bits:
        return False, f"all off ({found})", ""
    return True, f"{'some' if off else 'all'} on ({found})", disable


def _read(device: Path, register: int) -> int:
    descriptor = os.open(device, os.O_RDONLY)
    try:
        data = os.pread(descriptor, 8, register)
    finally:
        os.close(descriptor)
    if len(data) != 8:
        raise OSError(0, "it ends too soon")
    value: int = struct.unpack("<Q", data)[0]
    return value
