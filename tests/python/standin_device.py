"""Devices made of a few lines of Python, so that what is inside them is certain.

They share no code with what they test: their buffers, queues and counters are written here
once more, as plainly as can be. `Layered` has structure to be found; the others have none.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nearfar.inference.orders import DELAY, LOAD, MFENCE, NTSTORE, Spread, Steps

Times = NDArray[np.float64]
GIB = 1 << 30


@dataclass
class Buffer:
    """A set-associative buffer: entry b in set b mod sets."""

    entry: int
    entries: int
    ways: int
    policy: str
    latency: float
    sets: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sets = [[] for _ in range(self.entries // self.ways)]

    def access(self, address: int, rng: random.Random) -> bool:
        """Whether the entry was here; it is afterwards."""
        block = address // self.entry
        here = self.sets[block % len(self.sets)]
        if block in here:
            if self.policy == "lru":
                here.remove(block)
                here.append(block)
            return True
        if len(here) == self.ways:
            here.pop(rng.randrange(self.ways) if self.policy == "random" else 0)
        here.append(block)
        return False


@dataclass
class Layered:
    """Buffers one behind the other, two write queues, modules by turns, blocks that move."""

    buffers: list[Buffer]
    memory_ns: float = 300.0
    wpq: int = 8
    lsq: int = 32
    drains: bool = True
    modules: int = 1
    interleave: int = 4096
    migration: tuple[int, int, float] | None = None  # writes, block, stall
    noise_ns: float = 0.0
    memory_bytes: int = 64 * GIB

    def play(self, steps: Steps, spread: Spread, seed: int) -> Times:
        run = _Run(self, random.Random(seed))
        addresses = spread.address(steps.operand).tolist()
        operands = steps.operand.tolist()
        took = []
        for operation, address, operand in zip(
            steps.operation.tolist(), addresses, operands, strict=True
        ):
            before = run.now
            if operation == LOAD:
                run.load(address)
            elif operation == NTSTORE:
                run.store(address)
            elif operation == DELAY:
                run.now += operand / 1000
            elif operation == MFENCE and self.drains:
                run.drain()
            took.append(run.now - before)
        times = np.array(took)
        if self.noise_ns:
            times += (
                np.random.default_rng(seed)
                .normal(0, self.noise_ns, len(times))
                .clip(-3 * self.noise_ns, 3 * self.noise_ns)
            )
        return times.clip(0)


class _Run:
    """One fresh start of a Layered device."""

    SERVICE, SAME, HOLD = 100.0, 250.0, 20_000.0

    def __init__(self, device: Layered, rng: random.Random) -> None:
        self.device = device
        self.rng = rng
        self.now = 0.0
        self.modules = [
            [Buffer(b.entry, b.entries, b.ways, b.policy, b.latency) for b in device.buffers]
            for _ in range(device.modules)
        ]
        # Lines stored and not yet written, oldest first, with the time each will be written.
        self.queues: list[deque[tuple[int, float]]] = [deque() for _ in range(device.modules)]
        self.waiting: list[list[int]] = [[] for _ in range(device.modules)]
        self.since = 0.0  # when the last line began to wait
        self.last: list[tuple[int, float]] = [(-1, 0.0)] * device.modules
        self.counts: dict[tuple[int, int], int] = {}

    def place(self, address: int) -> tuple[int, int]:
        piece, rest = divmod(address, self.device.interleave)
        module = piece % self.device.modules
        return module, piece // self.device.modules * self.device.interleave + rest

    def load(self, address: int) -> None:
        module, local = self.place(address)
        self.retire(module)
        pending = [line for line, _ in self.queues[module]][-self.device.wpq :]
        if len(self.queues[module]) > self.device.lsq and local in pending:
            self.now += 3.0
        elif local in self.waiting[module]:
            self.now += 20.0
        else:
            for level in self.modules[module]:
                if level.access(local, self.rng):
                    self.now += level.latency
                    return
            self.now += self.device.memory_ns

    def store(self, address: int) -> None:
        module, local = self.place(address)
        queue = self.queues[module]
        self.retire(module)
        if len(queue) >= self.device.wpq + self.device.lsq:
            self.now = queue[0][1]
            self.retire(module)
        elif len(self.waiting[module]) < 4 and not queue:
            self.waiting[module].append(local)  # too few to be written before a fence
            self.since = self.now
            self.now += 1.0
            return
        for line in [*self.waiting[module], local]:
            self.write(module, line)
        self.waiting[module].clear()
        self.now += 1.0

    def write(self, module: int, local: int) -> None:
        line, free = self.last[module]
        done = max(self.now, free) + (self.SAME if line == local else self.SERVICE)
        if self.device.migration is not None:
            writes, block, stall = self.device.migration
            key = (module, local // block)
            left = self.counts.get(key, self.rng.randrange(1, writes + 1)) - 1
            if left == 0:
                done += stall
                left = round(writes * self.rng.uniform(0.9, 1.1))
            self.counts[key] = left
        self.last[module] = (local, done)
        self.queues[module].append((local, done))

    def retire(self, module: int) -> None:
        if self.now - self.since > self.HOLD:
            self.drain()
        queue = self.queues[module]
        while queue and queue[0][1] <= self.now:
            local, _ = queue.popleft()
            for level in self.modules[module]:
                level.access(local, self.rng)

    def drain(self) -> None:
        for module, waiting in enumerate(self.waiting):
            for local in waiting:
                self.write(module, local)
            waiting.clear()


@dataclass
class Flat:
    """Every access takes the same time."""

    ns: float = 100.0
    memory_bytes: int = 64 * GIB

    def play(self, steps: Steps, spread: Spread, seed: int) -> Times:
        del spread, seed
        return np.full(len(steps), self.ns)


@dataclass
class Noise:
    """Every access takes a time of its own, whatever it is."""

    shape: str = "normal"
    memory_bytes: int = 64 * GIB

    def play(self, steps: Steps, spread: Spread, seed: int) -> Times:
        del spread
        rng = np.random.default_rng(seed)
        if self.shape == "normal":
            return rng.normal(200, 40, len(steps)).clip(1)
        if self.shape == "lognormal":
            return rng.lognormal(5, 1, len(steps))
        if self.shape == "two":
            return rng.choice([80.0, 300.0], len(steps))
        return 100 * (1 + rng.pareto(1.5, len(steps)))


@dataclass
class Drift:
    """Every access takes a little longer than the one before, or less long."""

    per_access: float = 0.01
    memory_bytes: int = 64 * GIB

    def play(self, steps: Steps, spread: Spread, seed: int) -> Times:
        del spread, seed
        drift = self.per_access * np.arange(len(steps))
        return (200 + drift).clip(50) if self.per_access > 0 else (20_000 + drift).clip(50)
