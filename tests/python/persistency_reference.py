"""x86 persistency, played step by step: a second view, to judge the core's answers by.

The core reasons about prefixes, floors and products. Here nothing is reasoned: caches, memory,
store buffers and write-combining buffers are there, every single thing that could happen next
is tried, evictions included, and what memory holds is written down. Good for a dozen operations.
"""

from __future__ import annotations

from typing import NamedTuple

from nearfar.simulate.crashes.program import CrashProgram, Operation

Image = tuple[int, ...]
State = tuple[Image, frozenset[int]]  # memory, word by word, and the labels passed

BUFFERED = ("store", "clflush", "sfence", "label")  # leave a thread's store buffer in order
FULL = ("mfence", "xchg", "cas")


class Core(NamedTuple):
    """One thread: where it is, and what it has begun and not finished."""

    at: int = 0
    buffer: tuple[int, ...] = ()  # stores, clflushes, sfences and labels, oldest first
    combining: tuple[int, ...] = ()  # non-temporal stores
    flushing: tuple[int, ...] = ()  # clwb and clflushopt that have not looked at their line
    owed: tuple[tuple[int, int], ...] = ()  # (line, age it must have in memory by the next fence)


class Machine(NamedTuple):
    """Everything. The age of a line counts the stores to it."""

    cores: tuple[Core, ...]
    cache: tuple[int, ...]
    memory: tuple[int, ...]
    cache_age: tuple[int, ...]
    memory_age: tuple[int, ...]
    passed: frozenset[int] = frozenset()


def reachable(program: CrashProgram, words: list[int], *, eadr: bool = False) -> set[State]:
    """What memory can hold at `words`, and the labels passed, whenever the power fails."""
    return _Search(program, words, eadr).run()


class _Search:
    def __init__(self, program: CrashProgram, words: list[int], eadr: bool) -> None:
        self.ops = program.operations
        self.words = words
        self.lines = sorted({word // 64 for word in words})
        self.line_of_word = [self.lines.index(word // 64) for word in words]
        self.eadr = eadr
        numbers = sorted({op.thread for op in self.ops})
        self.threads = [[i for i, op in enumerate(self.ops) if op.thread == n] for n in numbers]
        first = tuple(program.initial.get(word, 0) for word in words)
        ages = (0,) * len(self.lines)
        self.start = Machine(tuple(Core() for _ in numbers), first, first, ages, ages)

    def run(self) -> set[State]:
        seen = {self.start}
        todo = [self.start]
        states = set()
        while todo:
            machine = todo.pop()
            states.add((machine.cache if self.eadr else machine.memory, machine.passed))
            for following in self.steps(machine):
                if following not in seen:
                    seen.add(following)
                    todo.append(following)
        return states

    def line(self, op: Operation) -> int:
        return self.lines.index(op.address // 64)

    def steps(self, m: Machine) -> list[Machine]:
        result = [self.evict(m, line) for line in range(len(self.lines))]
        for number, core in enumerate(m.cores):
            result += self.issue(m, number, core)
            result += self.leave_buffer(m, number, core)
            result += [self.combine(m, number, core, i) for i in self.ready_to_combine(core)]
            result += [self.look(m, number, core, i) for i in self.ready_to_flush(core)]
        return result

    def evict(self, m: Machine, line: int) -> Machine:
        if m.memory_age[line] == m.cache_age[line]:
            return m  # nothing was stored to it since it was last written back
        memory = tuple(
            [
                new if of == line else old
                for of, new, old in zip(self.line_of_word, m.cache, m.memory, strict=True)
            ]
        )
        ages = _with(m.memory_age, line, m.cache_age[line])
        return Machine(m.cores, m.cache, memory, m.cache_age, ages, m.passed)

    # What a core does next in its program

    def issue(self, m: Machine, number: int, core: Core) -> list[Machine]:
        if core.at == len(self.threads[number]):
            return []
        i = self.threads[number][core.at]
        op = self.ops[i]
        after = Core(core.at + 1, core.buffer, core.combining, core.flushing, core.owed)
        if op.kind in BUFFERED:
            after = after._replace(buffer=(*core.buffer, i))
        elif op.kind == "ntstore":
            after = after._replace(combining=(*core.combining, i))
        elif op.kind in ("clwb", "clflushopt"):
            after = after._replace(flushing=(*core.flushing, i))
        elif op.kind == "await":
            if self.load(m, core, op.address) != op.value:
                return []
        else:
            if not self.drained(m, core):
                return []
            after = after._replace(owed=())
            if op.kind == "cas" and self.load(m, core, op.address) != op.expected:
                return []
            if op.kind != "mfence":
                m = self.write(m, op)
        return [self.put(m, number, after)]

    def drained(self, m: Machine, core: Core) -> bool:
        empty = not (core.buffer or core.combining or core.flushing)
        return empty and self.paid(m, core)

    def paid(self, m: Machine, core: Core) -> bool:
        return self.eadr or all(m.memory_age[line] >= age for line, age in core.owed)

    def load(self, m: Machine, core: Core, address: int) -> int:
        own = [i for i in (*core.buffer, *core.combining) if self.ops[i].kind.endswith("store")]
        own = [i for i in own if self.ops[i].address == address]
        return self.ops[max(own)].value if own else m.cache[self.words.index(address)]

    def write(self, m: Machine, op: Operation) -> Machine:
        cache = _with(m.cache, self.words.index(op.address), op.value)
        line = self.line(op)
        ages = _with(m.cache_age, line, m.cache_age[line] + 1)
        return Machine(m.cores, cache, m.memory, ages, m.memory_age, m.passed)

    # What is on its way

    def before(self, core: Core, i: int) -> list[int]:
        """What the core has begun before `i` and not finished."""
        return [j for j in (*core.buffer, *core.combining, *core.flushing) if j < i]

    def same_line(self, i: int, j: int) -> bool:
        ops = self.ops[i], self.ops[j]
        addressed = all(op.kind not in ("sfence", "label") for op in ops)
        return addressed and self.line(ops[0]) == self.line(ops[1])

    def leave_buffer(self, m: Machine, number: int, core: Core) -> list[Machine]:
        if not core.buffer:
            return []
        i, rest = core.buffer[0], core.buffer[1:]
        op = self.ops[i]
        waiting = [j for j in core.combining if j < i]
        if op.kind == "sfence":
            flushing = [j for j in core.flushing if j < i]
            # Flushes behind this fence cannot have looked at their lines yet: all is owed.
            if waiting or flushing or not self.paid(m, core):
                return []
            core = core._replace(owed=())
        elif any(self.same_line(i, j) for j in waiting):
            return []
        if op.kind == "clflush":
            line = self.line(op)
            if not self.eadr and m.memory_age[line] != m.cache_age[line]:
                return []
        elif op.kind == "label":
            passed = m.passed | {op.value}
            m = Machine(m.cores, m.cache, m.memory, m.cache_age, m.memory_age, passed)
        elif op.kind == "store":
            m = self.write(m, op)
        return [self.put(m, number, core._replace(buffer=rest))]

    def ready_to_combine(self, core: Core) -> list[int]:
        def held(i: int, j: int) -> bool:
            kind = self.ops[j].kind
            if kind == "ntstore":
                return self.ops[i].address == self.ops[j].address
            return kind == "sfence" or (kind in ("store", "clflush") and self.same_line(i, j))

        return [i for i in core.combining if not any(held(i, j) for j in self.before(core, i))]

    def combine(self, m: Machine, number: int, core: Core, i: int) -> Machine:
        """A non-temporal store throws its line out of the caches and goes to memory."""
        op = self.ops[i]
        m = self.evict(self.write(self.evict(m, self.line(op)), op), self.line(op))
        return self.put(m, number, core._replace(combining=_without(core.combining, i)))

    def ready_to_flush(self, core: Core) -> list[int]:
        def held(i: int, j: int) -> bool:
            kind = self.ops[j].kind
            flush = kind in ("clwb", "clflushopt")
            return kind == "sfence" or (not flush and self.same_line(i, j))

        return [i for i in core.flushing if not any(held(i, j) for j in self.before(core, i))]

    def look(self, m: Machine, number: int, core: Core, i: int) -> Machine:
        line = self.line(self.ops[i])
        owed = tuple(sorted({*core.owed, (line, m.cache_age[line])}))
        after = core._replace(flushing=_without(core.flushing, i), owed=owed)
        return self.put(m, number, after)

    def put(self, m: Machine, number: int, core: Core) -> Machine:
        cores = _with(m.cores, number, core)
        return Machine(cores, m.cache, m.memory, m.cache_age, m.memory_age, m.passed)


def _with(values: tuple, at: int, value: object) -> tuple:  # type: ignore[type-arg]
    return (*values[:at], value, *values[at + 1 :])


def _without(values: tuple[int, ...], value: int) -> tuple[int, ...]:
    return tuple(v for v in values if v != value)
