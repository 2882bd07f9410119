"""`nearfar run`: what lies on the program's stack is the same wherever nearfar is installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conftest import Compile, needs_front_end
from nearfar.model.load import load
from nearfar.simulate.programs import qemu
from nearfar.simulate.programs.options import RunOptions
from nearfar.simulate.programs.run import run

PLACE = r"""
#include <stdio.h>
int main(int count, char** words) {
  FILE* out = fopen(words[1], "w");
  fprintf(out, "%p\n", (void*)&count);
  return fclose(out);
}
"""


@needs_front_end
def test_where_nearfar_is_installed_does_not_move_the_programs_stack(
    compiled: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "out"
    words = (str(compiled("place", PLACE)), str(place))
    assert run(load("ddr4-2666"), words, RunOptions()).exit_code == 0
    here = place.read_text()
    elsewhere = tmp_path / "a folder with a longer name"
    shutil.copytree(qemu.folder(), elsewhere)
    monkeypatch.setattr(qemu, "folder", lambda: elsewhere)
    assert run(load("ddr4-2666"), words, RunOptions()).exit_code == 0
    assert place.read_text() == here
