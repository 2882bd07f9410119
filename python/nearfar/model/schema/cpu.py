"""The request agent: the limits of a core that shape its memory traffic."""

# ruff: noqa: E501
# fmt: off
# One line a key, however long: a key is added, changed and compared as a line.
from nearfar.model.key import clock, count, size, time

KEYS = (
    clock("cpu.clock", "2.2 GHz", "Core clock; informative, every path below is a time"),
    count("cpu.load_buffers", 16, 1, 1024, "Lines a core waits for at once: loads that miss, and lines that cached stores bring in"),
    count("cpu.wc_buffers", 12, 1, 1024, "Write-combining buffers of a core: non-temporal stores in flight"),
    count("cpu.store_queue", 56, 1, 4096, "Store queue: stores and flushes that have not committed"),
    count("cpu.flush_buffers", 4, 1, 1024, "Cache-line write-backs (clwb) of a core in flight"),
    count("cpu.rob", 224, 1, 65536, "Reorder buffer, in instructions: none issues that far behind the oldest load still out"),
    time("cpu.issue.load", "1.4 ns", "0 ps", "1 us", "Least time between two loads of one core"),
    time("cpu.issue.store", "5.4 ns", "0 ps", "1 us", "Least time between two stores of one core"),
    time("cpu.path.read_out", "31 ns", "0 ps", "10 us", "A load's way from the core to the memory controller, every cache missed"),
    time("cpu.path.read_back", "31 ns", "0 ps", "10 us", "Data from the memory controller to their use in the core"),
    time("cpu.path.nt_out", "75 ns", "0 ps", "10 us", "Non-temporal store: from the core to the write pending queue"),
    time("cpu.path.nt_back", "95 ns", "0 ps", "10 us", "Non-temporal store: from its acceptance there until its write-combining buffer is free, which fences wait for"),
    time("cpu.path.flush_out", "60 ns", "0 ps", "10 us", "clwb: from the core to the write pending queue"),
    time("cpu.path.flush_back", "32 ns", "0 ps", "10 us", "clwb: from its acceptance there to what a fence waits for"),
    time("cpu.path.flush_occupancy", "218 ns", "0 ps", "10 us", "clwb: a flush buffer is taken for at least so long"),
    time("cpu.fence.sfence", "10 ns", "0 ps", "10 us", "What an sfence costs beyond waiting until earlier stores are accepted"),
    time("cpu.fence.mfence", "20 ns", "0 ps", "10 us", "What an mfence costs beyond waiting until earlier loads and stores are done"),
    time("cpu.timer", "14 ns", "0 ps", "1 us", "Reading the clock (rdtscp with its fence)"),
    count("cpu.instructions.line", 4, 0, 1024, "Instructions of the measuring loops for each line"),
    count("cpu.instructions.strided", 13, 0, 1024, "Instructions of the measuring loops for each access at a stride, besides those for its lines"),
    count("cpu.instructions.random", 16, 0, 1024, "Instructions of the measuring loops for each random access, besides those for its lines"),
    count("cpu.reorder.reads", 8, 0, 1024, "Reads that a full queue of the controller refused enter from any core, and of each core from so many oldest; 0: in order of arrival"),
    count("cpu.reorder.writes", 3, 0, 1024, "The same for writes"),
    size("cpu.l1.size", "32 KiB", "1 KiB", "1 GiB", "L1 of a core, through which a chase reads its index table"),
    count("cpu.l1.ways", 8, 1, 64, "L1: associativity"),
    time("cpu.l1.latency", "2.3 ns", "0 ps", "1 us", "L1 hit, load to use"),
    size("cpu.l2.size", "1 MiB", "1 KiB", "1 GiB", "L2 of a core"),
    count("cpu.l2.ways", 16, 1, 64, "L2: associativity"),
    time("cpu.l2.latency", "6.4 ns", "0 ps", "1 us", "L2 hit, load to use"),
    size("cpu.l3.size", "33 MiB", "1 KiB", "16 GiB", "L3 of the socket; also how many dirty lines plain stores leave before they are evicted"),
    count("cpu.l3.ways", 11, 1, 64, "L3: associativity"),
    time("cpu.l3.latency", "22 ns", "0 ps", "1 us", "L3 hit, load to use"),
    time("cpu.table.latency", "81 ns", "0 ps", "10 us", "The chase's index table in DRAM: a read that leaves the L3"),
)
