"""Every program of the shipped set: it computes the same on a model, and its steps do work."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import needs_front_end
from nearfar.predicting.programs import Program, build, programs_of
from nearfar.predicting.running import Simulation, native

pytestmark = needs_front_end


@pytest.mark.parametrize("program", programs_of(), ids=lambda program: program.name)
def test_a_program_computes_on_a_model_what_it_computes_here(
    program: Program, tmp_path: Path
) -> None:
    if program.library and not Path(f"/usr/include/{program.library}.h").exists():
        pytest.skip(f"no {program.package}")
    file = str(build(program, tmp_path))
    here = native([file, "1", "2"], "small")
    there, ran = Simulation("model:ddr4-2666", [file, "1", "2"], "small").result()
    assert there.output == here.output
    # Another count of steps is other work.
    assert native([file, "1", "1"], "small").output.split()[-1] != here.output.split()[-1]
    assert ran.counts["instructions"] > 1000
    assert ran.counts["system_calls"] < 10
    assert here.page_faults < 100
