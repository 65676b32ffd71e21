"""The formula language: accepted syntax, value of each function, propagation of uncertainty and missing terms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mst.errors import ConfigError
from mst.reporting.papers.formula import (
    Failed,
    Leaf,
    Missing,
    Names,
    Selection,
    Source,
    Unfit,
    evaluate,
    functions,
    of_all_terms,
    parse_selection,
)

NAMES = Names({"G": ("a", "b", "c"), "P": (1, 2, 4), "ALT": (("original", "a"), "b"), "FAST": "quick[mode=x]"})
SECONDS = {"slow": {"a": 2.0, "b": 8.0, "c": 32.0}, "quick": {"a": 1.0, "b": 2.0, "c": 4.0}}


class Fake(Source):
    """Times of two algorithms on three graphs, with scatter; `quick` has widths and phases."""

    def __init__(
        self,
        scatter: float = 0.0,
        absent: tuple = (),
        unfit: tuple = (),
        failed: tuple = (),
        processes: int | dict[str, int] = 5,
        drift: dict[str, float] | None = None,
        objection: str = "",
        unmeasured: tuple[str, ...] = (),
    ):
        self.unmeasured = unmeasured
        self.scatter, self.absent, self.unfit, self.failed = scatter, absent, unfit, failed
        self.processes, self.drift, self.objection = processes, drift or {}, objection

    def leaf(self, quantity, selection, graph, name=""):
        if (selection.algorithm, graph) in self.unfit:
            raise Unfit(f"{selection} does not take {graph}")
        if (selection.algorithm, graph) in self.failed:
            raise Failed(f"{selection} on {graph}: wrong")
        if (selection.algorithm, graph) in self.absent:
            raise Missing(f"{selection} on {graph}: not run")
        value = SECONDS.get(selection.algorithm, {}).get(graph, 1.0) / max(selection.width, 1)
        if quantity in ("phase", "share", "counter"):
            return Leaf({"phase": 0.5, "share": 0.25, "counter": 7.0}[quantity])
        if quantity != "T":
            return Leaf({"I": 0.1, "memory": 64.0, "spread": 0.01, "excess": 0.0}.get(quantity, 1.0))
        name = selection.algorithm
        steps = np.linspace(-1, 1, self.processes if isinstance(self.processes, int) else self.processes[name])
        session = (name, self.drift[name]) if name in self.drift else None
        record = f"{selection}/{graph}"
        medians = tuple(value * (1 + self.scatter * steps))
        return Leaf(value, medians, record, max(selection.width, 1), self.objection, session)

    def fact(self, name, graph):
        return {"n": 10.0, "m": 40.0, "degree": 8.0}.get(name, 1.0)

    def has(self, graph):
        return graph != "original"

    def measured(self, graph):
        return graph not in self.unmeasured

    def stands_in(self, other, graph):
        return True


def value(text, source=None, **bound):
    return evaluate(text, source or Fake(), NAMES, bound).value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3 - 4 / 2 ** 2", 6),
        ("-T('slow', 'a')", -2),
        ("T('slow', 'a') > T('quick', 'a')", 1),
        ("T('slow', 'a') <= T('quick', 'a')", 0),
        ("T('quick@4', 'c')", 1),
        ("T(FAST, 'c')", 4),
        ("gm(T('slow', g) / T('quick', g) for g in G)", 4),
        ("mean(T('slow', g) for g in G)", 14),
        ("median(T('slow', g) for g in G)", 8),
        ("min(T('slow', g) for g in G)", 2),
        ("max(T('slow', 'a'), T('slow', 'b'))", 8),
        ("fastest(T(s, 'b') for s in ('slow', 'quick'))", 2),
        ("sum(T(f'quick@{p}', 'c') for p in P)", 7),
        ("abs(0 - 3) + log2(8) + ceil(0.2)", 7),
        ("pearson((T('quick', g), 0 - T('slow', g)) for g in G)", -0.989743),
        ("kendall((T('quick', g), T('slow', g)) for g in G)", 1),
        ("pearson((n(g), T('slow', g)) for g in G)", 0),
        ("max(where_run(T('slow', g) for g in G))", 32),
        ("I('slow', 'a') + M('slow', 'a')", 1.1),
        ("phase('quick', 'a', 'union') + share('quick', 'a', 'union') + counter('quick', 'a', 'rounds')", 7.75),
        ("memory('quick', 'a') + spread('quick', 'a') + excess('quick', 'a')", 64.01),
        ("ran('quick', 'a') + wrong('quick', 'a')", 2),
        ("2 * m('a') / n('a') + components('a') + degree('a') + max_degree('a')", 18),
        ("published('ecl-mst/table-5', 'rung_0', 'citationCiteseer')", 0.0007),
        ("sum(T('slow', g) for g in ALT)", 10),
        ("gm(T('slow', g) for g in G for p in P)", 8),
    ],
)
def test_function_gives_its_value(text, expected):
    assert value(text) == pytest.approx(expected)


def test_examples_above_call_every_function():
    called = " ".join(str(case) for case in test_function_gives_its_value.pytestmark[0].args[1])
    for name in functions():
        assert f"{name}(" in called, name


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "T.__class__",
        "[x for x in G]",
        "lambda: 1",
        "max(T('slow', g) for g in G if 1)",
        "T('slow', 'a') if 1 else 2",
        "open('/etc/passwd')",
        "True",
        "gm(T('slow', g) for g in NOWHERE)",
        "1 < 2 < 3",
        "not 1",
        "T('slow', 'a', key=1)",
        "gm(",
    ],
)
def test_other_python_is_refused(text):
    with pytest.raises(ConfigError):
        evaluate(text, Fake(), NAMES)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("gm(T('slow', g) for g in GG)", "'G'"),
        ("gmean(T('slow', g) for g in G)", "mean"),
        ("T('slow')", "2 arguments"),
        ("T('slow', 'a', 'b')", "2 arguments, got 3"),
        ("T('slow[mode]', 'a')", "name=value"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest_one(text, hint):
    with pytest.raises(ConfigError, match=hint):
        evaluate(text, Fake(), NAMES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kruskal", Selection("kruskal")),
        ("a-b[y=2,x=1]@16", Selection("a-b", (("x", "1"), ("y", "2")), 16)),
        ("a@best", Selection("a", (), 0)),
        ("a@16+", Selection("a", (), 16, "+")),
    ],
)
def test_selection_is_parsed(text, expected):
    assert parse_selection(text) == expected


@pytest.mark.parametrize("text", ["", "A", "a[", "a@", "a@x", "a[x=1]b"])
def test_malformed_selection_is_refused(text):
    with pytest.raises(ConfigError):
        parse_selection(text)


def test_interval_grows_with_the_scatter_and_covers_the_estimate():
    widths = []
    for scatter in (0.0, 0.02, 0.1):
        result = evaluate("gm(T('slow', g) / T('quick', g) for g in G)", Fake(scatter), NAMES)
        assert result.low <= result.value <= result.high
        widths.append(result.high - result.low)
    assert widths[0] == pytest.approx(0, abs=1e-9) and widths[0] < widths[1] < widths[2]


def test_interval_of_one_run_is_that_of_its_median():
    result = evaluate("T('slow', 'a')", Fake(0.1), NAMES)
    assert result.value == 2 and 1.8 <= result.low < 2 < result.high <= 2.2


def test_run_that_occurs_twice_has_the_same_draws():
    result = evaluate("T('slow', 'a') / T('slow', 'a')", Fake(0.1), NAMES)
    assert result.low == result.high == 1 and result.records == ["slow/a"]
    other = evaluate("T('slow', 'a') / T('quick', 'a')", Fake(0.1), NAMES)
    assert other.low < other.high


class InTurns(Fake):
    """The same times, of processes that took turns while the machine was now slower and now faster."""

    noise = np.ones(6)
    """Factors of the first run's times alone."""

    def turns(self, quantity, over, under, graph):
        speeds = np.array([1.0, 1.5, 0.8, 1.2, 1.1, 0.9])
        both = [self.leaf(quantity, selection, graph) for selection in (over, under)]
        times = [leaf.value * speeds * noise for leaf, noise in zip(both, (self.noise, 1), strict=True)]
        return tuple(replace(leaf, medians=tuple(own)) for leaf, own in zip(both, times, strict=True))


def test_ratio_of_runs_that_took_turns_is_that_of_each_turn():
    found = evaluate("T('slow', 'a') / T('quick', 'a')", InTurns(0.1), NAMES)
    assert (found.value, found.low, found.high, found.processes) == (2, 2, 2, 6)
    assert found.records == ["slow/a", "quick/a"] and found.used == ["a"]
    chosen = evaluate("T('quick@best', 'a') / T('slow@4', 'a')", InTurns(0.1), NAMES)
    assert chosen.best == {"quick": {"a": 1}}


def test_ratio_of_turns_is_the_median_of_their_ratios_and_independent_of_others():
    source = InTurns()
    source.noise = np.array([0.8, 0.9, 1.0, 1.02, 1.1, 1.6])
    one = evaluate("T('slow', 'a') / T('quick', 'a')", source, NAMES)
    assert (one.low, one.value, one.high) == pytest.approx((1.6, 2.02, 3.2))
    for others in (
        "gm(T('slow', g) / T('quick', g) for g in G)",
        "gm(T(s, 'a') / T('quick', 'a') for s in ('slow', 'slow@2'))",
    ):
        several = evaluate(others, source, NAMES)
        assert several.high / several.value < 0.95 * one.high / one.value


@pytest.mark.parametrize(
    "text",
    [
        "T('slow', 'a') / T('quick', 'b')",
        "memory('slow', 'a') / memory('quick', 'a')",
        "T('slow', 'a') / M('quick', 'a')",
    ],
)
def test_other_ratios_are_of_independent_runs(text):
    together, apart = (evaluate(text, source, NAMES) for source in (InTurns(0.1), Fake(0.1)))
    assert (together.low, together.high) == (apart.low, apart.high)


def test_speed_of_a_session_cancels_between_runs_that_took_turns():
    drift = {"slow": 0.2, "quick": 0.2}
    found = evaluate("gm(T('slow', g) / T('quick', g) for g in G)", InTurns(0.1, drift=drift), NAMES)
    assert found.low == found.high == pytest.approx(4)


def test_missing_term_is_left_out_and_listed():
    result = evaluate("gm(T('slow', g) for g in G)", Fake(absent=(("slow", "b"),)), NAMES)
    assert result.value == pytest.approx(8) and result.missing == ["slow on b: not run"]
    with pytest.raises(Missing, match="slow on b: not run"):
        evaluate("gm(T('slow', g) for g in G)", Fake(absent=(("slow", "b"),)), NAMES, whole=True)
    assert sorted(result.used) == ["a", "c"] and result.records == ["slow/a", "slow/c"]


def test_formula_without_any_term_raises_missing():
    everything = tuple(("slow", g) for g in "abc")
    for text in ("gm(T('slow', g) for g in G)", "T('slow', 'a')", "1 + T('slow', 'a')"):
        with pytest.raises(Missing, match="not run"):
            evaluate(text, Fake(absent=everything), NAMES)


def test_fastest_skips_unfit_terms_and_lists_missing_terms():
    text = "fastest(T(s, 'b') for s in ('slow', 'quick'))"
    unfit = evaluate(text, Fake(unfit=(("quick", "b"),)), NAMES)
    assert unfit.value == 8 and not unfit.missing
    absent = evaluate(text, Fake(absent=(("quick", "b"),)), NAMES)
    assert absent.value == 8 and absent.missing
    plain = evaluate(text.replace("fastest", "min"), Fake(unfit=(("quick", "b"),)), NAMES)
    assert plain.missing


def test_where_run_skips_and_lists_failures_and_lists_missing_terms():
    text = "min(where_run(T('slow', g) / T('quick', g) for g in G))"
    failed = evaluate(text, Fake(failed=(("quick", "a"),), unfit=(("quick", "c"),)), NAMES)
    assert failed.value == 4 and not failed.missing and failed.failed == ["quick on a: wrong"]
    assert evaluate(f"{text} / {text}", Fake(failed=(("quick", "a"),)), NAMES).failed == failed.failed
    absent = evaluate(text, Fake(absent=(("quick", "a"),)), NAMES)
    assert absent.value == 4 and absent.missing and not absent.failed
    for other in ("min(T('quick', g) for g in G)", "fastest(T('quick', g) for g in G)"):
        assert evaluate(other, Fake(failed=(("quick", "a"),)), NAMES).missing
    with pytest.raises(Missing):
        evaluate(text, Fake(failed=tuple(("quick", g) for g in "abc")), NAMES)


def test_fewest_processes_of_any_run_are_those_of_the_result():
    assert evaluate("T('slow', 'a')", Fake(processes=2), NAMES).processes == 2
    assert evaluate("n('a')", Fake(processes=1), NAMES).processes is None


def test_interval_of_fewer_than_nine_processes_is_from_the_least_to_the_greatest():
    for processes in (3, 5, 8):
        result = evaluate("T('slow', 'a')", Fake(0.1, processes=processes), NAMES)
        assert (result.low, result.high) == (1.8, 2.2)
    nine = evaluate("T('slow', 'a')", Fake(0.1, processes=9), NAMES)
    assert (nine.low, nine.high) == pytest.approx((1.85, 2.15))


@pytest.mark.parametrize("extreme", ["min", "max"])
def test_extreme_of_equal_graphs_lies_in_its_interval_and_noise_moves_it_little(extreme):
    equal = Names({"G": tuple(f"g{k}" for k in range(9))})
    source = Fake(0.1, processes=9)
    one = evaluate("T('even', 'g0')", source, equal)
    nine = evaluate(f"{extreme}(T('even', g) for g in G)", source, equal)
    assert nine.low <= one.low < nine.value == 1 < one.high <= nine.high
    sum_of_both = evaluate(
        f"{extreme}(T('even', g) for g in G) / {extreme}(T('slow', g) for g in G)", source, equal
    )
    assert sum_of_both.low < sum_of_both.value < sum_of_both.high


def test_interval_of_an_extreme_allows_for_terms_that_are_missing():
    every = evaluate("min(T('slow', g) for g in G)", Fake(0.1), NAMES)
    part = evaluate("min(T('slow', g) for g in G)", Fake(0.1, absent=(("slow", "b"), ("slow", "c"))), NAMES)
    alone = evaluate("min(T('slow', g) for g in ('a',))", Fake(0.1), NAMES)
    assert (every.compared, part.compared, alone.compared) == (3, 3, 1)
    assert part.low < alone.low < alone.high < part.high
    both = "min(T('slow', g) for g in G) / min(T('quick', g) for g in G)"
    assert evaluate(both, Fake(0.1, absent=(("slow", "b"),)), NAMES).compared == 3
    assert evaluate("min(T('slow', 'a'), n('a'))", Fake(0.1), NAMES).compared == 2
    assert evaluate("min(n('a'), m('a'))", Fake(0.1), NAMES).compared == 0


def test_run_of_few_processes_widens_no_other_interval_wherever_it_stands():
    few = Fake(0.1, processes={"slow": 3, "quick": 9})
    one, other = (
        evaluate(f"max({terms})", few, NAMES)
        for terms in ("T('slow', 'a'), T('quick', 'b')", "T('quick', 'b'), T('slow', 'a')")
    )
    assert (one.low, one.high) == pytest.approx((other.low, other.high)) and one.processes == 3


def test_drift_between_sessions_adds_to_the_scatter_of_processes():
    text, drift = "T('slow', 'a') / T('quick', 'a')", {"slow": 0.2, "quick": 0.06}
    scattered, drifting, both = (
        evaluate(text, source, NAMES)
        for source in (Fake(0.1), Fake(1e-12, drift=drift), Fake(0.1, drift=drift))
    )
    assert np.log(drifting.high / 2) == pytest.approx(1.96 * np.hypot(0.2, 0.06), rel=0.1)
    for end in ("low", "high"):
        parts = [np.log(getattr(result, end) / 2) for result in (scattered, drifting)]
        assert abs(np.log(getattr(both, end) / 2)) == pytest.approx(np.hypot(*parts))
    same = evaluate("T('slow', 'a') / T('slow', 'b')", Fake(1e-12, drift=drift), NAMES)
    assert same.high - same.low < 1e-9, "the speed of one session cancels"


def test_differences_have_intervals_and_objections_are_listed():
    less = evaluate("T('quick', 'a') - T('slow', 'a')", Fake(0.1, objection="disturbed"), NAMES)
    assert less.low < less.value == -1 < less.high and less.objections == ["disturbed"]
    little = evaluate("T('slow', 'a') - 1.9", Fake(0.1), NAMES)
    assert (little.low, little.value, little.high) == pytest.approx((-0.1, 0.1, 0.3))
    drift = {"slow": 0.2, "quick": 0.2}
    drifting = evaluate("T('slow', 'a') - 1.9 * T('quick', 'a')", Fake(1e-12, drift=drift), NAMES)
    assert drifting.low < 0 < drifting.value < drifting.high


def test_best_names_the_width_that_it_chose():
    source = Fake()
    assert evaluate("T('quick@best', 'a') / T('quick', 'a')", source, NAMES).best == {"quick": {"a": 1}}
    assert not evaluate("T('quick@4', 'a')", source, NAMES).best


def test_stand_in_replaces_only_a_graph_that_was_not_measured():
    names = Names({}, {"a": "s"})
    for source, stand_ins, graph in (
        (Fake(), True, "a"),
        (Fake(unmeasured=("a",)), True, "s"),
        (Fake(unmeasured=("a",)), False, "a"),
    ):
        found = evaluate("T('slow', 'a')", source, names, stand_ins=stand_ins)
        assert (found.used, found.stood_in) == ([graph], {"a": "s"} if graph == "s" else {})
    absent = Fake(0.1, unmeasured=("a",), absent=(("slow", "a"),), drift={"slow": 0.2, "quick": 0.2})
    drifting = evaluate("T('slow', 'a') / T('quick', 'a')", absent, names, stand_ins=True)
    assert drifting.used == ["s"] and drifting.low < drifting.value < drifting.high
    lacking = Fake(unmeasured=("a",), absent=(("slow", "s"),))
    found = evaluate("mean(T('slow', g) for g in ('a', 'b'))", lacking, names, stand_ins=True)
    assert (found.used, found.stood_in, found.missing) == (["b"], {}, ["slow on s: not run"])
    with pytest.raises(Missing, match="s only stands in for a graph"):
        evaluate("T('slow', 's')", Fake(), names)


def test_value_of_all_terms_is_not_one_of_some():
    for name, expected in (("kendall", True), ("pearson", True), ("median", True), ("min", False)):
        assert of_all_terms(f"{name}((T('slow', g), n(g)) for g in G)") is expected


def test_division_by_zero_is_missing_not_infinite():
    for text in ("T('slow', 'a') / (n('a') - 10)", "1 / (T('slow', 'a') - 1.8)"):
        with pytest.raises(Missing, match="zero or undefined"):
            evaluate(text, Fake(0.1), NAMES)
