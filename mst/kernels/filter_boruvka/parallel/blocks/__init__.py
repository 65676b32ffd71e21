"""Joins graphs whose ids are local: each worker solves a separate block of vertices by the method for one core.

A *block* is a range of vertices with all edges that have an end there. For a block, all other vertices are one, the
*outside*: an edge that belongs to the forest of the block and the outside belongs to the forest of the graph, since
a lighter path between its ends would be one there, too. A tree of the block is *frozen* once it is joined to the
outside, by an edge that leaves the block: an edge between two frozen trees closes a cycle through the outside, and is
*deferred*, since its ends may not be connected by lighter edges of the whole graph. All other edges are joined by
Kruskal's rule, and workers share no memory. The edges that are deferred or leave their block are joined afterwards.

`division` arranges the edges by block, `joining` joins edges of a block to its forest, and `solving` does so for
all blocks, and then joins the edges that are left.

Within a block, vertices have numbers from `first` on: 0 is the outside, and the root of a frozen tree gets one of the
other numbers below `first`. Roots are linked below smaller numbers, so a root's number shows whether it is frozen.

In the functions, `parent`, uint32, is a union-find over these numbers, and `label`, uint32 of its shape, is by number;
`keys` are `LazyKeys` by edge id, `u` and `v` uint32 of shape (m,); `edges` is an `Edges`, `forest` a `Forest`, `across`
its field, `batch` a `_Batch`, `cut` a `Cut`, `block` a `Block`, `classified` a `Classified`, `parts` a `Parts`, `rest`
a `_Rest`, `whole` a `Whole`, `schedule` a `Schedule`; `size`, int64, is the number of edges of the forest so far,
`held`, int64, that of deferred edges; `codes`, uint64 of shape (k,), are those of
`mst.kernels.filter_boruvka.sequential.select`.
"""
