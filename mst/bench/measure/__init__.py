"""Measuring: fresh pinned processes, their samples, and the conditions on the machine.

The processes of a measurement, each started by the one above it in the tree::

    runner                 one at a time: decides which run gets the next process, enforces limits, writes measurements
      fork server          one per width, pinned to its processors: imports and compiles code needed by nearly all runs
        template           one per run: imports the algorithm, maps the graph, compiles, and then only forks
          sampler          a fresh process per turn: takes the samples, or the phases, or starts a profiler
            mpiexec        only under MPI
              rank         takes the samples in place of the sampler

The runner sends commands down and gets events back (`messages`). Fork servers and templates start no thread, no device
context, no MPI and no BLAS call, so they can safely be forked. Code that does is compiled in a fork of the
template, which leaves the machine code on disk for the samplers.
"""
