"""Joins graphs whose ids are local: each worker solves a separate block of vertices by the method for one core.

`mst.algorithms.threads.filter_boruvka_threads` calls this in place of the first rounds. A *block* is a range of
vertices with all edges that have an end there. A block treats all other vertices as one vertex, the *outside*: an edge
of the resulting forest belongs to the forest of the graph, since any lighter path between its ends in the graph would
also connect them in the block. A tree of the block is *frozen* once an edge that leaves the block joins it to the
outside. An edge between two frozen trees closes a cycle through the outside, but lighter edges of the whole graph may
not connect its ends, so it is *deferred*. All other edges are joined by Kruskal's rule, and workers share no memory.
The edges that are deferred or leave their block are joined afterwards.

`division` arranges the edges by block, `joining` joins edges of a block to the block's forest, and `solving` does so
for all blocks and then joins the edges that are left.

Within a block, vertices are numbered from `first` on. Number 0 is the outside, and each tree that is frozen gets a new
root, one of the numbers ``1 … first - 1``. Roots are linked below smaller numbers, so a root below `first` is frozen.

In the functions, `parent`, uint32, is a union-find over these numbers, and `label`, uint32 of the same shape, holds the
tree of each number; `keys` are `LazyKeys` by edge id, `u` and `v` uint32 of shape (m,); `edges` is an `Edges`, `forest`
a `Forest`, `across` a field of `Forest`, `batch` a `_Batch`, `cut` a `Cut`, `block` a `Block`, `classified` a
`Classified`, `parts` a `Parts`, `rest` a `_Rest`, `whole` a `Whole`, `schedule` a `Schedule`; `size`, int64, is the
number of edges in the forest so far, and `held`, int64, the number of deferred edges; `codes`, uint64 of shape (k,),
are those of `mst.kernels.filter_boruvka.sequential.select`.
"""
