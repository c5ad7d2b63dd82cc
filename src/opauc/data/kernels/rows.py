"""Columns of a table as the rows of a matrix, turned in squares of eight by eight that fit the registers.

Columns lie wherever the table keeps them, so the kernel takes their addresses.
Eight columns are read side by side, few enough for the processor to fetch
ahead, and a stripe of rows stays in cache until its last column is written.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.config import DISABLE_JIT  # type: ignore[attr-defined]
from numba.extending import intrinsic

from opauc.core.kernels.compile import borrowing, kernel
from opauc.core.kernels.random_signs import mixed

SIDE = 8
STRIPE = 2048
# So few numbers are written sooner than machine code is loaded.
SMALL = 2**15


def write_rows(columns, out):
    """Write column j into out[:, j]; return True only if all numbers are finite, False also where they are huge.

    Columns are contiguous arrays of the dtype of `out`, which lies in row order.
    """
    n_rows, n_columns = out.shape
    if DISABLE_JIT or n_rows < SIDE or n_columns < SIDE or out.size < SMALL:
        for j, column in enumerate(columns):
            out[:, j] = column
        return bool(np.isfinite(out).all())
    zeros = np.zeros(SIDE, out.dtype)
    turn_columns(np.array([column.ctypes.data for column in columns], dtype=np.intp), out, zeros)
    return bool((zeros == 0).all())


def _turned(builder, vectors):
    """Transpose SIDE vectors of SIDE lanes: halves, quarters, then single lanes change places."""
    number = ir.IntType(32)
    step = SIDE // 2
    while step:
        lower = [lane if not lane & step else SIDE + (lane ^ step) for lane in range(SIDE)]
        upper = [lane | step if not lane & step else SIDE + lane for lane in range(SIDE)]
        keep, take = (ir.Constant(ir.VectorType(number, SIDE), lanes) for lanes in (lower, upper))
        for first in range(SIDE):
            if not first & step:
                pair = vectors[first], vectors[first | step]
                vectors[first] = builder.shuffle_vector(*pair, keep)
                vectors[first | step] = builder.shuffle_vector(*pair, take)
        step //= 2
    return vectors


def _added(builder, vectors):
    """Return the sum of the vectors, by pairs."""
    while len(vectors) > 1:
        vectors = [builder.fadd(*pair) for pair in zip(vectors[::2], vectors[1::2], strict=True)]
    return vectors[0]


def _turn_square(typing_context, addresses, row, out, column, zeros):  # noqa: ARG001
    """Copy SIDE columns from `column` on, SIDE rows of each from `row` on, into `out`; add zero times each to zeros."""

    def generate(context, builder, signature, arguments):
        where, first_row, matrix, first_column, total = arguments
        dtype, word = signature.args[2].dtype, ir.IntType(64)
        vector = ir.VectorType(ir.FloatType() if dtype == types.float32 else ir.DoubleType(), SIDE)
        width = dtype.bitwidth // 8
        starts = context.make_array(signature.args[0])(context, builder, where)
        made = context.make_array(signature.args[2])(context, builder, matrix)
        stride = builder.extract_value(made.strides, 0)

        def place(address):
            return builder.inttoptr(address, vector.as_pointer())

        down = builder.mul(first_row, word(width))
        vectors = []
        for j in range(SIDE):
            start = builder.load(builder.gep(starts.data, [builder.add(first_column, word(j))]))
            vectors.append(builder.load(place(builder.add(start, down)), align=width))
        kept = context.make_array(signature.args[4])(context, builder, total)
        kept = place(builder.ptrtoint(kept.data, word))
        # zero times a number that is not finite is nan, and stays so
        nothing = builder.fmul(_added(builder, vectors), ir.Constant(vector, [0.0] * SIDE))
        builder.store(builder.fadd(builder.load(kept, align=width), nothing), kept, align=width)
        corner = builder.add(builder.ptrtoint(made.data, word), builder.mul(first_column, word(width)))
        corner = builder.add(corner, builder.mul(first_row, stride))
        for i, lanes in enumerate(_turned(builder, vectors)):
            builder.store(lanes, place(builder.add(corner, builder.mul(stride, word(i)))), align=width)
        return context.get_dummy_value()

    return types.void(addresses, types.intp, out, types.intp, zeros), generate


turn_square = intrinsic(_turn_square)


@borrowing
def turn_columns(addresses, out, zeros):
    """Write into `out` the columns that begin at `addresses`, each as long as `out`; at least SIDE by SIDE.

    `zeros` stay zero while every number is finite; else some turn into nan.

    The last square of a side overlaps the one before it: it writes some
    numbers a second time rather than singly.
    """
    n_rows, n_columns = out.shape
    for top in range(0, n_rows, STRIPE):
        bottom = min(top + STRIPE, n_rows)
        for j in range(0, n_columns, SIDE):
            column = min(j, n_columns - SIDE)
            for i in range(top, bottom, SIDE):
                turn_square(addresses, min(i, n_rows - SIDE), out, column, zeros)


@kernel
def write_columns(keys, seed, bits, columns, signs):
    """Write the column below 2**bits and the sign, 1 or -1, of each key.

    Keys and seed are unsigned words. The column is the first bits of a word
    mixed from both, the sign its last one.
    """
    start, drop = mixed(seed + np.uint64(0x9E3779B97F4A7C15)), np.uint64(64 - bits)
    for i in range(keys.size):
        word = mixed(start ^ mixed(keys[i] + np.uint64(0xD1B54A32D192ED03)))
        columns[i] = np.int32(word >> drop)
        signs[i] = 1 - 2 * np.int8(word & np.uint64(1))
