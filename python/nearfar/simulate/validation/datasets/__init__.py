"""What a model can be validated against: an explicit list, and groups of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from nearfar.errors import InputError, suggestion
from nearfar.model import Model
from nearfar.simulate.validation.datasets import (
    aist,
    bandwidth,
    chase,
    contention,
    curves,
    cxl,
    figures,
    flush,
    ict,
    loaded,
    overwrite,
    perma,
    perma_operations,
    perma_parallel,
    placement,
    quoted,
    random_read,
    scores,
    wear,
)
from nearfar.simulate.validation.series import Series
from nearfar.simulate.validation.tables import Tables


@dataclass(frozen=True)
class Dataset:
    """Published measurements of one kind; `machine` is what a model must be to compare."""

    name: str
    meaning: str
    reads: Callable[[Tables], list[Series]]
    machine: str = "nvdimm"

    def build(self, tables: Tables) -> list[Series]:
        """Its series, as far as the tables have them. Raises InputError for a table that has its
        columns, but not its words and numbers."""
        try:
            return self.reads(tables)
        except (LookupError, ValueError, ArithmeticError, AttributeError) as error:
            found = f"found {error}" if isinstance(error, LookupError) else str(error)
            raise InputError(
                f"{tables.origin}: {found}, which no table of the dataset {self.name} has"
            ) from None


def kind_of(model: Model) -> str:
    """What a model is a model of: "nvdimm", "dram" or "cxl"."""
    return "cxl" if model["link.kind"] == "cxl" else str(model["machine"])


def _by_dimms(name: str, meaning: str, build: Callable[..., list[Series]]) -> list[Dataset]:
    return [
        Dataset(
            f"{name}-{dimms}dimm",
            f"{meaning}, {bandwidth.dimms_text(dimms)}",
            partial(build, dimms=dimms),
        )
        for dimms in (1, 6)
    ]


DATASETS = {
    dataset.name: dataset
    for dataset in (
        *(
            Dataset(
                f"chase-{dimms}dimm-{block}",
                f"pointer chase, {bandwidth.dimms_text(dimms)}, {block} B blocks",
                partial(chase.series, dimms=dimms, block=block),
            )
            for dimms, block in ((1, 64), (1, 256), (1, 1024), (1, 4096), (6, 64))
        ),
        Dataset("overwrite", "256 B overwrites and wear-levelling stalls", overwrite.series),
        Dataset("wear", "how wear-levelling stalls are spread on another DIMM", wear.series),
        Dataset("capacity", "reads by region with address bits held", curves.capacity),
        Dataset("replacement", "which blocks a buffer has replaced", curves.replacement),
        Dataset("contention", "reads beside reads and writes", contention.series),
        Dataset("random-read", "random reads far beyond the AIT buffer", random_read.series),
        Dataset("optane-idle", "one access at a time", partial(figures.idle, memory="Optane")),
        *_by_dimms(
            "bandwidth", "bandwidth by operation, size, stride and threads", bandwidth.series
        ),
        *_by_dimms("flush", "bandwidth by clwb and fence interval", flush.series),
        Dataset("placement", "threads against DIMMs", placement.series),
        Dataset(
            "threads-1dimm", "sequential by threads, 1 DIMM", partial(figures.threads, "optane_ni")
        ),
        Dataset(
            "threads-6dimm", "sequential by threads, 6 DIMMs", partial(figures.threads, "optane")
        ),
        Dataset("fences", "one thread by bytes between fences", figures.fences),
        Dataset("sockets", "reads and writes mixed, this socket and the other", figures.sockets),
        Dataset("perma-1dimm", "another server, 1 DIMM", partial(perma.series, machine="1dimm")),
        Dataset("perma-6dimm", "another server, 6 DIMMs", partial(perma.series, machine="6dimm")),
        Dataset(
            "perma-200", "the second generation, 8 DIMMs", partial(perma.series, machine="200")
        ),
        Dataset("parallel", "a workload beside another one in DRAM", perma_parallel.series),
        *(
            Dataset(
                f"operations-{machine}",
                "reads and updates of indexes a second",
                partial(perma_operations.series, machine=machine),
                "dram" if machine == "dram" else "nvdimm",
            )
            for machine in ("1dimm", "6dimm", "dram")
        ),
        Dataset("scores", "amplification scores of the buffers", scores.series),
        Dataset("aist", "AIST: latency and bandwidth", partial(aist.series, memory="Optane")),
        Dataset("ict", "ICT: ratios to DRAM, of persisting, of the other socket", ict.series),
        Dataset("quoted", "single figures of studies", partial(quoted.series, machine="nvdimm")),
        Dataset("aist-dram", "AIST's DRAM", partial(aist.series, memory="DRAM"), machine="dram"),
        Dataset(
            "quoted-dram", "single figures", partial(quoted.series, machine="dram"), machine="dram"
        ),
        Dataset("dram-idle", "one access at a time", partial(figures.idle, memory="DRAM"), "dram"),
        Dataset("threads-dram", "sequential by threads", partial(figures.threads, "dram"), "dram"),
        Dataset(
            "perma-dram", "another server's DRAM", partial(perma.series, machine="dram"), "dram"
        ),
        *(
            Dataset(
                loaded.NAMES[server],
                f"bandwidth-latency curves, {about}",
                partial(loaded.series, server=server),
                "dram",
            )
            for server, about in loaded.SERVERS.items()
        ),
        Dataset(loaded.OTHER, "bandwidth-latency curves of other servers", loaded.others, "dram"),
        Dataset("cxl", "a CXL device: idle latency, bandwidth", cxl.device, "cxl"),
    )
}

GROUPS = {
    "demo": tuple(name for name in DATASETS if name.startswith(("chase-", "overwrite"))),
    "all": tuple(DATASETS),
}


def choose(names: list[str], machine: str) -> list[Dataset]:
    """The datasets that `names` (of datasets or groups) stand for, each once.

    Groups leave out what does not fit the `machine` ("nvdimm", "dram" or "cxl"); a dataset asked
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
