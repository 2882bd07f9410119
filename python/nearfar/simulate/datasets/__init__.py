"""What a model can be validated against: an explicit list, and groups of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from nearfar.errors import InputError, suggestion
from nearfar.simulate.datasets import bandwidth, chase, contention, latency, overwrite, perma
from nearfar.simulate.series import Series
from nearfar.simulate.tables import Tables


@dataclass(frozen=True)
class Dataset:
    """Published measurements of one kind; `machine` is what a model must be to compare."""

    name: str
    meaning: str
    build: Callable[[Tables], list[Series]]
    machine: str = "nvdimm"


DATASETS = {
    dataset.name: dataset
    for dataset in (
        *(
            Dataset(
                f"chase-{dimms}dimm-{block}",
                f"pointer chase, {dimms} DIMM{'s' if dimms > 1 else ''}, {block} B blocks",
                partial(chase.series, dimms=dimms, block=block),
            )
            for dimms, block in ((1, 64), (1, 256), (1, 1024), (1, 4096), (6, 64))
        ),
        Dataset("overwrite", "256 B overwrites and wear-levelling stalls", overwrite.series),
        Dataset("random-read", "random reads far beyond the AIT buffer", latency.random_read),
        *(
            Dataset(
                f"bandwidth-{dimms}dimm",
                f"bandwidth by operation, size, stride and threads, {dimms} DIMMs",
                partial(bandwidth.series, dimms=dimms),
            )
            for dimms in (1, 6)
        ),
        *(
            Dataset(
                f"perma-{dimms}dimm",
                f"random reads and writes on another server, {dimms} DIMMs",
                partial(perma.series, dimms=dimms),
            )
            for dimms in (1, 6)
        ),
        Dataset("contention", "reads beside reads and writes", contention.series),
        Dataset("dram-idle", "idle read latency of DRAM", latency.dram_idle, machine="dram"),
    )
}

GROUPS = {
    "demo": tuple(name for name in DATASETS if name.startswith(("chase-", "overwrite"))),
    "all": tuple(DATASETS),
}


def choose(names: list[str], machine: str) -> list[Dataset]:
    """The datasets that `names` (of datasets or groups) stand for, each once.

    Groups leave out what does not fit the `machine` ("nvdimm" or "dram"); a dataset asked
    for by name that does not fit is an InputError, like an unknown name.
    """
    chosen: dict[str, Dataset] = {}
    for name in names:
        if name not in DATASETS and name not in GROUPS:
            known = (*GROUPS, *DATASETS)
            raise InputError(
                f"against: unknown dataset '{name}', expected a folder or one of "
                f"{', '.join(known)}{suggestion(name, known)}"
            )
        for member in GROUPS.get(name, (name,)):
            dataset = DATASETS[member]
            if dataset.machine == machine:
                chosen[member] = dataset
            elif name not in GROUPS:
                raise InputError(
                    f"against: {name} was measured on a machine of kind '{dataset.machine}', "
                    f"this model is of kind '{machine}'"
                )
    if not chosen:
        raise InputError(f"against: nothing in {', '.join(names)} fits a {machine} machine")
    return list(chosen.values())
