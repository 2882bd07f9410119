"""Far memory is a file, memory, or one NUMA node's memory; each gives back what was put there."""

from __future__ import annotations

import mmap
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nearfar.tier.far import far_memory, nodes
from tiered import MIB, PROGRAMS, Tiered, command, compiled, needs_tier

HOLDS = "held = [str(i) * 20 for i in range(90000)]; print(hash(sum(map(len, held))), len(held))"


@needs_tier
@pytest.mark.parametrize("kind", ["file", "tmpfs", "anonymous", "node"])
def test_every_kind_of_far_memory_returns_its_contents(tmp_path: Path, kind: str) -> None:
    shared = Path("/dev/shm") / f"nearfar-{tmp_path.name}"
    far = {
        "file": tmp_path / "far",
        "tmpfs": shared,
        "anonymous": "anonymous",
        "node": f"node:{nodes()[-1]}",
    }[kind]
    result = tmp_path / "result.json"
    words = command("4MiB", far, sys.executable, "-c", HOLDS, result=result)
    ran = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=100, cwd=tmp_path
    )
    run = Tiered(ran, result).covered()
    assert run.out.split()[-1] == "90000"
    assert run.counts["far_peak_bytes"] > 4 * MIB
    assert list(tmp_path.iterdir()) == [result]
    assert not shared.exists()


@pytest.mark.parametrize("node", nodes())
def test_memory_of_a_node_is_bound_to_it(node: int) -> None:
    with far_memory(f"node:{node}") as descriptor, mmap.mmap(descriptor, MIB) as memory:
        memory[0] = 1
        policies = [
            line.split()[1]
            for line in Path("/proc/self/numa_maps").read_text().splitlines()
            if "memfd:nearfar-far" in line
        ]
    assert policies == [f"bind:{node}"]


@needs_tier
@pytest.mark.parametrize("name", ["node:9999", "node:", "node:-1", "node:zero"])
def test_a_node_that_is_not_there_is_refused_with_those_that_are(
    refused: Callable[..., str], name: str
) -> None:
    said = refused("tier", "run", "--near", "8MiB", "--far", name, "--", "true")
    assert f"{name}: found no such NUMA node" in said
    assert f"N one of {', '.join(map(str, nodes()))}" in said


@needs_tier
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *(("compresed", "compressed"), ("compres:zstd", "compressed"), ("comp", "compressed")),
        *(("Compressed", "compressed"), ("COMPRESSED:zstd", "compressed:zstd")),
        *(("anonymus", "anonymous"), ("ANONYMOUS", "anonymous"), ("anon", "anonymous")),
        *(("node0", "node:0"), ("Node:1", "node:1"), ("numa1", "node:1"), ("node", "node:N")),
        *(("zram", "compressed"), ("zram0", "compressed"), ("lz4", "compressed:lz4 or")),
    ],
)
def test_a_name_that_is_nearly_one_is_no_file(
    refused: Callable[..., str], name: str, meant: str, tmp_path: Path
) -> None:
    said = refused("tier", "run", "--near", "8MiB", "--far", name, "--", "true")
    assert f"found {name}, expected FILE" in said
    assert re.search(rf"did you mean {meant}( .*)?\?", said)
    with far_memory(str(tmp_path / name)):
        pass  # in a folder it is a file's name


@needs_tier
@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "swap",
            "the system's swap is --backend swap, without --far (a file of that name: ./swap)",
        ),
        ("zram0", "zram that is swap is --backend swap, without --far"),
        ("cxl", "what a device has is node:N, or a file on its file system"),
        ("pmem0", "what a device has is node:N, or a file on its file system"),
        ("/dev/dax0.0", "(daxctl reconfigure-device --mode=system-ram dax0.0), then --far node:N"),
        ("", "--far: found '', expected FILE, anonymous, node:N or compressed"),
    ],
)
def test_a_refused_name_says_what_it_may_mean(
    refused: Callable[..., str], name: str, said: str
) -> None:
    assert said in refused("tier", "run", "--near", "8MiB", "--far", name, "--", "true")


def test_files_of_other_names_are_no_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("far", "swapfile", "memory", "f", "nod", "./zram", "node.far"):
        with far_memory(name):
            pass


@needs_tier
def test_a_folder_as_far_file_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    said = refused("tier", "run", "--near", "8MiB", "--far", str(tmp_path), "--", "true")
    assert "found a folder, expected the name of a new file" in said


def test_a_far_file_has_no_name_and_takes_no_room_until_it_is_written(tmp_path: Path) -> None:
    with far_memory(str(tmp_path / "far")) as descriptor:
        assert list(tmp_path.iterdir()) == []
        os.pwrite(descriptor, b"x", 1 << 30)
        assert os.fstat(descriptor).st_blocks * 512 < 1 << 20


@needs_tier
@pytest.mark.parametrize("far", ["anonymous", "file"])
def test_files_that_may_be_no_larger_than_what_is_shared_are_enough(
    tmp_path: Path, far: str
) -> None:
    result = tmp_path / "result.json"
    place = tmp_path / "far" if far == "file" else far
    words = command("4MiB", place, sys.executable, "-c", HOLDS, result=result)

    def run(gib: int) -> subprocess.CompletedProcess[str]:
        limit = ("prlimit", f"--fsize={gib << 30}")
        return subprocess.run(
            (*limit, *words), capture_output=True, text=True, check=False, timeout=100
        )

    assert Tiered(run(2), result).covered().out.split()[-1] == "90000"
    result.unlink()
    refused = run(1)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (
        "nearfar: found files of 1048576 KiB at most (ulimit -f), expected 1065472 KiB or more, "
        "of which little is used; raise the limit\n"
    )
    assert list(tmp_path.iterdir()) == []


@needs_tier
@pytest.mark.parametrize("options", [(), ("--sigbus",)])
@pytest.mark.parametrize("far", ["anonymous", "compressed"])
def test_a_limit_of_files_that_a_program_has_is_not_one_of_memory(
    tmp_path: Path, far: str, options: tuple[str, ...]
) -> None:
    program = compiled(PROGRAMS / "programs" / "touches.c", tmp_path / "touches")
    result = tmp_path / "result.json"
    words = ("prlimit", f"--fsize={MIB}", program, "write")
    ran = subprocess.run(
        command("4MiB", far, *words, result=result, options=options),
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert Tiered(ran, result).covered().out == "ok\n"
