"""What QEMU's words say of a machine, and the machines that cannot be on two tiers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from guests import MIB, QEMU, needs_machines
from nearfar.tier.machine import library
from nearfar.vm.monitor import places_of_ram
from nearfar.vm.qmp import Qmp
from nearfar.vm.words import Machine, read_words

Refused = Callable[..., str]
BACKEND = json.dumps({"qom-type": "memory-backend-ram", "id": "pc.ram", "size": 96 * MIB})


@pytest.mark.parametrize(
    ("words", "machine"),
    [
        ((), Machine("", (128 * MIB,))),
        (("-m", "64"), Machine("", (64 * MIB,))),
        (("-m", "size=1.5G,slots=2,maxmem=4G"), Machine("", (1536 * MIB,))),
        (("-append", "-m", "-m", "64M", "disk.img"), Machine("", (64 * MIB,))),
        (("-snapshot", "-m", "64M", "--name", "web,,1,process=q"), Machine("web,1", (64 * MIB,))),
        (("-name", "debug-threads=on,guest=web"), Machine("web", (128 * MIB,))),
        (
            ("-m", "64M", "-object", "memory-backend-ram,id=d,size=32M,share=off"),
            Machine("", (64 * MIB, 32 * MIB)),
        ),
        (
            ("-m", "96M", "-object", BACKEND, "-machine", "q35,memory-backend=pc.ram"),
            Machine("", (96 * MIB,)),
        ),
        (
            (
                *("-m", "96M", "-object", "memory-backend-ram,id=a,size=64M"),
                *("-object", "memory-backend-ram,id=b,size=32M"),
                *("-numa", "node,memdev=a", "-numa", "node,memdev=b"),
            ),
            Machine("", (64 * MIB, 32 * MIB)),
        ),
    ],
)
def test_the_name_and_the_memory_of_a_machine_are_read_as_qemu_reads_them(
    words: tuple[str, ...], machine: Machine
) -> None:
    assert read_words([QEMU, *words]) == machine


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-object", "memory-backend-memfd,id=m,size=64M"), "that other processes can map"),
        (("-object", "memory-backend-file,id=m,size=64M,mem-path=/f"), "that other processes can"),
        (("-object", "memory-backend-ram,id=m,size=64M,share=on"), "that other processes can map"),
        (
            ("-object", '{"qom-type":"memory-backend-ram","id":"m","size":9,"share":true}'),
            "that other processes can map",
        ),
        (("-mem-path", "/dev/hugepages"), "expected private memory (memory-backend-ram"),
        (("-device", "vfio-pci,host=00:02.0"), "expected no VFIO and no vDPA device"),
        (("-device", '{"driver":"vfio-pci","host":"00:02.0"}'), "expected no VFIO"),
        (("-netdev", "vhost-vdpa,id=n,vhostdev=/dev/vhost-vdpa-0"), "no vDPA device"),
        (("-overcommit", "mem-lock=on"), "expected mem-lock=off"),
        (("-overcommit", "mem-lock=on-fault"), "expected mem-lock=off"),
        (("-daemonize",), "found a QEMU that leaves its launcher"),
        (("-object", "sev-guest,id=s"), "a confidential guest's memory is pinned"),
        (("-m", "lots"), "-m lots: expected a size such as 1G"),
        pytest.param(("-m", "9" * 400), "expected a size such as 1G", id="400 digits"),
        (("-object", "memory-backend-ram,id=m"), "expected a size such as 1G"),
    ],
)
def test_memory_that_cannot_be_far_is_refused_in_one_line(
    refused: Refused, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    far = tmp_path / "far"
    said = refused("vm", "run", "--near", "10%", "--far", str(far), "--", QEMU, *words)
    assert " ".join(words) in said
    assert told in said
    assert not far.exists()


@pytest.mark.parametrize(
    ("near", "told"),
    [
        ("0%", "found '0%', expected more than 0% and at most 100%"),
        ("101%", "found '101%', expected more than 0% and at most 100%"),
        ("10", "found '10' without a unit, expected a size or a share; did you mean 10%?"),
        ("1%", "found 1%, 0.6 MiB, expected at least 1 MiB, which is 1.56% of this guest's"),
        ("1KiB", "found '1KiB', expected at least 1 MiB"),
    ],
)
def test_a_share_that_cannot_be_near_is_refused_in_one_line(
    refused: Refused, tmp_path: Path, near: str, told: str
) -> None:
    words = ("--far", str(tmp_path / "far"), "--", QEMU, "-m", "64M")
    assert told in refused("vm", "run", "--near", near, *words)


def test_a_qemu_that_is_not_there_or_no_qemu_is_refused_in_one_line(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ("vm", "run", "--near", "10%", "--far", str(tmp_path / "far"), "--")
    assert f"found the program ls, expected {QEMU}" in refused(*run, "ls")
    monkeypatch.setenv("PATH", str(tmp_path))
    told = refused(*run, QEMU, "-m", "1G")
    assert told == f"{QEMU} is not there; to get it: apt-get install qemu-system-x86"


@needs_machines
def test_a_guest_larger_than_both_tiers_is_refused_in_one_line(
    refused: Refused, tmp_path: Path
) -> None:
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    memory = (free // MIB + 4096) * MIB
    told = refused(
        *("vm", "run", "--near", "1GiB", "--far", str(tmp_path / "far"), "--"),
        *(QEMU, "-m", f"{memory // MIB}M"),
    )
    assert told.startswith("found a guest of ")
    assert f"of --far {tmp_path / 'far'}" in told


DOMAIN = """
<domain type='qemu'><name>web</name><memory unit='KiB'>{kib}</memory>{more}
<os><type arch='x86_64' machine='pc'>hvm</type></os></domain>
"""


@pytest.fixture
def domain(tmp_path: Path) -> Callable[..., str]:
    """A file with a domain of 1 GiB, and more in it."""

    def write(more: str = "") -> str:
        file = tmp_path / "web.xml"
        file.write_text(DOMAIN.format(kib=1 << 20, more=more))
        return str(file)

    return write


Domain = Callable[..., str]


@needs_machines
def test_the_lines_for_libvirt_name_the_library_the_tiers_and_the_guests_memory(
    nearfar: Callable[..., tuple[int, str, str]], domain: Domain
) -> None:
    status, out, err = nearfar(
        "vm", "xml", "--near", "10%", "--far", "/pmem/web", "--compress", "lz4", domain()
    )
    assert (status, err) == (0, "")
    assert out == (
        '<qemu:commandline xmlns:qemu="http://libvirt.org/schemas/domain/qemu/1.0">\n'
        f'  <qemu:env name="LD_PRELOAD" value="{library()}"/>\n'
        '  <qemu:env name="NEARFAR_TIER_NEAR" value="102MiB"/>\n'
        '  <qemu:env name="NEARFAR_TIER_FAR" value="/pmem/web"/>\n'
        '  <qemu:env name="NEARFAR_TIER_COMPRESS" value="lz4"/>\n'
        '  <qemu:env name="NEARFAR_TIER_GUEST" value="1073741824"/>\n'
        "</qemu:commandline>\n"
    )


@needs_machines
def test_a_domains_memory_is_rounded_up_to_whole_mib_as_libvirt_does(
    nearfar: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    file = tmp_path / "web.xml"
    file.write_text("<domain><name>web</name><memory unit='MB'>1024</memory></domain>")
    out = nearfar("vm", "xml", "--near", "10%", "--far", "/pmem/web", str(file))[1]
    assert f'"NEARFAR_TIER_GUEST" value="{977 * MIB}"' in out


@needs_machines
@pytest.mark.skipif(shutil.which("virsh") is None, reason="no virsh (apt: libvirt-clients)")
def test_libvirt_takes_the_lines(
    nearfar: Callable[..., tuple[int, str, str]], domain: Domain
) -> None:
    lines = nearfar("vm", "xml", "--near", "10%", "--far", "/pmem/web", domain())[1]
    define = ["virsh", "-c", "test:///default", "define", "--validate", domain(lines)]
    defined = subprocess.run(define, capture_output=True, text=True, check=False)
    assert defined.stderr == ""
    assert "Domain 'web' defined" in defined.stdout


@needs_machines
def test_each_cell_and_each_module_of_a_domains_memory_is_a_block(
    nearfar: Callable[..., tuple[int, str, str]], domain: Domain
) -> None:
    cells = (
        "<cpu><numa><cell id='0' cpus='0' memory='512' unit='MiB'/>"
        "<cell id='1' cpus='1' memory='262144'/></numa></cpu><devices><memory model='dimm'>"
        "<target><size unit='MiB'>256</size></target></memory></devices>"
    )
    _, out, _ = nearfar("vm", "xml", "--near", "64MiB", "--far", "/pmem/web", domain(cells))
    assert f'value="{512 * MIB},{256 * MIB},{256 * MIB}"' in out


@needs_machines
@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("<memoryBacking><locked/></memoryBacking>", "memory that is locked"),
        ("<memoryBacking><source type='memfd'/></memoryBacking>", "other processes can map"),
        ("<devices><hostdev mode='subsystem' type='pci'/></devices>", "a VFIO device"),
        ("<launchSecurity type='sev'/>", "a confidential guest"),
    ],
)
def test_domains_whose_memory_cannot_be_far_are_refused_in_one_line(
    refused: Refused, domain: Domain, more: str, told: str
) -> None:
    file = domain(more)
    said = refused("vm", "xml", "--near", "10%", "--far", "/pmem/web", file)
    assert said.startswith(f"{file}: found ")
    assert told in said


@needs_machines
def test_files_that_are_no_domains_and_far_memory_that_is_no_file_are_refused_in_one_line(
    refused: Refused, domain: Domain, tmp_path: Path
) -> None:
    xml = ("vm", "xml", "--near", "10%", "--far")
    assert "expected the whole path of a file" in refused(*xml, "compressed", domain())
    assert "expected the whole path of a file" in refused(*xml, "far", domain())
    other = tmp_path / "other.xml"
    other.write_text("<network/>")
    assert "found <network>, expected <domain>" in refused(*xml, "/pmem/web", str(other))
    other.write_text("none")
    assert "found no XML" in refused(*xml, "/pmem/web", str(other))
    assert "No such file" in refused(*xml, "/pmem/web", str(tmp_path / "absent.xml"))


class Told(Qmp):
    """A monitor that knows these ranges, and where they lie in QEMU."""

    def __init__(self, tree: str, places: dict[str, str]) -> None:
        self.answers = {"info mtree -f": tree, **places}

    def told(self, line: str) -> str:
        return self.answers.get(line, "No memory is mapped at this address")


ROM = "  0000000000000000-0000000003ffffff (prio 0, romd): virt.flash0\r\n"
RAM = "  0000000040000000-0000000047ffffff (prio 0, ram): mach-virt.ram\r\n"


@pytest.mark.parametrize(
    ("tree", "places"), [(ROM + RAM, [0x7F0000200000]), (ROM, []), ("unknown command", [])]
)
def test_the_memory_of_a_guest_is_found_where_its_ram_begins(tree: str, places: list[int]) -> None:
    said = "Host virtual address for 0x40000000 (mach-virt.ram) is 0x7f0000200000"
    assert places_of_ram(Told(tree, {"gpa2hva 0x40000000": said})) == places
