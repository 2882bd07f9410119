"""`nearfar vm record`: what of a whole machine's memory passes the caches."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from guests import MIB, QEMU, SWEEPS, assembled, machine, needs_qemu
from nearfar.simulate.programs.guest import memory_bytes

LINE, PAGE = 64, 4096
LAST_LEVEL = 1408 << 10
Refused = Callable[..., str]


@pytest.fixture
def boot(tmp_path: Path) -> Callable[[str], list[str]]:
    """QEMU's words for a machine of 64 MiB that executes some lines and turns itself off."""

    def words(body: str) -> list[str]:
        return machine(assembled(tmp_path, SWEEPS % body))

    return words


def lines_of(nearfar: Run, trace: Path) -> Counter[tuple[str, int]]:
    """How often each line was read and written, by its number."""
    text = trace.with_suffix(".dramsim3")
    status, _, err = nearfar("trace", "convert", trace, "-o", text, "--quiet")
    assert (status, err) == (0, "")
    words = (line.split() for line in text.read_text().splitlines())
    return Counter((kind, int(address, 16) // LINE) for address, kind, _ in words)


@needs_qemu
def test_a_line_is_read_once_where_the_caches_hold_it_and_each_time_where_they_do_not(
    nearfar: Run, boot: Callable[[str], list[str]], tmp_path: Path
) -> None:
    small, large = 4 * MIB, 8 * MIB
    guest = boot(
        f"sweep {small}, {MIB // 2}, 3, mov al, [ebx]\n"
        f"sweep {large}, {4 * MIB}, 3, mov byte ptr [ebx], 1\n"
    )
    trace = tmp_path / "vm.nft"
    status, _, err = nearfar("vm", "record", "-o", trace, "--", *guest)
    assert status == 0
    assert err.startswith(f"nearfar: {trace}: ")
    counts = lines_of(nearfar, trace)
    for line in range(small // LINE, (small + MIB // 2) // LINE):
        assert counts["READ", line] == 1
        assert counts["WRITE", line] == 0
    held = LAST_LEVEL // LINE
    written = range(large // LINE, (large + 4 * MIB) // LINE)
    assert all(counts["READ", line] == 3 for line in written)
    # Each is written back each time, but for those that were still held at the end.
    assert 3 * len(written) - held <= sum(counts["WRITE", line] for line in written)
    assert sum(counts["WRITE", line] for line in written) < 3 * len(written)


@needs_qemu
def test_two_recordings_of_one_machine_have_the_same_accesses_of_the_guests_own_program(
    nearfar: Run, boot: Callable[[str], list[str]], tmp_path: Path
) -> None:
    guest = boot(f"sweep {8 * MIB}, {4 * MIB}, 2, mov byte ptr [ebx], 1")
    found = []
    for name in ("a", "b"):
        trace = tmp_path / f"{name}.nft"
        assert nearfar("vm", "record", "--quiet", "-o", trace, "--", *guest)[0] == 0
        counts = lines_of(nearfar, trace)
        found.append({key: n for key, n in counts.items() if 8 * MIB <= key[1] * LINE < 12 * MIB})
    assert found[0] == found[1]


@needs_qemu
def test_a_region_of_interest_leaves_out_what_was_before_it(
    nearfar: Run, boot: Callable[[str], list[str]], tmp_path: Path
) -> None:
    guest = boot(
        f"sweep {8 * MIB}, {4 * MIB}, 2, mov byte ptr [ebx], 1\n"
        "say begin\n"
        # In the caches, for long enough that the region has begun by the end of it.
        f"sweep {16 * MIB}, {MIB // 64}, 40000, mov al, [ebx]\n"
        f"sweep {20 * MIB}, {MIB}, 1, mov al, [ebx]\n"
        "say end\n"
    )
    trace = tmp_path / "vm.nft"
    words = ["vm", "record", "--include", "roi", "-o", str(trace), "--", *guest]
    ran = subprocess.run(
        [sys.executable, "-m", "nearfar", *words], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "nearfar region begin" in ran.stdout
    counts = lines_of(nearfar, trace)
    pages = {line * LINE // PAGE for _, line in counts}
    assert not any(8 * MIB <= page * PAGE < 12 * MIB for page in pages)
    assert set(range(20 * MIB // PAGE, 21 * MIB // PAGE)) <= pages


@needs_qemu
def test_shares_of_near_memory_are_of_the_recorded_machine(
    nearfar: Run, boot: Callable[[str], list[str]], tmp_path: Path
) -> None:
    guest = boot(f"sweep {8 * MIB}, {4 * MIB}, 20, mov byte ptr [ebx], 1")
    trace, saved = tmp_path / "vm.nft", tmp_path / "r.json"
    assert nearfar("vm", "record", "--quiet", "-o", trace, "--", *guest)[0] == 0
    status, _, _ = nearfar(
        *("tier", "replay", trace, "--flat", "--near", "1%", "--interval", "1ms", "--json", saved)
    )
    assert status == 0
    document = json.loads(saved.read_text())
    assert document["memory_bytes"] == 64 * MIB
    assert document["sizes"][0]["near_pages"] == 64 * MIB // PAGE // 100
    assert "times_with_memory" not in document
    for policy in document["sizes"][0]["policies"]:
        assert policy["time_ns"] >= document["sizes"][0]["bound_ns"]


@needs_qemu
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-accel", "kvm"), "-accel kvm: the processor itself would run the guest"),
        (("-enable-kvm",), "-enable-kvm: the processor itself would run the guest"),
        (("-machine", "q35,accel=kvm"), "expected -accel tcg"),
        (("-m", "lots"), "-m lots: expected a size such as 1G"),
    ],
)
def test_machines_that_cannot_be_recorded_are_refused_in_one_line(
    refused: Refused, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    assert told in refused("vm", "record", "-o", str(tmp_path / "t.nft"), "--", QEMU, *words)
    assert list(tmp_path.glob("t*")) == []


def test_a_qemu_that_is_not_there_or_no_qemu_is_refused_in_one_line(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = str(tmp_path / "t.nft")
    assert "expected qemu-system-x86_64" in refused("vm", "record", "-o", output, "--", "ls")
    monkeypatch.setenv("PATH", str(tmp_path))
    told = refused("vm", "record", "-o", output, "--", QEMU, "-m", "1G")
    assert told == f"{QEMU} is not there; to get it: apt-get install qemu-system-x86"


def test_a_qemu_without_plug_ins_is_refused_in_one_line(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It is what its interpreter is, which is linked dynamically.
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no compiler")
    source = tmp_path / "q.c"
    source.write_text(
        '#include <stdio.h>\nint main(void) { puts("QEMU emulator version 8.2.0"); return 0; }\n'
    )
    subprocess.run([compiler, "-o", tmp_path / QEMU, source], check=True)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    told = refused("vm", "record", "-o", str(tmp_path / "t.nft"), "--", QEMU)
    assert "was built without plug-ins" in told


def test_the_memory_of_a_machine_is_read_as_qemu_reads_it() -> None:
    assert memory_bytes([QEMU]) == 128 * MIB
    assert memory_bytes([QEMU, "-m", "512"]) == 512 * MIB
    assert memory_bytes([QEMU, "-m", "2G"]) == 2048 * MIB
    assert memory_bytes([QEMU, "-m", "size=768M,slots=2,maxmem=4G"]) == 768 * MIB
