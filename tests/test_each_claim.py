"""Each claim against numbers made by hand: those that its sentence describes confirm it, their opposite contradicts it.

The selections are those of the sentences, not read from the formulas. The criterion is that of other machines where a
claim has one for them.
"""

from __future__ import annotations

import pytest
from claim_names import Everything, claims_by_id

from mst.reporting.papers import claims
from mst.reporting.papers.formula import Leaf, evaluate

ECL, ECL_COPIES = "ecl-mst-cuda", "ecl-mst-cuda[transfers=true]"
SERIAL, PBBS = "filter-kruskal[scheme=prefix]", "reservation-kruskal"
UMINHO, UMINHO_GPU, LONESTAR = "contract-boruvka", "contract-boruvka-cuda", "component-boruvka"
JUCELE, CUGRAPH_FLOAT = "jucele-cuda", "cugraph[precision=float32]"
PLAIN = "kruskal[prefetch=false,sort=comparison,union=rank]"
FIRST = "edge-boruvka-cuda[compression=true,worklist=false]"
WORKLIST, FINAL = "edge-boruvka-cuda[compression=true]", "edge-boruvka-cuda"
GHS, FLAT = "ghs-mpi[queue=rank]", "flat-boruvka-cuda"
GHS_PUBLISHED = "ghs-mpi[partition=root,queue=rank,send=single]"
GPU_U, GPU_E = (
    "contract-boruvka-cuda[memory=unified]",
    "contract-boruvka-cuda[memory=unified,scan=host,work=edge]",
)

# The claim says that the first is slower than the second: its time, else another number of it.
SLOWER = {
    **dict.fromkeys(("ecl-02", "ecl-03"), (JUCELE, ECL)),
    **dict.fromkeys(("ecl-06", "ecl-09", "ecl-11", "ecl-14"), (SERIAL, ECL)),
    **dict.fromkeys(("ecl-07", "ecl-12", "ecl-15"), (PBBS, ECL)),
    "ecl-08": (UMINHO_GPU, ECL),
    "ecl-10": (UMINHO, ECL),
    "ecl-13": ("cugraph", ECL),
    **dict.fromkeys(("ecl-19", "ecl-20"), (ECL_COPIES, ECL)),
    "ecl-34": (CUGRAPH_FLOAT, ECL),
    **{f"ecl-{45 + k}": (f"{ECL}[rung={k}]", f"{ECL}[rung={k - 1}]" if k > 1 else ECL) for k in range(1, 7)},
    "ecl-52": (f"{ECL}[rung=6]", f"{ECL}[rung=7]"),
    **dict.fromkeys(("ecl-53", "ecl-74"), (f"{ECL}[rung=8]", f"{ECL}[rung=7]")),
    "ecl-54": (f"{ECL}[rung=8]", ECL),
    "ecl-55": (f"{ECL}[rung=8]", JUCELE),
    "ecl-57": (f"{ECL}[rung=7]", f"{ECL}[rung=6]"),
    "ecl-67": (SERIAL, PBBS),
    "ecl-73": ("qkruskal", "filter-kruskal"),
    "ecl-76": (f"{ECL}[rung=1]", ECL),
    "sh-01": (PLAIN, FINAL),
    **dict.fromkeys(("sh-02", "sh-04"), ("cugraph", FINAL)),
    **dict.fromkeys(("sh-06", "sh-07"), (PLAIN, FIRST)),
    "sh-08": (FIRST, WORKLIST),
    "sh-09": (WORKLIST, FINAL),
    "sh-10": (FIRST, FINAL),
    "sh-36": ("edge-boruvka@16", "edge-boruvka"),
    "sh-37": ("edge-boruvka", PLAIN),
    "sh-49": (PLAIN, GHS_PUBLISHED),
    "sh-50": (GHS_PUBLISHED, PLAIN),
    "sh-54": ("ghs-mpi[lookup=linear,queue=rank]@8", f"{GHS}@8"),
    "sh-55": ("ghs-mpi[basic=linear,queue=rank]@8", f"{GHS}@8"),
    "dur-02": ("boruvka[covered=false]", "lock-boruvka"),
    "dur-03": ("boruvka", "lock-boruvka"),
    "dur-04": ("boruvka[covered=false]", "cas-boruvka"),
    "dur-05": ("boruvka", "cas-boruvka"),
    "dur-08": ("lock-boruvka@4", "cas-boruvka@4"),
    "bz-01": ("boruvka", "parlay-boruvka@8"),
    "bz-02": ("boruvka", FLAT),
    "bz-03": ("parlay-boruvka@8", FLAT),
    "bz-04": (f"{FLAT}[order=sorted,union_find=wait-free]", f"{FLAT}[order=sorted,walk=contiguous]"),
    "bz-11": (f"{FLAT}[flatten=merged]", f"{FLAT}[flatten=kernel]"),
    "bia-01": ("prim-heap", GPU_U),
    "bia-02": ("command-uminho-cpu", GPU_U),
    "bia-04": (GPU_U, "command-uminho-gpu"),
    "bia-05": ("prim-dense", "prim-heap"),
    "bia-07": (GPU_U.replace("[", "[block=64,"), GPU_U.replace("[", "[block=1024,")),
    "bia-08": (GPU_E.replace("[", "[block=64,"), GPU_E.replace("[", "[block=1024,")),
    "bia-13": (UMINHO_GPU, f"{UMINHO_GPU}[minimum=segmented]"),
}

# Numbers with which the claim holds, and with which it does not, by selection and, after a colon, the counter or phase;
# " on GRAPH" limits one to a graph.
NUMBERS = {
    # Any other code may be the fastest.
    "ecl-05": ({ECL: 0.5}, {ECL: 0.5, LONESTAR: 0.4}),
    "ecl-21": ({ECL_COPIES: 0.5}, {ECL_COPIES: 0.5, LONESTAR: 0.4}),
    "ecl-23": ({ECL: 0.005}, {ECL: 0.02}),
    "ecl-24": ({ECL: 0.005}, {ECL: 0.02}),
    "ecl-25": ({f"{ECL}:minimise": 0.9}, {f"{ECL}:minimise": 1.1}),
    "ecl-26": ({f"{ECL}:minimise": 1.1}, {f"{ECL}:minimise": 1.1, f"{ECL}:unite": 1.2}),
    "ecl-27": ({f"{ECL}:unite": 0.3, f"{ECL}:forget": 0.3}, {f"{ECL}:unite": 0.3, f"{ECL}:forget": 0.6}),
    "ecl-28": ({f"{ECL}:populate": 2, f"{ECL}:filtered": 1}, {f"{ECL}:populate": 2, f"{ECL}:filtered": 0}),
    # Another input may have the fewest launches.
    "ecl-29": (
        {f"{ECL}:unite": 4, f"{ECL}:unite on delaunay_n24.mtx": 15},
        {f"{ECL}:unite": 8, f"{ECL}:unite on internet": 4, f"{ECL}:unite on delaunay_n24.mtx": 15},
    ),
    "ecl-30": (
        {f"{ECL}:minimise": 7, f"{ECL}:unite": 5, f"{ECL}:filtered": 1},
        {f"{ECL}:minimise": 7, f"{ECL}:unite": 5, f"{ECL}:filtered": 0},
    ),
    # A thousand vertices: ten rounds.
    "ecl-31": ({f"{ECL}:unite": 10, f"{ECL}:filtered": 0}, {f"{ECL}:unite": 11, f"{ECL}:filtered": 0}),
    "ecl-32": ({"cugraph": 1.2}, {"cugraph": 0.9}),
    # Another one may be the exception.
    "ecl-56": (
        {f"{ECL}[rung={k}]": time for k, time in enumerate((2, 3, 4, 5, 6, 8, 7, 9), 1)},
        {f"{ECL}[rung={k}]": time for k, time in enumerate((2, 1, 4, 5, 6, 7, 8, 9), 1)},
    ),
    # Of degree 10.
    "ecl-58": ({f"{ECL}:filtered": 1}, {f"{ECL}:filtered": 0}),
    # A thousand vertices.
    "ecl-59": tuple({f"{ECL}[seed={s}]:kept": kept for s in range(1, 100)} for kept in (4000, 3000)),
    "ecl-60": ({f"{ECL}[factor=2]": 1.1}, {f"{ECL}[factor=4]": 1.2}),
    # Of Lonestar the total counts.
    "ecl-36": (
        {f"{LONESTAR}:in_all": 2, UMINHO_GPU: 2, UMINHO: 2, SERIAL: 2},
        {f"{LONESTAR}:in_all": 0.5, UMINHO_GPU: 2, UMINHO: 2, SERIAL: 2},
    ),
    "ecl-66": ({f"{LONESTAR}:in_all": 2}, {f"{LONESTAR}:in_all": 0.5}),
    "ecl-70": ({}, {JUCELE: 0}),
    "ecl-72": ({}, {"qkruskal": 0.8}),
    "sh-11": ({f"{FINAL}[block=512]": 1.05}, {f"{FINAL}[block=512]": 1.2}),
    "sh-12": (
        {f"{FIRST}:launches": 12, f"{FIRST}:rounds": 3, f"{WORKLIST}:launches": 9, f"{WORKLIST}:rounds": 3},
        {f"{FIRST}:launches": 12, f"{FIRST}:rounds": 3, f"{WORKLIST}:launches": 12, f"{WORKLIST}:rounds": 3},
    ),
    "sh-15": ({f"{FIRST}:filter": 0.3}, {f"{FIRST}:filter": 0.2}),
    "sh-25": ({"I " + PLAIN: 0.2}, {"I " + PLAIN: 0.5}),
    "sh-26": (
        {"edge-boruvka[filter=serial,gather=serial]:mapping": 2},
        {"edge-boruvka[filter=serial,gather=serial]:unions": 2},
    ),
    "sh-27": (
        {"edge-boruvka[filter=serial,gather=serial]@8:filtering": 2},
        {f"edge-boruvka[filter=serial,gather=serial]{p}:mapping": 2 for p in ("", "@2", "@8", "@16")},
    ),
    # With any number of threads, on each file.
    "sh-28": (
        {"edge-boruvka@16:filtering on dense-large": 0.5, "edge-boruvka:filtering on sparse-large": 0.5},
        {"edge-boruvka@16:filtering on dense-large": 0.5},
    ),
    "sh-29": (
        {"edge-boruvka@8:mapping": 4, "edge-boruvka@8:filtering": 3, "edge-boruvka@8:unions": 2},
        {"edge-boruvka@8:mapping": 3, "edge-boruvka@8:filtering": 4, "edge-boruvka@8:unions": 2},
    ),
    "sh-32": ({"edge-boruvka[fused=true]": 1.1}, {"edge-boruvka[compression=false]": 0.9}),
    "sh-33": ({"edge-boruvka[chunk=64]": 1.2}, {"edge-boruvka[chunk=4096]": 0.8}),
    "sh-40": ({"allreduce-boruvka-mpi@8": 1.1}, {"allreduce-boruvka-mpi@8": 0.125}),
    "sh-41": ({"allreduce-boruvka-mpi": 3}, {"allreduce-boruvka-mpi": 5}),
    "sh-48": ({GHS: 3}, {GHS: 5}),
    "sh-53": ({f"{GHS}@8": 1.05}, {f"{GHS}@8": 1.2}),
    "sh-52": ({f"I {GHS_PUBLISHED}@32": 2}, {f"I {GHS_PUBLISHED}@32": 0.5}),
    "sh-56": ({f"{GHS}@16:communication": 0.05}, {f"{GHS}@16:communication": 0.5}),
    "sh-57": (
        {f"ghs-mpi[basic=linear,lookup=linear,queue=rank]@{p}": 1 / p for p in (2, 4, 8)},
        {f"ghs-mpi[basic=linear,lookup=linear,queue=rank]@{p}": 1 / p for p in (2, 8)},
    ),
    "sh-58": ({f"{GHS}@16": 1 / 16}, {f"{GHS}@16": 1}),
    "sh-59": ({f"{GHS}:broadcast_hops": 500}, {f"{GHS}:broadcast_hops": 10}),
    "dur-07": ({"lock-boruvka@4": 1.15}, {"lock-boruvka@4": 0.9}),
    "dur-12": ({"boruvka:rounds": 10}, {"boruvka:rounds": 11}),
    "dur-14": (
        {"lock-boruvka@4:edge visits": 4, "cas-boruvka@4:edge visits": 4},
        {"lock-boruvka@4:edge visits": 1, "cas-boruvka@4:edge visits": 1},
    ),
    "dur-15": (
        {f"{a}[staggered=false]@4:failed unions": 2 for a in ("lock-boruvka", "cas-boruvka")},
        {f"{a}@4:failed unions": 2 for a in ("lock-boruvka", "cas-boruvka")},
    ),
    "bz-05": ({"parlay-boruvka[filter=false]@8": 1.1}, {"parlay-boruvka[filter=false]@8": 1.5}),
    # Of 5000 edges.
    "bz-06": ({"parlay-boruvka:edges by round[1]": 4500}, {"parlay-boruvka:edges by round[1]": 2500}),
    "bz-07": ({f"{FLAT}[walk=contiguous]:stall_cycles": 14}, {f"{FLAT}[walk=contiguous]:stall_cycles": 0.5}),
    "bz-08": (
        {f"{FLAT}[walk=contiguous]:stalled_share": 0.95},
        {f"{FLAT}[walk=contiguous]:stalled_share": 0.5},
    ),
    "bz-09": ({f"{FLAT}[walk=contiguous]:stall_cycles": 2}, {f"{FLAT}[walk=contiguous]:stall_cycles": 1}),
    "bz-12": ({f"{FLAT}[check=flag]": 1.02}, {f"{FLAT}[check=flag]": 1.2}),
    "bz-13": ({"parlay-boruvka[compare=false]@8": 1.02}, {"parlay-boruvka[compare=false]@8": 1.2}),
    "bz-14": (
        {f"{FLAT}[blocks=8]": 4, f"{FLAT}[blocks=16]": 2},
        {f"{FLAT}[blocks=8]": 4, f"{FLAT}[blocks=16]": 2, f"{FLAT}[blocks=32]": 1.8},
    ),
    "bz-16": ({f"{FLAT}:depth_after_flatten": 1}, {f"{FLAT}:depth_after_flatten": 2}),
    "bz-17": ({f"{FLAT}:bytes_per_edge": 12}, {f"{FLAT}:bytes_per_edge": 16}),
    "bz-18": ({FLAT: 0}, {FLAT: 1}),
    "bz-19": ({"parlay-boruvka[find=grandparent]@8": 0}, {"parlay-boruvka[find=grandparent]@8": 1}),
    "bia-03": ({"prim-heap": 3, "boruvka[covered=false]": 2}, {"prim-heap": 14}),
    "bia-06": ({GPU_U: 1.1}, {GPU_U: 0.8}),
    "bia-09": (
        {
            f"{GPU_U}:achieved_occupancy_{k}[-1]": 0.1
            for k in ("find_candidates", "count_slots", "insert_slots")
        },
        {f"{GPU_U}:achieved_occupancy_insert_slots[-1]": 2},
    ),
    "bia-10": (
        {f"{GPU_E}:achieved_occupancy_{k}_by_edge[mean]": 2 for k in ("count_slots", "insert_slots")},
        {f"{GPU_E}:achieved_occupancy_count_slots_by_edge[mean]": 2},
    ),
    "bia-14": ({GPU_E: 1}, {GPU_E: 1.2}),
}


class ByHand(Everything):
    """A source whose numbers are 1 where none is given; without a width they are of one thread, or of the best."""

    def __init__(self, given):
        super().__init__(claims.document().names())
        self.given, self.asked = given, set()

    def leaf(self, quantity, selection, graph, name=""):
        text = f"{selection.name}@{selection.width}" if selection.width > 1 else selection.name
        text += f":{name}" if name else ""
        names = f"{text} on {graph}", f"{quantity} {text}", text
        found = next((given for given in names if given in self.given), None)
        self.asked.add(found)
        return Leaf(float(self.given.get(found, 1)))


def verdict(id: str, given: dict[str, float]) -> bool | None:
    """Return whether numbers confirm (True) or contradict (False) a claim, all of them being looked at."""
    claim = claims_by_id()[id]
    criterion = claim.anywhere or claim.elsewhere or claim.there
    source = ByHand(given)
    found = evaluate(criterion.quantity or claim.quantity, source, source.names)
    assert not found.missing
    assert source.asked >= set(given), (id, set(given) - source.asked)
    return criterion.judge(found)


@pytest.mark.parametrize("id", SLOWER)
def test_claims_that_one_is_slower_than_another(id):
    slow, fast = SLOWER[id]
    assert verdict(id, {slow: 100.0, fast: 1.0}) is True
    assert verdict(id, {slow: 1.0, fast: 100.0}) is False


@pytest.mark.parametrize("id", NUMBERS)
def test_claims_about_other_numbers(id):
    held, missed = NUMBERS[id]
    assert verdict(id, held) is True
    assert verdict(id, missed) is False
