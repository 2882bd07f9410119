"""Traces of what a program executed: recorded once, they are executed again on any model."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import Compile, Run, needs_front_end
from nearfar.errors import InputError

pytestmark = needs_front_end

SMALL = (
    "model:optane-100,cpu.l1.size=4KiB,cpu.l2.size=16KiB,cpu.l3.size=66KiB,cpu.l3.slices=3,"
    "cpu.tlb.l2.entries=384"
)
ON = SMALL + ",nvdimm.pretranslation.enabled=true"

# A list of a node a page, walked three times, of which a part is moved by mremap and the file
# mapping behind it unmapped; and a second thread that walks it, too.
LIST = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#ifdef MARKED
#include <nearfar/mkpt.h>
#else
#define NEARFAR_LOAD_PTR(p) (*(p))
#endif
#define NODES 1500
struct node { struct node* volatile next; long value; };
static char* memory;
static struct node* node(long i) { return (struct node*)(memory + i * 7 % NODES * 4096 + 64); }
static void* walk(void* times) {
  long sum = 0;
  struct node* at = node(0);
  for (long i = 0; i < (long)times * NODES; ++i) {
    struct node* next = NEARFAR_LOAD_PTR(&at->next);
    sum += at->value;
    at = next;
  }
  return (void*)sum;
}
static void link_all(void) {
  for (long i = 0; i < NODES; ++i) {
    node(i)->next = node((i + 1) % NODES);
    node(i)->value = i;
  }
}
int main(void) {
  struct timespec now;
  void* seen;
  pthread_t thread;
  memory = mmap(0, NODES * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  link_all();
#ifdef ALONE
  (void)thread;
  seen = walk((void*)1L);
#else
  pthread_create(&thread, NULL, walk, (void*)1L);
  pthread_join(thread, &seen);
#endif
  long sum = (long)seen + (long)walk((void*)2L);
  clock_gettime(CLOCK_MONOTONIC, &now);
  memory = mremap(memory, NODES * 4096L, 2 * NODES * 4096L, MREMAP_MAYMOVE);
  link_all();
  sum += (long)walk((void*)1L);
  munmap(memory, 2 * NODES * 4096L);
  printf("%ld\n", sum);
  return 0;
}
"""


def recorded(
    nearfar_: Run, target: str, program: Path, folder: Path, *more: str
) -> tuple[Path, dict[str, Any]]:
    trace, ran = folder / "p.nft", folder / "ran.json"
    status, out, err = nearfar_(
        "trace", "record", target, "--kind", "program", "-o", str(trace), "--json", str(ran),
        *more, "--", str(program),
    )  # fmt: skip
    assert status == 0, err
    native = subprocess.run([program], capture_output=True, text=True, check=True)
    assert native.stdout in out
    assert f"{trace}: " in err
    return trace, json.loads(ran.read_text())


def replayed(nearfar_: Run, target: str, trace: Path, folder: Path) -> tuple[dict[str, Any], str]:
    file = folder / "replayed.json"
    status, _, err = nearfar_("replay", target, str(trace), "--json", str(file))
    assert status == 0, err
    return json.loads(file.read_text()), err


@pytest.fixture
def marked(compiled: Compile) -> Path:
    return compiled("recorded", LIST, "-DMARKED", "-pthread")


@pytest.fixture
def plain(compiled: Compile) -> Path:
    return compiled("unmarked", LIST, "-pthread")


def test_the_recorded_machine_counts_what_the_recorded_run_counted(
    nearfar: Run, marked: Path, tmp_path: Path
) -> None:
    trace, ran = recorded(nearfar, ON, marked, tmp_path)
    again, notes = replayed(nearfar, ON, trace, tmp_path)
    assert again["processes"][0]["machine"] == ran["processes"][0]["machine"]
    counters = again["processes"][0]["machine"]["counters"]
    assert counters["cache.pretranslation.marked"] == ran["counts"]["marked_loads"] == 6000
    about = again["program"]["trace"]
    assert about["marked_loads"] == 6000
    assert about["unmaps"] > 0
    assert about["remaps"] > 0
    assert about["frames_as_recorded"] == about["frames"] > 1500
    assert f"{about['frames']:,} of {about['frames']:,} pages lie in the frames" in notes


def test_marks_play_on_any_model_and_say_where_they_have_no_effect(
    nearfar: Run, marked: Path, tmp_path: Path
) -> None:
    trace, ran = recorded(nearfar, SMALL, marked, tmp_path)
    assert any("6000 loads marked by mkpt had no effect" in note for note in ran["notes"])
    off, said = replayed(nearfar, SMALL, trace, tmp_path)
    assert off["processes"][0]["machine"] == ran["processes"][0]["machine"]
    assert "6000 loads marked by mkpt had no effect" in said
    on, said = replayed(nearfar, ON, trace, tmp_path)
    assert "no effect" not in said
    walks = [one["processes"][0]["machine"]["counters"]["cache.tlb.walks"] for one in (off, on)]
    assert walks[0] - walks[1] > 1400  # the second round of the walk of two
    dram, _ = replayed(nearfar, "model:ddr4-2666", trace, tmp_path)
    assert dram["counts"]["instructions"] == off["counts"]["instructions"]


def test_pointers_found_while_recording_are_in_the_trace(
    nearfar: Run, plain: Path, tmp_path: Path
) -> None:
    trace, ran = recorded(nearfar, ON + ",cpu.pretranslation.mark=auto", plain, tmp_path)
    again, _ = replayed(nearfar, ON, trace, tmp_path)
    assert ran["counts"]["marked_loads"] > 5900
    assert again["processes"][0]["machine"] == ran["processes"][0]["machine"]
    status, _, err = nearfar("replay", ON + ",cpu.pretranslation.mark=auto", str(trace))
    assert status == 2
    assert "a trace has none: expected mkpt" in err
    assert err.count("\n") == 1


def test_a_window_is_recorded_with_what_it_skips(
    nearfar: Run, compiled: Compile, tmp_path: Path
) -> None:
    alone = compiled("alone", LIST, "-DMARKED", "-DALONE")
    window = ("--skip", "150k", "--warm", "10k", "--run", "30k")
    trace, ran = recorded(nearfar, ON, alone, tmp_path, *window)
    again, _ = replayed(nearfar, ON, trace, tmp_path)
    assert again["processes"][0]["machine"] == ran["processes"][0]["machine"]


def test_what_cannot_take_instructions_says_so_in_a_line(
    nearfar: Run, marked: Path, tmp_path: Path
) -> None:
    trace, _ = recorded(nearfar, SMALL, marked, tmp_path)
    for command in (
        ("trace", "convert", str(trace), "-o", str(tmp_path / "t.dramsim3")),
        ("tier", "replay", str(trace), "--near", "1MiB"),
        ("crash", SMALL, str(trace)),
    ):
        status, _, err = nearfar(*command)
        assert status == 2, command
        assert "found a program's instructions (version 2)" in err, command
        assert err.count("\n") == 1, command
    assert not (tmp_path / "t.dramsim3").exists()
    status, _, err = nearfar("replay", SMALL, str(trace), "--outstanding", "4")
    assert status == 2
    assert "found --outstanding" in err
    status, _, err = nearfar(
        *("trace", "record", SMALL, "--kind", "program", "--gaps", "time"),
        *("-o", str(tmp_path / "x.nft"), "--", "true"),
    )
    assert status == 2
    assert "--gaps: found with --kind program" in err


def test_info_tells_what_it_holds_even_of_one_that_was_cut_off(
    nearfar: Run, marked: Path, tmp_path: Path
) -> None:
    import zstandard

    trace, _ = recorded(nearfar, SMALL, marked, tmp_path)
    status, out, _ = nearfar("trace", "info", str(trace))
    assert status == 0
    assert "version 2: what a program executed" in out
    assert "marked by mkpt" in out
    assert "6000" in out
    cut = tmp_path / "cut.nft"
    with trace.open("rb") as file:
        whole = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    cut.write_bytes(whole[: len(whole) // 2])
    status, out, err = nearfar("trace", "info", str(cut))
    assert status == 0
    assert "complete                no" in out
    assert "it was cut off" in err


def test_the_python_functions_say_which_trace_they_take(
    nearfar: Run, marked: Path, tmp_path: Path
) -> None:
    trace, _ = recorded(nearfar, SMALL, marked, tmp_path)
    import nearfar as package

    assert package.replay_program(SMALL, trace).counts["loads"] > 0
    with pytest.raises(InputError, match="found a program's instructions"):
        package.replay(SMALL, trace)


def by_hand(folder: Path, events: bytes, count: int, **header: Any) -> Path:
    """A trace of these events; bytes that are no UTF-8 are written \\udcXX."""
    about = {
        "schema": "nearfar/trace/2", "kind": "program", "counts": "instructions",
        "clock_ps": 455, "place": "far", "pages": "small", **header,
    }  # fmt: skip
    line = "nearfar-trace 2 " + json.dumps(about, ensure_ascii=False) + "\n"
    trace = folder / "hand.nft"
    trace.write_bytes(line.encode(errors="surrogateescape") + events + bytes([22, count]))
    return trace


def test_a_thread_that_executes_nothing_is_a_result(nearfar: Run, tmp_path: Path) -> None:
    trace = by_hand(tmp_path, b"\x03\x00\x04", 2, command=7, creator="\tby \udcff")
    about, _ = replayed(nearfar, SMALL, trace, tmp_path)
    assert about["processes"][0]["machine"]["core"]["counts"]["instructions"] == 0
    assert about["program"]["arguments"] == ["7"]
    status, out, err = nearfar("trace", "info", str(trace))
    assert status == 0, err
    assert "by \\xff" in out


@pytest.mark.parametrize(
    ("events", "header", "found"),
    [
        (b"\x03\x00\x07" + b"\x80" * 7 + b"\x40", {}, "found a time of"),
        (b"\x03\x00\x05" + b"\x80" * 7 + b"\x40", {}, "bytes that are no event"),
        (b"\x09" + b"\xff" * 9 + b"\x01\x02\x00", {}, "bytes that are no event"),
        (b"\x03\x00", {"kind": "memory"}, "expected kind 'program'"),
        (b"\x03\x00", {"near_bytes": "much"}, "a number of bytes for near_bytes"),
        (b"\x03\x00" * 4097, {}, "found too many threads at once, expected 4096 at most"),
    ],
)
def test_what_no_program_does_is_refused_in_one_line(
    nearfar: Run, tmp_path: Path, events: bytes, header: dict[str, Any], found: str
) -> None:
    trace = by_hand(tmp_path, events, 2, **header)
    status, _, err = nearfar("replay", SMALL, str(trace))
    assert status == 2
    assert found in err
    assert err.count("\n") == 1
