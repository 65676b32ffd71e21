"""Kinds of weights on which the choice of an algorithm for one core depends, recognised by a sample."""

from __future__ import annotations

import numpy as np

from mst.rounding import converted

KINDS = ("random", "wide", "local")
"""Kinds of weights; see `weights_along_rows`."""

_LOOKS, _NEARER = 64, 0.8


def weights_along_rows(weights: np.ndarray) -> str:
    """Return the kind of weights in host memory, by 64 of them and their successors.

    *wide*: keys take 64 bits. *local*: weights are closer to their successors than to others, as if rows and weights
    follow positions, or if nearly all weights are equal; but they neither ascend nor descend. *random*: neither.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.advice.kinds import weights_along_rows
    >>> hills = np.sin(np.arange(9000) / 100)
    >>> [weights_along_rows(w) for w in (hills, (99 * hills).astype(int), np.arange(9000))]
    ['wide', 'local', 'random']
    """
    if len(weights) < 2 * _LOOKS:
        return KINDS[0]
    step = len(weights) // _LOOKS
    some = weights[: _LOOKS * step : step]
    drawn, following = some.tolist(), weights[1 : _LOOKS * step : step].tolist()
    if weights.dtype == np.float64 and converted(some, np.dtype(np.float32))[1].any():
        return "wide"
    if weights.dtype == np.int64 and max(drawn) - min(drawn) >= 2**32:
        return "wide"
    elsewhere = drawn[_LOOKS // 2 :] + drawn[: _LOOKS // 2]
    near = sum(abs(x - y) <= abs(x - z) for x, y, z in zip(drawn, following, elsewhere))
    return "local" if near > _NEARER * _LOOKS and not are_in_order(weights) else "random"


def are_in_order(weights: np.ndarray) -> bool:
    """Return whether weights ascend or descend with the rows: Filter-Borůvka then joins edges one by one.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.advice.kinds import are_in_order
    >>> [are_in_order(np.array(w)) for w in ([1, 4, 4], [9, 4, 1], [9, 4, 5])]
    [True, True, False]
    """
    from mst.kernels.filter_boruvka.sequential.in_order import direction
    from mst.kernels.primitives.keys import lazy_keys

    return direction(lazy_keys(weights)) != 0
