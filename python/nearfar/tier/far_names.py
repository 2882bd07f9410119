"""Names of far memory that were hardly meant for those of files.

A name without a folder is one of these if it is nearly called as what is no file, or as what people
call such memory; `./NAME` is a file in every case.
"""

from __future__ import annotations

import re

from nearfar._lists import FAR_STORES
from nearfar.errors import InputError, suggestion

ANONYMOUS = "anonymous"
COMPRESSED = "compressed"
NODE = "node:"
_FILE = "file"
_USAGES = [usage for usage, _, _ in FAR_STORES.values()]
KINDS = f"{', '.join(_USAGES[:-1])} or {_USAGES[-1]}"

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


def kind_of(name: str) -> str:
    """The kind of far memory that a name is of: one of the core's far stores (nearfar._lists)."""
    for kind, (usage, backing, _) in FAR_STORES.items():
        word, colon, _ = usage.partition(":")
        named = name.startswith(word + colon) if colon else name == word
        if named and backing != _FILE:
            return kind
    return _FILE


def backing(kind: str) -> str:
    """What a kind of far memory is made of: "file", "memory" or "node"."""
    return FAR_STORES[kind][1]


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
