"""Every CUDA kernel compiles for every architecture that NVRTC knows, without a GPU."""

from __future__ import annotations

import re

import pytest

from mst.kernels.cuda.loader import FOLDER, options_for, source_text

nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="needs cuda-bindings")

ARCHITECTURES = (75, 80, 86, 89, 90, 100, 103, 120)
# The oldest, the newest, and that of the reference measurements; the assembler takes as long for each of the others.
ALWAYS = (75, 90, 120)
# Every variant that the algorithms ask for; the first of a source is compiled to machine code everywhere.
VARIANTS = {
    "filter_boruvka.cu": [{"KEY_BITS": 32}, {"KEY_BITS": 64}, {"TIMED": 1}, {"ITEMS_PER_THREAD": 4}],
    "edge_keys.cu": [
        {"WEIGHT": weight, "KEY_BITS": bits, "WIDE": wide}
        for weight in range(4)
        for bits, wide in ((32, 0), (32, 1), (64, 0))
    ],
    "ecl_mst.cu": [{"RUNG": rung, "KEY_BITS": bits} for bits in (32, 64) for rung in range(9)]
    + [{"RUNG": 4, "JUMPING": 1}, {"BATCH": 2}]
    + [{"WITHOUT": number, "JUMPING": number % 2} for number in range(1, 7)],
    "edge_boruvka.cu": [
        {"KEY_BITS": 64},
        {"WORKLIST": 0, "COMPRESSION": 1},
        {"BY_VERTEX": 1, "KEY_BITS": 64},
        {"BY_VERTEX": 1, "WORKLIST": 0},
    ],
    "flat_boruvka.cu": [
        {"KEY_BITS": 64},
        {"WAIT_FREE": 1, "COMPRESSION": 1, "BOTH_WAYS": 1},
        {"MERGED": 1, "FLAG": 1, "CONTIGUOUS": 1},
    ],
    "contract_boruvka.cu": [{"KEY_BITS": 32}, {"KEY_BITS": 64}],
    "jucele.cu": [{"KEY_BITS": 32}, {"KEY_BITS": 64}],
    "gunrock.cu": [{"KEY_BITS": 32}, {"KEY_BITS": 64}],
    "mark_edges.cu": [{}],
    "prove_forest.cu": [{"KEY_BITS": 32}, {"KEY_BITS": 64}],
    "boruvka_points.cu": [{}, {"DIMENSIONS": 3, "LISTED": 7}, {"DIMENSIONS": 16, "LISTED": 32, "CORES": 1}],
}


def call(function, *arguments):
    """Call NVRTC; a failure raises with its error."""
    error, *values = function(*arguments)
    assert error == nvrtc.nvrtcResult.NVRTC_SUCCESS, error
    return values[0] if values else None


def compiled(source: str, architecture: str, macros: dict[str, int]) -> int:
    """Compile a source and return the bytes of its code; an error fails the test with the compiler's log."""
    program = call(nvrtc.nvrtcCreateProgram, source_text(source).encode(), source.encode(), 0, [], [])
    options = [option.encode() for option in options_for(architecture, macros)]
    (error,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    # NVRTC writes into this object. One byte alone would be Python's own b" ", which all code shares.
    log = bytes(call(nvrtc.nvrtcGetProgramLogSize, program) + 1)
    call(nvrtc.nvrtcGetProgramLog, program, log)
    assert error == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
    assert "warning" not in log.decode(), log.decode()
    size = nvrtc.nvrtcGetCUBINSize if architecture.startswith("sm") else nvrtc.nvrtcGetPTXSize
    return call(size, program)


@pytest.fixture(scope="module", autouse=True)
def known():
    """Architectures that the installed NVRTC knows; skips where its library is missing."""
    try:
        return set(call(nvrtc.nvrtcGetSupportedArchs))
    except Exception as error:
        pytest.skip(f"NVRTC cannot be loaded: {error}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "architecture", [a if a in ALWAYS else pytest.param(a, marks=pytest.mark.nightly) for a in ARCHITECTURES]
)
@pytest.mark.parametrize("source", VARIANTS)
def test_first_variant_compiles_to_machine_code_for_every_architecture(source, architecture, known):
    if architecture not in known:
        pytest.skip(f"this NVRTC does not know sm_{architecture}")
    assert compiled(source, f"sm_{architecture}", VARIANTS[source][0]) > 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    "source,macros",
    [pytest.param(s, m, id=f"{s}-{m}") for s, variants in VARIANTS.items() for m in variants[1:]],
)
@pytest.mark.parametrize("architecture", [75, 90])
def test_every_variant_compiles(source, macros, architecture):
    assert compiled(source, f"compute_{architecture}", macros) > 1000


def test_both_sides_of_every_condition_on_the_architecture_are_always_compiled():
    sources = "".join(file.read_text() for file in sorted(FOLDER.rglob("*.cu*")))
    bounds = {int(bound) // 10 for bound in re.findall(r"__CUDA_ARCH__ >= (\d+)", sources)}
    assert bounds and sources.count("__CUDA_ARCH__") == len(re.findall(r"__CUDA_ARCH__ >= \d", sources))
    for bound in bounds:
        assert min(ALWAYS) < bound <= max(ALWAYS)
    assert {min(ARCHITECTURES), max(ARCHITECTURES)} <= set(ALWAYS)


def test_broken_kernel_fails_with_the_compilers_log():
    with pytest.raises(AssertionError, match="expected"):
        compiled("ecl_mst.cu", "sm_90", {"RUNG": "0)("})
