"""A non-volatile DIMM: bus, queues, buffers, address indirection, media, wear.

`nvdimm.buffer.1` is the one nearest the host. The last of two or three translates; a buffer
between them holds data. `nvdimm.rmw` and `nvdimm.ait` are other names for buffers 1 and 2, after
what they are in a DIMM of two levels.
"""

# ruff: noqa: E501
# fmt: off
# One line a key, however long: a key is added, changed and compared as a line.
from nearfar.model.key import choice, count, energy, flag, power, real, size, time
from nearfar.model.schema import dram

POLICIES = ("fifo", "lru", "random")
FILLS = ("none", "sector", "page")
PRIORITIES = ("rate", "count")

KEYS = (
    time("nvdimm.bus.request", "10 ns", "0 ps", "10 us", "From the controller's request until the DIMM has it"),
    time("nvdimm.bus.grant", "20 ns", "0 ps", "10 us", "From data ready on the DIMM until the controller grants the bus"),
    time("nvdimm.bus.line", "3 ns", "1 ps", "1 us", "Time one 64 B line occupies the data bus"),
    time("nvdimm.bus.turnaround", "6 ns", "0 ps", "1 us", "Idle time of the data bus when its direction changes"),
    count("nvdimm.lsq.lines", 64, 1, 1 << 20, "Load-store queue: pending 64 B lines"),
    count("nvdimm.lsq.high", 32, 1, 1 << 20, "Load-store queue: lines held before the oldest block has to leave"),
    time("nvdimm.lsq.hold", "20 us", "1 ns", "1 s", "Load-store queue: age at which a block leaves at the latest"),
    flag("nvdimm.lsq.drain_on_fence", True, "An mfence sends every pending write on to the buffers; an sfence never does"),
    time("nvdimm.lsq.latency", "10 ns", "0 ps", "10 us", "Passing through the queue"),
    count("nvdimm.levels", 2, 1, 3, "Buffer levels. The first holds data; the last of several holds translations, so with one level every miss reads the table; the second of three holds data"),
    count("nvdimm.buffer.1.entries", 64, 1, 1 << 24, "Read-modify-write buffer: entries"),
    size("nvdimm.buffer.1.entry", "256 B", "64 B", "1 MiB", "Read-modify-write buffer: bytes an entry", power_of_two=True),
    count("nvdimm.buffer.1.ways", None, 1, 1 << 24, "Read-modify-write buffer: associativity", derived="nvdimm.buffer.1.entries: fully associative"),
    choice("nvdimm.buffer.1.policy", "fifo", POLICIES, "Read-modify-write buffer: replacement"),
    time("nvdimm.buffer.1.latency", "30 ns", "0 ps", "10 us", "Read-modify-write buffer: access"),
    count("nvdimm.buffer.1.lanes", 16, 1, 1024, "Read-modify-write buffer: lanes by which lines leave it; blocks go round them"),
    time("nvdimm.buffer.1.line", "17.2 ns", "0 ps", "1 us", "Read-modify-write buffer: least time between two lines of a lane"),
    count("nvdimm.buffer.2.entries", 4096, 1, 1 << 24, "Second buffer (AIT buffer if it is the last): entries"),
    size("nvdimm.buffer.2.entry", "4 KiB", "64 B", "16 MiB", "Second buffer: bytes an entry; if it is the last, also what one entry of the indirection table maps", power_of_two=True),
    count("nvdimm.buffer.2.ways", 16, 1, 1 << 24, "Second buffer: associativity"),
    choice("nvdimm.buffer.2.policy", "lru", POLICIES, "Second buffer: replacement"),
    time("nvdimm.buffer.2.latency", "25 ns", "0 ps", "10 us", "Second buffer: look-up; if it is the last, beyond the DRAM accesses it makes, else until its data are in the first"),
    time("nvdimm.buffer.2.data_latency", "100 ns", "0 ps", "10 us", "Second buffer, if the last: reading buffered data, beyond the look-up and the DRAM accesses"),
    choice("nvdimm.buffer.2.fill", "none", FILLS, "Second buffer, if the last: what a miss brings in besides the translation: nothing, the accessed media block, or the whole entry"),
    count("nvdimm.buffer.3.entries", 4096, 1, 1 << 24, "Third buffer (AIT buffer): entries"),
    size("nvdimm.buffer.3.entry", "4 KiB", "64 B", "16 MiB", "Third buffer: bytes an entry; also what one entry of the indirection table maps", power_of_two=True),
    count("nvdimm.buffer.3.ways", 16, 1, 1 << 24, "Third buffer: associativity"),
    choice("nvdimm.buffer.3.policy", "lru", POLICIES, "Third buffer: replacement"),
    time("nvdimm.buffer.3.latency", "25 ns", "0 ps", "10 us", "Third buffer: look-up, beyond the DRAM accesses it makes"),
    time("nvdimm.buffer.3.data_latency", "100 ns", "0 ps", "10 us", "Third buffer: reading buffered data, beyond the look-up and the DRAM accesses"),
    choice("nvdimm.buffer.3.fill", "none", FILLS, "Third buffer: what a miss brings in besides the translation: nothing, the accessed media block, or the whole entry"),
    size("nvdimm.table.entry", "8 B", "1 B", "64 B", "Address indirection table: bytes an entry, in the on-DIMM DRAM", power_of_two=True),
    time("nvdimm.table.latency", "23 ns", "0 ps", "10 us", "Address indirection table: reading an entry, beyond the DRAM access"),
    size("nvdimm.media.capacity", "256 GiB", "1 MiB", "4 TiB", "Media of one DIMM"),
    size("nvdimm.media.access", "256 B", "64 B", "4 KiB", "Bytes of one media access; what the load-store queue combines to", power_of_two=True),
    count("nvdimm.media.partitions", 16, 1, 1024, "Media partitions that work at once"),
    time("nvdimm.media.read_latency", "150.5 ns", "0 ps", "1 ms", "Media read: from its start until the block is there"),
    time("nvdimm.media.write_partition", "280 ns", "0 ps", "1 ms", "Media write: time its partition is busy, so until the same block can be written again"),
    time("nvdimm.media.read_interval", "28 ns", "0 ps", "1 ms", "Least time between two media reads of the DIMM"),
    time("nvdimm.media.read_partition", "66 ns", "0 ps", "1 ms", "Media read: time its partition is busy"),
    count("nvdimm.media.page_reads", 3, 0, 1 << 20, "Media reads of one page at once, each from its start until the last line of its block can leave the buffer; 0: any number"),
    time("nvdimm.media.write_interval", "92 ns", "0 ps", "1 ms", "Least time between two media writes of the DIMM"),
    count("nvdimm.media.write_queue", 4, 1, 4096, "Blocks on their way from the load-store queue to the media"),
    count("nvdimm.media.write_high", 2, 1, 4096, "Writes waiting at the media that go before waiting reads"),
    count("nvdimm.media.write_batch", 5, 1, 4096, "Writes in a row before the reads that wait get their turn"),
    count("nvdimm.media.read_batch", 64, 1, 65536, "Reads that may pass a waiting write"),
    energy("nvdimm.media.read_energy", "285 nJ", "0 pJ", "1000 uJ", "Media read: energy of one access"),
    energy("nvdimm.media.write_energy", "870 nJ", "0 pJ", "1000 uJ", "Media write: energy of one access"),
    power("nvdimm.power_budget", "15 W", "1 mW", "1000 W", "Average power one DIMM may draw; media reads and writes wait for it"),
    time("nvdimm.power_window", "1 us", "0 ps", "1 s", "What the budget leaves undrawn may be drawn so much later, at once"),
    power("nvdimm.power_static", "7 W", "0 mW", "1000 W", "Part of the budget that is drawn at idle, standby of the DRAM on the DIMM included"),
    energy("nvdimm.energy.line", "112 pJ", "0 pJ", "1 uJ", "A 64 B line moved into or out of the DIMM's SRAM: load-store queue and buffers"),
    count("nvdimm.wear.writes", 15982, 0, 2**31 - 1, "Media writes to one wear block between two migrations"),
    size("nvdimm.wear.block", "4 KiB", "64 B", "1 GiB", "Wear-levelling block: counted and moved as one", power_of_two=True),
    time("nvdimm.wear.stall", "53.5 us", "0 ps", "1 s", "Length of the stall a migration causes"),
    real("nvdimm.wear.spread", 0.165, 0.0, 0.9, "A threshold is drawn evenly from writes x (1 - spread) to writes x (1 + spread)"),
    count("nvdimm.wear.spares", 64, 1, 1 << 30, "Free blocks that take part in the rotation"),
    count("nvdimm.wear.minor.1.interval", 31000, 0, 2**40, "First family of smaller stalls: writes between two"),
    time("nvdimm.wear.minor.1.stall", "8.9 us", "0 ps", "1 s", "First family of smaller stalls: length"),
    count("nvdimm.wear.minor.2.interval", 33200, 0, 2**40, "Second family of smaller stalls: writes between two"),
    time("nvdimm.wear.minor.2.stall", "14.5 us", "0 ps", "1 s", "Second family of smaller stalls: length"),
    flag("nvdimm.pretranslation.enabled", False, "Pre-translation: the DIMM remembers which frame a marked pointer leads to, and a marked load brings that along"),
    size("nvdimm.pretranslation.table", "16 MiB", "8 B", "64 GiB", "Pre-translation: its table in the on-DIMM DRAM, in parts of pages"),
    count("nvdimm.pretranslation.slots", 8, 1, 512, "Pre-translation: 8 B entries of a page that has a part of the table; a pointer has a place in one line of them", power_of_two=True),
    choice("nvdimm.pretranslation.policy", "lru", POLICIES, "Pre-translation: which page loses its part of the table to one that has none; within a line of a part the oldest entry makes room"),
    size("nvdimm.pretranslation.rlb.size", "1 KiB", "0 B", "16 MiB", "Pre-translation: look-aside buffer before the table (RLB), of 8 B entries, in SRAM"),
    time("nvdimm.pretranslation.rlb.latency", "2 ns", "0 ps", "10 us", "Pre-translation: look-up in that buffer, from a read's arrival"),
    energy("nvdimm.pretranslation.rlb.energy", "1 pJ", "0 pJ", "1 uJ", "Pre-translation: an entry of that buffer looked up or written"),
    time("nvdimm.pretranslation.bus", "750 ps", "0 ps", "1 us", "Pre-translation: time an entry occupies the data bus, behind its line or on its own"),
    flag("nvdimm.lazy.enabled", False, "Lazy cache (MICRO 2020) between load-store queue and first buffer: absorbs writes to lines of often written blocks"),
    size("nvdimm.lazy.lz1.size", "1 KiB", "64 B", "1 MiB", "Lazy cache, first level, of 64 B lines: bytes"),
    time("nvdimm.lazy.lz1.latency", "5 ns", "0 ps", "10 us", "Lazy cache, first level: one access, for which it is busy"),
    size("nvdimm.lazy.lz2.size", "2 KiB", "64 B", "1 MiB", "Lazy cache, second level: bytes; includes all of the first"),
    size("nvdimm.lazy.lz2.entry", "128 B", "64 B", "4 KiB", "Lazy cache, second level: bytes an entry, at most a media access", power_of_two=True),
    time("nvdimm.lazy.lz2.latency", "10 ns", "0 ps", "10 us", "Lazy cache, second level: one access, for which it is busy"),
    choice("nvdimm.lazy.priority", "rate", PRIORITIES, "Lazy cache: priority of a block that moves, from its media writes since it last moved: over those of the whole DIMM meanwhile (rate), or over nvdimm.wear.writes (count)"),
    real("nvdimm.lazy.threshold", 0.01, 0.0, 1.0, "Lazy cache: lines whose write makes a block of a higher priority move are admitted"),
    time("nvdimm.lazy.age", "0 ps", "0 ps", "1000 s", "Lazy cache: an entry that took no write for so long leaves; 0: only when another needs its place"),
    energy("nvdimm.lazy.energy", "5 pJ", "0 pJ", "1 uJ", "Lazy cache: a 64 B line read or written in one of its levels"),
    *dram.keys("nvdimm.dram", width=16),
)
