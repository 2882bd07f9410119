"""The simulated machine in C++. `settings` is the text of an exported model everywhere.

Every function raises nearfar.errors.InputError for settings or arguments that cannot be
used, and KeyboardInterrupt when a signal arrives while it runs.
"""

from collections.abc import Callable
from typing import Any, NotRequired, TypedDict, overload

class PointData(TypedDict):
    """One point. Percentiles are 0 where accesses are not timed singly."""

    op: str
    elapsed_ps: int
    drain_ps: int  # of a stream: what the writes still queued at its end took
    lines: int  # over all threads
    threads: int
    p50_ps: int
    p99_ps: int
    p999_ps: int
    max_ps: int
    counters: dict[str, int]

class ContentionData(PointData):
    """The reader's lines are `lines`."""

    other_lines: int  # of those that disturbed it

class LoadedData(TypedDict):
    """One rate of a curve; latencies are the reader's, counters those of its counted reads."""

    pause_ps: int  # of a generator after each access
    elapsed_ps: int
    p50_ps: int
    p99_ps: int
    p999_ps: int
    max_ps: int
    counters: dict[str, int]

class OverwriteData(PointData):
    samples_ps: list[int]  # one a write, in order

class SequenceData(TypedDict):
    """When each step began and was done: little-endian 64-bit words, one a step, in ps.

    A load or store begins when it is first offered to the memory (by a core: when it has its
    buffer). A load is done when its data are there, a store when it is persistent (accepted in
    the ADR domain). Other steps begin when the steps before have begun, and are done when the
    next may begin.
    """

    issued_ps: bytes
    done_ps: bytes
    elapsed_ps: int  # the latest of done_ps
    counters: dict[str, int]

class ReplayData(TypedDict):
    """What a trace did."""

    requests: int
    reads: int
    writes: int
    fences: int
    elapsed_ps: int
    gb_per_s: float | None  # where time has passed
    p50_ps: NotRequired[int]  # of reads, where there were any
    p99_ps: NotRequired[int]
    p999_ps: NotRequired[int]
    max_ps: NotRequired[int]
    p90_ps: NotRequired[int]
    mean_ps: NotRequired[float]
    ranges_ps: NotRequired[list[tuple[int, int]]]  # highest latency and reads, eight an octave
    bucket_ps: int
    moved: list[tuple[int, int]]  # lines read and written in each bucket, by their completion
    late: NotRequired[int]  # requests that entered after their cycle, at the trace's pace
    late_max_ps: NotRequired[int]
    format: str
    counters: dict[str, int]

def version() -> str: ...

class ChasePattern:
    """A struct of core/sim/machine/measure.h, whose `visit_fields` says what fields it has.

    Patterns and requests are made from their fields by keyword; what is not given has the struct's
    default. TypeError for a name that is no field, or a value of another type.
    """

    def __init__(self, **values: Any) -> None: ...
    @staticmethod
    def fields() -> list[str]: ...

class OverwritePattern:
    """As ChasePattern."""

    def __init__(self, **values: Any) -> None: ...
    @staticmethod
    def fields() -> list[str]: ...

class StreamPattern:
    """As ChasePattern."""

    def __init__(self, **values: Any) -> None: ...
    @staticmethod
    def fields() -> list[str]: ...

class ContentionPattern:
    """As ChasePattern."""

    def __init__(self, **values: Any) -> None: ...
    @staticmethod
    def fields() -> list[str]: ...

class LoadedPattern:
    """As ChasePattern."""

    def __init__(self, **values: Any) -> None: ...
    @staticmethod
    def fields() -> list[str]: ...

@overload
def measure(settings: str, pattern: LoadedPattern, *, seed: int) -> list[LoadedData]:
    """One point without a pause of generators, one for each of the `parts` of that rate, from all
    of them down, and one without generators."""

@overload
def measure(
    settings: str,
    pattern: ChasePattern | OverwritePattern | StreamPattern | ContentionPattern,
    *,
    seed: int,
) -> list[PointData]:
    """One point for each of a chase's `ops`, stores first, or for its `raw`; one of any other
    pattern: an overwrite's is OverwriteData, a contention's ContentionData.

    A chase's `lines` are rounded up to whole regions; the walk is cut after `walk_lines`, if not 0.
    """

def persistent_steps(
    settings: str, pattern: ChasePattern | OverwritePattern | StreamPattern, *, seed: int
) -> bytes:
    """What a pattern of one operation stores, flushes and fences, as CrashProgram takes it.

    A line is the store of one word, whose value counts such lines from 1 on.
    """

def sequence(
    settings: str, *, steps: bytes, outstanding: int, agent: str, seed: int, untimed: int = 0
) -> SequenceData:
    """Play a list of steps on a fresh machine.

    `steps` are little-endian 64-bit words: an operation in the top byte, an operand in the 56
    bits below. 0 loads the 64-byte line at an address, 1 stores it non-temporally, 2 is an
    mfence, 3 an sfence, 4 waits until everything before has completed, 5 does nothing for so
    many ps, 6 loads the line at an address through the core's caches, 7 the same of a pointer to
    where the next 6 or 7 reads, marked for Pre-translation. The first `untimed` steps, cached loads
    all of them, take no time: they leave the caches and TLBs as a walk leaves them.

    agent "none": accesses go straight to the memory controller, in order, as soon as fewer
    than `outstanding` are in flight; 1 makes a dependent chain. Fences wait for all of them.
    agent "core": a core plays the steps as its program, with real fences and the
    write-combining buffers. `outstanding` bounds its loads; with 1, each depends on the one
    before. 0 with either: as many as there is room for.
    """

class Isa(TypedDict):
    """What this processor offers."""

    sse41: bool
    avx2: bool
    avx512f: bool
    clflushopt: bool
    clwb: bool
    rdtscp: bool
    invariant_tsc: bool
    hypervisor: bool

class ClockData(TypedDict):
    """The time stamp counter: its rate, and what a reading costs."""

    tsc_hz: float
    overhead_p10_ns: float
    overhead_p50_ns: float
    overhead_p90_ns: float

class Chunks(TypedDict):
    """One thread's timings, each over so many lines from so many lines into the region on.

    What reading the clock costs has been taken off.
    """

    ns: list[float]
    lines: list[int]
    at: list[int]

class Disturbed(TypedDict):
    """What others did to the threads: involuntary context switches, time stolen."""

    nivcsw: int
    steal_ns: float

class Timings(Disturbed):
    threads: list[Chunks]

class WalkTimings(Chunks, Disturbed): ...

class ContentionTimings(WalkTimings):
    """The reader's chunks, and how fast the others moved data meanwhile, bytes a ns."""

    other_gb_per_s: float

class LoadedTimings(WalkTimings):
    """The reader's chunks, and the lines a ns that generators accessed meanwhile."""

    loads_per_ns: float
    stores_per_ns: float

class OverwriteTimes(Disturbed):
    ns: list[float]  # one a write, in order

def host_isa() -> Isa: ...
def host_clock() -> ClockData: ...
def host_capacity(path: str, *, destructive: bool = False) -> int:
    """Bytes that can be measured at a path; nothing is touched."""

class HostMemory:
    """Memory of this machine, mapped and touched; exists on x86-64 alone.

    `pages` is "4KiB", "2MiB" or "1GiB"; `node` a NUMA node or -1; a `path` is mapped shared.
    A method is one repetition of a measurement, on threads pinned to `cpus`.
    """

    def __init__(
        self,
        bytes: int,
        *,
        pages: str = "4KiB",
        node: int = -1,
        path: str = "",
        destructive: bool = False,
    ) -> None: ...
    def size(self) -> int: ...
    def synchronous(self) -> bool: ...
    def chase(self, request: ChaseRequest) -> Timings:
        """`lines` a thread, rounded up to whole regions; successors may lie in a "table"."""

    def overwrite(self, request: OverwriteRequest) -> OverwriteTimes: ...
    def stream(self, request: StreamRequest) -> Timings:
        """`lines` a thread; a `stride` of 0 is random; stores write the line `value` (64 B) over
        the line `held`, or count over whatever is there."""

    def contention(self, request: ContentionRequest) -> ContentionTimings:
        """The first of `cpus` reads singly; all others do `op`, or the same if one `chases`, once
        every `delay_ns` at most."""

    def loaded(self, request: LoadedRequest) -> LoadedTimings:
        """The first of `cpus` reads singly; all others access lines in order, `stores` of each
        `accesses` by `op` and the others by loads, one every `pause_ns` at most."""

    def drop(self, request: DropRequest) -> WalkTimings:
        """Throws `lines` lines out of the caches, loaded before or also changed; that is timed."""

    def core_loop(self, request: CoreLoopRequest) -> WalkTimings:
        """Rounds of the loop `name`, with `count` instructions or chains: `lines` are rounds."""

    def walk(self, request: WalkRequest) -> WalkTimings:
        """Dependent loads at chosen `offsets`, in the order given, round and round; `changes`: each
        line is changed before the next load, and offsets are those of lines."""

class ChaseRequest:
    """A struct of core/probe/chase.h; made as ChasePattern is."""

    def __init__(self, **values: Any) -> None: ...
    @staticmethod
    def fields() -> list[str]: ...

class OverwriteRequest:
    """A struct of core/probe/overwrite.h; made as ChasePattern is."""

    def __init__(self, **values: Any) -> None: ...
    @staticmethod
    def fields() -> list[str]: ...

class StreamRequest:
    """A struct of core/probe/stream.h; made as ChasePattern is."""

    def __init__(self, **values: Any) -> None: ...
    @staticmethod
    def fields() -> list[str]: ...

class LoadedRequest:
    """A struct of core/probe/loaded.h; made as ChasePattern is."""

    def __init__(self, **values: Any) -> None: ...
    @staticmethod
    def fields() -> list[str]: ...

class ContentionRequest:
    """A struct of core/probe/stream.h; made as ChasePattern is."""

    def __init__(self, **values: Any) -> None: ...
    @staticmethod
    def fields() -> list[str]: ...

class WalkRequest:
    """A struct of core/probe/chase.h; made as ChasePattern is."""

    def __init__(self, **values: Any) -> None: ...
    @staticmethod
    def fields() -> list[str]: ...

class DropRequest:
    """A struct of core/probe/drop.h; made as ChasePattern is."""

    def __init__(self, **values: Any) -> None: ...
    @staticmethod
    def fields() -> list[str]: ...

class CoreLoopRequest:
    """A struct of core/probe/core_loop.h; made as ChasePattern is."""

    def __init__(self, **values: Any) -> None: ...
    @staticmethod
    def fields() -> list[str]: ...

class Replay:
    """A trace fed piece by piece, so that its size does not matter."""

    def __init__(
        self,
        settings: str,
        *,
        name: str,
        format: str,
        base: int,  # of addresses without 0x in text; 0: the format's own
        pace: str,
        outstanding: int,
        clock_ps: int,
        trace_clock: bool,  # a trace that says its clock itself is right
        skip: int,
        warm: int,
        run: int,  # 0: all that is left
        frames: str,  # first-touch, fold or refuse; "": first-touch for virtual addresses
        drain: bool,  # time ends when no write is queued any more
        command_trace: bytes,  # the name of a file; empty: none
    ) -> None: ...
    def feed(self, data: bytes) -> None: ...
    def done(self) -> bool: ...  # the rest need not be fed
    def is_beyond_memory(self) -> bool:
        """Whether an address was refused that other frames would take."""
    def format(self) -> str: ...
    def finish(self) -> ReplayData: ...

class CrashImage:
    """What memory holds after a crash, while the visit lasts.

    A place is an address, "NAME" or "NAME+OFFSET"; what the program does not name holds zeros.
    """

    def u64(self, place: int | str) -> int: ...
    def bytes(self, place: int | str, count: int) -> bytes: ...
    def survived(self, line: int) -> bool:
        """Whether all that a line of the text stores is in the image. Raises KeyError."""

    def passed(self, label: str) -> bool: ...
    def stores(self) -> tuple[list[int], list[int]]:
        """Operations that store and are in the image; that are not, and had happened or were
        overtaken by later ones of their thread.
        """

class CrashStatesData(TypedDict):
    """What was visited."""

    states: int  # no two are equal
    exhaustive: bool  # there are no others
    combinations: float | None  # of stores that have persisted or not; known for one thread
    stuck: int | None  # an operation that is never passed, when no way leads to the end

class CrashProgram:
    """A program of persistent operations, by the rules of x86.

    Operations and initial words (address, value) are little-endian 64-bit words. An operation is
    five: its kind (0 store, 1 non-temporal store, 2 clwb, 3 clflushopt, 4 clflush,
    5 sfence, 6 mfence, 7 await, 8 exchange, 9 compare and exchange, 10 label), its thread, its
    address, its value (the label's number) and the value that is expected. Threads and labels
    are numbered from 0 on. `lines` are those of the text, by operation; `frames` say where pages of
    4 KiB lie that places name by virtual addresses, which operations do not.
    """

    def __init__(
        self,
        operations: bytes,
        *,
        initial: bytes,
        addresses: dict[str, int],
        labels: dict[str, int],
        lines: list[int],
        frames: dict[int, int],
    ) -> None: ...
    def states(
        self,
        visit: Callable[[CrashImage], None],
        *,
        eadr: bool,
        from_label: int | None,
        to_label: int | None,
        max_states: int,
        seed: int,
    ) -> CrashStatesData:
        """Visit every state that a crash between two labels can leave, or draw `max_states`."""

    def runs(
        self,
        settings: str,
        visit: Callable[[CrashImage], None],
        *,
        eadr: bool,
        from_label: int | None,
        to_label: int | None,
        runs: int,
        seed: int,
    ) -> int:
        """Visit the states of so many simulated runs, each once; how many there were.

        After `states` with the same question: each must be one of those, if they were all.
        """

class TraceData(TypedDict):
    """What a trace holds."""

    format: str
    header: str  # the line that a trace of our own format begins with
    kind: str
    counts: str  # what `length` is in
    clock_ps: int  # of its cycles; 0: the format does not say
    records: int
    operations: dict[str, int]
    threads: dict[str, int]  # records by thread
    lowest_address: int
    highest_address: int
    lines: int
    pages: int
    accesses: int
    sequential: int
    length: int
    hottest_pages: list[dict[str, int]]

class TraceFormatData(TypedDict):
    """A format of traces."""

    name: str
    text: bool
    written: bool
    magic: bytes

class ProgramTrace:
    """What a program executed, fed piece by piece, on the machine of `settings`; without settings
    it is only counted.
    """

    def __init__(self, *, settings: str, name: str, period_ps: int) -> None: ...
    def feed(self, data: bytes) -> None: ...
    def finish(self) -> None: ...
    def format(self) -> str: ...
    def header(self) -> str: ...
    def report(self) -> str: ...
    def counts(self) -> dict[str, int]: ...

def trace_formats() -> list[TraceFormatData]:
    """All of them, those of text first."""

class TraceSummary:
    """A trace fed piece by piece, and what is in it."""

    def __init__(self, *, name: str, format: str, base: int) -> None: ...
    def feed(self, data: bytes) -> None: ...
    def finish(self) -> None: ...
    def format(self) -> str: ...
    def result(self) -> TraceData: ...

class TraceRecords:
    """Reads a trace of any format, record by record.

    `feed` and `finish` return the records that are complete, five little-endian 64-bit words each:
    the place in the trace, thread, access (0 read, 1 write, 2 non-temporal write, 3 flush, 4 store
    fence, 5 full fence), address, bytes.
    """

    def __init__(self, *, name: str, format: str, base: int) -> None: ...
    def feed(self, data: bytes) -> bytes: ...
    def finish(self) -> bytes: ...
    def format(self) -> str: ...
    def of_program(self) -> bool:
        """Whether addresses are virtual and no cache has been before the trace."""

class TraceConverter:
    """A trace fed piece by piece, and what it is in another format."""

    def __init__(
        self,
        *,
        name: str,
        source: str,
        base: int,
        to: str,
        skip: int,
        run: int,
        clock_ps: int,
        command: str,
    ) -> None: ...
    def feed(self, data: bytes) -> bytes: ...
    def has_more(self) -> bool:
        """Whether feeding nothing gives more of what was fed."""
    def finish(self) -> bytes: ...
    def done(self) -> bool: ...
    def format(self) -> str: ...
    def records(self) -> int: ...
    def left_out(self) -> int: ...  # fences and flushes that the other format has no words for

class PagingData(TypedDict):
    """What paging did. `misses` are first touches and copies in, `faults` second chances too."""

    misses: int
    faults: int
    first_touches: int
    copies_in: int
    copies_out: int
    clean_drops: int
    second_chances: int
    scans: int
    pages_scanned: int

def swap_can_look() -> int:
    """0 if this kernel tells of other processes' pages, else minus the error's number."""

class SwapMonitor:
    """Keeps a tree of processes near a limit by the kernel's swap, in a thread of its own.

    `group`: the folder of the tree's control group, of version 2 if `unified`; empty without one.
    `launcher`: the process that started the tree; `program`: its child, waited for elsewhere.
    """

    def __init__(
        self,
        *,
        policy: str,
        limit_pages: int,
        group: str,
        unified: bool,
        launcher: int,
        program: int,
    ) -> None: ...
    def set_limit(self, pages: int) -> None: ...
    def limit(self) -> int: ...
    def counts(self) -> dict[str, int]: ...
    def stop(self) -> None: ...

def attach_can_find_written() -> int:
    """0 if this kernel tells which pages of a process were written; minus ENOTTY if it does not
    tell of its pages at all, minus ENOSYS if not of writes."""

class AttachManager:
    """Exchanges pages of a process between two nodes (near, far), in a thread of its own.

    `only`: the spans of addresses that are managed; none: all that can be. `limit`: pages, and
    where not 0 the millionths of all managed memory that hold in their place. `watches_reads`: by
    DAMON; else pages that are written are in use.
    """

    def __init__(
        self,
        *,
        process: int,
        only: list[tuple[int, int]],
        policy: str,
        nodes: tuple[int, int],
        interval_ns: int,
        pairs: int,
        limit: tuple[int, int],
        watches_reads: bool,
    ) -> None: ...
    def set_limit(self, pages: int, share: int) -> None: ...
    def limit(self) -> tuple[int, int]: ...
    def pause(self, paused: bool) -> None: ...
    def is_paused(self) -> bool: ...
    def counts(self) -> dict[str, int]: ...
    def has_ended(self) -> bool: ...
    def is_settled(self) -> bool: ...
    def stop(self) -> None: ...

class ReplacementPolicy:
    def __init__(self, name: str, *, near: int, pages: int) -> None: ...
    def fault(self, page: int) -> None: ...
    def second_chance(self, page: int) -> None: ...
    def refused(self, page: int) -> None: ...
    def released(self, page: int) -> None: ...
    def moved(self, source: int, target: int) -> None: ...
    def resize(self, near: int) -> None: ...
    def evict(self) -> int | None: ...
    def resident(self) -> int: ...
    def bytes_per_page(self) -> int: ...

class PageVisits:
    """A trace fed piece by piece, kept as visits to pages of 4 KiB, and policies tried on them."""

    def __init__(self, *, name: str = "visits", format: str = "auto", base: int = 0) -> None: ...
    def feed(self, data: bytes) -> None: ...
    def finish(self) -> None: ...
    def add(self, words: bytes) -> None:
        """Visits that come from no trace: native 32-bit words, page number times four, plus
        one for a write, or two for a release.
        """

    def format(self) -> str: ...
    def accesses(self) -> int: ...
    def visits(self) -> int: ...
    def pages(self) -> int: ...
    def belady(self, near: int) -> int: ...
    def best_static(self, near: int) -> int: ...
    def replay(self, *, policy: str, near: int, limbo: int, scans: bool = True) -> PagingData: ...

class PageTouches:
    """A trace fed piece by piece, kept as accesses to pages of 4 KiB with the passing of time, and
    placements tried on it. `step_ps` is an eightieth of the time between decisions; `costs` has
    far_read_ps, far_write_ps, exchange_ps, scan_ps and found_ps.
    """

    def __init__(self, *, name: str, format: str = "auto", base: int = 0, step_ps: int) -> None: ...
    def feed(self, data: bytes) -> None: ...
    def finish(self) -> None: ...
    def format(self) -> str: ...
    def header(self) -> str: ...
    def is_of_program_alone(self) -> bool:
        """Whether its times are those of instructions, memory not among them."""

    def reads(self) -> int: ...
    def writes(self) -> int: ...
    def pages(self) -> int: ...
    def duration_ps(self) -> int: ...
    def intervals(self) -> int: ...
    def replay(
        self,
        *,
        policy: str,
        near: int,
        pairs: int,
        detector: str,
        sample: int,
        costs: dict[str, int],
    ) -> dict[str, Any]: ...
    def bound(self, *, near: int, pairs: int, costs: dict[str, int]) -> tuple[int, int]:
        """The time beyond all near, in ps, of the best pages placed once and for all, and of the
        best sequence of exchanges at least.
        """

class Memory:
    """The memory of one model, for a host that simulates the rest: see nearfar.Machine.

    Columns are contiguous arrays of one dimension, of uint64 or, for `writes`, uint8; times are in
    ps. `completions` gives records of 40 bytes, `play` two columns of uint64, as bytes.
    """

    def __init__(self, model: str) -> None: ...
    def send(self, ids: Any, addresses: Any, writes: Any, times: Any, port: int) -> int: ...
    def advance(self, until_ps: int) -> None: ...
    def advance_to_completion(self) -> None: ...
    def completions(self) -> bytes: ...
    def play(
        self, addresses: Any, writes: Any, times: Any, outstanding: int
    ) -> tuple[bytes, bytes]: ...
    def next_event(self) -> int: ...
    def now(self) -> int: ...
    def capacity(self) -> int: ...
    def unfinished(self) -> int: ...
    def counters(self) -> dict[str, int]: ...
    def save(self) -> bytes: ...
    def restore(self, saved: bytes) -> None: ...
