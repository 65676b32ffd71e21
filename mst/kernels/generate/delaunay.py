"""Delaunay triangulation by incremental insertion and flips (Lawson 1977), with exact predicates.

The corners of triangle `t` are ``corners[3 t : 3 t + 3]``, in counter-clockwise order. Half-edge ``e = 3 t + i``
leads from vertex ``corners[e]`` to the next corner of its triangle, and ``twins[e]`` is the half-edge in the opposite
direction. A ghost vertex, with number n, forms a triangle with every edge of the convex hull, so that points outside
the hull are inserted like all others. n points give 2n - 2 triangles, including those of the ghost vertex.

In all functions, `x` and `y` are int64 arrays of shape (n,), below 2²⁶; `corners` and `twins` are int32 arrays of shape
(6n - 6,); `p` is the number of a point, `e`, `f` and `g` are half-edges, `new` and `triangle` triangles, all int.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.hashing import hash1, wide_product
from mst.kernels.primitives.jit import njit

_S32 = np.uint64(32)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
# Relative to the sum of magnitudes, the sum of three rounded products of integers of at most 54 bits has an error
# below 5·2⁻⁵³.
_ERROR_BOUND = 6.0e-16


@njit
def insertion_order(n, key):
    """Return a biased randomised insertion order: a random half comes last, half of the rest before that, and so on.

    Parameters
    ----------
    n : int
    key : uint64
        Key of the random stream.

    Returns
    -------
    array of int32, shape (n,)
        Point numbers; those of the same level are in ascending order.
    """
    levels = np.empty(n, np.uint8)
    counts = np.zeros(65, np.int64)
    for i in range(n):
        bits = hash1(key, i)
        level = 0
        while level < 32 and bits & _ONE:
            bits >>= _ONE
            level += 1
        levels[i] = level
        counts[level] += 1
    position = np.zeros(65, np.int64)
    running = 0
    for level in range(64, -1, -1):
        position[level] = running
        running += counts[level]
    order = np.empty(n, np.int32)
    for i in range(n):
        order[position[levels[i]]] = i
        position[levels[i]] += 1
    return order


@njit
def _turn(ax, ay, bx, by, cx, cy):
    """Return a positive int64 if points a, b, c turn left, a negative one if right, 0 if they are collinear; exact."""
    return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)


@njit
def _add_product(high, low, x, y):
    """Add the product of two int64 to the 128-bit integer ``high * 2**64 + low`` (uint64 each).

    Returns
    -------
    high, low : uint64
    """
    product_high, product_low = wide_product(np.uint64(x), np.uint64(y))
    if x < 0:
        product_high -= np.uint64(y)
    if y < 0:
        product_high -= np.uint64(x)
    total = low + product_low
    carry = _ONE if total < low else _ZERO
    return high + product_high + carry, total


@njit
def _is_positive(a, bc, b, ca, c, ab):
    """Return whether ``a * bc + b * ca + c * ab`` (int64 each) is positive, computed with 128 bits."""
    high, low = _add_product(_ZERO, _ZERO, a, bc)
    high, low = _add_product(high, low, b, ca)
    high, low = _add_product(high, low, c, ab)
    return np.int64(high) > 0 or (high == _ZERO and low > _ZERO)


@njit
def _in_circle(a, b, c, p):
    """Return whether p lies strictly inside the circle through a, b, c, in counter-clockwise order; exact.

    All points are tuples ``(x, y)`` of int64.
    """
    ax, ay = a[0] - p[0], a[1] - p[1]
    bx, by = b[0] - p[0], b[1] - p[1]
    cx, cy = c[0] - p[0], c[1] - p[1]
    aa, bb, cc = ax * ax + ay * ay, bx * bx + by * by, cx * cx + cy * cy
    bc, ca, ab = bx * cy - by * cx, cx * ay - cy * ax, ax * by - ay * bx
    x, y, z = float(aa) * float(bc), float(bb) * float(ca), float(cc) * float(ab)
    determinant = x + y + z
    if abs(determinant) > _ERROR_BOUND * (abs(x) + abs(y) + abs(z)):
        return determinant > 0.0
    return _is_positive(aa, bc, bb, ca, cc, ab)


@njit
def _next(e):
    """Return the half-edge after `e` in its triangle."""
    return e - 2 if e % 3 == 2 else e + 1


@njit
def _previous(e):
    """Return the half-edge before `e` in its triangle."""
    return e + 2 if e % 3 == 0 else e - 1


@njit
def _is_outside(x, y, a, b, p):
    """Return whether p lies strictly left of a → b, or on the open segment between these points."""
    turn = _turn(x[a], y[a], x[b], y[b], x[p], y[p])
    if turn != 0:
        return turn > 0
    return (x[p] - x[a]) * (x[p] - x[b]) + (y[p] - y[a]) * (y[p] - y[b]) < 0


@njit
def _in_circumcircle(x, y, a, b, c, p):
    """Return whether p lies inside the circumcircle of triangle a, b, c, which is a half-plane if one is the ghost."""
    ghost = x.size
    if a == ghost:
        return _is_outside(x, y, b, c, p)
    if b == ghost:
        return _is_outside(x, y, c, a, p)
    if c == ghost:
        return _is_outside(x, y, a, b, p)
    return _in_circle((x[a], y[a]), (x[b], y[b]), (x[c], y[c]), (x[p], y[p]))


@njit
def _locate(x, y, corners, twins, triangle, p):
    """Return a triangle that contains p, or a ghost triangle beyond a hull edge that has p on its outer side."""
    ghost = x.size
    for i in range(3):  # start from a real triangle
        if corners[3 * triangle + i] == ghost:
            triangle = twins[_next(3 * triangle + i)] // 3
            break
    entered = -1
    while True:
        moved = False
        for e in range(3 * triangle, 3 * triangle + 3):
            a, b = corners[e], corners[_next(e)]
            if e != entered and _turn(x[a], y[a], x[b], y[b], x[p], y[p]) < 0:
                entered = twins[e]
                triangle = entered // 3
                moved = True
                break
        if not moved:
            return triangle
        if corners[_previous(entered)] == ghost:
            return triangle


@njit
def _link(twins, e, f):
    """Make two half-edges each other's twins."""
    twins[e], twins[f] = f, e


@njit
def _split(corners, twins, triangle, new, p):
    """Split a triangle at its inner point p into three, the new ones at `new` and ``new + 1``."""
    e, f, g = 3 * triangle, 3 * new, 3 * new + 3
    a, b, c = corners[e], corners[e + 1], corners[e + 2]
    bc, ca = twins[e + 1], twins[e + 2]
    # The triangles are (a, b, p), (b, c, p), (c, a, p); the first half-edge of each is that of the old triangle.
    corners[e + 2] = p
    corners[f], corners[f + 1], corners[f + 2] = b, c, p
    corners[g], corners[g + 1], corners[g + 2] = c, a, p
    _link(twins, f, bc)
    _link(twins, g, ca)
    _link(twins, e + 1, f + 2)
    _link(twins, f + 1, g + 2)
    _link(twins, g + 1, e + 2)


@njit
def _flip(corners, twins, e):
    """Replace edge e, which is opposite p, by the other diagonal of its two triangles.

    ``(a, b, p)`` and ``(b, a, d)`` become ``(a, d, p)``, where e leads from a to d, and ``(d, b, p)``.
    """
    g = twins[e]
    after_e, before_e, after_g, before_g = _next(e), _previous(e), _next(g), _previous(g)
    d = corners[before_g]
    p = corners[before_e]
    ad, bp = twins[after_g], twins[after_e]
    corners[after_e] = d
    corners[after_g] = p
    # In the triangle of g, g is now b → p, after_g is p → d, and before_g remains d → b.
    _link(twins, e, ad)
    _link(twins, g, bp)
    _link(twins, after_e, after_g)


@njit
def _repair(x, y, corners, twins, e, p):
    """Flip edges opposite p, beginning with e, until p lies in the circumcircle of no triangle beyond such an edge."""
    first = corners[e]
    while True:
        g = twins[e]
        if _in_circumcircle(x, y, corners[g], corners[_next(g)], corners[_previous(g)], p):
            _flip(corners, twins, e)
            continue
        e = _next(twins[_next(e)])
        if corners[e] == first:
            return


@njit
def first_triangle(x, y, order):
    """Return the position in `order` of the first point not collinear with the first two, or -1 if there is none.

    Parameters
    ----------
    x, y : arrays of int64, shape (n,)
    order : array of int32, shape (n,)

    Returns
    -------
    int
    """
    for position in range(2, order.size):
        a, b, c = order[0], order[1], order[position]
        if _turn(x[a], y[a], x[b], y[b], x[c], y[c]) != 0:
            return position
    return -1


@njit
def triangulate(x, y, order, start):
    """Return the Delaunay triangulation of distinct points.

    Parameters
    ----------
    x, y : arrays of int64, shape (n,)
        Coordinates in ``0 … 2**26 - 1``.
    order : array of int32, shape (n,)
        Order of insertion; it is fast if consecutive points are near each other.
    start : int
        The result of `first_triangle`, which must not be -1.

    Returns
    -------
    array of int32, shape (6n - 6,)
        The corners of all triangles; n stands for the ghost vertex.
    """
    n = x.size
    corners = np.empty(3 * (2 * n - 2), np.int32)
    twins = np.empty(3 * (2 * n - 2), np.int32)
    a, b, c = order[0], order[1], order[start]
    if _turn(x[a], y[a], x[b], y[b], x[c], y[c]) < 0:
        a, b = b, a
    ring = (a, b, c)
    for i in range(3):
        here, there = ring[i], ring[(i + 1) % 3]
        corners[i] = here
        ghost = 3 * (i + 1)
        corners[ghost], corners[ghost + 1], corners[ghost + 2] = there, here, n
        _link(twins, i, ghost)
        # The previous triangle of the ghost, around the hull, shares the edge from `here` to the ghost vertex.
        _link(twins, ghost + 1, 3 * ((i + 2) % 3 + 1) + 2)
    triangles = 4
    triangle = 0
    for position in range(2, n):
        if position == start:
            continue
        p = order[position]
        triangle = _locate(x, y, corners, twins, triangle, p)
        _split(corners, twins, triangle, triangles, p)
        triangles += 2
        _repair(x, y, corners, twins, 3 * triangle, p)
    return corners


@njit
def edges_of(corners, n):
    """Return the edges of a triangulation without those of the ghost vertex.

    Parameters
    ----------
    corners : array of int32, shape (6n - 6,)
        As returned by `triangulate`.
    n : int

    Returns
    -------
    array of uint64, shape (m,)
        Packed pairs.
    """
    count = 0
    for e in range(corners.size):
        count += corners[e] < corners[_next(e)] < n
    pairs = np.empty(count, np.uint64)
    row = 0
    for e in range(corners.size):
        a, b = corners[e], corners[_next(e)]
        if a < b < n:
            pairs[row] = np.uint64(a) << _S32 | np.uint64(b)
            row += 1
    return pairs
