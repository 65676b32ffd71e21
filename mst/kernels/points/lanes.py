"""Operations on the `LEAF` points of a block at once, one point in each lane of a vector.

They are the inner loops of this package, written with LLVM's vectors: LLVM would unroll loops of so few steps to scalar
code before vectorising them. Squares are summed in the order of the dimensions. `blocks`, `boxes` and `points` are
fields of a `mst.kernels.points.kd_tree.KdTree`. Blocks, places and nodes are int64, and so are sets of lanes, one bit
for each lane. Distances are squared, and float64.
"""

from __future__ import annotations

from contextlib import contextmanager

import numba  # noqa: F401
from llvmlite import ir
from numba.core import cgutils, types

from mst.kernels.primitives.jit import intrinsic

LEAF = 32
ROW = 16
"""The most neighbours in a row that `insert` can handle."""
_I32, _I64, _DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()
_FLOATS, _INTS = ir.VectorType(_DOUBLE, LEAF), ir.VectorType(_I32, LEAF)


@intrinsic
def point_distances(typing_context, blocks, block, place, distances):
    """Write the distances between the points of a block and the point at `place` to `distances`, float64 (LEAF,)."""

    def generate(context, builder, signature, arguments):
        blocks_value, block, place, distances_value = arguments
        coordinates = context.make_array(blocks)(context, builder, blocks_value)
        size = builder.extract_value(coordinates.shape, 1)
        own_block, lane = builder.lshr(place, _I64(LEAF.bit_length() - 1)), builder.and_(place, _I64(LEAF - 1))
        total = cgutils.alloca_once_value(builder, ir.Constant(_FLOATS, [0.0] * LEAF))
        with cgutils.for_range(builder, size) as loop:
            x = _item(context, builder, blocks, coordinates, own_block, loop.index, lane)
            points = _vector(context, builder, blocks, coordinates, block, loop.index, _I64(0))
            _add_square(builder, total, builder.fsub(points, _spread(builder, builder.load(x), _FLOATS)))
        _write(context, builder, distances, distances_value, builder.load(total))
        return context.get_dummy_value()

    return types.void(blocks, types.int64, types.int64, distances), generate


@intrinsic
def box_distances(typing_context, blocks, block, boxes, node, distances):
    """Write a lower bound on the distance between each point of a block and all points of a node to `distances`.

    `distances` is float64 (LEAF,).
    """

    def generate(context, builder, signature, arguments):
        blocks_value, block, boxes_value, node, distances_value = arguments
        coordinates = context.make_array(blocks)(context, builder, blocks_value)
        corners = context.make_array(boxes)(context, builder, boxes_value)
        size = builder.extract_value(coordinates.shape, 1)
        zero = ir.Constant(_FLOATS, [0.0] * LEAF)
        total = cgutils.alloca_once_value(builder, zero)
        with cgutils.for_range(builder, size) as loop:
            points = _vector(context, builder, blocks, coordinates, block, loop.index, _I64(0))
            low, high = (
                builder.load(_item(context, builder, boxes, corners, node, _I64(side), loop.index))
                for side in (0, 1)
            )
            below = builder.fsub(_spread(builder, low, _FLOATS), points)
            above = builder.fsub(points, _spread(builder, high, _FLOATS))
            apart = _choose(builder, ">", _choose(builder, ">", below, above), zero)
            _add_square(builder, total, apart)
        _write(context, builder, distances, distances_value, builder.load(total))
        return context.get_dummy_value()

    return types.void(blocks, types.int64, boxes, types.int64, distances), generate


@intrinsic
def node_distance(typing_context, boxes, a, b):
    """Return a lower bound on the distances between the points of node `a` and the points of node `b`."""

    def generate(context, builder, signature, arguments):
        boxes_value, *nodes = arguments
        corners = context.make_array(boxes)(context, builder, boxes_value)
        total = cgutils.alloca_once_value(builder, _DOUBLE(0.0))
        with cgutils.for_range(builder, builder.extract_value(corners.shape, 2)) as loop:
            (low, high), (other_low, other_high) = (
                [
                    builder.load(_item(context, builder, boxes, corners, node, _I64(side), loop.index))
                    for side in (0, 1)
                ]
                for node in nodes
            )
            apart = _choose(builder, ">", builder.fsub(other_low, high), builder.fsub(low, other_high))
            _add_square(builder, total, _choose(builder, ">", apart, _DOUBLE(0.0)))
        return builder.load(total)

    return types.float64(boxes, types.int64, types.int64), generate


@intrinsic
def lanes_within(typing_context, distances, limits):
    """Return the set of lanes whose distance is at most their limit.

    `distances` is float64 (LEAF,), and so is `limits`, unless it is one float64 for all lanes.
    """

    def generate(context, builder, signature, arguments):
        given = _read(context, builder, distances, arguments[0])
        if isinstance(limits, types.Array):
            limit = _read(context, builder, limits, arguments[1])
        else:
            limit = _spread(builder, arguments[1], _FLOATS)
        bits = builder.bitcast(builder.fcmp_ordered("<=", given, limit), ir.IntType(LEAF))
        return builder.zext(bits, _I64)

    return types.int64(distances, limits), generate


@intrinsic
def lanes_of_bounds(typing_context, numbers, start, limit):
    """Return the set of lanes `j` whose ``numbers[start + j]`` is at most `limit`; `numbers` is a float64 array."""

    def generate(context, builder, signature, arguments):
        numbers_value, start, limit = arguments
        array = context.make_array(numbers)(context, builder, numbers_value)
        given = _vector(context, builder, numbers, array, start)
        bits = builder.fcmp_ordered("<=", given, _spread(builder, limit, _FLOATS))
        return builder.zext(builder.bitcast(bits, ir.IntType(LEAF)), _I64)

    return types.int64(numbers, types.int64, types.float64), generate


@intrinsic
def keep_apart(typing_context, bounds, of, start, component, cores, core):
    """Turn lower bounds on the distance from each lane to another end into lower bounds on the weight of that edge.

    Each of `bounds`, float64 (LEAF,), is raised to the core distances of both ends, or to infinity if both ends are in
    one component. `cores`, float64 (LEAF,), are the core distances of the lanes, and ``of[start + j]``, int32, is the
    component of lane `j`; `core` and `component` are those of the other end.
    """

    def generate(context, builder, signature, arguments):
        bounds_value, of_value, start, component, cores_value, core = arguments
        same = _in_component(context, builder, of, of_value, start, component)
        given = _read(context, builder, bounds, bounds_value)
        given = _choose(builder, ">", given, _read(context, builder, cores, cores_value))
        given = _choose(builder, ">", given, _spread(builder, core, _FLOATS))
        given = builder.select(same, ir.Constant(_FLOATS, [float("inf")] * LEAF), given)
        _write(context, builder, bounds, bounds_value, given)
        return context.get_dummy_value()

    return types.void(bounds, of, types.int64, types.int32, cores, types.float64), generate


@intrinsic
def raise_to(typing_context, numbers, bounds, start, bound, raised):
    """Write ``max(numbers[j], bounds[start + j], bound)`` to ``raised[j]`` for each lane `j`; all are float64."""

    def generate(context, builder, signature, arguments):
        numbers_value, bounds_value, start, bound, raised_value = arguments
        given = _read(context, builder, numbers, numbers_value)
        array = context.make_array(bounds)(context, builder, bounds_value)
        given = _choose(builder, ">", given, _vector(context, builder, bounds, array, start))
        given = _choose(builder, ">", given, _spread(builder, bound, _FLOATS))
        _write(context, builder, raised, raised_value, given)
        return context.get_dummy_value()

    return types.void(numbers, bounds, types.int64, types.float64, raised), generate


@intrinsic
def lower_beyond(typing_context, numbers, bounds, limits):
    """Lower ``numbers[j]`` to ``bounds[j]`` in each lane `j` whose bound is above its limit; return the other lanes.

    All three arrays are float64 (LEAF,).
    """

    def generate(context, builder, signature, arguments):
        given, bound, limit = (
            _read(context, builder, kind, value) for kind, value in zip(signature.args, arguments)
        )
        beyond = builder.fcmp_ordered(">", bound, limit)
        lower = builder.select(beyond, _choose(builder, "<", bound, given), given)
        _write(context, builder, numbers, arguments[0], lower)
        return builder.zext(builder.bitcast(builder.not_(beyond), ir.IntType(LEAF)), _I64)

    return types.int64(numbers, bounds, limits), generate


@intrinsic
def exclude(typing_context, distances, of, start, own):
    """Set ``distances[j]``, float64, to infinity in each lane `j` whose component, ``of[start + j]``, is `own`."""

    def generate(context, builder, signature, arguments):
        distances_value, of_value, start, own = arguments
        same = _in_component(context, builder, of, of_value, start, own)
        infinite = ir.Constant(_FLOATS, [float("inf")] * LEAF)
        given = _read(context, builder, distances, distances_value)
        _write(context, builder, distances, distances_value, builder.select(same, infinite, given))
        return context.get_dummy_value()

    return types.void(distances, of, types.int64, types.int32), generate


@intrinsic
def least(typing_context, numbers):
    """Return the smallest of `numbers`, float64 (LEAF,)."""
    return types.float64(numbers), _reduction(numbers, "<")


@intrinsic
def greatest(typing_context, numbers):
    """Return the largest of `numbers`, float64 (LEAF,)."""
    return types.float64(numbers), _reduction(numbers, ">")


@intrinsic
def rank(typing_context, numbers, ranks, size):
    """Write the rank of each number, from 0, to `ranks`; return the set of lanes with the `size` smallest numbers.

    `numbers` is float64 (LEAF,) and `ranks` int32 (LEAF,). The set is empty if two numbers may be equal. Numbers are
    compared as float32, in half as many instructions: rounding two of them keeps their order or makes them equal.
    """

    def generate(context, builder, signature, arguments):
        floats = ir.VectorType(ir.FloatType(), LEAF)
        given = builder.fptrunc(_read(context, builder, numbers, arguments[0]), floats)
        counts = _ranks(builder, given, builder.fcmp_ordered)
        _write(context, builder, ranks, arguments[1], counts)
        total = _halved(builder, counts, builder.add)
        size = _spread(builder, builder.trunc(arguments[2], _I32), _INTS)
        lanes = builder.bitcast(builder.icmp_signed("<", counts, size), ir.IntType(LEAF))
        distinct = builder.icmp_signed("==", total, _I32(LEAF * (LEAF - 1) // 2))
        return builder.select(distinct, builder.zext(lanes, _I64), _I64(0))

    return types.int64(numbers, ranks, types.int64), generate


@intrinsic
def order_points(typing_context, points, start, order):
    """Write the rank of each of the points ``points[start : start + LEAF]`` to `order`; all are int32, ranks from 0."""

    def generate(context, builder, signature, arguments):
        points_value, start, order_value = arguments
        given = _ints(context, builder, points, points_value, start)
        _write(context, builder, order, order_value, _ranks(builder, given, builder.icmp_signed))
        return context.get_dummy_value()

    return types.void(points, types.int64, order), generate


@intrinsic
def rank_ties(typing_context, numbers, order, ranks, size):
    """Write ranks by (number, point) to `ranks`; return the set of the first `size` lanes, without infinite numbers.

    `numbers` is float64, `ranks` int32 and `order`, int32, from `order_points`; all have the shape (LEAF,). If the bits
    of all numbers, minus those of the smallest, leave room for the order of the points, both are compared as one word,
    in half as many instructions.
    """

    def generate(context, builder, signature, arguments):
        longs, low = ir.VectorType(_I64, LEAF), _I64(LEAF.bit_length() - 1)
        given = _read(context, builder, numbers, arguments[0])
        points = _ints(context, builder, order, arguments[1], _I64(0))
        finite = builder.fcmp_ordered("<", given, ir.Constant(_FLOATS, [float("inf")] * LEAF))
        bits = builder.bitcast(given, longs)
        first = _halved(builder, bits, lambda a, b: builder.select(builder.icmp_signed("<", a, b), a, b))
        bits = builder.sub(bits, _spread(builder, first, longs))
        none = ir.Constant(longs, [0] * LEAF)
        used = _halved(builder, builder.select(finite, bits, none), builder.or_)
        fits = builder.icmp_unsigned("==", builder.lshr(used, builder.sub(_I64(64), low)), _I64(0))
        counts = cgutils.alloca_once(builder, _INTS)
        with builder.if_else(fits) as (short, long):
            with short:
                keys = builder.shl(bits, _spread(builder, low, longs))
                keys = builder.or_(keys, builder.zext(points, longs))
                keys = builder.select(finite, keys, ir.Constant(longs, [-1] * LEAF))
                builder.store(_ranks(builder, keys, builder.icmp_unsigned), counts)
            with long:
                total = ir.Constant(_INTS, [0] * LEAF)
                for lane in range(LEAF):
                    lanes = ir.Constant(_INTS, [lane] * LEAF)
                    one, point = (builder.shuffle_vector(vector, vector, lanes) for vector in (given, points))
                    earlier = builder.icmp_signed("<", point, points)
                    before = builder.and_(builder.fcmp_ordered("<=", one, given), earlier)
                    before = builder.or_(builder.fcmp_ordered("<", one, given), before)
                    total = builder.sub(total, builder.sext(before, total.type))
                builder.store(total, counts)
        _write(context, builder, ranks, arguments[2], builder.load(counts))
        size = _spread(builder, builder.trunc(arguments[3], _I32), _INTS)
        lanes = builder.and_(builder.icmp_signed("<", builder.load(counts), size), finite)
        return builder.zext(builder.bitcast(lanes, ir.IntType(LEAF)), _I64)

    return types.int64(numbers, order, ranks, types.int64), generate


@intrinsic
def insert(typing_context, lanes, near, block, points, distances, places, row):
    """Insert lanes of a block into a row of neighbours, sorted by (distance, point); return the row's largest distance.

    `near`, float64 (LEAF,), holds the distances of the lanes, which are finite. The rows of `distances`, float64, and
    `places`, int32, have at most `ROW` items; `ROW` items are read, even beyond the last row. `points`, int32, has the
    point at each place.
    """

    def generate(context, builder, signature, arguments):
        lanes, near_value, block, points_value, distances_value, places_value, row = arguments
        numbers = context.make_array(near)(context, builder, near_value)
        names = context.make_array(points)(context, builder, points_value)
        columns = [
            (kind, context.make_array(kind)(context, builder, value), ir.VectorType(item, ROW))
            for kind, value, item in ((distances, distances_value, _DOUBLE), (places, places_value, _I32))
        ]
        size = builder.extract_value(columns[0][1].shape, 1)
        ints = columns[1][2]
        inside = builder.icmp_signed(
            "<", ir.Constant(ints, list(range(ROW))), _spread(builder, builder.trunc(size, _I32), ints)
        )
        states = []
        for kind, array, vector in columns:
            address = builder.bitcast(_item(context, builder, kind, array, row, _I64(0)), vector.as_pointer())
            given = builder.load(address, align=4)
            # Nothing is inserted before minus infinity, so lanes beyond the row never move.
            outside = ir.Constant(vector, [float("-inf") if vector.element == _DOUBLE else 0] * ROW)
            states.append(cgutils.alloca_once_value(builder, builder.select(inside, given, outside)))
        # The points of the row are looked up only if two distances are equal.
        states.append(cgutils.alloca_once_value(builder, ir.Constant(ints, [0] * ROW)))
        known = cgutils.alloca_once_value(builder, ir.IntType(1)(0))
        items = [
            builder.bitcast(state, kind.as_pointer()) for state, kind in zip(states, (_DOUBLE, _I32, _I32))
        ]
        left = cgutils.alloca_once_value(builder, lanes)
        later = cgutils.alloca_once(builder, ir.IntType(ROW))
        ties = cgutils.alloca_once(builder, ir.IntType(ROW))
        first = builder.mul(block, _I64(LEAF))
        with _while_set(builder, left) as lane:
            distance = builder.load(_item(context, builder, near, numbers, lane))
            place = builder.add(first, lane)
            given = builder.load(states[0])
            spread = _spread(builder, distance, given.type)
            bits = ir.IntType(ROW)
            builder.store(builder.bitcast(builder.fcmp_ordered(">", given, spread), bits), later)
            builder.store(builder.bitcast(builder.fcmp_ordered("==", given, spread), bits), ties)
            with builder.if_then(builder.icmp_unsigned("!=", builder.load(ties), bits(0))):
                with builder.if_then(builder.not_(builder.load(known))):
                    builder.store(known.type.pointee(1), known)
                    with cgutils.for_range(builder, size) as loop:
                        other = builder.load(builder.gep(items[1], [loop.index]))
                        other = builder.select(builder.icmp_signed("<", other, _I32(0)), _I32(0), other)
                        other = _item(context, builder, points, names, builder.sext(other, _I64))
                        builder.store(builder.load(other), builder.gep(items[2], [loop.index]))
                own = _spread(builder, builder.load(_item(context, builder, points, names, place)), ints)
                after = builder.icmp_signed(">", builder.load(states[2]), own)
                after = builder.and_(builder.load(ties), builder.bitcast(after, bits))
                builder.store(builder.or_(builder.load(later), after), later)
            moved = builder.load(later)
            masks = [
                builder.bitcast(mask, ir.VectorType(ir.IntType(1), ROW))
                for mask in (moved, builder.shl(moved, bits(1)))
            ]
            name = builder.load(_item(context, builder, points, names, place))
            for state, new in zip(states, (distance, builder.trunc(place, _I32), name)):
                old = builder.load(state)
                order = ir.Constant(ints, [0, *range(ROW - 1)])
                shifted = builder.shuffle_vector(old, old, order)
                shifted = builder.select(masks[1], shifted, _spread(builder, new, old.type))
                builder.store(builder.select(masks[0], shifted, old), state)
        for (kind, array, _), own in zip(columns, items):
            with cgutils.for_range(builder, size) as loop:
                item = builder.load(builder.gep(own, [loop.index]))
                builder.store(item, _item(context, builder, kind, array, row, loop.index))
        return builder.load(builder.gep(items[0], [builder.sub(size, _I64(1))]))

    return types.float64(types.int64, near, types.int64, points, distances, places, types.int64), generate


@intrinsic
def first_lane(typing_context, lanes):
    """Return the first lane of a set that is not empty."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.int64), generate


def _in_component(context, builder, of_type, of_value, start, component):
    """Return a vector that says for each lane `j` whether ``of[start + j]``, int32, equals `component`."""
    components = _ints(context, builder, of_type, of_value, start)
    return builder.icmp_signed("==", components, _spread(builder, component, _INTS))


def _ints(context, builder, array_type, value, start):
    """Return `LEAF` items of an int32 array, from `start` on, as a vector."""
    array = context.make_array(array_type)(context, builder, value)
    address = _item(context, builder, array_type, array, start)
    return builder.load(builder.bitcast(address, _INTS.as_pointer()), align=4)


@contextmanager
def _while_set(builder, bits):
    """Loop over the set bits of the integer at an address, in ascending order; yield the number of each."""
    blocks = [builder.append_basic_block(f"bits.{name}") for name in ("test", "body", "end")]
    builder.branch(blocks[0])
    builder.position_at_end(blocks[0])
    given = builder.load(bits)
    builder.cbranch(builder.icmp_unsigned("!=", given, given.type(0)), blocks[1], blocks[2])
    builder.position_at_end(blocks[1])
    builder.store(builder.and_(given, builder.sub(given, given.type(1))), bits)
    yield builder.cttz(given, ir.IntType(1)(1))
    builder.branch(blocks[0])
    builder.position_at_end(blocks[2])


def _ranks(builder, given, compare):
    """Return for each lane of a vector how many other lanes are less, by the comparison that `compare` builds."""
    counts = ir.Constant(_INTS, [0] * LEAF)
    for lane in range(LEAF):
        one = builder.shuffle_vector(given, given, ir.Constant(_INTS, [lane] * LEAF))
        counts = builder.sub(counts, builder.sext(compare("<", one, given), counts.type))
    return counts


def _reduction(numbers, order):
    """Return a generator of code for the smallest (`order` is ``<``) or largest (``>``) number of all lanes."""

    def generate(context, builder, signature, arguments):
        given = _read(context, builder, numbers, arguments[0])
        return _halved(builder, given, lambda a, b: _choose(builder, order, a, b))

    return generate


def _halved(builder, vector, join):
    """Return one value for all lanes of a vector, whose halves are combined by `join` until one lane is left."""
    lanes = LEAF
    while lanes > 1:
        lanes //= 2
        parts = (list(range(start, start + lanes)) for start in (0, lanes))
        vector = join(
            *(
                builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(_I32, lanes), part))
                for part in parts
            )
        )
    return builder.extract_element(vector, _I32(0))


def _item(context, builder, array_type, array, *indices):
    """Return the address of an item; indices are not checked, as everywhere in these kernels."""
    return cgutils.get_item_pointer(context, builder, array_type, array, list(indices), wraparound=False)


def _vector(context, builder, array_type, array, *indices):
    """Return `LEAF` items of a float64 array, from the given one on, as a vector."""
    address = _item(context, builder, array_type, array, *indices)
    return builder.load(builder.bitcast(address, _FLOATS.as_pointer()), align=8)


def _read(context, builder, array_type, value):
    array = context.make_array(array_type)(context, builder, value)
    return builder.load(builder.bitcast(array.data, _FLOATS.as_pointer()), align=8)


def _write(context, builder, array_type, value, vector):
    array = context.make_array(array_type)(context, builder, value)
    builder.store(vector, builder.bitcast(array.data, vector.type.as_pointer()), align=8)


def _spread(builder, number, kind):
    """Return a vector with a number in all lanes."""
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), number, _I32(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_I32, kind.count), [0] * kind.count))


def _choose(builder, order, a, b):
    """Return the smaller (`order` is ``<``) or the larger (``>``) of `a` and `b` in each lane."""
    return builder.select(builder.fcmp_ordered(order, a, b), a, b)


def _add_square(builder, total, number):
    builder.store(builder.fadd(builder.load(total), builder.fmul(number, number)), total)
