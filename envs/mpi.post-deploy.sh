#!/bin/sh
set -eu
python -m pip install --require-hashes --requirement envs/requirements-mpi.txt
