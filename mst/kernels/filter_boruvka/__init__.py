"""Kernels of Filter-Borůvka, and the policy that decides what they are given.

The method: sample the weights, select the lightest edges, scatter them into batches of ascending weight, join the
batches one after the other, drop the cycle edges of a batch that closed any, and of all heavier edges select those that
still join two trees.

============= ================================== ===================================================================
step          `sequential`                       `parallel`, whose workers are threads or the ranks of a host
============= ================================== ===================================================================
sample        `sequential.sample`                `parallel.sample`
select        `sequential.select`, `select_rows` `parallel.select`, from edges as `parallel.storage` has them
scatter       `sequential.scatter`               `parallel.scatter`, to records of `parallel.records`
join          `sequential.join`                  `parallel.join`, to the trees of `parallel.trees`
cycle edges   `sequential.join` (undo, repeat)   `parallel.drop_cycle_edges`
============= ================================== ===================================================================

`policy` says how many edges are light and when another filter pays. It is the same for all, and for the proof.
"""
