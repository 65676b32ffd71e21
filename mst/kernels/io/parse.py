"""Parses numbers and rows of numbers from bytes, for text formats: in one pass, exactly, without allocating per row.

In all functions, `buffer` is uint8 of shape (size,), and indices into it, such as `i`, are int. The last byte of the
input must be one that cannot continue a number, so that scanning a number never leaves the buffer. `parse_rows` and
`parse_numbers` return plain tuples, because an interruption would crash numba while it builds a named one.

Decimal fractions are rounded correctly: by one exact floating-point operation if that is enough (Clinger, "How to read
floating point numbers accurately", 1990), else by one 64 × 128-bit product (Lemire, "Number parsing at a gigabyte per
second", 2021, section 5). The few numbers that neither method decides (more than 19 digits, subnormal and overflowing
values) are left to the caller as spans of bytes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mst.kernels.primitives.jit import njit

# Reasons why `parse_rows` and `parse_numbers` stop. A line may be too short or too long for its columns, the output
# full, and an integer inexact as a float.
END, FLOAT, WORD, ID_WORD, WEIGHT_WORD, ID_RANGE, TOO_LARGE, NAN, SHORT, LONG, FULL, INEXACT = range(12)

# Position of `parse_numbers` within a line.
LINE_START, AFTER_NUMBER, AFTER_DELIMITER, IN_COMMENT = range(4)

MISSING = np.iinfo(np.int64).min
"""The integer that stands for a missing number."""

# Meaning of a column.
SKIP, U, V, W = range(4)

# Kinds of result of `parse_number`.
_INTEGER, _REAL, _DEFERRED, _LARGE, _NAN, _NONE = range(6)

_LOWEST_POWER, _HIGHEST_POWER = -342, 308
_POWERS_OF_TEN = 10.0 ** np.arange(23)


def _powers_of_five() -> tuple[np.ndarray, np.ndarray]:
    """Return the significands of 5^q, 128 bits each, truncated for q ≥ 0 and rounded up for q < 0.

    Returns
    -------
    high, low : arrays of uint64, shape (_HIGHEST_POWER - _LOWEST_POWER + 1,)
        Upper and lower halves, for q from `_LOWEST_POWER` to `_HIGHEST_POWER`.
    """
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
    """Return the 128-bit product of two uint64 as ``(high, low)``, both uint64."""
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
    """Return the number of leading zero bits of a nonzero uint64."""
    count = 0
    for width in (32, 16, 8, 4, 2, 1):
        if x >> np.uint64(64 - width) == 0:
            x <<= np.uint64(width)
            count += width
    return count


@njit
def round_decimal(digits, power):
    """Round ``digits · 10^power`` to the nearest float64, ties to even.

    Parameters
    ----------
    digits : uint64
    power : int64

    Returns
    -------
    decided : bool
        False if neither method determines the nearest float64.
    value : float64
        The result, or 0.0 if it is undecided.
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
    # Subnormal results lose bits, overflowing ones become infinite; both are rare enough to be left to the caller.
    if exponent <= -1022 or exponent >= 1023:
        return False, 0.0
    # Only for these powers can the product lie half-way between two floats: such ties round to even.
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
    """Return whether `buffer` spells `word`, uint8 in lower case, from index `i` on, ignoring case."""
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
    """Parse infinity or NaN at `i`, after a sign, a minus if `negative`; return the same as `parse_number`."""
    if _is_word(buffer, i, _NAN_WORD):
        return _NAN, i + 3, 0, 0.0
    if _is_word(buffer, i, _INFINITY):
        return _REAL, i + 8, 0, -math.inf if negative else math.inf
    if _is_word(buffer, i, _INF):
        return _REAL, i + 3, 0, -math.inf if negative else math.inf
    return _NONE, i, 0, 0.0


@njit
def parse_number(buffer, i):
    """Parse the decimal number that begins at `buffer[i]`, including infinity and NaN.

    Parameters
    ----------
    buffer : array of uint8, shape (size,)
    i : int

    Returns
    -------
    kind : int
        `_INTEGER`; `_REAL`, which includes infinities; `_DEFERRED` for a well-formed number that is left to the caller;
        `_LARGE` for an integer outside int64; `_NAN`; `_NONE` if there is no number.
    end : int
        The index after the number.
    integer : int64
        Valid for `_INTEGER`.
    real : float64
        Valid for `_INTEGER` and `_REAL`.
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
    power: Any = 0
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
        negative_power = buffer[i] == 45
        if negative_power or buffer[i] == 43:
            i += 1
        start = i
        exponent: Any = 0
        digit = np.uint8(buffer[i] - 48)
        while digit < 10:
            exponent = min(exponent * 10 + np.int64(digit), 99999)
            i += 1
            digit = np.uint8(buffer[i] - 48)
        if i == start:
            return _NONE, first, 0, 0.0
        power += -exponent if negative_power else exponent
    if count > 19 and _significant(buffer, first, last) > 19:
        return _DEFERRED, i, 0, 0.0
    decided, value = round_decimal(digits, power)
    if not decided:
        return _DEFERRED, i, 0, 0.0
    return _REAL, i, 0, -value if negative else value


@njit
def _significant(buffer, i, end):
    """Return the number of digits in ``buffer[i:end]`` after leading zeros; a decimal point may lie among them."""
    while i < end and (buffer[i] == 48 or buffer[i] == 46):
        i += 1
    count = 0
    while i < end:
        if buffer[i] != 46:
            count += 1
        i += 1
    return count


@njit
def _is_blank(byte):
    """Return whether a byte is a space, a tab or a carriage return."""
    return byte == 32 or byte == 9 or byte == 13


class RowSyntax(NamedTuple):
    """The syntax of rows of fixed columns.

    Attributes
    ----------
    comments : array of bool, shape (256,)
        Whether a line that begins with this byte is skipped; blank lines always are.
    tag : int
        The byte that every row begins with, or 0.
    columns : array of uint8, shape (columns,)
        The meaning of each column: `SKIP`, `U`, `V` or `W`.
    extra_columns : bool
        Whether more text may follow the last column.
    delimiter : int
        The byte between columns, with or without blanks around it; 0 if only blanks separate columns.
    low, high : int
        The smallest and the largest valid `u` and `v`.
    """

    comments: np.ndarray
    tag: int
    columns: np.ndarray
    extra_columns: bool
    delimiter: int
    low: int
    high: int


class RowArrays(NamedTuple):
    """Output arrays of `parse_rows`, long enough for every row of the input.

    Attributes
    ----------
    u, v : arrays of int64, shape (capacity,)
    w : array of int64 or float64, shape (capacity,), or (0,) without a column of weights
    integers : bool
        Whether `w` holds integers; if so, `parse_rows` stops with `FLOAT` at the first fraction.
    deferred : array of int64, shape (capacity, 3)
        ``(row, start, end)`` of each weight that is left to the caller.
    """

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray
    integers: bool
    deferred: np.ndarray


class RowStop(NamedTuple):
    """State in which `parse_rows` stopped.

    Attributes
    ----------
    status : int
        The reason, such as `END` or `WORD`.
    at : int
        Index of the byte at which it stopped.
    line_start : int
        Index of the first byte of that line.
    rows, lines, deferred : int
        Numbers of complete rows, of complete lines and of deferred weights so far.
    """

    status: int
    at: int
    line_start: int
    rows: int
    lines: int
    deferred: int


@njit
def skip_comments(buffer, start, stop, comments, words):
    """Skip blank lines and comments, but stop at a comment whose first word begins with one of `words`.

    Parameters
    ----------
    buffer : array of uint8, shape (size,)
        ``buffer[stop - 1]`` is a line feed.
    start, stop : int
        The part of the buffer to skip in.
    comments : array of bool, shape (256,)
        Whether a line that begins with this byte is a comment.
    words : array of uint8, shape (words, length)
        Words in lower case, padded with zeros.

    Returns
    -------
    at : int
        Index of the first byte of the first line that is not skipped; `stop` if all are.
    lines : int
        Number of lines skipped.
    """
    i, lines = start, 0
    while i < stop:
        line_start = i
        while _is_blank(buffer[i]):
            i += 1
        if buffer[i] != 10 and not comments[buffer[i]]:
            return line_start, lines
        while comments[buffer[i]] or _is_blank(buffer[i]):
            i += 1
        for word in words:
            length = 0
            while length < word.size and word[length] and buffer[i + length] | 0x20 == word[length]:
                length += 1
            if length == word.size or (length and not word[length]):
                return line_start, lines
        while buffer[i] != 10:
            i += 1
        i += 1
        lines += 1
    return i, lines


class NumberSyntax(NamedTuple):
    """The syntax of a sequence of numbers.

    Attributes
    ----------
    comment : int
        The byte that comment lines begin with, or 0 if there are no comments.
    delimiter : int
        The byte between numbers, or 0 for blanks alone. Between delimiters, an empty field and a lone ``-`` are
        missing numbers (`MISSING`, or NaN among floats).
    integers : bool
        Whether numbers are integers; if so, `parse_numbers` stops with `FLOAT` at the first fraction.
    """

    comment: int
    delimiter: int
    integers: bool


class NumberArrays(NamedTuple):
    """Output arrays of `parse_numbers`.

    Attributes
    ----------
    out : array of int64 or float64, shape (capacity,)
        The numbers; once it is full, parsing stops with `FULL` at the next number.
    line_ends : array of int64, shape (lines, 2)
        For each complete line other than a comment: how many numbers and how many line feeds there are up to its
        end. It must have as many rows as the input has bytes.
    deferred : array of int64, shape (capacity, 3)
        ``(index in out, start, end)`` of each number that is left to the caller.
    """

    out: np.ndarray
    line_ends: np.ndarray
    deferred: np.ndarray


class NumberStop(NamedTuple):
    """State in which `parse_numbers` stopped.

    Attributes
    ----------
    status : int
        The reason: `END`, `FULL`, `FLOAT`, or an error.
    at : int
        Index of the byte at which it stopped.
    state : int
        Position in the line: `LINE_START`, `AFTER_NUMBER`, `AFTER_DELIMITER` or `IN_COMMENT`.
    numbers, lines, line_feeds, deferred : int
        Numbers parsed, rows of `line_ends` filled, line feeds passed, and rows of `deferred` filled.
    """

    status: int
    at: int
    state: int
    numbers: int
    lines: int
    line_feeds: int
    deferred: int


@njit
def _ends_column(byte, delimiter):
    """Return whether a byte may follow a column: a blank, a line feed or the delimiter, if that is not 0."""
    return _is_blank(byte) or byte == 10 or (delimiter != 0 and byte == delimiter)


@njit
def _is_rounded(integer, real):
    """Return whether `integer`, an int64, differs from `real`, the float64 nearest to it."""
    return abs(real) >= 2.0**53 and (real >= 2.0**63 or np.int64(real) != integer)


@njit
def _weight_error(kind, integer, real, integers):
    """Return the reason to stop at an invalid weight, or `END` if the weight is valid.

    `kind`, `integer` and `real` are from `parse_number`; `integers` says whether a fraction is invalid.
    """
    if kind == _INTEGER:
        return END if integers or not _is_rounded(integer, real) else INEXACT
    if kind == _NONE:
        return WEIGHT_WORD
    if kind == _LARGE:
        return TOO_LARGE
    if kind == _NAN:
        return NAN
    return FLOAT if integers else END


@njit
def _number_error(kind, integer, real, integers):
    """Return the reason to stop at an invalid number of a sequence, or `END` if the number is valid or missing.

    `kind`, `integer` and `real` are from `parse_number`; `integers` says whether a fraction is invalid.
    """
    if kind == _NONE:
        return WORD
    if kind == _INTEGER and integer == MISSING:
        return END
    return _weight_error(kind, integer, real, integers)


@njit
def _id_error(kind, integer, low, high):
    """Return the reason to stop at an invalid vertex id, or `END` if it is an integer from `low` to `high`."""
    if kind != _INTEGER:
        return ID_RANGE if kind == _LARGE else ID_WORD
    return END if low <= integer <= high else ID_RANGE


@njit
def parse_rows(buffer, start, stop, syntax, arrays):
    """Parse lines of fixed columns, up to the first invalid line.

    Parameters
    ----------
    buffer : array of uint8, shape (size,)
        ``buffer[stop - 1]`` is a line feed.
    start, stop : int
        The part of the buffer to parse.
    syntax : RowSyntax
    arrays : RowArrays
        Filled from their beginning.

    Returns
    -------
    tuple of int
        The fields of `RowStop`.
    """
    # Tuples are unpacked once because each access to an array in a tuple would update its reference count. Loops over
    # blanks are not factored out: functions that take the buffer, even inlined ones, slow parsing by at least a fifth.
    comments, tag, columns, extra_columns, delimiter, low, high = syntax
    u, v, w, integers, deferred = arrays
    i = start
    row = lines = deferrals = 0
    while i < stop:
        line_start = i
        while _is_blank(buffer[i]):
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
            if first != tag or not _is_blank(buffer[i + 1]):
                return (WORD, i, line_start, row, lines, deferrals)
            i += 1
        for c in range(columns.size):
            while _is_blank(buffer[i]):
                i += 1
            if delimiter and c:
                if buffer[i] == 10:
                    return (SHORT, i, line_start, row, lines, deferrals)
                i += 1
                while _is_blank(buffer[i]):
                    i += 1
            at = i
            if buffer[i] == 10:
                return (SHORT, i, line_start, row, lines, deferrals)
            column = columns[c]
            if column == SKIP:
                while not _ends_column(buffer[i], delimiter):
                    i += 1
            else:
                kind, i, integer, real = parse_number(buffer, i)
                if not _ends_column(buffer[i], delimiter):
                    kind = _NONE
                error = (
                    _weight_error(kind, integer, real, integers)
                    if column == W
                    else _id_error(kind, integer, low, high)
                )
                if error != END:
                    return (error, at, line_start, row, lines, deferrals)
                if column == U:
                    u[row] = integer
                elif column == V:
                    v[row] = integer
                elif kind == _INTEGER:
                    w[row] = integer
                elif kind == _DEFERRED:
                    deferred[deferrals, 0], deferred[deferrals, 1], deferred[deferrals, 2] = row, at, i
                    deferrals += 1
                else:
                    w[row] = real
            if delimiter:
                while _is_blank(buffer[i]):
                    i += 1
                if c + 1 < columns.size and buffer[i] != delimiter and buffer[i] != 10:
                    return (LONG, i, line_start, row, lines, deferrals)
        if extra_columns:
            while buffer[i] != 10:
                i += 1
        else:
            while _is_blank(buffer[i]):
                i += 1
            if buffer[i] != 10:
                return (LONG, i, line_start, row, lines, deferrals)
        i += 1
        row += 1
        lines += 1
    return (END, i, i, row, lines, deferrals)


@njit
def parse_numbers(buffer, start, stop, state, syntax, arrays):
    """Parse consecutive numbers regardless of lines, and record where lines end.

    The input may end within a line, which the next call continues: `state` is the position within it.

    Parameters
    ----------
    buffer : array of uint8, shape (size,)
        ``buffer[stop - 1]`` is a blank, a line feed or a delimiter.
    start, stop : int
        The part of the buffer to parse.
    state : int
        The state in which the previous call stopped; `LINE_START` at first.
    syntax : NumberSyntax
    arrays : NumberArrays
        Filled from their beginning.

    Returns
    -------
    tuple of int
        The fields of `NumberStop`.
    """
    comment, delimiter, integers = syntax
    out, line_ends, deferred = arrays
    i = start
    count = lines = line_feeds = deferrals = 0
    while i < stop:
        byte = buffer[i]
        if byte == 10:
            if state == AFTER_DELIMITER:
                if count == out.size:
                    return (FULL, i, state, count, lines, line_feeds, deferrals)
                out[count] = MISSING if integers else math.nan
                count += 1
            line_feeds += 1
            if state != IN_COMMENT:
                line_ends[lines, 0], line_ends[lines, 1] = count, line_feeds
                lines += 1
            state = LINE_START
            i += 1
        elif state == IN_COMMENT or _is_blank(byte):
            i += 1
        elif state == LINE_START and comment and byte == comment:
            state = IN_COMMENT
        elif count == out.size:
            return (FULL, i, state, count, lines, line_feeds, deferrals)
        elif delimiter and byte == delimiter:
            if state != AFTER_NUMBER:
                out[count] = MISSING if integers else math.nan
                count += 1
            state = AFTER_DELIMITER
            i += 1
        elif delimiter and state == AFTER_NUMBER:
            return (LONG, i, state, count, lines, line_feeds, deferrals)
        else:
            kind, end, integer, real = parse_number(buffer, i)
            follower = buffer[end]
            if kind == _NONE and delimiter and byte == 45:
                end = i + 1
                follower = buffer[end]
                kind, integer, real = _INTEGER, MISSING, math.nan
            elif delimiter and kind == _INTEGER and integer == MISSING:
                kind = _LARGE
            if not _ends_column(follower, delimiter):
                kind = _NONE
            error = _number_error(kind, integer, real, integers)
            if error != END:
                return (error, i, state, count, lines, line_feeds, deferrals)
            if integers:
                out[count] = integer
            elif kind == _DEFERRED:
                deferred[deferrals, 0], deferred[deferrals, 1], deferred[deferrals, 2] = count, i, end
                deferrals += 1
            else:
                out[count] = real
            count += 1
            state = AFTER_NUMBER
            i = end
    return (END, i, state, count, lines, line_feeds, deferrals)
