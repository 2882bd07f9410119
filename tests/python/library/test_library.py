"""The same requests through C, C++, Python and `replay` take the same times; misuse is one line."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nearfar
from hosts import EXAMPLES, ROOT, Seen, Stream, build, by_arrays, by_program, needs_compiler, stream
from nearfar import Machine, ReplayOptions
from nearfar.simulate.library import library


def by_single_calls(target: str, requests: Stream) -> Seen:
    machine = Machine(target)
    accepted, done = [0] * len(requests.addresses), [0] * len(requests.addresses)

    def step() -> bool:
        machine.advance()
        woken = False
        for come in machine.completions():
            if come["kind"] == Machine.WAKE:
                woken = True
            else:
                done[come["id"]] = int(come["time_ps"])
        return woken

    for i, (address, write, due) in enumerate(
        zip(requests.addresses, requests.writes, requests.times_ps, strict=True)
    ):
        while not machine.send(address, write=write, time_ps=max(due, machine.now_ps), id=i):
            while not step():
                pass
        accepted[i] = machine.now_ps
    while machine.unfinished:
        step()
    return Seen(list(zip(accepted, done, strict=True)), machine.counters())


TARGETS = ["ddr4-2666", "optane-100", "cxl-expander", "optane-memory-mode"]


@needs_compiler
def test_one_stream_takes_the_same_times_through_c_cpp_and_python_and_in_replay(
    tmp_path: Path,
) -> None:
    programs = [build(EXAMPLES / name, tmp_path) for name in ("replay.c", "replay.cpp")]
    for seed, name in enumerate(TARGETS):
        requests, target = stream(seed), f"model:{name}"
        model, trace = tmp_path / f"{name}.model", tmp_path / "stream.dramsim3"
        model.write_text(nearfar.load_model(name).export())
        trace.write_text(requests.trace())

        seen = by_arrays(target, requests)
        assert by_single_calls(target, requests) == seen
        assert [by_program([program, model], requests) for program in programs] == [seen, seen]

        options = ReplayOptions(clock_ps=1000, drain=False)
        replayed = nearfar.replay(target, trace, options)
        assert replayed.elapsed_ps == max(done for _, done in seen.times) - requests.times_ps[0]
        reads = [
            done - accepted
            for (accepted, done), write in zip(seen.times, requests.writes, strict=True)
            if not write
        ]
        assert replayed.read_latency is not None
        assert replayed.read_latency.mean_ns == pytest.approx(np.mean(reads) / 1000, rel=1e-12)
        assert replayed.read_max_ns == max(reads) / 1000
        late = sum(a > due for (a, _), due in zip(seen.times, requests.times_ps, strict=True))
        assert replayed.late == late
        assert replayed.counters == seen.counters


def test_only_the_c_interface_is_exported_and_by_versioned_symbols() -> None:
    if shutil.which("nm") is None:
        pytest.skip("no nm")
    listed = subprocess.run(
        ["nm", "-D", "--extern-only", "--defined-only", library()],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = {line.split()[-1] for line in listed.splitlines()} - {"NEARFAR_1", "NEARFAR_2"}
    header = (library().parent / "include" / "nearfar" / "memory.h").read_text()
    declared = set(re.findall(r"^[a-z].*?[ *](nearfar_\w+)\(", header, re.MULTILINE))
    assert {name.partition("@@")[0] for name in names} == declared
    assert {name.partition("@@")[2] for name in names} == {"NEARFAR_1", "NEARFAR_2"}


MISUSE = r"""
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <nearfar/memory.h>

static void say(int status) { printf("%d %s\n", status, nearfar_error()); }

static void* elsewhere(void* memory) {
  say(nearfar_memory_advance(memory, 2000));
  say(nearfar_memory_adopt(memory) == NEARFAR_OK ? nearfar_memory_advance(memory, 2000) : 99);
  return NULL;
}

int main(int argc, char** argv) {
  nearfar_memory* memory = NULL;
  nearfar_request request = {0};
  nearfar_completion come;
  uint64_t value = 0;
  pthread_t thread;
  if (argc != 2) return 1;
  say(nearfar_memory_open("absent.model", &memory));
  say(nearfar_memory_open("optane-10", &memory));
  say(nearfar_memory_create("machine = dram\n", 15, &memory));
  say(nearfar_memory_create("# nearfar 0.0.1 x\nmachine = dram\n", 33, &memory));
  say(nearfar_memory_advance(memory, 0));
  if (nearfar_memory_open(argv[1], &memory) != NEARFAR_OK) return 1;
  nearfar_memory_advance(memory, 1000);
  request.address = nearfar_memory_capacity(memory);
  say(nearfar_memory_send(memory, &request, 1000));
  request.address = 1;
  say(nearfar_memory_send(memory, &request, 1000));
  request.address = 0;
  request.op = 2;
  say(nearfar_memory_send(memory, &request, 1000));
  say(nearfar_memory_send_when_free(memory, &request, 1000));
  request.op = NEARFAR_READ;
  say(nearfar_memory_send(memory, &request, 999));
  say(nearfar_memory_counter(memory, "channel.0.raeds", &value));
  say(nearfar_memory_wait(memory, 2000, &come, 0));
  say(nearfar_memory_restore(memory, "nonsense", 8));
  say(nearfar_memory_record(memory, "/absent/trace"));
  while (nearfar_memory_send(memory, &request, 1000) == NEARFAR_OK) request.address += 64;
  say(nearfar_memory_send(memory, &request, 1000));
  say(nearfar_memory_send_when_free(memory, &request, 1000));
  pthread_create(&thread, NULL, elsewhere, memory);
  pthread_join(thread, NULL);
  nearfar_memory_destroy(memory);
  return 0;
}
"""


@needs_compiler
def test_each_misuse_of_the_c_interface_is_a_code_and_one_line(tmp_path: Path) -> None:
    source, model = tmp_path / "misuse.c", tmp_path / "ddr4.model"
    source.write_text(MISUSE)
    model.write_text(nearfar.load_model("ddr4-2666").export())
    program = build(source, tmp_path)
    out = subprocess.run([program, model], capture_output=True, text=True, check=True).stdout
    said = [line.split(" ", 1) for line in out.splitlines()]
    expected = [
        (-3, "absent.model: cannot be read"),
        (-3, "or one of aep-sample, cxl, cxl-expander,"),
        (-2, "is missing; export the model again"),
        (-2, "model: was exported by nearfar 0.0.1, expected"),
        (-1, "memory: found NULL"),
        (-4, "found 8589934592, expected one below 8589934592"),
        (-1, "found 1, expected a multiple of 64"),
        (-1, "request: found NULL, or a field out of range"),
        (-1, "request: found NULL, or a field out of range"),
        (-5, "found 999 ps, expected at least the present, 1000 ps"),
        (-1, "counter: found 'channel.0.raeds'"),
        (-1, "nearfar_memory_wait: found no room"),
        (-9, "state: begins otherwise than a saved state"),
        (-3, "/absent/trace: cannot be written"),
        (-6, "port 0: was refused"),
        (-6, "port 0: was refused"),
        (-7, "belongs to another thread"),
        (0, ""),
    ]
    assert [int(status) for status, _ in said] == [status for status, _ in expected]
    assert [
        text for (_, text), (_, part) in zip(said, expected, strict=True) if part not in text
    ] == []


BESIDE_A_PORT_THAT_WAITS = r"""
#include <iostream>
#include <nearfar/memory.hpp>

int main(int, char** argv) {
  auto memory = nearfar::Memory::open(argv[1]);
  nearfar_request request{};
  request.port = 1;
  while (memory.send(request, 0)) request.address += 64;
  request.port = 2;
  request.id = 7;
  request.address = 1 << 20;
  const std::uint64_t taken = memory.send_when_free(request, 0);
  bool woken = false, done = false;
  while (memory.unfinished() != 0) {
    memory.wait([&](const nearfar_completion& come) {
      if (come.kind == NEARFAR_WAKE) {
        woken |= come.id == 1;
      } else {
        done |= come.id == 7 && come.time_ps > taken;
      }
    });
  }
  std::cout << (taken > 0) << woken << done << '\n';
}
"""


@needs_compiler
def test_a_port_that_waits_is_woken_while_another_gets_the_next_place(tmp_path: Path) -> None:
    source = tmp_path / "beside.cpp"
    source.write_text(BESIDE_A_PORT_THAT_WAITS)
    program = build(source, tmp_path)
    for target in TARGETS:
        out = subprocess.run([program, target], capture_output=True, text=True, check=True).stdout
        assert out == "111\n", target


@needs_compiler
def test_cmake_and_pkg_config_find_an_installed_library(tmp_path: Path) -> None:
    cmake = Path(sys.executable).parent / "cmake"
    built = ROOT / "build" / "release"
    if not (built / "core" / "library" / "libnearfar.so.1").exists():
        pytest.skip("the library was not built in this checkout")
    prefix = tmp_path / "prefix"
    subprocess.run(
        [cmake, "--install", built, "--component", "library", "--prefix", prefix],
        check=True, capture_output=True,
    )  # fmt: skip
    (config,) = prefix.rglob("nearfar.pc")
    found = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "nearfar"],
        env={"PKG_CONFIG_PATH": str(config.parent), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    build(EXAMPLES / "replay.c", tmp_path, [*found, f"-Wl,-rpath,{config.parents[1]}"])
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(host CXX)\n"
        "find_package(nearfar 0.2 REQUIRED)\n"
        f"add_executable(host {EXAMPLES / 'replay.cpp'})\n"
        "target_link_libraries(host nearfar::nearfar)\n"
    )
    there = tmp_path / "build"
    subprocess.run(
        [cmake, "-S", tmp_path, "-B", there, f"-DCMAKE_PREFIX_PATH={prefix}"],
        check=True, capture_output=True,
    )  # fmt: skip
    subprocess.run([cmake, "--build", there], check=True, capture_output=True)
    model = tmp_path / "m.model"
    model.write_text(nearfar.load_model("ddr4-2666").export())
    seen = by_program([there / "host", model], stream(1, 100))
    assert seen == by_arrays("model:ddr4-2666", stream(1, 100))
    # The presets are installed beside it.
    assert by_program([there / "host", "ddr4-2666"], stream(1, 100)) == seen


def test_a_machine_with_nothing_in_flight_has_no_event() -> None:
    machine = Machine("model:ddr4-2666")
    assert machine.next_event_ps is None
    assert machine.send([0, 64], time_ps=10) == 2
    assert machine.next_event_ps is not None
    while machine.unfinished:
        machine.advance()
    assert machine.completions()["id"].tolist() == [0, 1]
    assert machine.next_event_ps is None
    assert machine.advance(10**12) == 10**12


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"address": -64}, "address: found -64, expected at least 0"),
        ({"address": 64.0}, "address: found float64"),
        ({"address": 1 << 60}, "address: found 1152921504606846976, expected one below"),
        ({"address": [0, 64], "time_ps": [1, 2, 3]}, "time_ps: found 3 values, expected 1 or 2"),
        ({"address": 0, "write": "yes"}, "write: found"),
        ({"address": 0, "time_ps": 1 << 63}, "expected at most 9223372036854775807 ps, 106 days"),
    ],
)
def test_a_request_that_cannot_be_is_one_line(given: dict[str, object], message: str) -> None:
    machine = Machine("model:ddr4-2666")
    with pytest.raises(nearfar.InputError, match=re.escape(message)):
        machine.send(**given)  # type: ignore[arg-type]
    assert machine.unfinished == 0
