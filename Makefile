# Targets for a fresh clone. `make help` lists them.
PYTHON ?= .venv/bin/python
INSTALL ?= 1
CORES ?= $(shell nproc)
BASE_PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

ifeq ($(INSTALL),1)
SETUP = .venv/.ready
SETUP_DEV = .venv/.ready-dev
endif

.DEFAULT_GOAL := help
.PHONY: help install test test-ci test-all nightly test-cluster lint docs report lock audit schemas clean

help:  ## this list
	@awk -F':.*## ' '/^[a-z%-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/bin/python:
	@test -n "$(BASE_PYTHON)" || { echo "no Python >= 3.11 found; name one with BASE_PYTHON=/path/to/python3" >&2; exit 2; }
	$(BASE_PYTHON) -m venv .venv

# Byte code is written at the end, on all cores: pip writes it on one. That of installers and mypy is hardly ever read.
# Without -W, pip 23 announces that it will build one of the packages in another way.
PIP = .venv/bin/python -W ignore -m pip install --quiet --disable-pip-version-check
define packages
@echo "installing $$(grep -c == $<) packages into .venv, once: NumPy, Numba, SciPy, Snakemake, MPICH and others"
$(PIP) --no-compile --require-hashes -r $<
$(PIP) --no-deps --no-build-isolation -e .
.venv/bin/python -m compileall -q -j 0 -x '/(tests|pip|setuptools|pkg_resources|mypyc?)/' .venv/lib
endef

.venv/.ready: envs/requirements.txt pyproject.toml | .venv/bin/python
	$(packages)
	@touch $@

# These requirements include the others.
.venv/.ready-dev: envs/requirements-dev.txt pyproject.toml | .venv/bin/python
	$(packages)
	@touch .venv/.ready $@

install: $(SETUP)  ## a local .venv from the hash-locked requirements

# Tests and experiments start hundreds of processes, which compile every module again where no byte code may be written.
export PYTHONDONTWRITEBYTECODE =

# Distribute whole files, in the order of tests/conftest.py; without pytest-xdist one worker runs all tests.
PYTEST = $(PYTHON) -m pytest $$($(PYTHON) -c 'import xdist' 2>/dev/null && echo --dist loadfile --no-loadscope-reorder -n $(WORKERS))
WORKERS = 2
# One of them mostly waits for SLURM.
test-ci test-all: WORKERS = 3
test: $(SETUP_DEV)  ## all but the slowest tests (PYTHON=… INSTALL=0 uses an existing environment; TESTS=… selects tests)
	$(if $(TESTS),$(PYTHON) -m pytest $(TESTS),$(PYTEST) --hypothesis-profile quick -m 'not slow and not cluster and not nightly')

test-ci: $(SETUP_DEV)  ## the tests that CI runs: those of make test, and the quicker ones on SLURM (as root)
	$(PYTEST) --hypothesis-profile quick -m 'not slow and not nightly'

test-all: $(SETUP_DEV)  ## the whole test suite: races at length, SLURM (as root), trials of the workflow, all browser widths
	$(PYTEST)

# MST_NIGHTLY=0.01 runs a hundredth of it.
nightly: $(SETUP_DEV)  ## longer repetitions of tests, then hours of attacks on parsers, proofs and solvers (TESTS=… selects some, MST_NIGHTLY=… a share)
	$(PYTHON) -m pytest -m nightly $(TESTS)

test-cluster: $(SETUP_DEV)  ## only the tests of the workflow on a real SLURM of two nodes (as root)
	$(PYTHON) -m pytest tests/cluster

lint: $(SETUP_DEV)  ## ruff, snakefmt, types, imports
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m snakefmt --check Snakefile workflow
	$(PYTHON) -m mypy
	$(PYTHON) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'

docs: $(SETUP_DEV)  ## the site of docs/ and the reference, in results/docs; warnings and broken links are errors
	$(PYTHON) -m mkdocs build --strict
	@echo "site: $(CURDIR)/results/docs/index.html (its search needs a server: python -m http.server -d results/docs)"

# Measures an experiment of config/benchmarks graph by graph and prints its table; that folder also holds the proof as an algorithm.
# LIMIT='--within 60' starts no graph after a minute, ARGS='--part memory' prints another table.
bench-%: $(SETUP)  ## measure config/benchmarks: sequential, threads, mpi or cuda; existing results are only printed
	MST_ALGORITHMS=config/benchmarks $(PYTHON) -m mst measure --configfile config/benchmarks/$*.yaml $(LIMIT)
	MST_ALGORITHMS=config/benchmarks $(PYTHON) -m mst table --configfile config/benchmarks/$*.yaml $(ARGS)

report: $(SETUP)  ## the default experiment; prints the path of the report
	$(PYTHON) -m mst experiment --cores $(CORES) -- $(ARGS)

paper-%: $(SETUP)  ## one paper's experiment, such as make paper-durbhakula
	$(PYTHON) -m mst experiment --cores $(CORES) -- papers/$* $(ARGS)

# Needs uv; resolves the requirements again and exports names, versions and hashes.
EXPORT = uv export --quiet --frozen --no-emit-project --no-header --no-annotate --format requirements-txt
lock:  ## resolve the requirements (needs uv; UPGRADE=1 takes newer versions)
	uv lock $(if $(UPGRADE),--upgrade)
	$(EXPORT) --extra workflow --extra mpi --extra peers --no-default-groups --group build -o envs/requirements.txt
	$(EXPORT) --extra workflow --extra mpi --extra peers --extra peers-gpl --group build --group dev --group docs -o envs/requirements-dev.txt
	$(EXPORT) --extra peers-gpl --no-default-groups -o envs/requirements-peers-gpl.txt
	$(EXPORT) --extra cuda12 --no-default-groups -o envs/requirements-cuda12.txt
	$(EXPORT) --extra cuda13 --no-default-groups -o envs/requirements-cuda13.txt
	$(EXPORT) --extra workflow --extra mpi --extra peers --no-default-groups --group build --no-emit-package mpich -o envs/requirements-mpi.txt
	! grep -n '://' envs/*.txt
	$(BASE_PYTHON) envs/stamp.py
	$(PYTHON) envs/sbom.py

audit:  ## known vulnerabilities of what is installed by default; skipped with a reason where no index can be reached
	$(PYTHON) envs/audit.py

schemas: $(SETUP_DEV)  ## write workflow/schemas from the typed models
	$(PYTHON) workflow/schemas/generate.py

images/rulegraph.svg: workflow/Snakefile workflow/rules/*.smk  # needs graphviz; a clone has the picture
	$(PYTHON) -m snakemake --directory .test --rulegraph | dot -Tsvg | sed -e '/^<!--/d;/^ *-->/d' > $@

clean:  ## remove the environment and all results except records
	rm -rf .venv .snakemake .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find results -mindepth 1 -maxdepth 1 ! -name README.md ! -name reference ! -name records -exec rm -rf {} +
