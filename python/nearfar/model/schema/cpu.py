"""The core that plays access patterns: how many misses it keeps, what its paths cost."""

# ruff: noqa: E501
# fmt: off
# One line a key, however long: a key is added, changed and compared as a line.
from nearfar.model.key import clock, count, size, time

KEYS = (
    clock("cpu.clock", "2.2 GHz", "Core clock"),
    count("cpu.load_buffers", 12, 1, 1024, "Line fill buffers of a core: loads that miss and are outstanding at once"),
    count("cpu.wc_buffers", 12, 1, 1024, "Write-combining buffers of a core: non-temporal stores on their way to the controller"),
    time("cpu.path.read", "33 ns", "0 ps", "10 us", "Core to controller and back for a load that misses every cache, without the memory itself"),
    time("cpu.path.write", "33 ns", "0 ps", "10 us", "Core to controller and the acknowledgement back, for a store"),
    time("cpu.issue.load", "1 ns", "0 ps", "1 us", "Least time between two loads of one core"),
    time("cpu.issue.store", "1 ns", "0 ps", "1 us", "Least time between two stores of one core"),
    time("cpu.fence.sfence", "10 ns", "0 ps", "10 us", "What an sfence costs beyond waiting until earlier stores are accepted"),
    time("cpu.fence.mfence", "30 ns", "0 ps", "10 us", "What an mfence costs beyond waiting until earlier loads and stores are done"),
    time("cpu.clwb.issue", "2 ns", "0 ps", "1 us", "Least time between two clwb of one core"),
    time("cpu.clwb.latency", "20 ns", "0 ps", "10 us", "From a clwb until its line leaves the caches"),
    size("cpu.l2.size", "1 MiB", "1 KiB", "1 GiB", "L2 of a core: index-table lines within it cost cpu.l2.latency"),
    time("cpu.l2.latency", "6.4 ns", "0 ps", "1 us", "L2 hit, load to use"),
    size("cpu.l3.size", "33 MiB", "1 KiB", "16 GiB", "L3 of the socket: index-table lines within it cost cpu.l3.latency"),
    time("cpu.l3.latency", "22 ns", "0 ps", "1 us", "L3 hit, load to use"),
    time("cpu.table.latency", "101 ns", "0 ps", "10 us", "The chase's index table in DRAM: a read that leaves the L3"),
)
