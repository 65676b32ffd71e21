"""ECL-MST (Fallin, Gonzalez, Seo, Burtscher, SC '23), a port written from the paper's text, not the authors' program.

The method is that of sections 3.2 and 3.3. Section 5.3 removes its optimisations one after another, as the option
``rung`` does; ``without`` removes a single one. In one point the port differs: ties are broken by edge id, not by slot,
so that the forest equals that of every exact algorithm. Two improvements of ours are off by default: ``batch``, and
``ahead``, which helps because a Python host takes longer than a short round. Counters and times per kernel always come
from the paper's host loop, which reads the worklist's length in every round. The kernels are in ``ecl_mst.cu``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mst.algorithms.cuda.device import memory, port
from mst.algorithms.cuda.device.graph import row_inputs
from mst.algorithms.cuda.device.launch import argument_dtype, argument_of
from mst.algorithms.cuda.device.timing import phase_seconds
from mst.kernels.cuda import loader

if TYPE_CHECKING:
    from mst.algorithms.cuda.device.graph import DeviceGraph
    from mst.facts import Facts
    from mst.graph import Graph

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
        without=dict(
            default="none",
            choices=("none", "guards", "warps", "filter", "compression", "direction", "tuples"),
            help="remove one more optimisation, in addition to those of the rung",
        ),
        samples=dict(default=20, min=1, max=4096, help="weights sampled for the threshold (section 3.3)"),
        seed=dict(default=1, min=0, max=4_294_967_295, help="seed of the sample (section 5.4)"),
        factor=dict(
            default=3,
            choices=(2, 3, 4),
            help="target number of light slots per vertex: 3 in section 5.4, 4 in section 3.2; 2 to 4 work well",
        ),
        warp=dict(
            default=4, min=1, max=1_000_000, help="rows with at least this many slots are walked by a warp"
        ),
        compression=dict(
            default="halving",
            choices=("halving", "jumping"),
            help="path compression where it is explicit",
        ),
        ahead=dict(
            default=1,
            min=1,
            max=64,
            help="rounds that the host queues before it reads whether edges are left, on short worklists (ours: 4)",
        ),
        batch=dict(default=1, min=1, max=8, help="slots that a lane reads at once (ours: 2)"),
        transfers=dict(default=False, help="copy the graph to the device and the forest back in every solve"),
    ),
    requires=("cupy",),
    limits=dict(n=2_147_483_647, m=2_000_000_000),
)

SOURCE = "ecl_mst.cu"
BLOCK = 512
# On worklists up to this length the host may queue several rounds before it reads the number of remaining edges.
SHORT = 1 << 18
# The index of an optimisation is its number in the kernels and its place in section 5.3's order of removal.
OPTIMISATIONS = ("none", "guards", "warps", "filter", "compression", "direction", "tuples")
# Index in `lengths` of the word that tells whether an edge is left; the lengths of the two worklists come before it.
EDGE_LEFT = 2
ARGUMENT = argument_dtype(
    (
        "offsets",
        "neighbours",
        "keys",
        "ids",
        "sources",
        "parent",
        "minimum",
        "minimum_id",
        "chosen",
        "worklist0",
        "worklist1",
        "key_low0",
        "key_low1",
        "lengths",
        "capacity",
        "threshold",
    ),
    ("n", "slots", "source", "heavy", "warp_degree", "unused"),
)


def skip(facts: Facts, *, width: int, **options: Any) -> str | None:
    return None if width == 1 else f"it runs on one GPU, not on {width}"


@dataclass(eq=False)
class Problem:
    """Rows on the host or the device; after `transfer`, also the device that runs kernels on them.

    Attributes
    ----------
    n, m, slots : int
        Vertices, edges, and slots of the rows.
    options, inputs : dict
        The algorithm's options; and the rows, at rung 7 and 8 with the row of each slot.
    filtered : bool
        Whether light slots are processed first, in a phase of their own.
    threshold : int
        Largest light key.
    key_bits : int
        32 or 64.
    device : EclDevice
        None before `transfer`.
    """

    n: int
    m: int
    slots: int
    options: dict[str, Any]
    inputs: dict[str, Any]
    filtered: bool
    threshold: int
    key_bits: int
    device: Any = None


@dataclass(eq=False)
class Result:
    """A byte per edge, 1 for forest edges, on the host if transfers are part of the solve, else on the device.

    `launches` counts launches by kernel.
    """

    chosen: Any
    launches: dict[str, int]


def prepare(graph: Graph | DeviceGraph, *, width: int, **options: Any) -> Problem:
    """Build rows, and sample the threshold if the graph is dense enough for a filter (section 3.3)."""
    inputs = row_inputs(graph)
    slots = len(inputs["keys"])
    filtered = not removed(options, "filter") and slots >= 4 * graph.n > 0
    key_bits = inputs["keys"].dtype.itemsize * 8
    threshold = sample_threshold(inputs["keys"], graph.n, options) if filtered else 2**key_bits - 1
    if options["rung"] >= 7:
        degrees: Any = np.diff(_host(inputs["offsets"]).astype(np.int64))
        inputs["sources"] = np.repeat(np.arange(graph.n, dtype=np.uint32), degrees)
    return Problem(graph.n, graph.m, slots, options, inputs, filtered, threshold, key_bits)


def removed(options: dict[str, Any], optimisation: str) -> bool:
    """Return whether the options remove an optimisation, a name in `OPTIMISATIONS`."""
    return options["rung"] >= OPTIMISATIONS.index(optimisation) or options["without"] == optimisation


def sample_threshold(keys: Any, n: int, options: dict[str, Any]) -> int:
    """Return the largest light key, estimated from samples so that about `factor` · n slots are light (section 3.3)."""
    count = min(options["samples"], len(keys))
    sampled = np.random.default_rng(options["seed"]).integers(0, len(keys), count)
    ordered = np.sort(_host(keys.take(sampled) if isinstance(keys, np.ndarray) else keys[sampled.tolist()]))
    return int(ordered[min(count - 1, options["factor"] * n * count // len(keys))])


def _host(array: Any) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else array.get()


def layout(p: Problem) -> memory.Layout:
    """Return the workspace of a problem: name to (dtype, elements)."""
    wide, capacity = p.key_bits == 64, worklist_capacity(p)
    return {
        "parent": (np.uint32, p.n),
        "minimum": (np.uint64, p.n),
        "minimum_id": (np.uint32, p.n if wide else 0),
        "chosen": (np.uint8, p.m),
        "worklist0": (np.uint32, 4 * capacity),
        "worklist1": (np.uint32, 4 * capacity),
        "key_low0": (np.uint32, capacity if wide else 0),
        "key_low1": (np.uint32, capacity if wide else 0),
        "lengths": (np.uint32, 4),
    }


def worklist_capacity(p: Problem) -> int:
    """Return a worklist's capacity: an entry per edge, two if both directions are taken, none without worklists."""
    if p.options["rung"] >= 7:
        return 0
    return p.slots if removed(p.options, "direction") else p.slots // 2


def arguments(p: Problem, addresses: dict[str, int]) -> dict[tuple[int, int], np.ndarray]:
    """Return the kernels' argument for each pair of `source`, the worklist that is read, and `heavy`, the phase."""
    filled = {}
    for source in (0, 1):
        for heavy in (0, 1):
            argument = filled[source, heavy] = argument_of(ARGUMENT, addresses)
            argument["capacity"], argument["threshold"] = worklist_capacity(p), p.threshold
            argument["n"], argument["slots"] = p.n, p.slots
            argument["source"], argument["heavy"], argument["warp_degree"] = source, heavy, p.options["warp"]
    return filled


def macros(p: Problem) -> dict[str, int]:
    """Return the macros that select the variant of the source for a problem."""
    jumping = int(p.options["compression"] == "jumping")
    without = OPTIMISATIONS.index(p.options["without"])
    return dict(
        RUNG=p.options["rung"], WITHOUT=without, KEY_BITS=p.key_bits, JUMPING=jumping, BATCH=p.options["batch"]
    )


def kernel_names(rung: int) -> tuple[str, ...]:
    """Return the names of the kernels that the source has at a rung."""
    names = ("initialise", "minimise", "minimise_ids", "unite", "reset_minima")
    return names if rung >= 7 else (*names, "populate")


class EclDevice:
    """Kernels, workspace and counters on the device."""

    def __init__(self, p: Problem):
        import cupy

        self._runtime = cupy.cuda.runtime
        self._stream = cupy.cuda.get_current_stream
        self.arrays = memory.allocate(layout(p), f"ecl-mst-cuda of n = {p.n:,}, m = {p.m:,}")
        self.arrays.update((name, cupy.asarray(array)) for name, array in p.inputs.items())
        self._kernels = {
            name: loader.Kernel(SOURCE, name, macros(p)) for name in kernel_names(p.options["rung"])
        }
        addresses = {name: array.data.ptr for name, array in self.arrays.items()}
        self.arguments = arguments(p, addresses)
        self._launch_arguments = {key: loader.Arguments(a) for key, a in self.arguments.items()}
        self._length = memory.pinned(1)
        self._copied = cupy.cuda.Event(disable_timing=True)
        self._lengths = self.arrays["lengths"].data.ptr

    def launch(self, kernel: str, size: int, source: int, heavy: int) -> None:
        """Run a kernel with one thread for each of `size` items."""
        self._kernels[kernel].launch(-(-size // BLOCK), BLOCK, self._launch_arguments[source, heavy])

    def clear_length(self, index: int) -> None:
        """Set ``lengths[index]`` to zero."""
        (self.arrays["lengths"].data + 4 * index).memset_async(0, 4)

    def clear_chosen(self) -> None:
        """Set `chosen` to zero for every edge."""
        chosen = self.arrays["chosen"]
        chosen.data.memset_async(0, chosen.nbytes)

    def request_length(self, index: int) -> None:
        """Queue a copy of ``lengths[index]`` to the host, after all earlier launches."""
        stream, kind = self._stream(), self._runtime.memcpyDeviceToHost
        self._runtime.memcpyAsync(self._length.ctypes.data, self._lengths + 4 * index, 4, kind, stream.ptr)
        self._copied.record(stream)

    def requested_length(self) -> int:
        """Wait for the copy of the last `request_length`, but not for later launches; return the length."""
        self._copied.synchronize()
        return int(self._length[0])

    def read_length(self, index: int) -> int:
        """Return ``lengths[index]``; this is the round trip to the host in every round (section 2)."""
        self.request_length(index)
        return self.requested_length()

    def upload(self, inputs: dict[str, Any]) -> None:
        """Copy the graph to the device again."""
        for name, array in inputs.items():
            self.arrays[name].set(_host(array))


def transfer(problem: Problem) -> Problem:
    """Copy inputs to the device, and allocate the workspace there."""
    problem.device = EclDevice(problem)
    return problem


def solve(problem: Problem) -> Result:
    """Algorithm 1: process the light slots, then the heavy slots that still join two sets."""
    return _solve(problem, published_rounds if problem.options["ahead"] == 1 else rounds_ahead)


def solve_as_published(problem: Problem) -> Result:
    """Solve by the paper's host loop, from which counters and times per kernel are taken."""
    return _solve(problem, published_rounds)


Rounds = Callable[[Problem, Any, int, dict[str, int]], None]


def _solve(p: Problem, rounds: Rounds) -> Result:
    device, launches = p.device, {"populate": 0, "minimise": 0, "unite": 0}
    if p.options["transfers"]:
        device.upload(p.inputs)
    device.clear_chosen()
    if p.slots:
        device.launch("initialise", p.n, 0, 0)
        if p.options["rung"] >= 7:
            rounds = topology_rounds
        for heavy in (0, 1) if p.filtered else (0,):
            rounds(p, device, heavy, launches)
    chosen = device.arrays["chosen"]
    return Result(chosen.get() if p.options["transfers"] else chosen, launches)


def rounds_ahead(p: Problem, device: Any, heavy: int, launches: dict[str, int]) -> None:
    """Algorithm 2 with several rounds queued before the host reads whether any edge is left.

    Both worklists are empty before and after.
    """
    source, length = 0, _populate(p, device, heavy, launches)
    while length:
        for left in reversed(range(p.options["ahead"] if length <= SHORT else 1)):
            device.launch("minimise", length, source, heavy)
            launches["minimise"] += 1
            source = 1 - source
            if left == 0:
                device.request_length(source)
            _unite(p, device, Step(length, length, source, heavy), launches)
        length = device.requested_length()


def published_rounds(p: Problem, device: Any, heavy: int, launches: dict[str, int]) -> None:
    """Algorithm 2 launch by launch: before lines 27 to 37, the host reads whether any edge is left."""
    source, length = 0, _populate(p, device, heavy, launches)
    while length:
        device.launch("minimise", length, source, heavy)
        launches["minimise"] += 1
        source = 1 - source
        if length := device.read_length(source):
            _unite(p, device, Step(length, length, source, heavy), launches)
        else:
            device.clear_length(1 - source)


def topology_rounds(p: Problem, device: Any, heavy: int, launches: dict[str, int]) -> None:
    """Rungs 7 and 8: without a worklist, every round visits every slot or every row."""
    size = p.slots if p.options["rung"] == 7 else p.n
    while True:
        device.clear_length(EDGE_LEFT)
        device.launch("minimise", size, 0, heavy)
        launches["minimise"] += 1
        if device.read_length(EDGE_LEFT) == 0:
            return
        _unite(p, device, Step(size, p.n, 0, heavy), launches)


def _populate(p: Problem, device: Any, heavy: int, launches: dict[str, int]) -> int:
    """Lines 4 to 8: fill the first worklist with the light or the heavy slots; return its length."""
    device.launch("populate", p.n, 0, heavy)
    launches["populate"] += 1
    return device.read_length(0)


class Step(NamedTuple):
    """Numbers of items to unite and of minima to reset in a round, the worklist that is read, and the phase."""

    items: int
    minima: int
    source: int
    heavy: int


def _unite(p: Problem, device: Any, step: Step, launches: dict[str, int]) -> None:
    """Lines 27 to 37: unite across the minima, then reset them."""
    if p.key_bits == 64:
        device.launch("minimise_ids", step.items, step.source, step.heavy)
    device.launch("unite", step.items, step.source, step.heavy)
    device.launch("reset_minima", step.minima, step.source, step.heavy)
    launches["unite"] += 1


def collect(problem: Problem, result: Result) -> np.ndarray:
    """Return the edge ids of the forest on the host, ascending (int64)."""
    return np.flatnonzero(_host(result.chosen))


def edge_ids(result: Result) -> Any:
    """Return the edge ids of the forest on the device, ascending (int64)."""
    import cupy

    return cupy.flatnonzero(cupy.asarray(result.chosen))


device_bytes = port.device_bytes


def counters(problem: Problem, result: Result) -> dict[str, int]:
    """Return launches by kernel in the paper's host loop, the threshold and, with a filter, the light slots."""
    published = result if problem.options["ahead"] == 1 else solve_as_published(problem)
    launches = published.launches
    counted = dict(launches, filtered=int(problem.filtered), threshold=problem.threshold)
    if problem.filtered:
        counted["kept"] = light_slots(problem)
    return counted


def light_slots(problem: Problem) -> int:
    """Return the number of slots that the first phase takes; as in the paper, each edge has two slots."""
    return int((problem.inputs["keys"] <= problem.threshold).sum())


def phases(problem: Problem) -> dict[str, float]:
    """Return seconds per kernel as a profiler lists them, without the time between launches."""
    # Records and claims call the phase of `reset_minima` "forget".
    named = {"minimise_ids": "minimise", "reset_minima": "forget"}
    names = {name: named.get(name, name) for name in kernel_names(problem.options["rung"])}
    spent = phase_seconds(problem, solve_as_published, names)
    return {name: seconds for name, seconds in spent.items() if name != "other"}
