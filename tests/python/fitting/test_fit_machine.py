"""A model of an ordinary machine, from what `nearfar probe host` finds of its core and memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nearfar import Contention, Stream, load_model, measure
from nearfar.errors import InputError
from nearfar.fitting.fit import Fit, Options, fit
from nearfar.fitting.given import base_of
from nearfar.fitting.structure import derived, structure
from nearfar.measuring import Pattern
from nearfar.model import Model
from nearfar.results import FittedParameter, Observation, ProbeResult, Target
from nearfar.results.findings import identified, not_identifiable

HOST = Target("host", "memory", "host", "measured")
AREA = 256 << 20  # bytes, as the prober has it
LINES, READS = 4096, 1000
IN_ORDER = Stream(op="load", access=256, stride=256, threads=1, area=AREA, lines=LINES)

SMALL = """
base = "dram"
[cpu.l2]
size = "64 KiB"
[cpu.l3]
size = "1408 KiB"
slices = 1
"""  # caches that are quickly filled

CORE = (
    identified("core.clock", 4.0, "", (), interval=(3.98, 4.02)),
    identified("core.mispredict", 5.0, "", (), interval=(4.9, 5.1)),
    identified("core.window", 400, "", (), interval=(396, 412)),
    identified("core.stores", 100, "", (), interval=(96, 112)),
    identified("core.misses", 24.2, "", (), interval=(22.0, 26.0)),
    identified("core.adds", 4.97, "", (), interval=(4.9, 5.03)),
    identified("tlb.page", 4096, "", (), interval=(4096, 4096)),
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("base") / "small.toml"
    file.write_text(SMALL, encoding="utf-8")
    return str(file)


def machine(base: str, **settings: object) -> Model:
    """DRAM behind a processor whose values are not the base's."""
    keys = {
        "cpu.path.read_out": "45 ns",
        "cpu.path.read_back": "45 ns",
        "cpu.load_buffers": 24,
        "cpu.l1.mshrs": 24,
        "channels": 2,
    }
    return load_model(base).override(keys | settings)


def observation(number: int, device: Model, pattern: Pattern) -> Observation:
    """As the prober of bandwidth writes a point down."""
    point = measure(device, pattern).points[0]
    if isinstance(pattern, Stream):
        said = {
            "op": "load",
            "threads": pattern.threads[0],
            "access_bytes": pattern.access[0],
            "stride_bytes": (pattern.stride or pattern.access)[0],
            "reads_percent": 100,
        }
        accesses = pattern.lines
    else:
        said = {"op": "load", "threads": 1, "other": "none"}
        accesses = READS
    return Observation(
        f"bandwidth.{number}",
        "bandwidth",
        {"kind": "point", "measured": pattern.kind, **said},
        accesses or 0,
        ns_per_access=point.ns_per_line,
    )


def probed(device: Model) -> ProbeResult:
    patterns: list[Pattern] = [
        *(replace(IN_ORDER, threads=threads) for threads in (1, 2)),
        *(
            replace(IN_ORDER, access=access, stride="random", threads=2)
            for access in (64, 256, 1024)
        ),
        Contention(other="none", area=AREA, reads=READS),
    ]
    seen = [observation(at, device, one) for at, one in enumerate(patterns, start=1)]
    peak = identified("bandwidth.read.peak", 45.0, "", ())  # of two channels
    cache = not_identifiable("cache.3.capacity", "a virtual machine", ())
    return ProbeResult(target=HOST, observations=seen, findings=[peak, cache])


@pytest.fixture(scope="module")
def prefetching(base: str) -> Fit:
    """A fit to a machine whose prefetcher is on, which no finding tells."""
    device = machine(base, **{"cpu.prefetch.stream": True, "cpu.l2.mshrs": 48})
    return fit(probed(device), options=Options(base=base))


def parameters(made: Fit) -> dict[str, FittedParameter]:
    return {one.key: one for one in made.result.parameters}


def test_the_base_of_a_machine_is_dram_and_of_a_dimm_nvdimm() -> None:
    host = ProbeResult(target=HOST, observations=(), findings=CORE)
    dimm = replace(host, findings=(*CORE, identified("buffer.1.entries", 64, "", ())))
    simulated = replace(host, target=replace(HOST, kind="model"))
    assert [base_of([one]) for one in (host, dimm, simulated)] == ["dram", "nvdimm", "nvdimm"]
    assert base_of([host, dimm]) == "nvdimm"


def test_what_a_core_shows_becomes_keys_of_both_core_models() -> None:
    values = structure(CORE, load_model("dram"))
    assert {key: one.value for key, one in values.items()} == {
        "cpu.clock": 250,
        "cpu.core.branch_penalty": 5000,
        "cpu.core.rob": 400,
        "cpu.rob": 400,
        "cpu.core.stores": 100,
        "cpu.store_queue": 100,
        "cpu.l1.mshrs": 24,
        "cpu.load_buffers": 24,
        "cpu.core.width": 5,
        "cpu.page": 4096,
    }
    assert values["cpu.clock"].interval == pytest.approx((1000 / 4.02, 1000 / 3.98))


def test_times_that_the_base_has_in_cycles_follow_the_clock() -> None:
    base = load_model("dram")
    follows = derived(structure(CORE, base), base)
    cycles = float(base["cpu.core.forward"]) / float(base["cpu.clock"])
    assert float(follows["cpu.core.forward"]) / 250 == pytest.approx(cycles, rel=0.01)


def test_loads_in_flight_follow_the_window() -> None:
    base = load_model("dram")
    follows = derived(structure(CORE, base), base)
    share = float(base["cpu.core.loads"]) / float(base["cpu.core.rob"])
    assert float(follows["cpu.core.loads"]) / 400 == pytest.approx(share, rel=0.01)


def test_a_tlb_that_no_number_of_the_bases_ways_makes_is_one_set() -> None:
    base = load_model("dram")
    values = structure([identified("tlb.1.entries", 97, "", ())], base)
    assert derived(values, base)["cpu.tlb.l1.ways"] == 97


@pytest.mark.parametrize(("peak", "channels"), [(20.0, None), (24.0, None), (45.0, 2), (50.0, 3)])
def test_there_are_at_least_as_many_channels_as_the_highest_bandwidth_takes(
    peak: float, channels: int | None
) -> None:
    values = structure([identified("bandwidth.read.peak", peak, "", ())], load_model("dram"))
    assert (values["channels"].value if "channels" in values else None) == channels


def test_page_walks_at_once_are_found_by_loads_at_random(base: str) -> None:
    small = load_model(base).override({"cpu.page": "4 KiB", "cpu.l3.size": "176 KiB"})
    walks = small.override({"cpu.tlb.walkers": 6, "cpu.load_buffers": 24, "cpu.l1.mshrs": 24})
    page = identified("tlb.page", 4096, "", (), interval=(4096, 4096))
    cache = identified("cache.3.capacity", 176 << 10, "", (), interval=(160 << 10, 200 << 10))
    result = replace(probed(walks), findings=[page, cache])
    found = parameters(fit(result, options=Options(base=base)))["cpu.tlb.walkers"]
    low, high = (int(end) for end in found.interval or ())
    assert low <= 6 <= high
    assert low > 2  # of the base


def test_a_prefetcher_is_found_by_what_loads_in_order_take(prefetching: Fit) -> None:
    found = parameters(prefetching)["cpu.prefetch.stream"]
    assert (found.value, found.observations) == ("true", ("result:bandwidth-read-in-order",))
    assert prefetching.result.training is not None
    assert prefetching.result.training > 0.9


def test_no_prefetcher_is_claimed_where_there_is_none(base: str) -> None:
    made = fit(probed(machine(base)), options=Options(base=base))
    assert "cpu.prefetch.stream" not in parameters(made)
    assert made.result.training is not None
    assert made.result.training > 0.9


def test_of_a_path_that_shows_as_a_sum_the_parts_have_no_interval(prefetching: Fit) -> None:
    out, back = (parameters(prefetching)[f"cpu.path.read_{way}"] for way in ("out", "back"))
    assert out.interval is None
    assert back.interval is None
    total = sum(float(one.value.removesuffix(" ns")) for one in (out, back))
    assert total == pytest.approx(90, rel=0.1)


def test_what_a_probe_could_not_tell_is_listed_as_the_bases(prefetching: Fit) -> None:
    kept = {one.key: one for one in prefetching.result.kept}
    assert kept["cpu.l3.size"].value == "1408 KiB"
    assert kept["cpu.l3.size"].reason == "cache.3.capacity is not identifiable: a virtual machine"


def test_findings_of_a_dimm_do_not_fit_a_base_of_dram() -> None:
    dimm = [identified("buffer.1.entries", 64, "", ())]
    with pytest.raises(InputError, match="expected an nvdimm one"):
        structure(dimm, load_model("dram"))
