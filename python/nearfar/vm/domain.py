"""What to add to a libvirt domain so that its guest's memory is on two tiers."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.sax.saxutils import quoteattr

from nearfar.errors import InputError, file_error
from nearfar.tier.far_names import backing, kind_of
from nearfar.tier.launch import GUEST
from nearfar.vm.near import Near

NAMESPACE = "http://libvirt.org/schemas/domain/qemu/1.0"
_MIB = 1 << 20
_UNITS: dict[str, int] = {
    **dict.fromkeys(("b", "bytes"), 1),
    **{unit: 1000**power for power, unit in enumerate(("KB", "MB", "GB", "TB", "PB", "EB"), 1)},
    **{unit: 1024**power for power, unit in enumerate(("KiB", "MiB", "GiB", "TiB"), 1)},
    **{unit: 1024**power for power, unit in enumerate(("k", "M", "G", "T"), 1)},
}
# What of a domain keeps its memory from being far: where it is, and what it is.
_REFUSED = (
    ("memoryBacking/locked", "memory that is locked"),
    ("memoryBacking/hugepages", "memory of huge pages that were set aside (hugetlbfs)"),
    ("memoryBacking/source[@type='file']", "memory that is a file's"),
    ("memoryBacking/source[@type='memfd']", "memory that other processes can map"),
    ("memoryBacking/access[@mode='shared']", "memory that other processes can map"),
    ("cpu/numa/cell[@memAccess='shared']", "memory that other processes can map"),
    ("devices/hostdev[@type='pci']", "a VFIO device, for which all memory is pinned"),
    ("devices/hostdev[@type='mdev']", "a VFIO device, for which all memory is pinned"),
    ("devices/interface[@type='hostdev']", "a VFIO device, for which all memory is pinned"),
    ("devices/interface[@type='vdpa']", "a vDPA device, for which all memory is pinned"),
    ("devices/interface[@type='vhostuser']", "a device of another process, which maps all memory"),
    ("launchSecurity", "a confidential guest, whose memory is pinned"),
)


def lines_for(domain: str | Path, near: Near, far: str, compress: str | None, library: str) -> str:
    """The lines to add to the domain in a file, as `virsh dumpxml` writes it.

    `far` is a file to be made, which QEMU's user can make; `library` is what is preloaded. Raises
    InputError for a file that is no domain, one whose memory cannot be far, and far memory that is
    no file.
    """
    root = _read(domain)
    _refuse(domain, root)
    if backing(kind_of(far)) != "file" or not far.startswith("/"):
        raise InputError(
            f"--far: found {far}, expected the whole path of a file to be made (other far memory "
            "is for `nearfar vm run`)"
        )
    blocks = _blocks(domain, root)
    near_mib = near.of(sum(blocks)) // _MIB
    variables = {
        "LD_PRELOAD": library,
        "NEARFAR_TIER_NEAR": f"{near_mib}MiB",
        "NEARFAR_TIER_FAR": far,
        **({"NEARFAR_TIER_COMPRESS": compress} if compress else {}),
        GUEST: ",".join(map(str, blocks)),
    }
    return "".join(
        (
            f"<qemu:commandline xmlns:qemu={quoteattr(NAMESPACE)}>\n",
            *(
                f"  <qemu:env name={quoteattr(name)} value={quoteattr(value)}/>\n"
                for name, value in variables.items()
            ),
            "</qemu:commandline>\n",
        )
    )


def _read(domain: str | Path) -> Element:
    try:
        root = ElementTree.parse(domain).getroot()
    except OSError as error:
        raise file_error(domain, error) from None
    except ElementTree.ParseError as error:
        raise InputError(f"{domain}: found no XML ({error}), expected `virsh dumpxml`'s") from None
    if root.tag != "domain":
        raise InputError(f"{domain}: found <{root.tag}>, expected <domain>")
    return root


def _refuse(domain: str | Path, root: Element) -> None:
    for place, what in _REFUSED:
        if root.find(place) is not None:
            raise InputError(f"{domain}: found {what} (<{place}>), none of which could be far")


def _blocks(domain: str | Path, root: Element) -> list[int]:
    """The bytes of each block of memory that QEMU will reserve."""
    cells = [
        _size(domain, cell.get("memory", ""), cell.get("unit"))
        for cell in root.iterfind("cpu/numa/cell")
    ]
    plugged = [
        _size(domain, size.text or "", size.get("unit"))
        for size in root.iterfind("devices/memory/target/size")
    ]
    if cells:
        return [*cells, *plugged]
    memory = root.find("memory")
    if memory is None:
        raise InputError(f"{domain}: found no <memory>, expected one")
    whole = _size(domain, memory.text or "", memory.get("unit"))
    return [whole - sum(plugged), *plugged]


def _size(domain: str | Path, text: str, unit: str | None) -> int:
    if not text.strip().isdecimal() or (unit or "KiB") not in _UNITS:
        raise InputError(f"{domain}: found the size '{text}' {unit or ''}, expected one in KiB")
    return -(-int(text) * _UNITS[unit or "KiB"] // _MIB) * _MIB  # as libvirt rounds it on x86
