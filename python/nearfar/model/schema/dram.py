"""A DRAM channel: the host's own (`dram`) or the one on a non-volatile DIMM (`nvdimm.dram`).

Geometry and timing come from the JEDEC tables (models/jedec/) by speed bin, density and
width; each can be overridden. A DDR5 channel has two subchannels, and everything below `dram`
is one of them.
"""

# ruff: noqa: E501
# fmt: off
# One line a key, however long: a key is added, changed and compared as a line.
from nearfar.model.jedec import DENSITIES, SPEED_BINS, WIDTHS
from nearfar.model.key import Key, choice, clock, count, current, fields, flag, real, size, voltage

MAPPING_FIELDS = ("row", "rank", "bank_group", "bank", "column")

TIMINGS = {
    "cl": "Read command to its first data (CAS latency)",
    "cwl": "Write command to its first data (CAS write latency)",
    "rcd": "Activate to read or write, same bank",
    "rp": "Precharge to activate, same bank",
    "ras": "Activate to precharge, same bank",
    "rc": "Activate to activate, same bank",
    "ccd_s": "Column command to column command, other bank group",
    "ccd_l": "Column command to column command, same bank group",
    "rrd_s": "Activate to activate, other bank group",
    "rrd_l": "Activate to activate, same bank group",
    "faw": "Window that holds at most four activates of a rank",
    "wtr_s": "End of write data to read, other bank group",
    "wtr_l": "End of write data to read, same bank group",
    "wr": "End of write data to precharge, same bank",
    "rtp": "Read to precharge, same bank",
    "rfc": "Refresh to any other command of the rank",
    "refi": "Average interval between refreshes of a rank",
    "xp": "Power-down exit to the next command",
    "cke": "Least time in power-down and, of DDR4, between two",
    "ckesr": "Least time in self-refresh",
    "xs": "Self-refresh exit to the next command",
    "dllk": "Self-refresh exit to the first read or write (DLL lock)",
    "rtrs": "Idle clocks of the data bus when the rank changes",
}

DDR5_TIMINGS = {
    "ccd_l_wr": "Write to write, same bank group, of devices with four data pins (they read, modify and write)",
    "ccd_l_wr2": "Write to write, same bank group, of wider devices",
    "ppd": "Precharge to precharge, any bank",
    "rfc_sb": "Same-bank refresh to the next command of its banks, and to the next refresh",
    "refsb_rd": "Same-bank refresh to an activate of another bank",
}

# What a DDR4 channel has not, below the channel's name.
DDR5_ONLY = frozenset(
    ("subchannels", "subchannel_interleave", "refresh.granularity", "refresh.banks", "energy.idd5c", *(f"timing.{name}" for name in DDR5_TIMINGS))
)

# By their JEDEC names; IPP is drawn from VPP, IDD from VDD.
CURRENTS = {
    "idd0": "One bank activated and precharged in tRC",
    "idd2n": "Standby, all banks precharged",
    "idd2p": "Power-down, all banks precharged",
    "idd3n": "Standby, all banks active",
    "idd3p": "Power-down, banks active",
    "idd4r": "Read bursts without a gap",
    "idd4w": "Write bursts without a gap",
    "idd5b": "A refresh every tRFC",
    "idd5c": "A same-bank refresh every tRFCsb",
    "idd6": "Self-refresh",
    "ipp0": "As idd0, on VPP",
    "ipp3n": "Any standby or power-down, on VPP",
    "ipp4r": "As idd4r, on VPP",
    "ipp4w": "As idd4w, on VPP",
    "ipp5b": "As idd5b, on VPP",
    "ipp6": "Self-refresh, on VPP",
}

_SHEET = "data sheet table, by speed bin and width"
_TABLE = "JEDEC table, by speed bin, density and width"


def keys(prefix: str, width: int = 8, standards: tuple[str, ...] = ("DDR4",)) -> tuple[Key, ...]:
    """The keys of a DRAM channel below `prefix`, of devices that are `width` wide by default."""
    ddr5 = "DDR5" in standards
    bins = [name for standard in standards for name in SPEED_BINS[standard]]
    densities = [density for standard in standards for density in DENSITIES[standard]]
    timings = {**TIMINGS, **(DDR5_TIMINGS if ddr5 else {})}
    both = (
        choice(f"{prefix}.standard", None, standards, "DRAM standard", derived="speed bin"),
        choice(f"{prefix}.speed_bin", "DDR4-2666V", bins, "JEDEC speed bin"),
        clock(f"{prefix}.clock", None, "Clock of the channel; data move at twice its rate", derived="speed bin"),
        count(f"{prefix}.density_gbit", 8, min(densities), max(densities), "Density of one DRAM device in Gbit", power_of_two=True),
        count(f"{prefix}.width", width, min(WIDTHS), max(WIDTHS), "Data pins of one DRAM device; 64 / width devices make a rank, of a DDR5 subchannel 32 / width", power_of_two=True),
        count(f"{prefix}.ranks", 1, 1, 4, "Ranks on the channel", power_of_two=True),
        count(f"{prefix}.bank_groups", None, 1, 8 if ddr5 else 4, "Bank groups of a device", derived=_TABLE, power_of_two=True),
        count(f"{prefix}.banks", None, 1, 4, "Banks of a bank group", derived=_TABLE, power_of_two=True),
        count(f"{prefix}.rows", None, 1, 1 << 20, "Rows of a bank", derived=_TABLE, power_of_two=True),
        count(f"{prefix}.columns", None, 32, 1 << 14, "Columns of a row, in units of the bus width", derived=_TABLE, power_of_two=True),
        count(f"{prefix}.burst_length", None, 8, 16 if ddr5 else 8, "Transfers of a burst, which brings 64 B: 8 on the 64 bits of DDR4, 16 on the 32 of a DDR5 subchannel", derived="standard", power_of_two=True),
        *(
            count(f"{prefix}.timing.{name}", None, 1 if name != "rtrs" else 0, 1 << 20, f"{meaning}, in clocks", derived=_TABLE)
            for name, meaning in timings.items()
        ),
        count(f"{prefix}.queue.read", 64, 1, 4096, "Read queue of the channel, in 64 B lines"),
        count(f"{prefix}.queue.write", 64, 1, 4096, "Write queue of the channel, in 64 B lines"),
        count(f"{prefix}.queue.write_high", 48, 1, 4096, "Writes that start a drain of the write queue"),
        count(f"{prefix}.queue.write_low", 16, 0, 4095, "Writes left that end a drain of the write queue"),
        choice(f"{prefix}.page", "open", ("open", "closed"), "Row policy: leave rows open, or close them after the last queued hit"),
        flag(f"{prefix}.refresh.enabled", True, "Rows are refreshed; false only to compare against closed forms"),
        count(f"{prefix}.refresh.postpone", 0, 0, 8, "Refreshes that may be postponed while requests wait; of DDR5 at most 4 unless their granularity is 2x"),
        count(f"{prefix}.powerdown.idle", 0, 0, 2**31, "Idle clocks until a rank enters power-down; 0 never"),
        count(f"{prefix}.selfrefresh.idle", 0, 0, 2**31, "Idle clocks until a rank enters self-refresh; 0 never"),
        fields(f"{prefix}.mapping", "row-rank-bank-column-bank_group", MAPPING_FIELDS, "Address fields, most significant first; the offset in a line lies below; column_low is the line in 256 B"),
        choice(f"{prefix}.hash", "none", ("none", "xor"), "xor: the row's bits, folded, are XORed into bank group and bank (permutation-based interleaving)"),
        voltage(f"{prefix}.energy.vdd", "100 mV", "10 V", "Supply of the devices' core and interface", derived=_SHEET),
        voltage(f"{prefix}.energy.vpp", "0 mV", "10 V", "Supply of the devices' word lines", derived=_SHEET),
        *(
            current(f"{prefix}.energy.{name}", "0 uA", "10 A", f"Current of one device: {meaning}", derived=_SHEET)
            for name, meaning in CURRENTS.items()
            if ddr5 or name != "idd5c"
        ),
        real(f"{prefix}.energy.rho", None, 0.0, 1.0, "Share of idd3n - idd2n that flows as soon as one row is open; the rest grows with the open rows", derived=_SHEET),
    )
    if not ddr5:
        return both
    return (
        *both,
        count(f"{prefix}.subchannels", None, 1, 2, "Halves of a DDR5 channel, each with its own command bus and controller", derived="standard"),
        size(f"{prefix}.subchannel_interleave", "64 B", "64 B", "1 GiB", "Bytes on one subchannel before the other's turn", power_of_two=True),
        choice(f"{prefix}.refresh.granularity", "1x", ("1x", "2x"), "2x: half the refresh interval, and shorter refreshes (fine granularity)"),
        choice(f"{prefix}.refresh.banks", "all", ("all", "same"), "Banks of a rank refreshed at once: all, or the same one of every bank group while the others go on"),
    )


KEYS = keys("dram", standards=("DDR4", "DDR5"))
