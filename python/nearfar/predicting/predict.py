"""Programs of a set, natively and on a model."""

from __future__ import annotations

import dataclasses
import statistics
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path

from nearfar.errors import InputError, Interrupted, NearfarError, check_one_of
from nearfar.measuring import machine
from nearfar.measuring.target import describe, environment, resolve
from nearfar.predicting.accuracy import accuracy, machine_spread, spread
from nearfar.predicting.programs import Program, build, compiler_version, programs_of
from nearfar.predicting.running import Simulation, Told, native, tunables
from nearfar.results import Environment, RunResult
from nearfar.results.prediction import PredictedProgram, PredictionResult
from nearfar.simulate.programs.options import PAGES
from nearfar.simulate.programs.qemu import front_end

NOISY = 0.15  # quartiles of native runs that are farther apart than this tell no time
MORE = 3  # times as many runs where that many are noisy
FEWEST_RUNS = 3
SAME_WORK = 0.01  # instruction counts that are nearer than this are of the same work
LEAST_HUGE = 0.9  # of a program's memory, where huge pages were asked for

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class PredictOptions:
    """What is run, and how.

    `folder` has the set (None: the shipped one), `only` names the programs that are wanted. Each is
    run natively `runs` times, and up to three times as often where these are noisy. One of `sample`
    parts of its steps is measured, on both sides; 1 is all of them. `pages` are "small" or "huge".
    `jobs` models run at a time.
    """

    folder: str | None = None
    only: Sequence[str] = ()
    runs: int = 7
    sample: int = 16
    pages: str = "small"
    jobs: int | None = None


_DEFAULTS = PredictOptions()


def predict(
    target: str,
    options: PredictOptions = _DEFAULTS,
    *,
    before: PredictionResult | None = None,
    progress: Progress | None = None,
) -> PredictionResult:
    """Run the set on this machine and on `target`, "model:NAME|FILE[,KEY=VALUE]...".

    What `before`, an interrupted result of the same work, has is not run again. A program that
    fails, or that prints one thing here and another on the model, has a `problem` instead of
    a ratio.

    Raises InputError for a set or a model that cannot be used, NearfarError when no program can be
    compared, and Interrupted with everything that was finished.
    """
    return _Prediction(target, options, before, progress).run()


class _Prediction:
    def __init__(
        self,
        target: str,
        options: PredictOptions,
        before: PredictionResult | None,
        progress: Progress | None,
    ) -> None:
        _check(options)
        model = resolve(target)
        self._target = target
        self._options = options
        self._progress = progress or (lambda _done, _total: None)
        self._sources = programs_of(options.folder, options.only)
        self._found = {one.name: _begun(one, options.sample) for one in self._sources}
        self._head = PredictionResult(
            target=describe(model),
            environment=_here(environment(model, seed=int(model["seed"]))),
            folder=options.folder or "",
            sample=options.sample,
            runs=options.runs,
            pages=options.pages,
            compiler=compiler_version(),
            tunables=tunables(options.pages),
            programs=(),
            qemu=front_end().version,
        )
        if before is not None:
            self._take(before)

    def run(self) -> PredictionResult:
        try:
            with tempfile.TemporaryDirectory(prefix="nearfar-programs-") as folder:
                self._tell_progress()
                built = self._built(Path(folder))
                self._natively(built)
                self._refuse_noisy()
                self._simulated(built)
        except KeyboardInterrupt:
            raise Interrupted(replace(self._result(), interrupted=True)) from None
        result = self._result()
        if result.all is None:
            problem = result.programs[0].problem
            raise NearfarError(
                f"predict: none of {len(result.programs)} programs can be compared; "
                f"{result.programs[0].name}: {problem}"
            )
        return result

    def _take(self, before: PredictionResult) -> None:
        """What was finished before, where it is of the same work."""
        mine, theirs = (_circumstances(one) for one in (self._head, before))
        for name, value in mine.items():
            if theirs[name] != value:
                raise InputError(
                    f"resume: found a result of {name} {theirs[name]}, expected {value}"
                )
        for one in before.programs:
            mine_begun = self._found.get(one.name)
            if mine_begun is None or one.problem is not None:
                continue
            if one.source_hash == mine_begun.source_hash and one.steps == mine_begun.steps:
                self._found[one.name] = replace(one, about=mine_begun.about)

    def _result(self) -> PredictionResult:
        programs = tuple(self._found.values())
        return replace(
            self._head,
            programs=programs,
            all=accuracy(programs),
            untuned=accuracy([one for one in programs if not one.tuned]),
            machine_spread=machine_spread(programs),
        )

    def _built(self, folder: Path) -> Mapping[str, Path]:
        built = {}
        for source in self._sources:
            if self._found[source.name].ratio is None:
                with self._noting(source.name):
                    built[source.name] = build(source, folder)
        return built

    def _natively(self, built: Mapping[str, Path]) -> None:
        """One run of each in turn, so that what drifts falls on all alike; more of noisy ones."""
        for turn in range(MORE * self._options.runs):
            for name, file in built.items():
                one = self._found[name]
                wanted = turn < self._options.runs or _is_noisy(one)
                if wanted and one.problem is None and len(one.native_ns) <= turn:
                    with self._noting(name):
                        told = native(_words(file, one), self._options.pages)
                        self._found[name] = _with_native(one, told)
                self._tell_progress()

    def _refuse_noisy(self) -> None:
        for name, one in self._found.items():
            if one.problem is None and _is_noisy(one):
                self._fail(
                    name,
                    f"its {len(one.native_ns)} native runs are too noisy: their quartiles are "
                    f"{100 * (one.spread or 0):.1f} % apart, expected at most {100 * NOISY:.0f} %",
                )

    def _simulated(self, built: Mapping[str, Path]) -> None:
        wanted = [name for name in built if self._found[name].problem is None]
        running: dict[str, Simulation] = {}
        stopping = threading.Event()

        def simulate(name: str) -> tuple[Told, RunResult]:
            words = _words(built[name], self._found[name])
            running[name] = Simulation(self._target, words, self._options.pages)
            if stopping.is_set():
                running[name].stop()
            return running[name].result()

        pool = ThreadPoolExecutor(self._options.jobs or len(machine.processors()))
        try:
            waiting = {pool.submit(simulate, name): name for name in wanted}
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    self._add(waiting.pop(future), future)
                    self._tell_progress()
        finally:
            # On the way out after Ctrl-C: no further one begins, and those that run end.
            stopping.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for simulation in list(running.values()):
                simulation.stop()
            pool.shutdown(wait=True)

    def _add(self, name: str, future: Future[tuple[Told, RunResult]]) -> None:
        with self._noting(name):
            told, ran = future.result()
            one = self._found[name]
            if told.output != one.output:
                raise NearfarError(
                    f"differs on the model: found '{told.output.strip()}', "
                    f"natively '{one.output.strip()}'"
                )
            assert one.measured_ns is not None
            instructions = ran.counts["instructions"]
            notes = (
                *ran.notes,
                *_huge_note(one, self._options.pages),
                *_instructions_note(one, instructions),
            )
            self._found[name] = replace(
                one,
                predicted_ns=float(told.processor_ns),
                ratio=told.processor_ns / one.measured_ns,
                instructions=instructions,
                stack=_shares(ran),
                notes=notes,
            )

    def _noting(self, name: str) -> _Noting:
        return _Noting(self, name)

    def _fail(self, name: str, problem: str) -> None:
        self._found[name] = replace(self._found[name], problem=problem)

    def _tell_progress(self) -> None:
        """A native run counts one; a simulation as many as a program's native runs."""
        runs = self._options.runs
        done = 0
        for one in self._found.values():
            finished = one.ratio is not None or one.problem is not None
            done += 2 * runs if finished else min(len(one.native_ns), runs)
        self._progress(done, 2 * runs * len(self._found))


class _Noting:
    """What fails of one program is that program's problem, and the others go on."""

    def __init__(self, prediction: _Prediction, name: str) -> None:
        self._prediction = prediction
        self._name = name

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, NearfarError):
            return False
        self._prediction._fail(self._name, str(error).removeprefix(f"{self._name}: "))
        return True


def _check(options: PredictOptions) -> None:
    check_one_of("pages", options.pages, PAGES)
    for name, least in (("runs", FEWEST_RUNS), ("sample", 1), ("jobs", 1)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise InputError(f"{name}: found {value}, expected {least} or more")


def _circumstances(result: PredictionResult) -> Mapping[str, str | None]:
    """All but the programs themselves that their times depend on."""
    return {
        "nearfar": result.environment.version,
        "cpu": result.environment.cpu,
        "model_hash": result.environment.model_hash,
        "compiler": result.compiler,
        "qemu": result.qemu,
        "pages": result.pages,
    }


def _here(simulated: Environment) -> Environment:
    return dataclasses.replace(
        simulated,
        cpu=machine.cpu_name(),
        kernel=machine.kernel(),
        governor=machine.governor(),
        huge_pages=f"transparent: {machine.transparent_huge_pages() or 'not supported'}",
        load=round(machine.load_average(), 2),
    )


def _begun(program: Program, sample: int) -> PredictedProgram:
    return PredictedProgram(
        name=program.name,
        about=program.about,
        tuned=program.tuned,
        source_hash=program.source_hash(),
        warm=program.warm,
        steps=max(1, round(program.steps / sample)),
        all_steps=program.steps,
    )


def _is_noisy(one: PredictedProgram) -> bool:
    return one.spread is not None and one.spread > NOISY


def _words(file: Path, one: PredictedProgram) -> list[str]:
    return [str(file), str(one.warm), str(one.steps)]


def _with_native(one: PredictedProgram, told: Told) -> PredictedProgram:
    """The program with one more native run."""
    if one.output and told.output != one.output:
        raise NearfarError(
            f"differs from run to run: found '{told.output.strip()}', before '{one.output.strip()}'"
        )
    times = (*one.native_ns, float(told.processor_ns))
    return replace(
        one,
        native_ns=times,
        output=told.output,
        measured_ns=statistics.median(times),
        spread=spread(times) if len(times) >= FEWEST_RUNS else None,
        native_instructions=told.instructions or None,
        page_faults=told.page_faults,
        bytes=told.bytes,
        huge_bytes=told.huge_bytes,
    )


def _huge_note(one: PredictedProgram, pages: str) -> Sequence[str]:
    """Where huge pages were asked for and the kernel did not grant them."""
    if pages == "small" or not one.bytes or (one.huge_bytes or 0) >= LEAST_HUGE * one.bytes:
        return ()
    share = 100 * (one.huge_bytes or 0) / one.bytes
    return (f"only {share:.0f} % of its memory lay on huge pages natively",)


def _instructions_note(one: PredictedProgram, simulated: int) -> Sequence[str]:
    """Where the two sides did not execute the same work."""
    here = one.native_instructions
    if here is None or abs(simulated / here - 1) <= SAME_WORK:
        return ()
    return (f"executes {here:,} instructions natively and {simulated:,} on the model",)


def _shares(ran: RunResult) -> Mapping[str, float]:
    found = ran.processes[0].machine
    assert found is not None
    whole = sum(found.core.stack_ps.values())
    return {cause: ps / whole for cause, ps in found.core.stack_ps.items() if ps}
