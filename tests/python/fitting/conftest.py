"""A random DIMM, probed once, and the model that is fitted to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar import load_model
from nearfar.fitting.fit import Fit, fit
from nearfar.model import Model
from nearfar.model.random.dimm import random_model
from nearfar.probing.probe import probe
from nearfar.results import ProbeResult

SEED = 71


@pytest.fixture(scope="session")
def device(tmp_path_factory: pytest.TempPathFactory) -> Model:
    file = tmp_path_factory.mktemp("device") / "device.toml"
    file.write_text(random_model(SEED), encoding="utf-8")
    return load_model(str(file))


@pytest.fixture(scope="session")
def probed(device: Model) -> ProbeResult:
    return probe(device, ("buffers", "queues", "migration"), quick=True)


@pytest.fixture(scope="session")
def fitted(probed: ProbeResult) -> Fit:
    return fit(probed)


@pytest.fixture
def fitted_model(fitted: Fit, tmp_path: Path) -> Model:
    file = tmp_path / "fitted.toml"
    file.write_text(fitted.text, encoding="utf-8")
    return load_model(str(file))
