"""Kernels of Filter-Borůvka, and the policy that sizes their samples, ranges and batches.

The method: sample the weights, select the lightest edges, scatter them into batches of ascending weight, join the
batches one after the other, drop the heaviest edge of each cycle that a batch closes, and select the heavier edges
that still join two trees. The drivers are `mst.algorithms.sequential.filter_boruvka`, for one core, and those of
`mst.algorithms.threads` and `mst.algorithms.mpi`.

============= ================================== ===================================================================
step          `sequential`                       `parallel`, whose workers are threads or the ranks of a host
============= ================================== ===================================================================
sample        `sequential.sample`                `parallel.sample`
select        `sequential.select`, `select_rows` `parallel.select`, from edges in any `parallel.storage`
scatter       `sequential.scatter`               `parallel.scatter`, to records of `parallel.records`
join          `sequential.join`                  `parallel.join`, to the trees of `parallel.trees`
cycle edges   `sequential.join` (undo, repeat)   `parallel.drop_cycle_edges`
============= ================================== ===================================================================

`policy` decides how many edges are light and when another filter pays off; the proof follows the same rules.
"""
