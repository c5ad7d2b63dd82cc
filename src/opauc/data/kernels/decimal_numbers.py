"""Decimal numbers in text as the float64 nearest to them, with integer arithmetic alone.

A number is digits * 10**power with up to 19 digits, which fit a 64-bit word.
Its product with the leading bits of 5**power is known up to one unit, so its
rounding is known too unless the product lies next to the middle between two
floats. Numbers that this leaves open, and those too long, too large or too
small for it, are left to the caller.
"""

import numpy as np

from opauc.core.kernels.compile import borrowing

LEAST_POWER, LARGEST_POWER, MOST_DIGITS = -330, 308, 19
PLUS, MINUS, DOT, ZERO, NINE, SMALL_E = 43, 45, 46, 48, 57, 101

# Constants of the arithmetic on words: an int64 beside a uint64 would make a float.
ONE, TEN, HALF_WORD, LOW_HALF = np.uint64(1), np.uint64(10), np.uint64(32), np.uint64(0xFFFFFFFF)
ALL_ONES, SIGN = np.uint64(2**64 - 1), np.uint64(63)
FRACTION_BITS, EXACT = np.uint64(52), np.uint64(2**53)


def _leading_bits(power):
    """Return the first 128 bits of 5**power as two words; what follows them is cut off."""
    if power >= 0:
        number = 5**power
        bits = number << 128 >> number.bit_length()
    else:
        divisor = 5**-power
        bits = (1 << (127 + divisor.bit_length())) // divisor
        bits >>= bits.bit_length() - 128
    return bits >> 64, bits & (2**64 - 1)


FIVES = np.array([_leading_bits(power) for power in range(LEAST_POWER, LARGEST_POWER + 1)], dtype=np.uint64)


@borrowing
def high_word(a, b):
    """Return the upper 64 bits of the 128-bit product of two words."""
    a_low, a_high, b_low, b_high = a & LOW_HALF, a >> HALF_WORD, b & LOW_HALF, b >> HALF_WORD
    crossed, other = a_high * b_low, a_low * b_high
    carried = (a_low * b_low >> HALF_WORD) + (crossed & LOW_HALF) + (other & LOW_HALF)
    return a_high * b_high + (crossed >> HALF_WORD) + (other >> HALF_WORD) + (carried >> HALF_WORD)


@borrowing
def bit_length(word):
    """Return how many bits a word other than zero takes."""
    # without its second bit a word is never rounded up to the next power of two
    near = np.float64(word & ~(word >> ONE)).view(np.uint64)
    return np.int64(near >> FRACTION_BITS) - 1022


@borrowing
def nearest_float(digits, power):
    """Return the bits of the float64 nearest to digits * 10**power, where digits > 0; zero if that is not decided."""
    if power < LEAST_POWER or power > LARGEST_POWER:
        return np.uint64(0)
    length = bit_length(digits)
    word, five = digits << np.uint64(64 - length), power - LEAST_POWER
    high, low = high_word(word, FIVES[five, 0]), word * FIVES[five, 0]
    top = high >> SIGN
    dropped = top + np.uint64(10)  # bits of `high` beyond the 53 of a float64
    middle = ONE << (dropped - ONE)
    rest = high & ((middle << ONE) - ONE)
    if rest == middle or rest == middle - ONE:  # the lower word of 5**power may decide
        more = high_word(word, FIVES[five, 1])
        low += more
        if low < more:
            high += ONE
            top = high >> SIGN
            dropped = top + np.uint64(10)
            middle = ONE << (dropped - ONE)
            rest = high & ((middle << ONE) - ONE)
        if (rest == middle and low == 0) or (rest == middle - ONE and low >= ALL_ONES - ONE):
            return np.uint64(0)
    # floor(power * log2(5)), exact in this range, puts the point; ten to the power is five to it, shifted
    exponent = (power * 217706 >> 16) + length + np.int64(top) + 1022
    if exponent < 1 or exponent > 2045:
        return np.uint64(0)
    # the leading bit of the fraction adds the one that is missing in the exponent, as a carry from rounding does
    return (np.uint64(exponent - 1) << FRACTION_BITS) + (high >> dropped) + np.uint64(rest >= middle)


@borrowing
def read_digits(data, at, digits):
    """Return `digits` with the digits of the text from `at` on appended, modulo 2**64, and where they end."""
    while ZERO <= data[at] <= NINE:
        digits = digits * TEN + np.uint64(data[at] - ZERO)
        at += 1
    return digits, at


@borrowing
def read_exponent(data, at):
    """Return the whole number at `at` and where it ends: -1 if it has no digit or more than five."""
    negative = data[at] == MINUS
    at += negative or data[at] == PLUS
    digits, end = read_digits(data, at, np.uint64(0))
    if end == at or end > at + 5:
        return 0, -1
    return -np.int64(digits) if negative else np.int64(digits), end


@borrowing
def leading_zeros(data, begin, end):
    """Count the zeros before the first other digit of a number."""
    count = 0
    for at in range(begin, end):
        if data[at] == ZERO:
            count += 1
        elif data[at] != DOT:
            break
    return count


@borrowing
def read_number(data, at):
    """Return the number at `at` as float64, and where it ends: -1 if there is none or it is not decided here.

    The text has to end in a byte that belongs to no number, such as an end of line.
    """
    sign = np.uint64(data[at] == MINUS)
    at += data[at] == MINUS or data[at] == PLUS
    begin = at
    digits, at = read_digits(data, at, np.uint64(0))
    count, power = at - begin, 0
    if data[at] == DOT:
        digits, end = read_digits(data, at + 1, digits)
        power = at + 1 - end
        count, at = count - power, end
    if count == 0 or (count > MOST_DIGITS and count - leading_zeros(data, begin, at) > MOST_DIGITS):
        return 0.0, -1
    if data[at] | 32 == SMALL_E:
        exponent, at = read_exponent(data, at + 1)
        power += exponent
    if digits == 0 or (power == 0 and digits <= EXACT):
        bits = np.float64(digits).view(np.uint64)
    else:
        bits = nearest_float(digits, power)
        if bits == 0:
            return 0.0, -1
    return np.uint64(bits | sign << SIGN).view(np.float64), at
