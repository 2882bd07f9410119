"""What QEMU's words say of a machine: its name, the blocks of its memory, and what keeps those from
being far."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.errors import InputError

QEMU = "qemu-system-x86_64"
GET_QEMU = "apt-get install qemu-system-x86"
_QEMUS = re.compile(r"qemu-system-\w+|qemu-kvm|kvm")
_DEFAULT_BYTES = 128 << 20  # QEMU's own
_GRAIN = 8192  # that QEMU rounds a machine's memory up to
_TOO_MUCH = 1 << 63  # bytes, for one block
_UNITS = {"B": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([bkmgtpe]?)", re.IGNORECASE)
_ON = ("on", "yes", "true", True)
_OFF = ("off", "no", "false", False)
# All others have a word behind them.
_WITHOUT_A_VALUE = (
    *("S", "alt-grab", "ctrl-grab", "curses", "daemonize", "enable-kvm", "enable-sync-profile"),
    *("full-screen", "h", "help", "mem-prealloc", "no-acpi", "no-fd-bootchk", "no-frame"),
    *("no-hpet", "no-kvm", "no-quit", "no-reboot", "no-shutdown", "no-user-config", "nodefaults"),
    *("nographic", "old-param", "only-migratable", "portrait", "preconfig", "s", "sdl"),
    *("semihosting", "singlestep", "snapshot", "usb", "version", "win2k-hack", "xen-attach"),
    "xen-domid-restrict",
)
_PLACES = {"machine": "memory-backend", "M": "memory-backend", "numa": "memdev"}
_BACKEND = "memory-backend-"
_PRIVATE = "memory-backend-ram"
_BACKENDS = (_PRIVATE, "memory-backend-memfd", "memory-backend-file", "memory-backend-shm")
_CONFIDENTIAL = ("sev-guest", "sev-snp-guest", "tdx-guest")


@dataclass(frozen=True)
class Machine:
    """A machine's name, empty if it has none, and the bytes of each block of its memory; whether
    some of it is shared with other processes or a file's."""

    name: str
    blocks: tuple[int, ...]
    shared: bool = False

    @property
    def guest_bytes(self) -> int:
        """All of its memory."""
        return sum(self.blocks)


def is_qemu(program: str) -> bool:
    """Whether a program is by its name a QEMU that runs whole machines."""
    return _QEMUS.fullmatch(Path(program).name) is not None


def read_words(words: Sequence[str], *, takes_shared: bool = False) -> Machine:
    """What QEMU's words, its name in front, say of the machine's memory, which may be shared with
    other processes or a file's where it `takes_shared`.

    Raises InputError for memory that cannot be managed, and for sizes that cannot be read.
    """
    options = list(_options(words[1:]))
    shared = [f"-{name} {value}" for name, value in options if _is_shared(name, value)]
    if shared and not takes_shared:
        raise InputError(_of_others(shared[0]))
    for name, value in options:
        _refuse(name, value)
    backends: dict[object, int] = {}
    own, main = _DEFAULT_BYTES, True
    for name, value in options:
        if name == "m":
            own = _machine_bytes(value)
        elif name == "object" and _object_of(value).get("qom-type") in _BACKENDS:
            fields = _object_of(value)
            text = str(fields.get("size", ""))
            backends[fields.get("id", len(backends))] = _bytes(f"-object {value}", text, "B")
        elif _PLACES.get(name) in _fields(value):  # a backend is the machine's memory
            main = False
    blocks = [-(-own // _GRAIN) * _GRAIN] if main else []
    return Machine(machine_name(words), (*blocks, *backends.values()), bool(shared))


def machine_name(words: Sequence[str]) -> str:
    """What `-name` says; empty without it."""
    found = ""
    for name, value in _options(words[1:]):
        if name == "name":
            fields = _fields(value, first="guest")
            found = str(fields.get("guest", found))
    return found


def has_qmp(words: Sequence[str]) -> bool:
    """Whether QEMU's words give it a monitor for programs."""
    return any(
        name in ("qmp", "qmp-pretty") or (name == "mon" and _fields(value).get("mode") == "control")
        for name, value in _options(words[1:])
    )


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word == "-":
            continue  # an image of a disk
        name = word[2:] if word.startswith("--") else word[1:]
        yield name, "" if name in _WITHOUT_A_VALUE else next(rest, "")


def _refuse(name: str, value: str) -> None:
    """Raise InputError if an option gives the guest memory that cannot be far."""
    found = f"-{name} {value}"
    fields = _fields(value, first="type")
    if name == "daemonize":
        raise InputError(
            "-daemonize: found a QEMU that leaves its launcher, which watches it; expected one "
            "that stays, and `nearfar vm run ... &` for one in the background"
        )
    if name == "object":
        _refuse_object(found, _object_of(value))
    elif name in ("device", "netdev"):
        of = _device_of(value)
        if of.startswith("vfio-") or of.startswith("vhost-vdpa"):
            raise InputError(
                f"{found}: the device reaches all of the guest's memory by itself, so that the "
                "kernel pins every page and none can be far; expected no VFIO and no vDPA device"
            )
    elif name in ("overcommit", "realtime"):
        locked = fields.get("mem-lock", fields.get("mlock"))
        if locked not in (None, *_OFF) or (
            name == "realtime" and locked is None and "mlock" in value
        ):
            raise InputError(
                f"{found}: QEMU would lock the guest's memory, and none of it could be far; "
                "expected mem-lock=off"
            )


def _refuse_object(found: str, fields: Mapping[str, object]) -> None:
    kind = str(fields.get("qom-type", ""))
    if kind in _CONFIDENTIAL:
        raise InputError(
            f"{found}: a confidential guest's memory is pinned, and none of it can be far; "
            "expected a guest without it"
        )
    if kind.startswith(_BACKEND) and kind not in _BACKENDS:
        raise InputError(
            f"{found}: found memory that is set aside for one use, expected one of "
            f"{', '.join(_BACKENDS)}"
        )


def _is_shared(name: str, value: str) -> bool:
    """Whether an option gives the guest memory that other processes can map, or that is a
    file's."""
    if name == "mem-path":
        return True
    fields = _object_of(value) if name == "object" else {}
    kind = fields.get("qom-type")
    return kind in _BACKENDS and (kind != _PRIVATE or fields.get("share") in _ON)


def _of_others(found: str) -> str:
    return (
        f"{found}: found memory of the guest that other processes can map or that is a file's, "
        f"which the pager inside QEMU cannot move; expected private memory ({_PRIVATE} without "
        "share=on, or -m alone), or --flat --far node:N"
    )


def _device_of(value: str) -> str:
    if value.startswith("{"):
        fields = _json(value)
        return str(fields.get("driver", fields.get("type", "")))
    return str(_fields(value, first="driver").get("driver", ""))


def _object_of(value: str) -> Mapping[str, object]:
    return _json(value) if value.startswith("{") else _fields(value, first="qom-type")


def _json(value: str) -> Mapping[str, object]:
    try:
        fields = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _fields(value: str, first: str = "") -> Mapping[str, object]:
    """KEY=VALUE,... as QEMU reads it: two commas are one in a value, and what has no key is that of
    `first` in front, and `on` behind it."""
    fields: dict[str, object] = {}
    for at, part in enumerate(value.replace(",,", "\0").split(",")):
        key, equals, text = part.replace("\0", ",").partition("=")
        if equals:
            fields[key] = text
        elif at == 0 and first:
            fields[first] = key
        else:
            fields[key] = "on"
    return fields


def _machine_bytes(value: str) -> int:
    fields = _fields(value, first="size")
    return _bytes(f"-m {value}", str(fields.get("size", _DEFAULT_BYTES >> 20)), "M")


def _bytes(found: str, text: str, unit: str) -> int:
    match = _SIZE.fullmatch(text)
    size = 0.0 if match is None else float(match[1]) * 2 ** _UNITS[match[2].upper() or unit]
    if not 1 <= size < _TOO_MUCH:
        raise InputError(f"{found}: expected a size such as 1G")
    return int(size)
