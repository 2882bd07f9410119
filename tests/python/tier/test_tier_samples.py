"""A run is looked at while it goes on: often at first, then less and less, and once at its end."""

from __future__ import annotations

import pytest

from nearfar.tier import control, samples
from nearfar.tier.samples import Samples, sampled


@pytest.fixture
def growing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in for a tree: a page more is near at every look, and a fault more was counted."""
    seen = [0]

    def totals(_: int) -> control.Totals:
        seen[0] += 1
        return control.Totals(near=seen[0], managed=seen[0], far=2 * seen[0], stored_bytes=0)

    def counts(_: int) -> dict[str, int]:
        return {"faults": seen[0], "copies_in": 0, "copies_out": 1, "stall_ns": 0}

    monkeypatch.setattr(control, "totals", totals)
    monkeypatch.setattr(control, "counts", counts)


@pytest.mark.usefixtures("growing")
def test_samples_are_in_bytes_and_in_the_order_of_time() -> None:
    taken = Samples()
    for at in range(5):
        taken.add(float(at), 0)
    found = taken.result()
    assert found.time_s == (0.0, 1.0, 2.0, 3.0, 4.0)
    assert found.near_bytes == tuple(4096 * n for n in range(1, 6))
    assert found.far_bytes == tuple(8192 * n for n in range(1, 6))
    assert found.faults == (1, 2, 3, 4, 5)


@pytest.mark.usefixtures("growing")
def test_a_long_run_keeps_every_second_sample_and_is_looked_at_half_as_often() -> None:
    taken = Samples()
    first = taken.interval_s
    for at in range(samples._MOST + 1):
        taken.add(float(at), 0)
    assert taken.interval_s == 2 * first
    assert [at for at, _, _ in taken.taken] == [float(at) for at in range(0, samples._MOST + 1, 2)]


@pytest.mark.usefixtures("growing")
def test_a_run_of_no_length_has_its_beginning_and_its_end() -> None:
    with sampled(0) as taken:
        pass
    found = taken.result()
    assert len(found.time_s) >= 2
    assert found.time_s[0] == 0.0
    assert list(found.time_s) == sorted(found.time_s)


@pytest.mark.usefixtures("growing")
def test_a_run_that_fails_is_no_longer_looked_at() -> None:
    with pytest.raises(KeyboardInterrupt), sampled(0) as taken:
        raise KeyboardInterrupt
    assert len(taken.result().faults) >= 2
