"""HDBSCAN from a tree of points, with the labels of scikit-learn's `HDBSCAN`.

Campello, Moulavi and Sander ("Density-based clustering based on hierarchical density estimates", 2013) cut the
single-linkage hierarchy of mutual reachability. The tree is `mst.from_points`, the hierarchy `Forest.linkage`; the rest
is below. Merges at equal heights, which mutual reachability makes, have no natural order: scikit-learn takes the order
in which it sorts its edges, and a point that joins two clusters at one height may be in the other one there.

    python examples/clustering.py
"""

from __future__ import annotations

import numpy as np

import mst


def hdbscan(X: np.ndarray, min_cluster_size: int = 5, min_samples: int | None = None) -> np.ndarray:
    """Return the cluster of each point, -1 for noise; clusters are numbered in the order of their first points.

    Parameters
    ----------
    X : array_like, shape (n, dimensions)
        At least two points.
    min_cluster_size : int
        Points that a part needs to be a cluster.
    min_samples : int, optional
        As for `mst.from_points`; `min_cluster_size` by default.

    Examples
    --------
    >>> X = [[0], [1], [2.5], [50], [51], [53], [99], [100], [102]]
    >>> hdbscan(X, min_cluster_size=3, min_samples=2).tolist()
    [0, 0, 0, 1, 1, 1, 2, 2, 2]
    """
    return cut(mst.from_points(X, min_samples=min_samples or min_cluster_size).linkage(), min_cluster_size)


def cut(linkage: np.ndarray, min_cluster_size: int) -> np.ndarray:
    """Return the most stable clusters of a single-linkage hierarchy in SciPy's format, as `hdbscan` does."""
    cluster_of, parent, stability = _condense(linkage, min_cluster_size)
    label = _label(parent, _stablest(parent, stability))
    labels = np.array([label[cluster] for cluster in cluster_of])
    clusters, first = np.unique(labels[labels >= 0], return_index=True)
    names = np.full(len(parent) + 1, -1)  # the last name is that of noise
    names[clusters[np.argsort(first)]] = np.arange(len(clusters))
    return names[labels]


def _condense(linkage: np.ndarray, smallest: int) -> tuple[list[int], list[int], list[float]]:
    """Return the last cluster of each point, and the parent and the stability of each cluster; cluster 0 is all points.

    A part that splits into two of at least `smallest` points makes two clusters; smaller parts fall out of theirs.
    """
    n = len(linkage) + 1
    size = [1] * n + linkage[:, 3].astype(int).tolist()
    cluster_of, fallen = [0] * len(size), [False] * len(size)
    parent, birth, stability = [-1], [0.0], [0.0]
    for row in range(n - 2, -1, -1):
        node, (left, right), height = n + row, linkage[row, :2].astype(int).tolist(), linkage[row, 2]
        cluster, density = cluster_of[node], 1 / height
        splits = not fallen[node] and min(size[left], size[right]) >= smallest
        for child in (left, right):
            cluster_of[child], fallen[child] = cluster, fallen[node] or size[child] < smallest
            if splits or (fallen[child] and not fallen[node]):
                stability[cluster] += size[child] * (density - birth[cluster])
            if splits:
                cluster_of[child] = len(parent)
                parent.append(cluster)
                birth.append(density)
                stability.append(0.0)
    return cluster_of[:n], parent, stability


def _stablest(parent: list[int], stability: list[float]) -> list[bool]:
    """Return which clusters are chosen: more stable than the best choice of clusters inside; never all points."""
    inside = [0.0] * len(parent)
    chosen = [False] * len(parent)
    for cluster in range(len(parent) - 1, 0, -1):
        chosen[cluster] = stability[cluster] >= inside[cluster]
        inside[parent[cluster]] += max(stability[cluster], inside[cluster])
    return chosen


def _label(parent: list[int], chosen: list[bool]) -> list[int]:
    """Return the outermost chosen cluster around each cluster, or -1."""
    label = [-1] * len(parent)
    for cluster in range(1, len(parent)):
        around = label[parent[cluster]]
        label[cluster] = around if around >= 0 else cluster if chosen[cluster] else -1
    return label


def main() -> None:
    """Cluster two rings, two blobs and noise."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 800)
    rings = np.stack((np.cos(angle), np.sin(angle)), 1) * np.repeat([1, 3], 400)[:, None]
    blobs = np.repeat([[6.0, 0.0], [6.0, 4.0]], 300, axis=0)
    X = np.concatenate((rings, blobs)) + rng.normal(0, 0.15, (1400, 2))
    X = np.concatenate((X, rng.uniform(-5, 9, (150, 2))))
    labels = hdbscan(X, min_cluster_size=25)
    print(f"{labels.max() + 1} clusters of {np.bincount(labels[labels >= 0]).tolist()} points")
    print(f"{(labels < 0).sum()} points of noise")


if __name__ == "__main__":
    main()
