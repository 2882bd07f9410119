"""`nearfar probe`: findings as text, JSON and page; stopping, going on, and refusals."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import Run
from nearfar.errors import InputError, Interrupted
from nearfar.inference import STUDIES
from nearfar.measuring.host.target import Host
from nearfar.model import load_target
from nearfar.probing import probe as whole
from nearfar.probing.device import ModelDevice
from nearfar.probing.probe import probe as conduct
from nearfar.probing.probers import Asked, Prober, ProberModule
from nearfar.probing.sequences import _sequence_share
from nearfar.results import Finding, Observation, ProbeResult, load

MODEL = "model:optane-100"
FAST = ("--prober", "buffers,queues", "--quick")


def test_the_text_is_that_of_infer_on_the_saved_file(nearfar: Run, tmp_path: Path) -> None:
    saved = tmp_path / "p.json"
    status, probed, err = nearfar("probe", MODEL, *FAST, "--json", str(saved))
    assert (status, err) == (0, "")
    assert probed.startswith("model:optane-100: what is inside (simulated, quick)\n")
    again = tmp_path / "again.json"
    _, inferred, _ = nearfar("infer", str(saved), "--json", str(again))
    assert inferred == probed
    assert again.read_bytes() == saved.read_bytes()


def test_findings_do_not_depend_on_the_target_s_name(nearfar: Run, tmp_path: Path) -> None:
    saved, blind = tmp_path / "p.json", tmp_path / "blind.json"
    nearfar("probe", MODEL, *FAST, "--quiet", "--json", str(saved))
    data = json.loads(saved.read_text())
    del data["target"], data["environment"], data["findings"][:]
    blind.write_text(json.dumps(data))
    _, out, _ = nearfar("infer", str(blind), "--json", "-")
    assert json.loads(out)["findings"] == json.loads(saved.read_text())["findings"]


def test_json_on_standard_output_replaces_the_text(nearfar: Run) -> None:
    _, out, _ = nearfar("probe", MODEL, *FAST, "--json", "-")
    found = {one["name"]: one.get("value") for one in json.loads(out)["findings"]}
    assert found["buffer.1.capacity"] == 16384


def test_html_writes_a_page_with_the_findings(nearfar: Run, tmp_path: Path) -> None:
    page = tmp_path / "p.html"
    nearfar("probe", MODEL, *FAST, "--quiet", "--html", str(page))
    text = page.read_text()
    assert "Inside optane-100" in text
    assert 'id="finding-buffer.1.capacity"' in text


def test_an_interrupted_probe_keeps_what_it_saw_and_goes_on_to_the_same_end(
    nearfar: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, part, rest = (tmp_path / name for name in ("whole.json", "part.json", "rest.json"))
    nearfar("probe", MODEL, *FAST, "--quiet", "--json", str(whole))
    play, played = ModelDevice.play, 0

    def stopped(self: ModelDevice, *args: object) -> object:
        nonlocal played
        played += 1
        if played == 12:
            raise KeyboardInterrupt
        return play(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(ModelDevice, "play", stopped)
    status, out, err = nearfar("probe", MODEL, *FAST, "--json", str(part))
    assert status == 130
    assert "interrupted: only the experiments that were finished count" in out
    assert f"continue with: nearfar probe --resume {part}" in err
    monkeypatch.undo()

    document = load(part)
    assert isinstance(document, ProbeResult)
    assert document.interrupted
    assert len(document.observations) == 11
    status, _, _ = nearfar("probe", "--resume", str(part), "--json", str(rest))
    assert status == 0
    assert rest.read_bytes() == whole.read_bytes()


def test_an_interrupted_probe_without_a_file_is_saved_where_it_says(
    nearfar: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    play, played = ModelDevice.play, 0

    def stopped(self: ModelDevice, *args: object) -> object:
        nonlocal played
        played += 1
        if played == 3:
            raise KeyboardInterrupt
        return play(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(ModelDevice, "play", stopped)
    status, _, err = nearfar("probe", MODEL, *FAST)
    assert status == 130
    assert "2 observations kept; continue with: nearfar probe --resume nearfar-probe.json" in err
    assert isinstance(load(tmp_path / "nearfar-probe.json"), ProbeResult)


def test_ctrl_c_while_findings_are_made_saves_a_file_to_infer_from_and_to_resume(
    nearfar: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uninterrupted, part, rest = (tmp_path / f"{name}.json" for name in ("whole", "part", "rest"))
    _, text, _ = nearfar("probe", MODEL, *FAST, "--json", uninterrupted)

    def interrupt(*_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(whole, "findings_of", interrupt)
    status, out, err = nearfar("probe", MODEL, *FAST, "--json", part)
    assert status == 130
    assert out.endswith("nothing inferred yet\n")
    assert f"continue with: nearfar probe --resume {part}" in err
    monkeypatch.undo()

    _, inferred, _ = nearfar("infer", part)
    assert inferred.splitlines()[2:] == text.splitlines()[1:]  # behind what was probed, and how
    assert nearfar("probe", "--resume", part, "--json", rest)[0] == 0
    assert rest.read_bytes() == uninterrupted.read_bytes()


def test_a_model_that_changed_is_not_resumed(
    nearfar: Run, refused: Callable[..., str], tmp_path: Path
) -> None:
    saved = tmp_path / "p.json"
    nearfar("probe", MODEL, "--prober", "policy", "--quiet", "--json", str(saved))
    data = json.loads(saved.read_text())
    data["environment"]["model_hash"] = "sha256:0"
    data["interrupted"] = True
    saved.write_text(json.dumps(data))
    assert refused("probe", "--resume", str(saved)) == (
        "resume: model:optane-100 is no longer the model that was probed"
    )


def test_a_probe_of_another_machine_or_version_is_not_resumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played = Played(monkeypatch)
    played.stop_at = "ict"
    with pytest.raises(Interrupted) as stopped:
        conduct(Host())
    before = stopped.value.result
    for fact, called in (("cpu", "processor"), ("version", "nearfar")):
        other = replace(before, environment=replace(before.environment, **{fact: "X 1"}))
        with pytest.raises(InputError, match=f"resume: found a probe with {called} X 1, expected"):
            whole.resume(Host(), other, None)


def test_a_file_without_its_probers_is_not_resumed(
    nearfar: Run, refused: Callable[..., str], tmp_path: Path
) -> None:
    saved = tmp_path / "p.json"
    nearfar("probe", MODEL, "--prober", "policy", "--quiet", "--json", str(saved))
    data = {**json.loads(saved.read_text()), "interrupted": True, "pattern": {"kind": "probe"}}
    saved.write_text(json.dumps(data))
    message = refused("probe", "--resume", str(saved))
    assert message == "resume: the file does not say what was probed"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--prober", "bufers"), "prober: found 'bufers', expected one of "),
        (("--prober", "bufers"), "did you mean buffers?"),
        (("--prober", ""), "prober: found '', expected one of "),
    ],
)
def test_an_unknown_prober_names_the_nearest(
    refused: Callable[..., str], arguments: tuple[str, ...], message: str
) -> None:
    assert message in refused("probe", MODEL, *arguments)


def test_an_unknown_host_prober_names_the_nearest(refused: Callable[..., str]) -> None:
    assert refused("probe", "host", "--prober", "cache").endswith("did you mean caches?")


def test_a_model_prober_does_not_fit_a_host(refused: Callable[..., str]) -> None:
    message = refused("probe", "host", "--prober", "migration")
    assert message.startswith("prober: found 'migration', expected one of tlb, caches, core")


def test_without_a_target_or_with_two_nothing_is_probed(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    assert "found no TARGET" in refused("probe")
    assert "found no TARGET" in refused("probe", MODEL, "--resume", str(tmp_path / "x"))


def test_a_file_that_holds_something_is_not_overwritten(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    file = tmp_path / "precious"
    file.write_bytes(b"x" * (1 << 20))
    for prober in ("bandwidth", "caches"):
        assert str(file) in refused("probe", f"host:file={file}", "--prober", prober, "--quick")
    assert file.read_bytes() == b"x" * (1 << 20)


# Stages


def point(prober: str) -> Observation:
    return Observation(f"{prober}.1", prober, {"kind": "point", "measured": "stream"}, 1)


class Played:
    """Stands in for the stages: one observation a prober, and Ctrl-C where it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.order: list[str] = []
        self.stop_at = ""
        self.abruptly = False  # where no stage looks for Ctrl-C
        monkeypatch.setattr(Prober, "load", self.load)
        monkeypatch.setattr(whole, "findings_of", tuple)

    def load(self) -> ProberModule:
        return self

    def findings(self, observations: Sequence[Observation]) -> list[Finding]:  # noqa: ARG002
        return []

    def play(self, asked: Asked) -> tuple[list[Observation], bool]:
        self.order += asked.probers
        asked.progress(0.5)
        stopped = self.stop_at in asked.probers
        if stopped and self.abruptly:
            raise KeyboardInterrupt
        return [] if stopped else [point(name) for name in asked.probers], stopped


BOTH = ["bandwidth", "aist", "ict", "memory-mode"]
CACHES = ["tlb", "caches"]
MODEL_PROBERS = [*STUDIES, *CACHES, *BOTH]


def test_a_model_and_a_host_have_their_own_probers(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(monkeypatch)
    conduct(load_target(MODEL))
    assert played.order == MODEL_PROBERS
    played.order.clear()
    result = conduct(Host())
    assert played.order == [*CACHES, "core", *BOTH]
    assert result.target is not None
    assert result.target.kind == "host"


def test_probers_that_say_nothing_alone_are_played_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played = Played(monkeypatch)
    conduct(Host(), ["caches"])
    assert played.order == ["tlb", "caches"]


def test_a_finished_stage_is_not_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(monkeypatch)
    played.stop_at = MODEL_PROBERS[-1]
    target = load_target(MODEL)
    with pytest.raises(Interrupted) as stopped:
        conduct(target)
    before = stopped.value.result
    assert before.interrupted
    played.order.clear()
    played.stop_at = ""
    result = whole.resume(target, before, None)
    assert whole.resume(target, result, None) is result  # nothing is missing any more
    assert played.order == MODEL_PROBERS[-2:]  # the last one seen may have been cut short
    assert [one.prober for one in result.observations] == MODEL_PROBERS
    assert not result.interrupted


def test_ctrl_c_within_a_stage_keeps_the_stages_before_and_what_it_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played = Played(monkeypatch)
    target = load_target(MODEL)
    played.stop_at = MODEL_PROBERS[-1]
    with pytest.raises(Interrupted) as first:
        conduct(target)
    played.abruptly, played.stop_at = True, MODEL_PROBERS[-2]
    with pytest.raises(Interrupted) as again:
        whole.resume(target, first.value.result, None)
    for stopped in (first, again):
        kept = [one.prober for one in stopped.value.result.observations]
        assert kept == MODEL_PROBERS[:-1]
        assert stopped.value.result.interrupted


def test_progress_only_grows_and_stays_below_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    Played(monkeypatch)
    told: list[tuple[int, int]] = []
    conduct(load_target(MODEL), progress=lambda done, total: told.append((done, total)))
    done = [done for done, _ in told]
    assert done == sorted(done)
    assert all(0 < done <= total for done, total in told)


def test_the_estimate_of_single_accesses_never_goes_back() -> None:
    counts: dict[str, int] = {}
    shares = []
    for prober, count in (("policy", 1), ("buffers", 60), ("queues", 15), ("migration", 9)):
        for _ in range(count):
            counts[prober] = counts.get(prober, 0) + 1
            shares.append(_sequence_share(counts, prober, MODEL_PROBERS))
    assert shares == sorted(shares)
    assert shares[-1] < 1
