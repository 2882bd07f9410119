"""What the text of a fit says of how good it is."""

from __future__ import annotations

import pytest

from nearfar.report.fit import fit_text
from nearfar.results.fit import FitResult, FittedSeries


@pytest.mark.parametrize(("training", "poor"), [(0.0, True), (0.94, False), (None, False)])
def test_a_fit_that_predicts_nothing_is_no_model_of_what_was_measured(
    training: float | None, poor: bool
) -> None:
    series = [FittedSeries("reads", 4, 0.0, 0.0, 0.0, "1", 9.0)]
    fitted = FitResult("nvdimm", ["here"], "0", [], [], series=series, training=training)
    told = "no model of what was measured: a machine like nvdimm" in fit_text(fitted)
    assert (told, fitted.is_poor) == (poor, poor)
