#!/bin/sh
set -eu
# Snakemake runs this in the working directory; the workflow says where its files are.
cd "${MST_CHECKOUT:-.}"
python -m pip install --require-hashes --requirement envs/requirements-mpi.txt
