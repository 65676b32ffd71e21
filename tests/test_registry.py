"""Algorithms are found without being imported, options are checked, errors name the place of a mistake."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import mst
from mst import ConfigError, DependencyError, InputError, UnsupportedError, registry
from mst.algorithm_files import Option, read_literal
from mst.execute import _of_module, implementation_of
from mst.facts import Facts
from mst.registry import Algorithm


def literal(more: str = "") -> str:
    """Return the literal of an algorithm, with more keys."""
    return f'ALGORITHM = dict(id="mine", paradigm="sequential", title="Mine"{more})\n'


@pytest.mark.parametrize(
    "text,message",
    [
        ("x = (\n", "mine.py, line 1: .*never closed"),
        ("x = 1\n", "has no ALGORITHM literal: see mst/registry.py, or prefix its name with '_'"),
        ('\nALGORITHM = dict(id="a" + b)\n', r"mine.py, line 2: ALGORITHM must be a literal"),
        ("ALGORITHM = make()\n", r"line 1: ALGORITHM must be a literal: write the value of make\(\)"),
        (literal(", limits=dict(n=10**6)"), r"must be a literal: write the value of 10 \*\* 6"),
        ('ALGORITHM = dict(id="a")\n', "line 1: ALGORITHM lacks paradigm, title"),
        (literal(", titel=3"), r"unknown key 'titel' \(did you mean 'title'\?\)"),
        (literal().replace("sequential", "magic"), "paradigm 'magic' must be one of sequential"),
        (literal(", options=dict(a=3)"), "option 'a' must be a mapping with a default"),
        (literal(", options=dict(a=dict(help='x'))"), "option 'a' must be a mapping with a default"),
        (
            literal(", options=dict(a=dict(default=1, choises=(1, 2)))"),
            r"option 'a': unknown key 'choises' \(did you mean 'choices'\?\)",
        ),
        (literal(", options=dict(a=dict(default=1, choices=1))"), "choices must list the default, 1"),
        (literal(", options=dict(a=dict(default=1, choices=(2,)))"), "choices must list the default"),
        (literal(", options=dict(a=dict(default=None))"), "default must be a number, a string or a bool"),
        (literal(", options=dict(a=dict(default=1, min='0'))"), "min and max must be numbers"),
        (literal(", options=dict(width=dict(default=1))"), "option 'width': use letters, .* none of comm"),
        (literal(", options=3"), "line 1: options must be a mapping, got 3"),
        (literal(', requires=("numba")'), r"requires must be a tuple of names, such as \(\"numba\",\)"),
        (literal(', exact="no"'), "exact must be True or False, got 'no'"),
        (literal(', ties="all"'), "ties 'all' must be one of order, any"),
        (literal(', input="list"'), "input 'list' must be one of edges, csr"),
        (literal(", limits=9"), "limits must be a mapping, got 9"),
        (literal(', limits=dict(n="9")'), "limits must give n or m as whole numbers, got n = '9'"),
        (literal().replace('"mine"', "5"), "id must be a string, got 5"),
        (
            literal().replace("mine", "Mine"),
            "line 1: algorithm name 'Mine': use lower-case letters, digits and dashes",
        ),
    ],
)
def test_wrong_literal_is_refused_with_its_line(add_algorithm, text, message):
    with pytest.raises(ConfigError, match=message):
        read_literal(add_algorithm(text))


def test_an_algorithm_that_is_not_in_utf_8_is_named(add_algorithm):
    file = add_algorithm("")
    file.write_bytes(b"# caf\xe9\n" + literal().encode())
    with pytest.raises(ConfigError, match=r"mine\.py is not text in UTF-8"):
        read_literal(file)


def test_literal_in_braces_is_read(add_algorithm):
    text = """
        ALGORITHM = {"id": "mine", "paradigm": "threads", "title": "M", "options": {"a": dict(default=True)}}
    """
    algorithm = Algorithm.of_file(add_algorithm(text))
    assert algorithm.options["a"] == Option("a", True) and algorithm.exact and algorithm.ties == "order"


def test_two_files_of_one_id_are_refused(add_algorithm):
    add_algorithm(literal().replace("mine", "kruskal"))
    with pytest.raises(ConfigError, match=r"kruskal.py both define 'kruskal'"):
        registry.algorithms()


def test_algorithm_in_a_folder_of_the_environment_is_found_and_runs(add_algorithm):
    add_algorithm(
        literal(", options=dict(add=dict(default=0))")
        + """
def prepare(graph, *, width, add):
    return graph, add

def solve(problem):
    return [0, problem[1]]

def collect(problem, result):
    return result

def skip(facts, *, width, add):
    return f"no {facts.n}, {width}, {add}" if facts.n == 13 else None
"""
    )
    forest = mst.minimum_spanning_forest((3, [0, 1], [1, 2], [5, 7]), algorithm="mine", add=1)
    assert forest.weight == 12 and forest.algorithm == "mine"
    assert registry.get("mine").skip(Facts(13, 1), width=2, options={"add": 4}) == "no 13, 2, 4"
    with pytest.raises(UnsupportedError, match="mine does not take this graph: no 13, 1, 0"):
        mst.minimum_spanning_forest((13, [0], [1], [5]), algorithm="mine")


def test_files_of_one_name_in_two_folders_are_two_modules(add_algorithm, tmp_path, monkeypatch):
    (tmp_path / "more").mkdir()
    add_algorithm(literal(), "same.py")
    add_algorithm(literal().replace("mine", "theirs"), "more/same.py")
    monkeypatch.setenv(registry.EXTRA_FOLDERS, f"{tmp_path}:{tmp_path / 'more'}")
    assert [registry.get(name).load().ALGORITHM["id"] for name in ("mine", "theirs")] == ["mine", "theirs"]


def test_files_with_an_underscore_are_not_listed(add_algorithm):
    add_algorithm("x = 1\n", name="_helper.py")
    assert "mine" not in registry.algorithms()


def test_skip_runs_without_importing_its_module(add_algorithm):
    text = "import a_module_that_is_not_there\n" + literal(', requires=("a_module_that_is_not_there",)')
    add_algorithm(text + "def skip(facts, *, width) -> str | None:\n    return 'never'\n")
    algorithm = registry.get("mine")
    assert algorithm.skip(Facts(1, 1)) == "never"
    assert algorithm.missing() == "needs a_module_that_is_not_there, which is not installed"
    with pytest.raises(DependencyError, match=r"not installed: install what .*mine\.py requires"):
        algorithm.load()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return 'large' if facts.n > MOST else None", r"mine\.py, line 3: skip raised NameError: name 'MOST'"),
        ("return facts.edges", r"mine\.py, line 3: skip raised AttributeError: .*'edges'"),
        ("return True", r"mine\.py: skip must return a reason, as a string, or None, got True"),
    ],
)
def test_a_wrong_skip_is_an_error_of_its_file(add_algorithm, body, message):
    add_algorithm(literal() + f"def skip(facts, *, width):\n    {body}\nMOST = 5\n")
    with pytest.raises(ConfigError, match=message):
        registry.get("mine").skip(Facts(1, 1))


def test_a_skip_without_its_parameters_is_an_error_of_its_file(add_algorithm):
    add_algorithm(literal() + "def skip(facts):\n    return None\n")
    with pytest.raises(ConfigError, match=r"mine\.py, line 2: skip raised TypeError: skip\(\) got"):
        registry.get("mine").skip(Facts(1, 1))
    with pytest.raises(ConfigError, match=r"^mine .*'chunk'"):
        registry.get("mine").skip(Facts(1, 1), options={"chunk": 1})


def test_the_remedy_for_cugraph_is_no_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pylibcugraph", None)
    with pytest.raises(
        DependencyError, match="not installed: install RAPIDS' pylibcugraph for your CUDA version"
    ):
        registry.get("cugraph").refuse_missing()


def test_graph_above_a_limit_is_skipped_without_loading_code(add_algorithm):
    add_algorithm(literal(", limits=dict(m=10)"))
    assert registry.get("mine").skip(Facts(5, 11)) == "m = 11 is above its limit of 10"
    assert registry.get("mine").skip(Facts(5, 10)) is None
    with pytest.raises(UnsupportedError, match="mine does not take this graph: m = 11 is above"):
        mst.minimum_spanning_forest((2, [0] * 11, [1] * 11, [5] * 11), algorithm="mine")


@pytest.mark.parametrize(
    "option,text,value",
    [
        (Option("a", True), "off", False),
        (Option("a", True), "False", False),
        (Option("a", False), "1", True),
        (Option("a", False), True, True),
        (Option("a", 3), "12", 12),
        (Option("a", 3), 12, 12),
        (Option("a", 0.5), "0.25", 0.25),
        (Option("a", 0.5), 1, 1.0),
        (Option("a", "x", ("x", "y")), "y", "y"),
        (Option("a", 2, (1, 2)), "1", 1),
    ],
)
def test_options_are_parsed_from_values_and_text(option, text, value):
    parsed = option.parse(text, "it")
    assert parsed == value and type(parsed) is type(value)


@pytest.mark.parametrize(
    "option,value,message",
    [
        (Option("a", True), "maybe", "it: option a='maybe' must be bool, such as True"),
        (Option("a", 3), "3.5", "option a='3.5' must be int"),
        (Option("a", 3), 3.5, "option a=3.5 must be int"),
        (Option("a", 3), "x", "must be int"),
        (Option("a", 3), float("inf"), "option a=inf must be int"),
        (Option("a", 0.5), 10**400, "must be a finite float"),
        (Option("a", 3), None, "must be int"),
        (Option("a", 0.5), "x", "must be a finite float"),
        (Option("a", 0.5, min=0), "inf", "must be a finite float, such as 0.5"),
        (Option("a", 0.5, min=0.0), float("nan"), "must be a finite float"),
        (Option("a", 0.5, min=0.0), -1.0, "must be at least 0.0"),
        (Option("a", "x", ("x", "y")), "z", "option a='z' must be one of x, y"),
        (Option("a", 3, min=1), 0, "option a=0 must be at least 1"),
        (Option("a", 3, max=4), 5, "option a=5 must be at most 4"),
        (Option("a", 3, min=1, max=4), 5, "must be at least 1 and at most 4"),
    ],
)
def test_illegal_option_is_refused_by_name(option, value, message):
    with pytest.raises(ConfigError, match=message):
        option.parse(value, "it")


def test_an_algorithm_without_one_of_its_functions_says_which():
    with pytest.raises(ConfigError, match="mine defines no function 'collect'"):
        _of_module("mine", type("Mine", (), {"prepare": None, "solve": None}))


def test_an_algorithm_that_forgets_to_return_its_edges_is_no_program_of_totals(add_algorithm):
    functions = ("prepare(graph, *, width)", "solve(problem)", "collect(problem, result)")
    add_algorithm(
        literal().replace("mine", "forgetful") + "".join(f"def {function}: pass\n" for function in functions)
    )
    with pytest.raises(ConfigError, match="forgetful: collect returned None: it must return the forest's"):
        mst.minimum_spanning_forest((3, [0, 1], [1, 2], [5, 7]), algorithm="forgetful")


def test_unknown_option_or_algorithm_is_refused_with_the_nearest_known():
    with pytest.raises(
        ConfigError, match=r"kruskal has no option 'srot' \(did you mean 'sort'\?\); it has: sort"
    ):
        registry.get("kruskal").resolve({"srot": "radix"})
    with pytest.raises(ConfigError, match=r"no algorithm 'kruscal' \(did you mean 'kruskal'\?\); `mst list`"):
        registry.get("kruscal")
    with pytest.raises(ConfigError, match="'kruskal'"):
        mst.minimum_spanning_forest((0, [], [], []), algorithm="Kruskal")
    with pytest.raises(
        ConfigError, match="no algorithm 'command-mine': a program of the configuration is measured"
    ):
        registry.get("command-mine")
    with pytest.raises(ConfigError, match="no algorithm None; `mst list` shows them all"):
        mst.minimum_spanning_forest((0, [], [], []), algorithm=None)
    with pytest.raises(ConfigError, match=r"has no option 'memory'.*; n and memory are for batches of edges"):
        mst.minimum_spanning_forest((0, [], [], []), memory="2G")
    with pytest.raises(ConfigError, match=r'algorithm="auto" accepts only .* has no option \'weight\''):
        mst.minimum_spanning_forest((0, [], [], []), weight="length")
    for misspelt, meant in (("thread", "threads"), ("nthreads", "threads"), ("max", "maximum")):
        for algorithm in ("auto", "kruskal"):
            with pytest.raises(ConfigError, match=rf"no option '{misspelt}'.*\(did you mean '{meant}'\?\)$"):
                mst.minimum_spanning_forest((0, [], [], []), algorithm=algorithm, **{misspelt: 1})


@pytest.mark.parametrize("value", ["a/b", "a,b=c"])
def test_an_option_that_cannot_name_a_folder_is_refused(add_algorithm, value):
    algorithm = Algorithm.of_file(add_algorithm(literal(", options=dict(mode=dict(default='a'))")))
    with pytest.raises(ConfigError, match=f"mode={value}"):
        algorithm.options_slug({"mode": value})


@pytest.mark.parametrize("name", registry.algorithms())
def test_slug_parses_to_the_options_that_it_was_made_of(name):
    algorithm = registry.get(name)
    assert algorithm.options_slug() == "default" and algorithm.parse_slug("default") == algorithm.resolve()
    for option in algorithm.options.values():
        values = option.choices or ((not option.default,) if isinstance(option.default, bool) else ())
        for value in values:
            options = {option.name: value}
            assert algorithm.parse_slug(algorithm.options_slug(options)) == algorithm.resolve(options)


@pytest.mark.parametrize("name", registry.algorithms())
def test_every_literal_keeps_the_contract(name):
    algorithm = registry.get(name)
    assert name == name.lower() and " " not in name and algorithm.title
    assert algorithm.input in ("edges", "csr") and algorithm.ties in ("order", "any")
    assert algorithm.paradigm == "peer" or algorithm.ties == "order" or not algorithm.exact
    assert set(algorithm.limits) <= {"n", "m"}
    assert algorithm.exact or "epsilon" in algorithm.options
    assert len(algorithm.source_fingerprint()) == 12
    for option in algorithm.options.values():
        assert option.help, f"{option.name} has no help"
        assert option.parse(option.default, name) == option.default
        assert option.parse(str(option.default), name) == option.default
    if algorithm.missing() is None and algorithm.paradigm in ("sequential", "threads", "peer"):
        implementation_of(algorithm)


def test_algorithms_come_in_the_order_of_paradigms_and_ids():
    keys = [(registry.PARADIGMS.index(a.paradigm), a.id) for a in registry.algorithms().values()]
    assert keys == sorted(keys)


def test_peer_fingerprint_covers_its_version(monkeypatch):
    before = registry.get("scipy").source_fingerprint()
    monkeypatch.setattr(registry, "_version", lambda package: "0.0")
    assert registry.get("scipy").source_fingerprint() != before


def test_missing_folder_of_algorithms_is_refused_by_name(add_algorithm, monkeypatch, tmp_path):
    monkeypatch.setenv(registry.EXTRA_FOLDERS, str(tmp_path / "nowhere"))
    registry.algorithms.cache_clear()
    with pytest.raises(ConfigError, match=r"nowhere is not a folder: \$MST_ALGORITHMS"):
        registry.algorithms()


def test_sequential_algorithms_refuse_several_threads():
    for name in ("kruskal", "scipy"):
        with pytest.raises(UnsupportedError, match=f"{name} runs on one thread, not on 2"):
            mst.minimum_spanning_forest((2, [0], [1], [1]), algorithm=name, threads=2)
    with pytest.raises(UnsupportedError, match="usable cores"):
        mst.minimum_spanning_forest((2, [0], [1], [1]), algorithm="filter-boruvka-threads", threads=9999)
    with pytest.raises(InputError, match="threads must be at least 1, got 0"):
        mst.minimum_spanning_forest((2, [0], [1], [1]), algorithm="kruskal", threads=0)


@pytest.mark.parametrize("algorithm", ["auto", "kruskal", "filter-boruvka-threads"])
def test_fractional_thread_count_is_refused(algorithm):
    for threads in ("2", 1.5):
        with pytest.raises(InputError, match=f"threads must be a whole number, got {threads!r}"):
            mst.minimum_spanning_forest((2, [0], [1], [1]), algorithm=algorithm, threads=threads)
    assert mst.minimum_spanning_forest((2, [0], [1], [1]), algorithm=algorithm, threads=np.int64(1)).weight == 1


def test_arrays_on_a_device_with_threads_are_refused():
    on_device = SimpleNamespace(__cuda_array_interface__={})
    with pytest.raises(UnsupportedError, match="arrays on a device are solved on that device, not on 2"):
        mst.minimum_spanning_forest((2, on_device, on_device, on_device), threads=2)
    with pytest.raises(InputError, match="threads must be at least 1, got -1"):
        mst.minimum_spanning_forest((2, on_device, on_device, on_device), threads=-1)


@pytest.mark.parametrize("algorithm", ["auto", "kruskal", "filter-boruvka"])
@pytest.mark.parametrize("exponent", [46, 57])
def test_lack_of_memory_raises_out_of_memory_error(algorithm, exponent):
    with pytest.raises(
        mst.OutOfMemoryError, match=f"not enough memory for a forest of <Graph n={2**exponent:,} m=1 "
    ):
        mst.minimum_spanning_forest((2**exponent, [0], [1], [1]), algorithm=algorithm)
