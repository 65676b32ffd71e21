#!/bin/sh
set -eu
python -m pip install --require-hashes --requirement envs/requirements.txt --requirement envs/requirements-cuda12.txt
