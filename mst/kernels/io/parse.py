"""Numbers and rows of numbers from bytes: one pass, exact, no allocation per row.

Every function expects that the byte at the end of what it reads is a line feed, so that scanning a number never
leaves the buffer. Decimal fractions are rounded correctly: by one exact floating-point operation where that is
enough (Clinger, "How to read floating point numbers accurately", 1990), else by one 64 × 128-bit product
(Lemire, "Number parsing at a gigabyte per second", 2021, section 5); what neither settles (more than 19 digits,
subnormal and overflowing values) is left to the caller as a span of bytes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mst.kernels.primitives.jit import njit

# What `rows` and `numbers` stopped at.
END, FLOAT, WORD, ID_WORD, WEIGHT_WORD, ID_RANGE, TOO_LARGE, NAN, SHORT, LONG, FULL = range(11)

# Where `numbers` stands in a line.
LINE_START, AFTER_NUMBER, AFTER_DELIMITER, IN_COMMENT = range(4)

MISSING = np.iinfo(np.int64).min

# The part that a column plays.
SKIP, U, V, W = range(4)

# What `number` found.
_INTEGER, _REAL, _HARD, _LARGE, _NAN, _NONE = range(6)

_LOWEST_POWER, _HIGHEST_POWER = -342, 308
_POWERS_OF_TEN = 10.0 ** np.arange(23)


def _powers_of_five() -> tuple[np.ndarray, np.ndarray]:
    """High and low halves of 5^q as 128-bit significands, truncated (rounded up below q = 0)."""
    high, low = [], []
    for q in range(_LOWEST_POWER, _HIGHEST_POWER + 1):
        if q >= 0:
            power = 5**q
            shift = power.bit_length() - 128
            significand = power >> shift if shift > 0 else power << -shift
        else:
            power = 5**-q
            bits = power.bit_length()
            significand = (1 << (bits + 127)) // power + 1
            significand >>= max(significand.bit_length() - 128, 0)
        high.append(significand >> 64)
        low.append(significand & (2**64 - 1))
    return np.array(high, np.uint64), np.array(low, np.uint64)


_FIVES_HIGH, _FIVES_LOW = _powers_of_five()


@njit
def _product(a, b):
    """The 128-bit product of two uint64, as (high, low)."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a_low, a_high = a & mask, a >> half
    b_low, b_high = b & mask, b >> half
    low = a_low * b_low
    middle = a_high * b_low + (low >> half)
    cross = a_low * b_high + (middle & mask)
    high = a_high * b_high + (middle >> half) + (cross >> half)
    return high, (cross << half) | (low & mask)


@njit
def _leading_zeros(x):
    count = 0
    for width in (32, 16, 8, 4, 2, 1):
        if x >> np.uint64(64 - width) == 0:
            x <<= np.uint64(width)
            count += width
    return count


@njit
def decimal(digits, power):
    """Return ``(settled, digits · 10^power)``, correctly rounded to float64 where settled.

    Parameters
    ----------
    digits : uint64
    power : int64
    """
    if digits == 0:
        return True, 0.0
    if digits <= np.uint64(1 << 53) and -22 <= power <= 22:
        value = np.float64(digits)
        return True, value * _POWERS_OF_TEN[power] if power >= 0 else value / _POWERS_OF_TEN[-power]
    if power < _LOWEST_POWER or power > _HIGHEST_POWER:
        return False, 0.0
    zeros = _leading_zeros(digits)
    normal = digits << np.uint64(zeros)
    at = power - _LOWEST_POWER
    high, low = _product(normal, _FIVES_HIGH[at])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        extra, _ = _product(normal, _FIVES_LOW[at])
        low += extra
        if low < extra:
            high += np.uint64(1)
        if low == np.uint64(0xFFFFFFFFFFFFFFFF):
            return False, 0.0
    top = high >> np.uint64(63)
    shift = top + np.uint64(9)
    significand = high >> shift
    exponent = ((217706 * power) >> 16) + 63 + np.int64(top) - zeros
    # Subnormal results lose bits, overflowing ones become infinite; both are rare enough for the caller.
    if exponent <= -1022 or exponent >= 1023:
        return False, 0.0
    # Half-way cases are possible only for powers that fit the significand; truncation hides them.
    if (
        low <= np.uint64(1)
        and -4 <= power <= 23
        and significand & np.uint64(3) == np.uint64(1)
        and (significand << shift == high)
    ):
        significand &= ~np.uint64(1)
    significand = (significand + (significand & np.uint64(1))) >> np.uint64(1)
    return True, math.ldexp(np.float64(significand), exponent - 52)


@njit
def _is_word(buffer, i, word):
    """True when `word` (lower case) stands at `i`, in either case."""
    for letter in word:
        if buffer[i] | 0x20 != letter:
            return False
        i += 1
    return True


_INF = np.frombuffer(b"inf", np.uint8)
_INFINITY = np.frombuffer(b"infinity", np.uint8)
_NAN_WORD = np.frombuffer(b"nan", np.uint8)


@njit
def _special(buffer, i, negative):
    """Infinity and NaN, written out."""
    if _is_word(buffer, i, _NAN_WORD):
        return _NAN, i + 3, 0, 0.0
    if _is_word(buffer, i, _INFINITY):
        return _REAL, i + 8, 0, -math.inf if negative else math.inf
    if _is_word(buffer, i, _INF):
        return _REAL, i + 3, 0, -math.inf if negative else math.inf
    return _NONE, i, 0, 0.0


@njit
def number(buffer, i):
    """Read a decimal number at `i`.

    Returns
    -------
    kind, end, integer, real
        `end` is the index after the number. An integer has both values; `_HARD` is well-formed but
        left to the caller; `_LARGE` is an integer outside int64.
    """
    negative = buffer[i] == 45  # -
    if negative or buffer[i] == 43:  # +
        i += 1
    first = i
    digits = np.uint64(0)
    digit = np.uint8(buffer[i] - 48)
    while digit < 10:
        digits = digits * np.uint64(10) + np.uint64(digit)
        i += 1
        digit = np.uint8(buffer[i] - 48)
    count = i - first
    follower = buffer[i]
    if count and follower != 46 and follower | 0x20 != 101:  # . e
        largest = np.uint64(0x7FFFFFFFFFFFFFFF) + np.uint64(negative)
        if count > 18 and (digits > largest or _significant(buffer, first, i) > 19):
            return _LARGE, i, 0, 0.0
        integer = np.int64(~digits + np.uint64(1)) if negative else np.int64(digits)
        return _INTEGER, i, integer, np.float64(integer)
    power = 0
    if follower == 46:
        i += 1
        digit = np.uint8(buffer[i] - 48)
        start = i
        while digit < 10:
            digits = digits * np.uint64(10) + np.uint64(digit)
            i += 1
            digit = np.uint8(buffer[i] - 48)
        power = start - i
        count -= power
        follower = buffer[i]
    if count == 0:
        if i == first:
            return _special(buffer, i, negative)
        return _NONE, first, 0, 0.0
    last = i
    if follower | 0x20 == 101:
        i += 1
        below = buffer[i] == 45
        if below or buffer[i] == 43:
            i += 1
        start = i
        exponent = 0
        digit = np.uint8(buffer[i] - 48)
        while digit < 10:
            exponent = min(exponent * 10 + np.int64(digit), 99999)
            i += 1
            digit = np.uint8(buffer[i] - 48)
        if i == start:
            return _NONE, first, 0, 0.0
        power += -exponent if below else exponent
    if count > 19 and _significant(buffer, first, last) > 19:
        return _HARD, i, 0, 0.0
    settled, value = decimal(digits, power)
    if not settled:
        return _HARD, i, 0, 0.0
    return _REAL, i, 0, -value if negative else value


@njit
def _significant(buffer, i, end):
    """Digits from the first that is not zero on."""
    while i < end and (buffer[i] == 48 or buffer[i] == 46):
        i += 1
    count = 0
    while i < end:
        if buffer[i] != 46:
            count += 1
        i += 1
    return count


@njit
def _blank(byte):
    return byte == 32 or byte == 9 or byte == 13


class Line(NamedTuple):
    """What a line of fixed columns looks like.

    Attributes
    ----------
    comments : array of bool, shape (256,)
        Whether a line that begins with this byte is passed over, as blank lines are.
    tag : int
        The byte that every row begins with, or 0.
    columns : array of uint8
        The part of each column: `SKIP`, `U`, `V` or `W`.
    more : bool
        Whether more text may follow the last column.
    delimiter : int
        The byte between columns, with or without blanks around it; 0 for blanks alone.
    low, high : int
        Legal range of `u` and `v`.
    """

    comments: np.ndarray
    tag: int
    columns: np.ndarray
    more: bool
    delimiter: int
    low: int
    high: int


class Columns(NamedTuple):
    """Where rows go: arrays that are long enough for every row.

    Attributes
    ----------
    u, v : arrays of int64
    w : array of int64 or float64
    integers : bool
        Whether `w` holds integers: the first fraction then stops with `FLOAT`.
    hard : array of int64, shape (any, 3)
        Receives (row, start, end) of the weights that are left to the caller.
    """

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray
    integers: bool
    hard: np.ndarray


class Stop(NamedTuple):
    """Why and at which byte `rows` stopped, where that line begins, and the rows, lines and hard weights before."""

    status: int
    at: int
    begin: int
    rows: int
    lines: int
    hards: int


@njit
def _ends(byte, delimiter):
    """True for what may follow a column: a blank, a line feed or the delimiter, where there is one."""
    return _blank(byte) or byte == 10 or (delimiter != 0 and byte == delimiter)


@njit
def _weight_fault(kind, integers):
    """Return what is wrong with a weight, or `END`."""
    if kind == _INTEGER:
        return END
    if kind == _NONE:
        return WEIGHT_WORD
    if kind == _LARGE:
        return TOO_LARGE
    if kind == _NAN:
        return NAN
    return FLOAT if integers else END


@njit
def _id_fault(kind, integer, low, high):
    """Return what is wrong with a vertex id, or `END`."""
    if kind != _INTEGER:
        return ID_RANGE if kind == _LARGE else ID_WORD
    return END if low <= integer <= high else ID_RANGE


@njit
def rows(buffer, start, stop, line, to):
    """Read whole lines of fixed columns until their end or the first line that does not fit.

    Parameters
    ----------
    buffer : array of uint8
        ``buffer[stop - 1]`` is a line feed.
    line : Line
    to : Columns

    Returns
    -------
    Stop
    """
    # Arrays are taken out of their tuples once, as each time counts a reference; and scans are written out: in
    # functions that take the buffer, even inlined ones, they make reading slower by a fifth and more.
    comments, tag, columns, more, delimiter, low, high = line
    u, v, w, integers, hard = to
    i = start
    row = lines = hards = 0
    while i < stop:
        begin = i
        while _blank(buffer[i]):
            i += 1
        first = buffer[i]
        if first == 10:
            i += 1
            lines += 1
            continue
        if comments[first]:
            while buffer[i] != 10:
                i += 1
            i += 1
            lines += 1
            continue
        if tag:
            if first != tag or not _blank(buffer[i + 1]):
                return Stop(WORD, i, begin, row, lines, hards)
            i += 1
        for c in range(columns.size):
            while _blank(buffer[i]):
                i += 1
            if delimiter and c:
                if buffer[i] == 10:
                    return Stop(SHORT, i, begin, row, lines, hards)
                i += 1
                while _blank(buffer[i]):
                    i += 1
            at = i
            if buffer[i] == 10:
                return Stop(SHORT, i, begin, row, lines, hards)
            column = columns[c]
            if column == SKIP:
                while not _ends(buffer[i], delimiter):
                    i += 1
            else:
                kind, i, integer, real = number(buffer, i)
                if not _ends(buffer[i], delimiter):
                    kind = _NONE
                fault = _weight_fault(kind, integers) if column == W else _id_fault(kind, integer, low, high)
                if fault != END:
                    return Stop(fault, at, begin, row, lines, hards)
                if column == U:
                    u[row] = integer
                elif column == V:
                    v[row] = integer
                elif kind == _INTEGER:
                    w[row] = integer
                elif kind == _HARD:
                    hard[hards, 0], hard[hards, 1], hard[hards, 2] = row, at, i
                    hards += 1
                else:
                    w[row] = real
            if delimiter:
                while _blank(buffer[i]):
                    i += 1
                if c + 1 < columns.size and buffer[i] != delimiter and buffer[i] != 10:
                    return Stop(LONG, i, begin, row, lines, hards)
        if more:
            while buffer[i] != 10:
                i += 1
        else:
            while _blank(buffer[i]):
                i += 1
            if buffer[i] != 10:
                return Stop(LONG, i, begin, row, lines, hards)
        i += 1
        row += 1
        lines += 1
    return Stop(END, i, i, row, lines, hards)


@njit
def numbers(buffer, start, stop, comment, delimiter, place, integers, out, ends, hard):
    """Read numbers one after the other, whatever the lines, and say where lines end.

    Lines may be longer than the buffer: ``place`` says where in a line the last call stopped.

    Parameters
    ----------
    buffer : array of uint8
        ``buffer[stop - 1]`` is a blank, a line feed or a delimiter.
    comment, delimiter : int
        The byte that comment lines begin with, and the one between numbers; 0 for none and for blanks. Between
        delimiters, nothing and a lone ``-`` are a missing number (`MISSING`, or NaN among floats).
    place : int
        `LINE_START`, `AFTER_NUMBER`, `AFTER_DELIMITER` or `IN_COMMENT`.
    integers : bool
        Whether `out` holds integers: the first fraction then stops with `FLOAT`.
    out : array of int64 or float64
        It stops with `FULL` at the end of this.
    ends : array of int64, shape (any, 2)
        Receives, for each line that ends and is no comment, the numbers and the line feeds up to there.
    hard : array of int64, shape (any, 3)
        Receives (position in `out`, start, end) of the numbers that are left to the caller.

    Returns
    -------
    status, at, place, count, lines, feeds, hards
        `lines` is the length of `ends` in use, `feeds` the number of line feeds passed.
    """
    i = start
    count = lines = feeds = hards = 0
    while i < stop:
        byte = buffer[i]
        if byte == 10:
            if place == AFTER_DELIMITER:
                if count == out.size:
                    return FULL, i, place, count, lines, feeds, hards
                out[count] = MISSING if integers else math.nan
                count += 1
            feeds += 1
            if place != IN_COMMENT:
                ends[lines, 0], ends[lines, 1] = count, feeds
                lines += 1
            place = LINE_START
            i += 1
        elif place == IN_COMMENT or _blank(byte):
            i += 1
        elif place == LINE_START and comment and byte == comment:
            place = IN_COMMENT
        elif count == out.size:
            return FULL, i, place, count, lines, feeds, hards
        elif delimiter and byte == delimiter:
            if place != AFTER_NUMBER:
                out[count] = MISSING if integers else math.nan
                count += 1
            place = AFTER_DELIMITER
            i += 1
        elif delimiter and place == AFTER_NUMBER:
            return LONG, i, place, count, lines, feeds, hards
        else:
            kind, end, integer, real = number(buffer, i)
            follower = buffer[end]
            if kind == _NONE and delimiter and byte == 45:
                end = i + 1
                follower = buffer[end]
                kind, integer, real = _INTEGER, MISSING, math.nan
            elif delimiter and kind == _INTEGER and integer == MISSING:
                kind = _LARGE
            ended = _blank(follower) or follower == 10 or (delimiter and follower == delimiter)
            if kind == _NONE or not ended:
                return WORD, i, place, count, lines, feeds, hards
            if kind == _LARGE:
                return TOO_LARGE, i, place, count, lines, feeds, hards
            if kind == _NAN:
                return NAN, i, place, count, lines, feeds, hards
            if integers:
                if kind != _INTEGER:
                    return FLOAT, i, place, count, lines, feeds, hards
                out[count] = integer
            elif kind == _HARD:
                hard[hards, 0], hard[hards, 1], hard[hards, 2] = count, i, end
                hards += 1
            else:
                out[count] = real
            count += 1
            place = AFTER_NUMBER
            i = end
    return END, i, place, count, lines, feeds, hards
