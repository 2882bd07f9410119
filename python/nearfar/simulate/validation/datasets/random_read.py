"""What random reads far beyond every buffer must show."""

from __future__ import annotations

from nearfar.simulate.validation.datasets.bandwidth import stream_job
from nearfar.simulate.validation.series import HardwarePoint, Series
from nearfar.simulate.validation.tables import Tables


def series(tables: Tables) -> list[Series]:
    """Random 256 B reads reach the sequential peak and random 64 B reads a quarter of it.

    Both over 2 GiB a thread, far beyond the 16 MiB that the AIT buffer covers: a miss there
    costs a table access, not the fill of a 4 KiB entry, and the media read what was asked
    for in units of 256 B.
    """
    del tables  # figures of this one are stated here, with what they follow from
    wide = stream_job("ntload", access=256, stride=0, threads=4, dimms=1)
    narrow = stream_job("ntload", access=64, stride=0, threads=4, dimms=1)
    points = (
        HardwarePoint("random 256 B reads", 6.97, "GB/s", wide, "gb_per_s"),
        HardwarePoint("random 64 B reads", 1.77, "GB/s", narrow, "gb_per_s"),
        HardwarePoint("amplification, 256 B", 1.0, "x", wide, "read_amplification"),
        HardwarePoint("amplification, 64 B", 4.0, "x", narrow, "read_amplification"),
    )
    return [
        Series(
            "random-read",
            "Random reads far beyond the AIT buffer, 4 threads",
            "random-read",
            "Yang et al., FAST 2020; OptaneStudy data/bandwidth.csv; media access of 256 B",
            points,
        )
    ]
