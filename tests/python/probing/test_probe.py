"""Probing a model: what is inside comes out, from the observations alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nearfar.errors import InputError, Interrupted
from nearfar.inference import STUDIES, hierarchy, infer, study
from nearfar.inference.orders import Spread, Steps, build, spread_of
from nearfar.measuring.target import resolve
from nearfar.probing.device import ModelDevice
from nearfar.probing.probe import probe
from nearfar.probing.probers import PROBERS, Prober
from nearfar.probing.recorder import Recorder
from nearfar.probing.sequences import probe_device
from nearfar.results import Observation, ProbeResult, load
from nearfar.results.files import parse, to_json
from standin_device import Buffer, Layered

OPTANE = "model:optane-100,channels=6"


@pytest.fixture(scope="module")
def optane() -> ProbeResult:
    return probe(OPTANE, tuple(STUDIES), quick=True)


def test_the_optane_model_gives_its_parameters_away(optane: ProbeResult) -> None:
    values = {f.name: f.value for f in optane.findings if f.status == "identified"}
    expected: dict[str, Any] = {
        "modules": 6,
        "interleave": 4096,
        "levels": 2,
        "buffer.1.capacity": 16 << 10,
        "buffer.1.entry": 256,
        "buffer.1.ways": 64,
        "buffer.1.policy": "fifo",
        "buffer.2.capacity": 16 << 20,
        "buffer.2.entry": 4096,
        "buffer.2.ways": 16,
        "buffer.2.sets": 256,
        "buffer.2.policy": "lru",
        "hierarchy": "inclusive",
        "wpq.lines": 8,
        "lsq.lines": 64,
        "fence.drains_lsq": "yes",
        "migration": "yes",
        "migration.block": 4096,
    }
    assert {name: values.get(name) for name in expected} == expected
    low, high = optane.finding("migration.period").interval or (0, 0)
    assert low <= 15982 <= high
    assert high - low < 0.15 * 15982
    assert values["migration.stall"] == pytest.approx(52_000, rel=0.03)


def test_findings_come_again_from_the_file_without_its_target(
    optane: ProbeResult, tmp_path: Path
) -> None:
    """Blind: nothing but observations, so a file that names no target says the same."""
    data = json.loads(to_json(optane))
    del data["target"], data["environment"], data["findings"], data["pattern"]
    data["findings"] = []
    (tmp_path / "blind.json").write_text(json.dumps(data))
    blind = load(tmp_path / "blind.json")
    assert isinstance(blind, ProbeResult)
    again = ProbeResult(observations=(), findings=infer(blind.observations))
    seen = ProbeResult(observations=(), findings=optane.findings)
    assert to_json(again) == to_json(seen)


def test_no_observation_names_its_target(optane: ProbeResult) -> None:
    text = json.dumps([observation.pattern for observation in optane.observations])
    assert "optane" not in text
    assert "model" not in text


def test_a_wrong_observation_changes_what_is_found(optane: ProbeResult) -> None:
    """The findings are made from the numbers, not carried beside them."""
    mix = next(o for o in optane.observations if o.pattern["order"]["kind"] == "mix")
    assert mix.samples is not None
    shuffled = np.random.default_rng(0).permutation(np.array(mix.samples))
    forged = [
        Observation(o.id, o.prober, o.pattern, o.accesses, samples=tuple(shuffled.tolist()))
        if o is mix
        else o
        for o in optane.observations
    ]
    ways = {f.name: f for f in infer(forged)}["buffer.1.ways"]
    assert ways.status == "not_identifiable"


def test_the_same_probe_gives_the_same_bytes(optane: ProbeResult) -> None:
    assert to_json(probe(OPTANE, tuple(STUDIES), quick=True)) == to_json(optane)


def test_every_finding_rests_on_observations_that_are_there(optane: ProbeResult) -> None:
    known = {observation.id for observation in optane.observations}
    for finding in optane.findings:
        assert set(finding.evidence) <= known
        assert finding.evidence or finding.status == "not_identifiable"


def test_the_access_order_can_be_rebuilt_from_the_file(optane: ProbeResult) -> None:
    result = parse(json.loads(to_json(optane)))
    assert isinstance(result, ProbeResult)
    observation = next(o for o in result.observations if o.samples is not None)
    assert observation.samples is not None
    order = observation.pattern["order"]
    steps = build(order)
    times = ModelDevice(resolve(OPTANE)).play(steps, spread_of(observation.pattern), order["seed"])
    assert np.round(times[steps.timed], 2).tolist() == list(observation.samples)


def test_the_probers_asked_for_are_those_that_report() -> None:
    result = probe(OPTANE, ["policy"], quick=True)
    assert [f.name for f in result.findings] == ["modules", "interleave"]
    assert result.pattern == {"kind": "probe", "probers": ["policy"], "quick": True}


def test_an_unknown_prober_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match=r"prober: found 'bufers'.*did you mean buffers\?"):
        probe(OPTANE, ["bufers"])


class Interrupting(Layered):
    """Stops after some experiments, as Ctrl-C does."""

    left = 12

    def play(self, steps: Steps, spread: Spread, seed: int) -> Any:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return super().play(steps, spread, seed)


def test_an_interrupted_probe_keeps_what_it_has_and_says_the_rest_is_missing() -> None:
    device = Interrupting([Buffer(256, 16, 4, "lru", 50.0), Buffer(1024, 64, 8, "fifo", 150.0)])
    result = probe_device(device, quick=True)
    assert result.interrupted
    assert len(result.observations) == 11
    assert result.finding("buffer.1.entry").value == 256
    assert result.finding("levels").status == "not_identifiable"
    assert infer(result.observations) == list(result.findings)


def test_ctrl_c_while_a_study_infers_keeps_what_was_observed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    device = Layered([Buffer(256, 16, 4, "lru", 50.0)])
    monkeypatch.setattr(hierarchy, "study", interrupt)  # behind the study of the buffers
    recorder = Recorder(device, quick=True)
    assert recorder.conduct(study(["buffers"])) is None
    assert recorder.interrupted
    monkeypatch.undo()
    found = {one.name: one for one in infer(recorder.observations)}
    assert found["buffer.1.entry"].value == 256


def test_an_interrupted_probe_of_a_target_hands_over_its_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(ModelDevice, "play", interrupt)
    with pytest.raises(Interrupted) as stopped:
        probe(OPTANE, tuple(STUDIES), quick=True)
    assert stopped.value.result.interrupted
    assert stopped.value.result.target is not None


def test_a_device_too_small_for_an_experiment_is_probed_without_it() -> None:
    small = Layered([Buffer(256, 16, 4, "lru", 50.0)], memory_bytes=1 << 20)
    result = probe_device(small, quick=True)
    values = {f.name: f.value for f in result.findings if f.status == "identified"}
    assert values == {"migration": "no"}
    assert infer(result.observations) == list(result.findings)


def test_progress_hears_of_every_experiment() -> None:
    heard: list[str] = []
    device = ModelDevice(resolve(OPTANE))
    result = probe_device(device, ["policy"], True, lambda seen: heard.append(seen.id))
    assert heard == [observation.id for observation in result.observations]


def test_the_table_of_probers_has_every_study_and_no_name_twice() -> None:
    names = [one.name for one in PROBERS]
    assert len(set(names)) == len(names)
    assert [one.name for one in PROBERS if one.module == "sequences"] == list(STUDIES)


@pytest.mark.parametrize("prober", PROBERS, ids=lambda one: one.name)
def test_every_prober_of_the_table_can_be_played_and_has_findings(prober: Prober) -> None:
    module = prober.load()
    assert callable(module.play)
    assert module.findings([]) == [] or prober.module == "sequences"
