"""Pointers that a program marks by mkpt.h, or that are found in it, reach Pre-translation."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import Compile, Run, needs_front_end

pytestmark = needs_front_end

NODES = 4000
ROUNDS = 3
# Beyond the TLBs, which are made small, as are the caches.
MODEL = (
    "model:optane-100,cpu.l1.size=4KiB,cpu.l2.size=16KiB,cpu.l3.size=66KiB,cpu.l3.slices=3,"
    "cpu.tlb.l2.entries=384"
)
ON = ",nvdimm.pretranslation.enabled=true"

LIST = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef MARKED
#include <nearfar/mkpt.h>
#else
#define NEARFAR_LOAD_PTR(p) (*(p))
#endif
#define NODES 4000
struct node { struct node* volatile next; long value; };
static int order[NODES];
/* The i-th of the list, at a place of its own in its page. */
#define NODE(i) ((struct node*)(memory + order[i] * 4096L + (i) % 50 * 64))
int main(void) {
  char* memory = mmap(0, NODES * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned long long random = 1;
  for (int i = 0; i < NODES; ++i) order[i] = i;
  for (int i = NODES - 1; i > 0; --i) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    int j = (int)((random >> 33) % (unsigned)i), kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
  for (int i = 0; i < NODES; ++i) {
    NODE(i)->next = NODE((i + 1) % NODES);
    NODE(i)->value = i;
  }
  long sum = 0;
  struct node* node = NODE(0);
  for (long i = 0; i < 3L * NODES; ++i) {
    struct node* next = NEARFAR_LOAD_PTR(&node->next); /* before what else is in its line */
    sum += node->value;
    node = next;
  }
  printf("%ld\n", sum);
  return 0;
}
"""


def ran(program: Path, model: str, nearfar: Run, folder: Path) -> dict[str, Any]:
    file = folder / "ran.json"
    status, out, err = nearfar("run", model, "--json", str(file), "--", str(program))
    assert status == 0, err
    native = subprocess.run([program], capture_output=True, text=True, check=True)
    assert native.stdout in out
    data: dict[str, Any] = json.loads(file.read_text())
    return data


def walks(result: dict[str, Any]) -> int:
    count: int = result["processes"][0]["machine"]["counters"]["cache.tlb.walks"]
    return count


@pytest.fixture
def marked(compiled: Compile) -> Path:
    return compiled("marked", LIST, "-DMARKED")


@pytest.fixture
def plain(compiled: Compile) -> Path:
    return compiled("plain", LIST)


def test_a_marked_list_misses_the_tlbs_once_a_node(
    nearfar: Run, marked: Path, tmp_path: Path
) -> None:
    result = ran(marked, MODEL + ON, nearfar, tmp_path)
    assert result["counts"]["marked_loads"] == ROUNDS * NODES
    assert not any("mkpt" in note for note in result["notes"])
    without = ran(marked, MODEL, nearfar, tmp_path)
    # The first time round the DIMM learns.
    saved = (ROUNDS - 1) * NODES
    assert walks(without) - walks(result) == pytest.approx(saved, rel=0.01)
    assert result["elapsed_ns"] < without["elapsed_ns"]


def test_marks_without_pretranslation_are_counted_and_noted(
    nearfar: Run, marked: Path, tmp_path: Path
) -> None:
    result = ran(marked, MODEL, nearfar, tmp_path)
    (note,) = [note for note in result["notes"] if "mkpt" in note]
    assert note == (
        f"{ROUNDS * NODES} loads marked by mkpt had no effect: the machine has no Pre-translation "
        "(nvdimm.pretranslation.enabled)"
    )


def test_pointers_of_an_unchanged_program_are_found_by_its_registers(
    nearfar: Run, plain: Path, tmp_path: Path
) -> None:
    found = ran(plain, MODEL + ON + ",cpu.pretranslation.mark=auto", nearfar, tmp_path)
    assert found["counts"]["marked_loads"] >= ROUNDS * NODES - 1
    unmarked = ran(plain, MODEL + ON, nearfar, tmp_path)
    assert unmarked["counts"]["marked_loads"] == 0
    saved = (ROUNDS - 1) * NODES
    assert walks(unmarked) - walks(found) >= 0.99 * saved
