import struct
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from opauc.data.kernels.decimal_numbers import bit_length, high_word, nearest_float, read_number

# Sums and products of words wrap round on purpose; plain NumPy, with the compiler off, warns of it.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")

WORDS = st.integers(1, 2**64 - 1)


def read(text):
    return read_number(np.frombuffer(text.encode() + b"\n", np.uint8), 0)


def bits(number):
    return struct.unpack("<Q", struct.pack("<d", number))[0]


def assert_read_as_python_reads(text):
    number, end = read(text)
    assert end == len(text)
    assert bits(number) == bits(float(text))


@given(number=st.floats(1e-290, 1e290), style=st.sampled_from(["%r", "%.16g", "%.7f", "%.3e", "%+.9E", "%.0f"]))
@settings(max_examples=500)
def test_a_printed_float_is_read_as_python_reads_it_or_left_open(number, style):
    text = style % number
    value, end = read(text)
    assert end in (-1, len(text))
    if end > 0:
        assert bits(value) == bits(float(text))
    if len(text) < 18:
        assert end > 0


@given(digits=st.integers(1, 10**19 - 1), power=st.integers(-300, 280), sign=st.sampled_from(["", "+", "-"]))
@settings(max_examples=500)
def test_digits_times_a_power_of_ten_are_rounded_as_python_rounds_them(digits, power, sign):
    text = f"{sign}{digits}e{power}"
    value, end = read(text)
    assert end in (-1, len(text))
    assert end < 0 or bits(value) == bits(float(text))


@given(fraction=st.integers(2**52, 2**53 - 1), shift=st.integers(-60, 10), places=st.integers(17, 19))
@settings(max_examples=500)
def test_numbers_next_to_the_middle_of_two_floats_are_never_rounded_wrongly(fraction, shift, places):
    with localcontext(prec=80):
        middle = Decimal(2 * fraction + 1) * Decimal(2) ** (shift - 1)
    with localcontext(prec=places):
        text = f"{+middle:f}"
    value, end = read(text)
    assert end < 0 or bits(value) == bits(float(text))


def test_nearly_all_numbers_of_up_to_19_digits_are_decided():
    rng = np.random.default_rng(0)
    undecided = 0
    for digits, power in zip(rng.integers(10**17, 2**63, 2000), rng.integers(-280, 280, 2000), strict=True):
        undecided += nearest_float(np.uint64(digits), int(power)) == 0
    assert undecided == 0


@pytest.mark.parametrize(
    "text",
    ["0", "-0", "+0", "0.0", "-0.0e5", "1.", ".5", "-.5e1", "1e0", "1E+5", "007", "0.5", "0.1", "9007199254740992",
     "0.00012345678901234567", "000000000000000000000000001.5", "1e22", "123456789e-300",
     "1.7976931348623157e307", "2.2250738585072014e-307"],
)  # fmt: skip
def test_each_way_to_write_a_number_is_read(text):
    assert_read_as_python_reads(text)


@pytest.mark.parametrize(
    "text",
    ["", "+", "-", ".", "+.", "e5", ".e5", "1e", "1e+", "1e-", "nan", "inf", "--1", "x",
     "9007199254740993", "4503599627370496.5", "1e23",  # exactly in the middle
     "1e999", "1e-999", "5e-324", "1e123456", "12345678901234567890"],
)  # fmt: skip
def test_what_is_no_number_or_undecided_is_left_to_the_caller(text):
    assert read(text)[1] == -1


def test_a_number_ends_where_no_number_goes_on():
    assert read("1.5x") == (1.5, 3)
    assert read("1.5.5") == (1.5, 3)
    assert read("12 3") == (12.0, 2)
    assert read("1_0") == (1.0, 1)
    assert read("0x10") == (0.0, 1)


@given(a=WORDS, b=WORDS)
@example(a=2**64 - 1, b=2**64 - 1)
@example(a=2**32, b=2**32)
def test_the_high_word_is_that_of_the_whole_product(a, b):
    assert int(high_word(np.uint64(a), np.uint64(b))) == a * b >> 64


@given(word=WORDS)
@example(word=1)
@example(word=2**53 - 1)
@example(word=2**54 - 1)
@example(word=2**64 - 1)
def test_the_bit_length_is_that_of_python(word):
    assert bit_length(np.uint64(word)) == word.bit_length()
