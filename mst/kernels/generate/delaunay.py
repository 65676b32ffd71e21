"""Delaunay triangulation by incremental insertion and flips (Lawson 1977), with exact predicates.

Triangles lie counter-clockwise in `corners`: half-edge ``e = 3 t + i`` of triangle `t` leads from vertex
``corners[e]`` to the next corner, and ``twins[e]`` is the same edge seen from the other side. A ghost vertex,
of number n, closes the outside: every edge of the hull has a triangle with it, so that a point outside is
inserted as any other. Of n points come 2n - 2 triangles, ghosts included.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.hashing import hash1, wide_product
from mst.kernels.primitives.jit import njit

_S32 = np.uint64(32)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
# Products of integers of at most 54 bits, rounded once each and summed twice: the error is below 5·2⁻⁵³ of
# the sum of magnitudes.
_SAFE = 6.0e-16


@njit
def insertion_order(n, key):
    """Point numbers by level: a random half comes last, a random half of the others before it, and so on."""
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
    """Positive when a, b, c turn left, negative when right, zero when collinear; exact."""
    return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)


@njit
def _add_product(high, low, x, y):
    """Add ``x * y`` to the 128-bit integer ``high * 2**64 + low``."""
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
    """True when ``a * bc + b * ca + c * ab`` is positive, in 128 bits."""
    high, low = _add_product(_ZERO, _ZERO, a, bc)
    high, low = _add_product(high, low, b, ca)
    high, low = _add_product(high, low, c, ab)
    return np.int64(high) > 0 or (high == _ZERO and low > _ZERO)


@njit
def _in_circle(ax, ay, bx, by, cx, cy, px, py):
    """True when p lies strictly inside the circle through a, b, c, which are counter-clockwise; exact."""
    ax, ay, bx, by, cx, cy = ax - px, ay - py, bx - px, by - py, cx - px, cy - py
    a, b, c = ax * ax + ay * ay, bx * bx + by * by, cx * cx + cy * cy
    bc, ca, ab = bx * cy - by * cx, cx * ay - cy * ax, ax * by - ay * bx
    x, y, z = float(a) * float(bc), float(b) * float(ca), float(c) * float(ab)
    determinant = x + y + z
    if abs(determinant) > _SAFE * (abs(x) + abs(y) + abs(z)):
        return determinant > 0.0
    return _is_positive(a, bc, b, ca, c, ab)


@njit
def _next(e):
    return e - 2 if e % 3 == 2 else e + 1


@njit
def _previous(e):
    return e + 2 if e % 3 == 0 else e - 1


@njit
def _beyond(x, y, a, b, p):
    """True when p lies strictly left of a → b, or on the open segment between them."""
    turn = _turn(x[a], y[a], x[b], y[b], x[p], y[p])
    if turn != 0:
        return turn > 0
    return (x[p] - x[a]) * (x[p] - x[b]) + (y[p] - y[a]) * (y[p] - y[b]) < 0


@njit
def _conflicts(x, y, a, b, c, p):
    """True when p lies inside the circle of triangle a, b, c; a ghost's circle is the half-plane outside."""
    ghost = x.size
    if a == ghost:
        return _beyond(x, y, b, c, p)
    if b == ghost:
        return _beyond(x, y, c, a, p)
    if c == ghost:
        return _beyond(x, y, a, b, p)
    return _in_circle(x[a], y[a], x[b], y[b], x[c], y[c], x[p], y[p])


@njit
def _locate(x, y, corners, twins, triangle, p):
    """Walk to a triangle that holds p, or to a ghost whose hull edge p lies outside of."""
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
    twins[e], twins[f] = f, e


@njit
def _split(corners, twins, triangle, fresh, p):
    """Put p into a triangle: it becomes three, the new ones at `fresh` and ``fresh + 1``."""
    e, f, g = 3 * triangle, 3 * fresh, 3 * fresh + 3
    a, b, c = corners[e], corners[e + 1], corners[e + 2]
    bc, ca = twins[e + 1], twins[e + 2]
    # (a, b, p), (b, c, p), (c, a, p): the first half-edge of each is the old one.
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
    """Replace edge e, opposite p, by the other diagonal of its two triangles.

    ``(a, b, p)`` and ``(b, a, d)`` become ``(a, d, p)``, where e leads from a to d, and ``(d, b, p)``.
    """
    g = twins[e]
    after_e, before_e, after_g, before_g = _next(e), _previous(e), _next(g), _previous(g)
    d = corners[before_g]
    p = corners[before_e]
    ad, bp = twins[after_g], twins[after_e]
    corners[after_e] = d
    corners[after_g] = p
    # Seen from g's triangle: g is now b → p, after_g is p → d, before_g stays d → b.
    _link(twins, e, ad)
    _link(twins, g, bp)
    _link(twins, after_e, after_g)


@njit
def _repair(x, y, corners, twins, e, p):
    """Flip the edges around p until none conflicts; e is one of them, opposite p."""
    first = corners[e]
    while True:
        g = twins[e]
        if _conflicts(x, y, corners[g], corners[_next(g)], corners[_previous(g)], p):
            _flip(corners, twins, e)
            continue
        e = _next(twins[_next(e)])
        if corners[e] == first:
            return


@njit
def first_triangle(x, y, order):
    """Position in `order` of the first point off the line through the first two, or -1 when there is none."""
    for position in range(2, order.size):
        a, b, c = order[0], order[1], order[position]
        if _turn(x[a], y[a], x[b], y[b], x[c], y[c]) != 0:
            return position
    return -1


@njit
def triangulate(x, y, order, start):
    """Return the `corners` of the Delaunay triangulation of distinct points.

    Parameters
    ----------
    x, y : int64 array, shape (n,)
        Coordinates in ``0 … 2**26 - 1``.
    order : int32 array, shape (n,)
        Order of insertion; near points should follow each other.
    start : int
        What `first_triangle` returned, and not -1.
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
        # The ghost before this one, around the outside, shares the edge from `here` to the ghost vertex.
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
    """Packed pairs of the edges between real vertices, each once."""
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
