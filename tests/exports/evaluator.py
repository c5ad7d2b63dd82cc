"""A stand-alone evaluator of exported JSON: nothing but the standard library, written from the reference page."""

import math
import re
import struct
from bisect import bisect_left, bisect_right
from datetime import datetime, timedelta

MIXERS = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
FINAL_MIXERS = 0xD6E8FEB86659FD93, 0xA0761D6478BD642F
BITS = 2**64 - 1
NAN = math.nan
EPOCH = datetime(1970, 1, 1)


MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
LONG_MONTHS = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
]  # fmt: skip
DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tue|wed|thu|fri|sat|sun"
# What each part of a date layout matches; a blank of it matches any blanks, and those before a number are skipped.
TOKENS = {
    **{f"%{name}": rf"\s*(?P<{name}>\d{{1,2}})" for name in "dmHMSIy"},
    "%Y": r"\s*(?P<Y>\d{1,4})",
    **{f"%{name}": rf"(?P<b>{'|'.join([*LONG_MONTHS, *MONTHS])})" for name in "bB"},
    "%A": f"(?:{DAYS})",
    "%p": "(?P<p>am|pm)",
    " ": r"\s*",
}


class BadValueError(ValueError):
    """A value that the model does not take."""


# Raw values to inputs.

MONEY, DIGITS = "[$€£¥₹]", r"(?:\d+|[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d{0,2}(?:['’\xa0\u202f]\d{3})+|(?=\.\d))(?:\.\d*)?"
SIGN = rf"(?:[+-]?(?:{MONEY} ?)?|{MONEY} ?[+-])"
NUMBER = re.compile(rf"{SIGN}{DIGITS}(?:[eE][+-]?\d+)?(?: ?(?:%|{MONEY}))?", re.ASCII)
CLOCK = re.compile(
    r"(?:([+-]?\d+) days?,? \+?)?(\d{1,2}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?(?: ?([ap])\.?m\.?)?", re.I | re.ASCII
)
UNIT = re.compile(r"([^A-Za-zµ°]*\d[.,]? ?)([A-Za-zµ°]{1,12}?)s?\.?", re.IGNORECASE)


def read_number(text, number_format):
    decimal, unit = number_format[0], number_format[1:]
    number = read_with(text.strip(), decimal, unit)
    return read_with(text.strip(), ".", unit) if decimal == "," and math.isnan(number) else number


def read_with(text, decimal, unit):
    if unit and (match := UNIT.fullmatch(text)) and match[2].lower() == unit:
        text = match[1].rstrip()
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    if match := CLOCK.fullmatch(text):
        days, hours, minutes, seconds, half = match.groups()
        hours = int(hours) if half is None else int(hours) % 12 + 12 * (half.lower() == "p")
        return 24 * int(days or 0) + hours + int(minutes) / 60 + float(seconds or 0) / 3600
    if decimal == ",":
        text = text.translate(str.maketrans(",.", ".,"))
    sign = 1.0
    if text.startswith("(") and text.endswith(")") and not set(text[1:-1]) & set("()+-"):
        text, sign = text[1:-1], -1.0
    if NUMBER.fullmatch(text):
        return sign * float(re.sub(r"[^0-9.eE+-]", "", text))
    if sign == 1.0 and re.fullmatch(r"[+-]?inf(?:inity)?", text, re.IGNORECASE):
        return float(text)
    return NAN


def number_of(column, value):
    if isinstance(value, str):
        number = read_number(value, column["number_format"])
        marked = value.strip() in column["missing"] or value in column["missing"]
        is_missing = marked or re.fullmatch(r"[+-]?nan(?:\(\w*\))?", value.strip(), re.IGNORECASE)
        if column["is_strict"] and math.isnan(number) and not is_missing:
            raise BadValueError(column["name"])
    else:
        number = NAN if value is None else float(value)
    if math.isinf(number) or (column["is_required"] and math.isnan(number)):
        raise BadValueError(column["name"])
    return [number]


def category_of(column, value):
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if value is None or text in ("", "nan"):
        text = ""
    elif re.fullmatch(r"-?[0-9]+\.0+|-?[0-9](?:\.[0-9]+)?e\+[0-9]+", text):
        number = float(text)
        text = str(int(number)) if number.is_integer() and abs(number) <= 2**53 else text
    if text in column["missing"]:
        if column["is_required"]:
            raise BadValueError(column["name"])
        return [NAN]
    return [float(column["categories"].get(text, -1))]


def date_of(column, value, parts):
    if isinstance(value, str):
        text = value.strip()
        read = (read_date(text, layout) for layout in column["layouts"])
        value = None if text in column["missing"] else next((one for one in read if one is not None), None)
    if value is None:
        return [NAN] * len(parts)
    time = datetime(value.year, value.month, value.day) if not isinstance(value, datetime) else value
    days = (time - EPOCH) / timedelta(days=1)
    whole = math.floor(days)
    every = {"day": days, "month": float(time.month), "weekday": (whole + 3.0) % 7.0, "hour": (days - whole) * 24.0}
    return [every[part] for part in parts]


def read_date(text, layout):
    if layout == "iso":
        match = re.fullmatch(
            r"(\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?)\d*(?: ?(?:Z|[+-]\d{2}(?::?\d{2})?))?",
            text,
        )
        try:
            return match and datetime.fromisoformat(match[1])
        except ValueError:
            return None
    read = re.fullmatch(
        "".join(TOKENS.get(part, re.escape(part)) for part in re.findall(r"%.|\s+|.", layout)), text, re.I
    )
    if read is None:
        return None
    parts = read.groupdict()
    year = int(parts.get("Y") or 1900)
    if "y" in parts:
        year = int(parts["y"]) + (1900 if int(parts["y"]) >= 69 else 2000)
    month = parts.get("m") or MONTHS.index(parts["b"][:3].lower()) + 1
    hour, seconds = int(parts.get("H") or 0), int(parts.get("S") or 0)
    if "I" in parts:
        hour = int(parts["I"]) % 12 + 12 * (parts["p"].lower() == "pm")
        if not 1 <= int(parts["I"]) <= 12:
            return None
    day, month, minute = int(parts["d"]), int(month), int(parts.get("M") or 0)
    if not (1 <= day <= 31 and 1 <= month <= 12 and hour <= 23 and minute <= 59 and seconds <= 60 and year >= 1000):
        return None
    # The thirtieth of February is the second of March, or the first.
    return datetime(year, month, 1) + timedelta(days=day - 1, hours=hour, minutes=minute, seconds=seconds)


# Inputs to scores.


def inputs_of(model, row):
    numbers = []
    for at, column in enumerate(model["columns"]):
        value = row.get(column["name"])
        if column["kind"] == "number":
            numbers += number_of(column, value)
        elif column["kind"] == "category":
            numbers += category_of(column, value)
        else:
            numbers += date_of(column, value, [one["part"] for one in model["inputs"] if one["column"] == at])
    return numbers


def places(axis, value):
    """Return pairs of a place and its share; of a straight line, the pair of the slope and the value."""
    if math.isnan(value):
        return [(0, 1.0)]
    if axis["kind"] == "line":
        return [(1, value)]
    if axis["kind"] == "steps":
        return [(1 + bisect_left(axis["cuts"], value), 1.0)]
    if axis["kind"] == "levels":
        of_number = dict(zip(axis["numbers"], axis["places"], strict=True))
        return [(of_number.get(value, axis["other"]), 1.0)]
    knots = axis["knots"]
    value = min(max(value, knots[0]), knots[-1])
    right = bisect_right(knots, value)
    if right == len(knots):
        return [(len(knots), 1.0)]
    share = (knots[right] - value) / (knots[right] - knots[right - 1])
    return [(right, share), (right + 1, 1.0 - share)]


def table_value(table, located):
    if len(table["axes"]) == 1:
        return sum(share * table["values"][at] for at, share in located[table["axes"][0]])
    one, two = (located[axis] for axis in table["axes"])
    return sum(first * second * table["values"][i][j] for i, first in one for j, second in two)


def crossed_value(table, numbers):
    key = 0
    for member, mixer in zip(table["members"], MIXERS, strict=False):
        value = numbers[member["input"]]
        if not math.isnan(value):
            value = float(bisect_right(member["edges"], value)) if member["edges"] else float(math.floor(value))
        bits = 1 if math.isnan(value) else struct.unpack("<Q", struct.pack("<d", value + 0.0))[0]
        mixed = (bits ^ (bits >> 32)) * mixer & BITS
        key = (key + (mixed ^ (mixed >> 29)) * mixer) & BITS
    effects = dict(zip(table["levels"], table["effects"], strict=True))
    shift = 65 - table["n_levels"].bit_length()
    one, other = (effects.get((key * mixer & BITS) >> shift, 0.0) for mixer in FINAL_MIXERS)
    return one if abs(one) <= abs(other) else other


def contributions(model, row):
    numbers = inputs_of(model, row)
    located = [places(axis, numbers[axis["input"]]) for axis in model["axes"]]
    out = []
    for term in model["terms"]:
        value = term["constant"] + sum(table_value(table, located) for table in term["tables"])
        out.append(value + sum(crossed_value(table, numbers) for table in term["crossed"]))
    if (trees := model["trees"]) is not None:
        for root in trees["roots"]:
            at = root
            while at >= 0:
                axis = trees["split_axes"][at]
                place = located[trees["axes"][axis]][0][0]
                child = trees["children"][at][int(place > trees["split_places"][at])]
                node = child if child >= 0 else len(trees["split_axes"]) - 1 - child
                out[trees["terms"][axis]] += trees["values"][node] - trees["values"][at]
                at = child
    return out


def score(model, row):
    return model["baseline"] + sum(contributions(model, row))


def probability(model, row):
    log_odds = model["probability"]["slope"] * score(model, row) + model["probability"]["offset"]
    return 1.0 / (1.0 + math.exp(-log_odds)) if log_odds > -700 else 0.0


def reasons(model, row, k, direction="lower", by="term", reference="mean"):
    """Return pairs of a name and a difference, the strongest first."""
    references = {"mean": "mean", "best": "highest" if direction == "lower" else "lowest"}
    names, differences = [], []
    if by == "feature":
        inputs = [model["columns"][one["column"]]["name"] for one in model["inputs"]]
        names, differences = list(dict.fromkeys(inputs)), [0.0] * len(model["columns"])
    for term, value in zip(model["terms"], contributions(model, row), strict=True):
        difference = value - term[references[reference]]
        if by == "term":
            names.append(term["name"])
            differences.append(difference)
        for column in term["columns"] if by == "feature" else ():
            differences[column] += difference / len(term["columns"])
    sign = 1.0 if direction == "lower" else -1.0
    order = sorted(range(len(names)), key=lambda at: sign * differences[at])
    return [(names[at], differences[at]) for at in order[:k] if sign * differences[at] < 0.0]
