"""ECL-MST (Fallin, Gonzalez, Seo, Burtscher, SC '23), written from the paper's text: a port, not the authors' program.

Sections 3.2 and 3.3 give the method, section 5.3 the cumulative removal of its optimisations (option ``rung``). Two
things differ: ties are broken by edge id, not by slot, so that the forest is the one every exact algorithm returns;
and the host, being Python, asks for the worklist's length less often than once a round when rounds are short. What is
counted and timed by kernel comes from a solve that asks every time, as theirs does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mst.algorithms.cuda import _engine as engines
from mst.algorithms.cuda import _resident as resident
from mst.kernels.cuda import loader

ALGORITHM = dict(
    id="ecl-mst-cuda",
    paradigm="cuda",
    paper="fallin",
    title="ECL-MST (port)",
    input="csr",
    options=dict(
        rung=dict(
            default=0,
            min=0,
            max=8,
            help="optimisations removed, cumulatively: 1 guards, 2 warps, 3 filter, 4 implicit compression, "
            "5 one direction, 6 tuples, 7 worklist, 8 edge-centric",
        ),
        samples=dict(default=20, min=1, max=4096, help="weights sampled for the threshold (section 3.3)"),
        seed=dict(default=1, min=0, max=4_294_967_295, help="of the sample (section 5.4)"),
        factor=dict(
            default=3,
            choices=(3, 4),
            help="light slots per vertex aimed at: section 5.4 says 3, section 3.2 says 4",
        ),
        warp=dict(default=4, min=1, max=1_000_000, help="slots from which a row is walked by a warp"),
        compression=dict(
            default="halving",
            choices=("halving", "jumping"),
            help="explicit path compression of rung 4 and above",
        ),
        transfers=dict(default=False, help="copy the graph to the device and the forest back in every solve"),
    ),
    requires=("cupy",),
    limits=dict(n=2_147_483_647, m=2_000_000_000),
)

BLOCK = 512
# Worklists up to this length are worked on for several rounds before the host asks what is left.
SHORT = 1 << 18
ROUNDS_AHEAD = 4
_POINTERS = [
    "offsets",
    "neighbours",
    "keys",
    "ids",
    "sources",
    "parent",
    "minimum",
    "minimum_id",
    "chosen",
    "entries0",
    "entries1",
    "low0",
    "low1",
    "lengths",
]
STRUCT = np.dtype(
    [(name, np.uint64) for name in (*_POINTERS, "capacity", "threshold")]
    + [(name, np.uint32) for name in ("n", "slots", "from", "heavy", "warp_degree", "unused")]
)


def skip(facts, *, width, **options):
    return None if width == 1 else f"it runs on one GPU, not on {width}"


@dataclass(eq=False)
class Problem:
    """Host or device inputs, and after `transfer` the engine that runs kernels on them."""

    n: int
    m: int
    slots: int
    options: dict[str, Any]
    inputs: dict[str, Any]
    filtered: bool
    threshold: int
    bits: int
    engine: Any = None


@dataclass(eq=False)
class Result:
    """A byte per edge: on the device, or on the host when transfers are part of the solve."""

    chosen: Any
    launches: dict[str, int]


def prepare(graph, *, width, **options):
    inputs = engines.row_inputs(graph)
    slots = len(inputs["keys"])
    filtered = options["rung"] < 3 and slots >= 4 * graph.n > 0
    bits = inputs["keys"].dtype.itemsize * 8
    threshold = _threshold(inputs["keys"], graph.n, options) if filtered else 2**bits - 1
    if options["rung"] >= 7:
        degrees = np.diff(_host(inputs["offsets"]).astype(np.int64))
        inputs["sources"] = np.repeat(np.arange(graph.n, dtype=np.uint32), degrees)
    return Problem(graph.n, graph.m, slots, options, inputs, filtered, threshold, bits)


def _threshold(keys: Any, n: int, options: dict[str, Any]) -> int:
    """Return the largest light key: of `samples` random slots, the one that `factor` · n slots should lie below."""
    count = min(options["samples"], len(keys))
    sampled = np.random.default_rng(options["seed"]).integers(0, len(keys), count)
    ordered = np.sort(_host(keys.take(sampled) if isinstance(keys, np.ndarray) else keys[sampled.tolist()]))
    return int(ordered[min(count - 1, options["factor"] * n * count // len(keys))])


def _host(array: Any) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else array.get()


def layout(p: Problem) -> dict[str, tuple[type, int]]:
    """Return the workspace of a problem: name to (dtype, length)."""
    wide, capacity = p.bits == 64, _capacity(p)
    return {
        "parent": (np.uint32, p.n),
        "minimum": (np.uint64, p.n),
        "minimum_id": (np.uint32, p.n if wide else 0),
        "chosen": (np.uint8, p.m),
        "entries0": (np.uint32, 4 * capacity),
        "entries1": (np.uint32, 4 * capacity),
        "low0": (np.uint32, capacity if wide else 0),
        "low1": (np.uint32, capacity if wide else 0),
        "lengths": (np.uint32, 4),
    }


def _capacity(p: Problem) -> int:
    rung = p.options["rung"]
    return 0 if rung >= 7 else p.slots if rung >= 5 else p.slots // 2


def structs(p: Problem, addresses: dict[str, int]) -> dict[tuple[int, int], np.ndarray]:
    """Return the kernels' argument for each worklist to read from, and for light and heavy edges."""
    filled = {}
    for start in (0, 1):
        for heavy in (0, 1):
            struct = filled[start, heavy] = np.zeros(1, STRUCT)
            for name, address in addresses.items():
                struct[name] = address
            struct["capacity"], struct["threshold"] = _capacity(p), p.threshold
            struct["n"], struct["slots"] = p.n, p.slots
            struct["from"], struct["heavy"], struct["warp_degree"] = start, heavy, p.options["warp"]
    return filled


class Engine:
    """Kernels, workspace and counters on the device."""

    def __init__(self, p: Problem):
        import cupy

        self._runtime = cupy.cuda.runtime
        self._stream = cupy.cuda.get_current_stream
        self.arrays = resident.allocate(layout(p), f"ecl-mst-cuda of n = {p.n:,}, m = {p.m:,}")
        self.arrays.update((name, cupy.asarray(array)) for name, array in p.inputs.items())
        rung = p.options["rung"]
        macros = dict(RUNG=rung, KEY_BITS=p.bits, JUMPING=int(p.options["compression"] == "jumping"))
        self._kernels = {name: loader.Kernel("ecl_mst.cu", name, **macros) for name in kernel_names(rung)}
        addresses = {name: array.data.ptr for name, array in self.arrays.items()}
        self.structs = structs(p, addresses)
        self._arguments = {key: loader.Arguments(struct) for key, struct in self.structs.items()}
        self._counter = resident.pinned(1)
        self._noted = cupy.cuda.Event(disable_timing=True)
        self._lengths = self.arrays["lengths"].data.ptr

    def launch(self, name: str, size: int, start: int, heavy: int) -> None:
        """Run a kernel with a thread for each of `size` items."""
        self._kernels[name].launch(-(-size // BLOCK), BLOCK, self._arguments[start, heavy])

    def clear(self, index: int) -> None:
        """Set a counter to zero."""
        (self.arrays["lengths"].data + 4 * index).memset_async(0, 4)

    def unmark(self) -> None:
        """No edge is chosen yet."""
        chosen = self.arrays["chosen"]
        chosen.data.memset_async(0, chosen.nbytes)

    def note(self, index: int) -> None:
        """Have a counter copied to the host, behind what has been launched so far."""
        stream, kind = self._stream(), self._runtime.memcpyDeviceToHost
        self._runtime.memcpyAsync(self._counter.ctypes.data, self._lengths + 4 * index, 4, kind, stream.ptr)
        self._noted.record(stream)

    def noted(self) -> int:
        """Wait for the counter of the last `note`: what was launched after it goes on meanwhile."""
        self._noted.synchronize()
        return int(self._counter[0])

    def read(self, index: int) -> int:
        """Return a counter: the host round trip of every round (section 2)."""
        self.note(index)
        return self.noted()

    def upload(self, inputs: dict[str, Any]) -> None:
        """Copy the graph to the device again."""
        for name, array in inputs.items():
            self.arrays[name].set(_host(array))


def kernel_names(rung: int) -> tuple[str, ...]:
    """Return the kernels that a rung has."""
    names = ("initialise", "minimise", "minimise_ids", "unite", "forget")
    return names if rung >= 7 else (*names, "populate")


def transfer(problem):
    problem.engine = Engine(problem)
    return problem


def reseed(problem, seed):
    """Sample the threshold anew; all that is on the device stays. Nothing changes where nothing is filtered."""
    if not problem.filtered:
        return
    problem.options = {**problem.options, "seed": seed}
    problem.threshold = _threshold(problem.inputs["keys"], problem.n, problem.options)
    for struct in problem.engine.structs.values():
        struct["threshold"] = problem.threshold


def solve(problem):
    return _solve(problem, worklist_rounds)


def solve_as_published(problem):
    """Solve by the paper's host loop: what is counted and timed by kernel."""
    return _solve(problem, published_rounds)


def _solve(p, rounds):
    engine, launches = p.engine, {"populate": 0, "minimise": 0, "unite": 0}
    if p.options["transfers"]:
        engine.upload(p.inputs)
    engine.unmark()
    if p.slots:
        engine.launch("initialise", p.n, 0, 0)
        if p.options["rung"] >= 7:
            rounds = topology_rounds
        for heavy in (0, 1) if p.filtered else (0,):
            rounds(p, engine, heavy, launches)
    chosen = engine.arrays["chosen"]
    return Result(chosen.get() if p.options["transfers"] else chosen, launches)


def worklist_rounds(p, engine, heavy, launches):
    """Algorithm 2, once for the light and once for the heavy slots; both worklists are empty before and after."""
    now, length = 0, _populate(p, engine, heavy, launches)
    while length:
        for left in reversed(range(ROUNDS_AHEAD if length <= SHORT else 1)):
            engine.launch("minimise", length, now, heavy)
            launches["minimise"] += 1
            now = 1 - now
            if left == 0:
                engine.note(now)
            _unite(p, engine, length, length, now, heavy, launches)
        length = engine.noted()


def published_rounds(p, engine, heavy, launches):
    """Algorithm 2 launch by launch: before lines 27 to 37 the host asks whether there is anything left for them."""
    now, length = 0, _populate(p, engine, heavy, launches)
    while length:
        engine.launch("minimise", length, now, heavy)
        launches["minimise"] += 1
        now = 1 - now
        if length := engine.read(now):
            _unite(p, engine, length, length, now, heavy, launches)
        else:
            engine.clear(1 - now)


def _populate(p, engine, heavy, launches):
    engine.launch("populate", p.n, 0, heavy)
    launches["populate"] += 1
    return engine.read(0)


def topology_rounds(p, engine, heavy, launches):
    """Rungs 7 and 8: no worklist, so every slot (or row) comes in every round."""
    size = p.slots if p.options["rung"] == 7 else p.n
    while True:
        engine.clear(2)
        engine.launch("minimise", size, 0, heavy)
        launches["minimise"] += 1
        if engine.read(2) == 0:
            return
        _unite(p, engine, size, p.n, 0, heavy, launches)


def _unite(p, engine, size, minima, now, heavy, launches):
    if p.bits == 64:
        engine.launch("minimise_ids", size, now, heavy)
    engine.launch("unite", size, now, heavy)
    engine.launch("forget", minima, now, heavy)
    launches["unite"] += 1


def collect(problem, result):
    if isinstance(result.chosen, np.ndarray):
        return np.flatnonzero(result.chosen)
    return np.flatnonzero(result.chosen.get())


def edge_ids(result):
    """Edge ids on the device."""
    import cupy

    return cupy.flatnonzero(cupy.asarray(result.chosen))


device_bytes = engines.device_bytes


def counters(problem, result):
    """Launches by kernel as the paper's host makes them, the threshold, and the slots up to it where one is used."""
    told = dict(
        solve_as_published(problem).launches, filtered=int(problem.filtered), threshold=problem.threshold
    )
    if problem.filtered:
        told["kept"] = light_slots(problem)
    return told


def light_slots(problem):
    """Return how many slots the threshold keeps for the first phase; like the paper, an edge counts as two."""
    return int((problem.inputs["keys"] <= problem.threshold).sum())


def phases(problem):
    """Seconds per kernel, as a profiler lists them: what lies between launches is left out."""
    names = {
        name: "minimise" if name == "minimise_ids" else name for name in kernel_names(problem.options["rung"])
    }
    spent = engines.phases(problem, solve_as_published, names)
    return {name: seconds for name, seconds in spent.items() if name != "other"}
