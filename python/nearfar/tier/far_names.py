"""Names of far memory that were hardly meant for those of files.

A name without a folder is one of these if it is nearly called as what is no file, or as what people
call such memory; `./NAME` is a file in every case.
"""

from __future__ import annotations

import re

from nearfar.errors import InputError, suggestion

ANONYMOUS = "anonymous"
COMPRESSED = "compressed"
NODE = "node:"
KINDS = f"FILE, {ANONYMOUS}, {NODE}N or {COMPRESSED}"

_NODE = re.compile(r"(?:numa|nodes?|numa[-_]?nodes?)[-_:.]?(\d*)")
_DAX = "/dev/dax"
_KMEM = "daxctl reconfigure-device --mode=system-ram"
_OF_DEVICE = "; what a device has is node:N, or a file on its file system"
# Words that may have a number behind them, and what is said of them.
_WORDS = {
    "swap": "; the system's swap is --backend swap, without --far",
    "zram": f"; did you mean {COMPRESSED}? zram that is swap is --backend swap, without --far",
    **dict.fromkeys(("cxl", "pmem", "dax", "nvdimm", "optane"), _OF_DEVICE),
    **dict.fromkeys(("lz4", "zstd"), f"; did you mean {COMPRESSED}:lz4 or {COMPRESSED}:zstd?"),
}


def refuse_misspelt(name: str) -> None:
    """Raise InputError for a name that is no kind of far memory and hardly one of a file."""
    if not name:
        raise InputError(f"--far: found '', expected {KINDS}")
    if name.startswith(_DAX):
        device = name.removeprefix("/dev/")
        raise InputError(
            f"--far: found {name}, a device without files, expected {KINDS}; give it to the kernel "
            f"as a NUMA node ({_KMEM} {device}), then --far {NODE}N"
        )
    hint = "" if "/" in name else _hint(name.lower())
    if hint:
        raise InputError(
            f"--far: found {name}, expected {KINDS}{hint} (a file of that name: ./{name})"
        )


def _hint(name: str) -> str:
    node = _NODE.fullmatch(name)
    if node:
        return f"; did you mean {NODE}{node[1] or 'N'}?"
    for word in (name, name.rstrip("0123456789.-")):
        if word in _WORDS:
            return _WORDS[word]
    base, colon, rest = name.partition(":")
    if base == COMPRESSED and colon:
        return f"; did you mean {base}:{rest}?"
    return suggestion(base, (ANONYMOUS, COMPRESSED))
