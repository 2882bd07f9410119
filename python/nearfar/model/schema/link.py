"""A link between the processor and the memory: CXL.mem, or the way to another socket."""

# ruff: noqa: E501
# fmt: off
# One line a key, however long: a key is added, changed and compared as a line.
from nearfar.model.key import choice, count, energy, real, time

KEYS = (
    choice("link.kind", "none", ("none", "cxl", "numa"), "What lies between the processor and the memory controller; the other keys of link describe either"),
    choice("link.place", "memory", ("memory", "far"), "What lies behind the link: the whole memory, or only the far one, near memory being on the processor's side"),
    time("link.request_latency", "160 ns", "0 ps", "100 us", "From the processor to the memory controller, the link being empty"),
    time("link.response_latency", "160 ns", "0 ps", "100 us", "From the memory controller back"),
    time("link.slot", "667 ps", "1 ps", "1 us", "Time that 16 bytes take on the link; each direction has its own"),
    count("link.slots.read_request", 1, 1, 64, "Slots of 16 bytes that a read takes on its way out"),
    count("link.slots.read_response", 5, 1, 64, "Slots that a line takes on its way back, header included"),
    count("link.slots.write_request", 5, 1, 64, "Slots that a line takes on its way out, header included"),
    count("link.slots.write_response", 1, 1, 64, "Slots of a write's acknowledgement"),
    count("link.credits.read", 128, 1, 65536, "Reads that the port of the memory's side holds before it has passed one on"),
    count("link.credits.write", 128, 1, 65536, "Writes likewise"),
    energy("link.energy.bit", "5 pJ", "0 pJ", "1 nJ", "A bit sent over the link, transmitter and receiver"),
    real("link.energy.idle", 1.0, 0.0, 1.0, "Share of that for each bit that could be sent and is not: a link that stays up sends idle symbols"),
    count("link.write_round_trips", 0, 0, 16, "Round trips before a write's data may go: another socket's line is owned first"),
    choice("link.directory.kept", "none", ("none", "memory"), "Where another socket's memory remembers which lines this one may hold: nowhere, or beside each line, in the memory itself, so that a change of state is a write of the line"),
    time("link.directory.latency", "0 ps", "0 ps", "100 us", "What a read that changes its line's state there waits for, beyond the read"),
    real("link.directory.seen", 0.0, 0.0, 1.0, "Share of the pages that this socket has read before, and not written since: reading them again changes no state"),
)
