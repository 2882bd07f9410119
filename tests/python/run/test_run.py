"""`nearfar run`: the program runs as it does natively, and everything it does is counted."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Compile, needs_front_end
from nearfar.results import RunResult, parse
from nearfar.simulate.programs.qemu import front_end

NEARFAR = [sys.executable, "-m", "nearfar", "run", "model:ddr4-2666"]


pytestmark = needs_front_end


def simulated(
    *words: str | Path, options: tuple[str, ...] = ()
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Run a program; what it printed, and the JSON behind it in a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "ran.json"
        process = subprocess.run(
            [*NEARFAR, *options, "--quiet", "--json", str(out), "--", *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        return process, json.loads(out.read_text()) if out.exists() else {}


# A loop of known counts, far above what a program does before and behind it; called with how
# often it goes around.
LOOP = r"""
#include <stdlib.h>
static char area[4096] __attribute__((aligned(4096)));
int main(int count, char** words) {
  (void)count;
  long rounds = atol(words[1]);
  __asm__ volatile(
    "1: mov (%0), %%rax\n"             /* a load */
    "add %%rax, 64(%0)\n"              /* a load and a store */
    "vmovdqu 128(%0), %%ymm0\n"        /* a load of 32 bytes */
    "vmovntdq %%ymm0, 256(%0)\n"       /* a non-temporal store of 32 */
    "movnti %%rax, 320(%0)\n"
    "lock incq 384(%0)\n"
    "clwb 128(%0)\nclflushopt 192(%0)\nclflush 256(%0)\n"
    "sfence\nlfence\nmfence\nprefetcht0 448(%0)\npause\n"
    "dec %1\njnz 1b\n"
    : "+r"(*(char**)&(char*){area}), "+r"(rounds) : : "rax", "xmm0", "memory", "cc");
  return 0;
}
"""


def test_a_loop_of_known_counts_is_counted_exactly(compiled: Compile) -> None:
    program = compiled("loop", LOOP)
    many, few = (simulated(program, rounds)[1]["counts"] for rounds in ("3000", "1000"))
    per_round = {name: (many[name] - few[name]) / 2000 for name in many}
    expected = {
        "instructions": 16, "loads": 4, "stores": 4, "load_bytes": 8 + 8 + 32 + 8,
        "store_bytes": 8 + 32 + 8 + 8, "nt_loads": 0, "nt_stores": 2, "atomics": 1, "clwb": 1,
        "clflushopt": 1, "clflush": 1, "store_fences": 1, "load_fences": 1, "full_fences": 1,
        "prefetches": 1, "pauses": 1, "system_calls": 0,
        "flushes_told": 0, "counters_read": 0,
    }  # fmt: skip
    # The C library does a little less or more with another number of digits.
    assert {name: round(per_round[name], 1) for name in expected} == expected
    resolved = front_end().interface >= 4
    assert round(per_round["flushes_unresolved"], 1) == (0 if resolved else 3)
    assert round(per_round["prefetches_unresolved"], 1) == (0 if resolved else 1)


EVERYTHING = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long total;
static volatile sig_atomic_t signals;
static void on_signal(int number) { (void)number; ++signals; }
static void* work(void* seed) {
  unsigned long x = (unsigned long)seed + 1;
  for (int i = 0; i < 20000; ++i) x = x * 6364136223846793005UL + 1;
  pthread_mutex_lock(&lock);
  total ^= x;
  pthread_mutex_unlock(&lock);
  return NULL;
}
static long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}
int main(int count, char** words) {
  pthread_t threads[4];
  for (long i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  printf("threads %lx\n", total);
  signal(SIGUSR1, on_signal);
  raise(SIGUSR1);
  kill(getpid(), SIGUSR1);
  printf("signals %d\n", (int)signals);
  char* long_text = malloc(100000);
  memset(long_text, 'x', 99999);
  long_text[99999] = 0;
  printf("length %zu\n", strlen(long_text));
  fflush(stdout);
  if (fork() == 0) {
    printf("child, argv[0] %s\n", words[0]);
    fflush(stdout);
    execlp("sh", "sh", "-c", "echo shell $0 $1 | cat; exit 3", "name", "a b, c", (char*)NULL);
    _exit(1);
  }
  int status = 0;
  wait(&status);
  printf("child ended with %d, system with %d\n", WEXITSTATUS(status), system("exit 7") >> 8);
  long before = now_ns(), last = before, backwards = 0;
  for (int i = 0; i < 1000; ++i) {
    long t = now_ns();
    if (t < last) ++backwards;
    last = t;
  }
  struct timespec nap = {0, 20000000};
  nanosleep(&nap, NULL);
  long slept = now_ns() - last;
  printf("backwards %ld, slept %d\n", backwards, slept >= 20000000 && slept < 20100000);
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  time_t seconds = time(NULL);
  printf("time() agrees %d\n", seconds == until.tv_sec || seconds == until.tv_sec + 1);
  until.tv_nsec += 10000000;
  if (until.tv_nsec >= 1000000000) { until.tv_nsec -= 1000000000; ++until.tv_sec; }
  struct timespec given = until;
  pthread_cond_t never = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&lock);
  int result = pthread_cond_timedwait(&never, &lock, &until);
  struct timespec after;
  clock_gettime(CLOCK_REALTIME, &after);
  long late = (after.tv_sec - until.tv_sec) * 1000000000L + after.tv_nsec - until.tv_nsec;
  printf("waited %s, late %d, deadline as given %d\n", strerror(result),
         late < 0 || late > 100000, memcmp(&given, &until, sizeof given) == 0);
  fflush(stdout);
  if (count > 1) raise(atoi(words[1]));
  return 5;
}
"""


@pytest.fixture(scope="module")
def everything(compiled: Compile) -> Path:
    return compiled("everything", EVERYTHING)


def test_a_program_with_threads_children_signals_and_waits_does_what_it_does_natively(
    everything: Path,
) -> None:
    # Natively it sleeps longer than it asked for, which is the one thing that differs.
    native = subprocess.run([everything], capture_output=True, text=True, check=False)
    process, ran = simulated(everything)
    exact = process.stdout.replace("slept 1", "slept X").replace("late 0", "late X")
    assert "slept X" in exact
    assert "late X" in exact
    lines = native.stdout.splitlines()
    assert exact.splitlines()[: len(lines) - 3] == lines[:-3]
    assert "deadline as given 1" in process.stdout
    assert "time() agrees 1" in process.stdout
    assert (process.returncode, process.stderr) == (native.returncode, "") == (5, "")
    threads = [part["threads"] for part in ran["processes"]]
    assert threads[0] == 5
    assert len(threads) >= 5  # the program, its child twice, cat, the shell of system()
    assert ran["exit_code"] == 5
    document = parse(ran)
    assert isinstance(document, RunResult)
    assert document.to_dict() == ran


def test_a_signal_that_ends_the_program_is_passed_on_and_nothing_counted_is_lost(
    everything: Path,
) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        process, ran = simulated(everything, str(int(number)))
        assert process.returncode == 128 + number
        assert ran["counts"]["instructions"] > 4 * 20000 * 3
        assert ran["processes"][0].get("finished", True)


def test_ctrl_c_ends_the_program_keeps_the_counts_and_leaves_no_process(
    compiled: Compile, tmp_path: Path
) -> None:
    program = compiled(
        "endless",
        "#include <stdio.h>\n#include <unistd.h>\n"
        'int main(void) { if (fork() != 0) { printf("%d\\n", getpid()); fflush(stdout); }\n'
        "for (volatile long i = 0;; ++i) {} }",
    )
    out = tmp_path / "out.json"
    process = subprocess.Popen(
        [*NEARFAR, "--json", str(out), "--", str(program)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert "ended by SIGINT" in err
    ran = json.loads(out.read_text())
    assert ran["interrupted"]
    assert ran["counts"]["instructions"] > 1000
    assert not Path(f"/proc/{child}").exists()
    for _ in range(100):
        left = subprocess.run(["pgrep", "-f", str(program)], capture_output=True, check=False)
        if left.returncode != 0:
            break
        time.sleep(0.05)
    assert left.stdout == b""


def test_no_process_of_a_run_outlives_nearfar_when_that_is_killed(compiled: Compile) -> None:
    program = compiled(
        "outlives",
        "#include <stdio.h>\n#include <unistd.h>\n"
        "int main(void) { if (fork() == 0) { setsid(); if (fork() == 0) {\n"
        '  printf("%d\\n", getpid()); fflush(stdout); for (;;) pause(); } _exit(0); }\n'
        '  printf("%d\\n", getpid()); fflush(stdout); for (;;) pause(); }',
    )
    process = subprocess.Popen(
        [*NEARFAR, "--core", "count", "--", str(program)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    ends = [os.pidfd_open(int(process.stdout.readline())) for _ in range(2)]
    process.kill()
    for end in ends:
        assert select.select([end], [], [], 100)[0] == [end]
        os.close(end)
    assert process.stdout.read() == ""
    process.wait()


def test_only_the_last_region_of_interest_counts(compiled: Compile) -> None:
    program = compiled(
        "region",
        "#include <nearfar.h>\n"
        "static void spin(long n) { for (volatile long i = 0; i < n; ++i) {} }\n"
        "int main(void) { spin(50000); NEARFAR_ROI_BEGIN(); spin(3000); NEARFAR_ROI_END();\n"
        "spin(50000); NEARFAR_ROI_BEGIN(); spin(1000); NEARFAR_ROI_END(); spin(5); return 0; }",
    )
    assert subprocess.run([program], check=False).returncode == 0
    whole, inside = (simulated(program, options=o)[1]["counts"] for o in ((), ("--roi",)))
    assert whole["stores"] > 100_000
    assert 1000 <= inside["stores"] < 1100  # of the last region


def test_flushes_of_libpmem_are_told_by_the_guest_library(compiled: Compile) -> None:
    library = compiled(
        "libpmem.so",
        "#include <stddef.h>\n#include <stdint.h>\n"
        "void pmem_persist(const void* a, size_t n) {\n"
        "  for (uintptr_t p = (uintptr_t)a & ~63ul; p < (uintptr_t)a + n; p += 64)\n"
        '    __asm__ volatile("clwb (%0)" : : "r"(p) : "memory");\n'
        '  __asm__ volatile("sfence" : : : "memory"); }',
        "-shared", "-fPIC",
    )  # fmt: skip
    program = compiled(
        "persists",
        "#include <stddef.h>\nvoid pmem_persist(const void*, size_t);\nstatic char a[4096];\n"
        "int main(void) { for (int i = 0; i < 100; ++i) pmem_persist(a + 1, 1000); return 0; }",
        str(library), f"-Wl,-rpath,{library.parent}",
    )  # fmt: skip
    process, ran = simulated(program)
    assert process.returncode == 0
    lines = len({(i // 64) for i in range(1, 1001)})
    assert ran["counts"]["clwb"] == 100 * lines
    assert ran["counts"]["flushes_unresolved"] == 0
    told = 0 if front_end().interface >= 4 else 100 * lines
    assert ran["counts"]["flushes_told"] == told


def test_a_copy_of_libpmem_flushes_the_ends_that_it_has_stored_to(compiled: Compile) -> None:
    # As a large copy does: what lies between the ends goes past the caches.
    library = compiled(
        "libpmem-copies.so",
        "#include <stddef.h>\n"
        "void* pmem_memcpy_persist(void* to, const void* from, size_t n) {\n"
        "  char* d = to;\n"
        "  d[0] = d[n - 1] = *(const char*)from;\n"
        "  for (char* p = d + 64; p < d + n - 64; p += 8)\n"
        '    __asm__ volatile("movnti %1, (%0)" : : "r"(p), "r"(n) : "memory");\n'
        '  __asm__ volatile("clwb (%0)\\nclwb (%1)\\nsfence" : : "r"(d), "r"(d + n - 1)'
        ' : "memory");\n'
        "  return to; }",
        "-shared", "-fPIC",
    )  # fmt: skip
    program = compiled(
        "copies",
        "#include <stddef.h>\nvoid* pmem_memcpy_persist(void*, const void*, size_t);\n"
        "static char a[4096] __attribute__((aligned(4096)));\n"
        "int main(void) { for (int i = 0; i < 100; ++i) pmem_memcpy_persist(a, a, 4096);"
        " return 0; }",
        str(library), f"-Wl,-rpath,{library.parent}",
    )  # fmt: skip
    process, data = simulated(program)
    assert process.returncode == 0
    assert data["counts"]["flushes_unresolved"] == 0
    ran = parse(data)
    assert isinstance(ran, RunResult)
    machine = ran.processes[0].machine
    assert machine is not None
    # Both ends are dirty each time, and nothing else that is flushed.
    assert machine.core.counts["flushes_dirty"] == machine.core.counts["flushes"] == 200


def test_the_program_has_no_locale_where_none_was_given() -> None:
    bare = {name: text for name, text in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    process = subprocess.run(
        [*NEARFAR, "--core", "count", "--quiet", "--", "env"],
        capture_output=True, text=True, check=True, timeout=100, env=bare,
    )  # fmt: skip
    found = process.stdout.splitlines()
    assert any(line.startswith("PATH=") for line in found)
    assert not [line for line in found if line.startswith("LC_")]


def test_scripts_run_and_their_interpreter_is_counted(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text('#!/bin/sh -e\necho "$0 $1"\n')
    script.chmod(0o755)
    process, ran = simulated(script, "x")
    assert process.stdout == f"{script} x\n"
    assert ran["counts"]["instructions"] > 10_000


def test_a_static_program_runs_and_its_limits_are_said(compiled: Compile) -> None:
    text = '#include <stdio.h>\nint main(void) { puts("still"); return 4; }'
    for kind in ("-static", "-static-pie"):
        process, ran = simulated(compiled(f"fixed{kind}", text, kind))
        assert (process.stdout, process.returncode) == ("still\n", 4)
        assert "linked statically" in ran["notes"][0]


def test_avx512_is_refused_in_one_line(compiled: Compile) -> None:
    program = compiled(
        "wide", 'int main(void) { __asm__ volatile("vaddpd %zmm0, %zmm1, %zmm2"); return 0; }'
    )
    process, _ = simulated(program)
    assert process.returncode == 2
    said = [line for line in process.stderr.splitlines() if line.startswith("nearfar: ")]
    assert len(said) == 1
    assert "uses AVX-512 (at 0x" in said[0]
    # Where another program has executed it, that one knows what to do about it.
    process, ran = simulated("sh", "-c", f"{program}; echo $?")
    assert (process.stdout, process.returncode) == ("132\n", 0)
    assert [note for note in ran["notes"] if note.startswith(f"{program} was ended: it uses AVX")]


def test_a_file_that_cannot_run_is_refused_in_one_line(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    def said(*words: str) -> str:
        return refused("run", "model:ddr4-2666", "--", *words)

    plain = tmp_path / "plain"
    plain.write_text("nothing")
    assert said(str(tmp_path / "absent")).endswith("absent: no such file")
    assert said("no-such-program") == "no-such-program: no such program on PATH"
    assert "expected a program" in said(str(tmp_path))
    assert "is not executable (chmod +x" in said(str(plain))
    plain.chmod(0o755)
    assert "neither a program (ELF) nor a script" in said(str(plain))
    plain.write_text("#!/no/such/interpreter\n")
    assert "its interpreter /no/such/interpreter is not there" in said(str(plain))
    foreign = bytearray(64)
    foreign[:5], foreign[18] = b"\x7fELF\x02", 183
    plain.write_bytes(foreign)
    assert "found a program for aarch64, expected one for 64-bit x86-64" in said(str(plain))


def test_an_unsuitable_qemu_is_refused(refused: Callable[..., str], compiled: Compile) -> None:
    def said(qemu: str) -> str:
        return refused("run", "model:ddr4-2666", "--qemu", qemu, "--", "true")

    assert "no-qemu is not there; to get it: apt-get install qemu-user" in said("no-qemu")
    static = compiled("static-qemu", "int main(void) { return 0; }", "-static")
    assert "is linked statically and cannot load plug-ins" in said(str(static))
    for version, why in (("9.1.0", "not supported"), ("", "does not say its version")):
        text = f'#include <stdio.h>\nint main(void) {{ puts("version {version}"); return 0; }}'
        assert why in said(str(compiled(f"qemu-{version}", text)))


def test_every_line_of_memory_is_found_again_over_time_by_page_and_by_area(
    compiled: Compile,
) -> None:
    program = compiled(
        "walks",
        "#include <pthread.h>\n#include <stdlib.h>\n"
        "static void* walk(void* area) {\n"
        "  for (long i = 0; i < 1 << 20; i += 64) ((volatile char*)area)[i] += 1;\n"
        "  return NULL; }\n"
        "int main(void) { pthread_t t; char* a = malloc(2 << 20);\n"
        "  pthread_create(&t, NULL, walk, a); walk(a + (1 << 20));\n"
        "  pthread_join(t, NULL); return a[0] != 1; }",
    )
    process, data = simulated(program)
    assert process.returncode == 0
    ran = parse(data)
    assert isinstance(ran, RunResult)
    machine = ran.processes[0].machine
    assert machine is not None
    over, memory = machine.over_time, machine.memory
    assert sum(over.instructions) == machine.core.counts["instructions"]
    for thread in machine.threads:
        assert sum(thread.instructions_over_time) == thread.counts["instructions"]
    # Each sum of picoseconds is rounded by itself.
    for cause, parts in over.stack_ps.items():
        assert abs(sum(parts) - machine.core.stack_ps[cause]) <= len(machine.threads)
    lines = [*over.near_reads, *over.near_writes, *over.far_reads, *over.far_writes]
    assert sum(lines) >= 2 * (1 << 20) // 64
    assert memory.hot_pages.sums[-1] + memory.gone_lines + memory.table_lines == sum(lines)
    assert memory.table_lines > 0
    by_kind: dict[str, int] = {}
    for area in memory.areas:
        found = sum(area.reads) + sum(area.writes)
        by_kind[area.kind] = by_kind.get(area.kind, 0) + found
    assert {"memory", "heap", "stack", "file"} >= set(by_kind) >= {"memory", "stack", "file"}
    assert by_kind["memory"] >= 2 * (1 << 20) // 64
    by_area = sum(sum(area.reads) + sum(area.writes) for area in memory.areas)
    assert by_area == memory.hot_pages.sums[-1]
    assert sum(count for _, count in machine.load_latency.buckets) == machine.load_latency.count
