"""`nearfar run --system`: a whole machine, its memory timed by a simulated one."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from conftest import Run, needs_front_end
from guests import MIB, QEMU, SWEEPS, assembled, machine, needs_qemu
from nearfar.simulate.programs.guest import check_files, check_one_processor, memory_bytes

pytestmark = needs_front_end

LINE, PAGE = 64, 4096
MODEL = "model:ddr4-2666"
Refused = Callable[..., str]


@pytest.fixture
def boot(tmp_path: Path) -> Callable[[str], list[str]]:
    """QEMU's words for a machine of 64 MiB that executes some lines and turns itself off."""

    def words(body: str) -> list[str]:
        return machine(assembled(tmp_path, SWEEPS % body))

    return words


def run_guest(nearfar: Run, guest: list[str], *options: str) -> tuple[dict[str, Any], str]:
    """What a run of a guest came to, and what it said on standard error."""
    status, out, err = nearfar("run", MODEL, "--system", *options, "--json", "-", "--", *guest)
    assert status == 0, err
    # Of the guest there is nothing on it: QEMU got the descriptor, which pytest does not capture.
    document: dict[str, Any] = json.loads(out)
    return document, err


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A run of a guest that goes on, in a group of its own; what is left of that is killed."""
    command = [sys.executable, "-m", "nearfar", "run", MODEL, "--system", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def pages_of(document: dict[str, Any]) -> dict[int, tuple[str, int, int]]:
    """Tier, lines read and lines written, by guest-physical address; of the hottest pages."""
    pages = document["processes"][0]["machine"]["memory"]["pages"]
    return {page["address"]: (page["tier"], page["reads"], page["writes"]) for page in pages}


@needs_qemu
def test_each_line_that_a_guest_first_touches_is_read_from_memory_once(
    nearfar: Run, boot: Callable[[str], list[str]]
) -> None:
    # Apart from all that the firmware uses, and no more than the caches hold.
    begin, size = 32 * MIB, MIB // 2
    document, err = run_guest(nearfar, boot(f"sweep {begin}, {size}, 3, mov al, [ebx]"))
    assert "a machine of 64 MiB" in err
    areas = document["processes"][0]["machine"]["memory"]["areas"]
    area = next(one for one in areas if one["address"] == begin)
    assert sum(area["reads"]) == size // LINE
    assert sum(area["writes"]) == 0
    assert sum(area["far_bytes"]) == size
    guest = document["guest"]
    assert guest["memory_bytes"] == 64 * MIB
    # All came before a kernel: there is none.
    assert guest["shares"]["kernel"] == {"instructions": 0, "busy_ns": 0}
    assert guest["shares"]["firmware"]["instructions"] == document["counts"]["instructions"]
    busy = sum(document["processes"][0]["machine"]["core"]["stack_ps"].values()) / 1000
    assert guest["shares"]["firmware"]["busy_ns"] == pytest.approx(busy, abs=0.01)


@needs_qemu
def test_a_region_of_interest_is_all_that_is_simulated(
    boot: Callable[[str], list[str]], tmp_path: Path
) -> None:
    guest = boot(
        f"sweep {8 * MIB}, {4 * MIB}, 2, mov byte ptr [ebx], 1\n"
        "say begin\n"
        # In the caches, for long enough that the region has begun by the end of it.
        f"sweep {16 * MIB}, {MIB // 64}, 40000, mov al, [ebx]\n"
        f"sweep {20 * MIB}, {MIB // 2}, 1, mov al, [ebx]\n"
        "say end\n"
    )
    saved = tmp_path / "r.json"
    words = ["run", MODEL, "--system", "--roi", "--json", str(saved), "--", *guest]
    ran = subprocess.run(
        [sys.executable, "-m", "nearfar", *words], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "nearfar region begin" in ran.stdout
    pages = pages_of(json.loads(saved.read_text()))
    assert not any(8 * MIB <= at < 12 * MIB for at in pages)
    swept = range(20 * MIB, 20 * MIB + MIB // 2, PAGE)
    assert all(pages[at] == ("far", PAGE // LINE, 0) for at in swept)


@needs_qemu
def test_a_policy_moves_the_pages_that_a_guest_uses_to_near_memory(
    nearfar: Run, boot: Callable[[str], list[str]]
) -> None:
    guest = boot(f"sweep {8 * MIB}, {2 * MIB}, 10, mov byte ptr [ebx], 1")
    status, out, err = nearfar(
        *("run", "model:optane-100,near.kind=tier,cpu.l3.size=1408KiB,cpu.l3.slices=1", "--system"),
        *("--place", "flat:raminate", "--near", "512KiB", "--interval", "100us"),
        *("--json", "-", "--", *guest),
    )
    assert status == 0, err
    document = json.loads(out)
    pages = pages_of(document)
    hot = [pages[at] for at in range(8 * MIB, 10 * MIB, PAGE) if at in pages]
    # The firmware's pages came first, and had taken all of near memory.
    assert any(tier == "near" for tier, _, _ in hot)
    assert document["processes"][0]["machine"]["memory"]["pages_moved"] > 0


@needs_qemu
def test_a_machine_that_is_not_deterministic_says_so_and_what_time_its_clocks_follow(
    nearfar: Run, boot: Callable[[str], list[str]]
) -> None:
    guest = boot(f"sweep {8 * MIB}, {MIB}, 1, mov al, [ebx]")
    document, _ = run_guest(nearfar, guest, "--core", "count")
    assert document["guest"]["clock"] == "host"
    assert any("not deterministic" in note for note in document["notes"])
    assert "machine" not in document["processes"][0]
    followed, _ = run_guest(nearfar, [*guest, "-icount", "shift=0"], "--core", "count")
    assert followed["guest"]["clock"] == "instructions"
    assert any("follow its instructions" in note for note in followed["notes"])


@needs_qemu
def test_a_guest_that_no_device_disturbs_gives_the_same_bytes_and_its_exact_count(
    nearfar: Run, tmp_path: Path
) -> None:
    # Its own firmware, which jumps to the text at once; what turns it off ends QEMU with status 1.
    text = SWEEPS % f"sweep {8 * MIB}, {MIB}, 2, mov byte ptr [ebx], 1"
    rom = bytearray(64 << 10)
    rom[:512] = assembled(tmp_path, text).read_bytes()
    rom[-16:-11] = b"\xea\x00\x00\x00\xf0"  # jmp 0xf000:0
    bios = tmp_path / "rom"
    bios.write_bytes(rom)
    guest = [
        *(QEMU, "-accel", "tcg", "-m", "64M", "-display", "none", "-nic", "none", "-bios"),
        *(str(bios), "-device", "isa-debug-exit,iobase=0x604,iosize=2", "-icount", "shift=0"),
    ]
    found = []
    for name in ("a", "b"):
        saved = tmp_path / f"{name}.json"
        words = ("run", MODEL, "--system", "--quiet", "--json", str(saved), "--", *guest)
        assert nearfar(*words)[0] == 1
        found.append(saved.read_bytes())
    assert found[0] == found[1]
    lines = MIB // LINE
    # Four for each line; three around each sweep; and nine in all.
    assert json.loads(found[0])["counts"]["instructions"] == 2 * (4 * lines + 3) + 9


@needs_qemu
@pytest.mark.parametrize(
    ("options", "words", "told"),
    [
        ((), ("-accel", "kvm"), "-accel kvm: the processor itself would run the guest"),
        ((), ("-smp", "4"), "-smp 4: only machines of one processor are simulated"),
        ((), ("-smp", "cpus=2,sockets=1"), "-smp cpus=2,sockets=1: only machines of one"),
        ((), ("-kernel", "/no/vmlinuz"), "-kernel /no/vmlinuz: /no/vmlinuz: no such file"),
        ((), ("-drive", "format=raw,file=/no/disk"), "/no/disk: no such file"),
        (("--sample", "auto"), (), "sample: does not go with system"),
        (("--pmem", "."), (), "pmem: does not go with system"),
        (("--qemu", "qemu-x86_64-static"), (), "qemu: does not go with system"),
        (("--place", "flat:nothing"), (), "expected one of"),
    ],
)
def test_machines_that_cannot_be_run_are_refused_in_one_line(
    refused: Refused, options: tuple[str, ...], words: tuple[str, ...], told: str
) -> None:
    assert told in refused("run", MODEL, "--system", *options, "--", QEMU, *words)


def test_a_program_of_user_mode_is_refused_in_one_line(refused: Refused) -> None:
    told = refused("run", MODEL, "--system", "--", "ls")
    assert told == "found the program ls, expected qemu-system-x86_64 and its arguments"


@needs_qemu
def test_words_that_qemu_refuses_are_bad_input(nearfar: Run) -> None:
    status, _, err = nearfar("run", MODEL, "--system", "--", QEMU, "-m", "64M", "-machine", "none2")
    assert status == 2
    assert "QEMU ended with status 1 before its guest began" in err


@needs_qemu
def test_a_region_that_never_begins_is_an_error(
    nearfar: Run, boot: Callable[[str], list[str]]
) -> None:
    guest = boot(f"sweep {8 * MIB}, {MIB}, 1, mov al, [ebx]")
    status, _, err = nearfar("run", MODEL, "--system", "--roi", "--", *guest)
    assert status == 1
    assert "no line 'nearfar region begin' came from the guest" in err


def test_a_qemu_that_is_not_there_is_refused_in_one_line(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    told = refused("run", MODEL, "--system", "--", QEMU, "-m", "1G")
    assert told == f"{QEMU} is not there; to get it: apt-get install qemu-system-x86"


@needs_qemu
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_an_endless_guest_and_leaves_the_figures_so_far(
    boot: Callable[[str], list[str]], tmp_path: Path, number: signal.Signals
) -> None:
    guest = boot(f"say begin\nsweep {8 * MIB}, {MIB}, -1, mov byte ptr [ebx], 1")
    saved = tmp_path / "r.json"
    with started("--json", str(saved), "--", *guest) as process:
        assert process.stdout is not None
        while "nearfar region begin" not in (line := process.stdout.readline()):
            assert line, process.stderr and process.stderr.read()
        process.send_signal(number)
        process.communicate()
    document = json.loads(saved.read_text())
    assert document["interrupted"]
    assert document["counts"]["instructions"] > 0
    # Nothing of its group is left.
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@needs_qemu
def test_a_qemu_that_is_killed_leaves_what_its_guest_did_until_shortly_before(
    boot: Callable[[str], list[str]], tmp_path: Path
) -> None:
    guest = boot(f"9: say begin\nsweep {8 * MIB}, {MIB}, 9, mov byte ptr [ebx], 1\njmp 9b")
    saved = tmp_path / "r.json"
    with started("--json", str(saved), "--", *guest) as process:
        assert process.stdout is not None
        process.stdout.readline()
        qemu = next(
            int(pid)
            for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            if "qemu" in Path(f"/proc/{pid}/comm").read_text()
        )
        folder = re.search(rb"run=([^,]+)", Path(f"/proc/{qemu}/cmdline").read_bytes())
        assert folder is not None
        while not list(Path(os.fsdecode(folder[1])).glob("*.result")):
            assert process.stdout.readline()
        os.kill(qemu, signal.SIGKILL)
        _, err = process.communicate()
    assert process.returncode == 128 + signal.SIGKILL
    assert "the figures are from up to half a second before" in err
    document = json.loads(saved.read_text())
    assert document["counts"]["instructions"] > 0
    assert "machine" not in document["processes"][0]
    assert not Path(os.fsdecode(folder[1])).exists()


@pytest.mark.parametrize(
    ("words", "size"),
    [
        (("-nographic",), 128 * MIB),
        (("-m", "1G", "-m", "4G"), 4096 * MIB),
        (("-m", "1.5G"), 1536 * MIB),
        (("-m", "size=64,slots=2"), 64 * MIB),
    ],
)
def test_memory_is_read_as_qemu_reads_it(words: Sequence[str], size: int) -> None:
    assert memory_bytes(words) == size


def test_of_several_options_the_last_counts() -> None:
    check_one_processor(["-smp", "2", "-smp", "1"])


@pytest.mark.parametrize(
    "words",
    [
        ("-hda", "nbd://127.0.0.1/disk"),
        ("-hda", "fat:rw:/no/folder"),
        ("-cdrom", "https://127.0.0.1/one.iso"),
        ("-initrd", "first arg,second"),
    ],
)
def test_images_that_are_no_file_here_are_left_to_qemu(words: Sequence[str]) -> None:
    check_files(words)
