(function (root, define) {
  "use strict";
  if (typeof module === "object" && module.exports) module.exports = define();
  else root.opaucModel = define();
})(typeof self === "undefined" ? globalThis : self, function () {
  "use strict";

  const model = JSON.parse("MODEL");

  // Text to numbers, dates and categories.

  const BLANK = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
  const ENDS = new RegExp(`^${BLANK}+|${BLANK}+$`, "g");
  const MONEY = "[$\\u20ac\\xa3\\xa5\\u20b9]";
  const GROUPS = "[1-9]\\d{0,2}(?:,\\d{3})+|[1-9]\\d{0,2}(?:['\\u2019\\xa0\\u202f]\\d{3})+";
  const DIGITS = `(?:\\d+|${GROUPS}|(?=\\.\\d))(?:\\.\\d*)?`;
  const SIGN = `(?:[+-]?(?:${MONEY} ?)?|${MONEY} ?[+-])`;
  const NUMBER = new RegExp(`^${SIGN}${DIGITS}(?:[eE][+-]?\\d+)?(?: ?(?:%|${MONEY}))?$`);
  const CLOCK =
    /^(?:([+-]?\d+) days?,? \+?)?(\d{1,2}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?(?: ?([ap])\.?m\.?)?$/i;
  const UNIT = /^([^A-Za-z\xb5\xb0]*\d[.,]? ?)([A-Za-z\xb5\xb0]{1,12}?)s?\.?$/i;
  const BRACKETS = /^\(([^()+-]*)\)$/;
  const INFINITE = /^([+-]?)inf(?:inity)?$/i;
  const NOT_A_NUMBER = /^[+-]?nan(?:\(\w*\))?$/i;
  const WHOLE = /^(?:-?[0-9]+\.0+|-?[0-9](?:\.[0-9]+)?e\+[0-9]+)$/;
  const ISO =
    /^(\d{4})-(\d{2})-(\d{2})(?:[ T](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?)?(?: ?(?:Z|[+-]\d{2}(?::?\d{2})?))?$/;
  const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
  const LONG_MONTHS =
    "january|february|march|april|may|june|july|august|september|october|november|december";
  const WEEKDAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tue|wed|thu|fri|sat|sun";

  function refuse(column, value, what) {
    throw new RangeError(`column ${column.name}: ${what}, got ${String(value)}`);
  }

  function strip(text) {
    return text.replace(ENDS, "");
  }

  function parseNumber(text, format) {
    const decimal = format[0], unit = format.slice(1);
    const number = parseWith(text, decimal, unit);
    // With decimal commas, 0.25 can only have a decimal point.
    return decimal === "," && Number.isNaN(number) ? parseWith(text, ".", unit) : number;
  }

  function parseWith(text, decimal, unit) {
    let plain = text;
    const withUnit = unit && UNIT.exec(plain);
    if (withUnit && withUnit[2].toLowerCase() === unit) plain = strip(withUnit[1]);
    const lower = plain.toLowerCase();
    if (lower === "true" || lower === "false") return Number(lower === "true");
    const clock = CLOCK.exec(plain);
    if (clock) {
      const [, days, hours, minutes, seconds, half] = clock;
      const hour = half ? (Number(hours) % 12) + 12 * Number(half.toLowerCase() === "p") : Number(hours);
      return 24 * Number(days || 0) + hour + Number(minutes) / 60 + Number(seconds || 0) / 3600;
    }
    if (decimal === ",") plain = plain.replace(/[.,]/g, (character) => (character === "." ? "," : "."));
    const brackets = BRACKETS.exec(plain);
    if (brackets && NUMBER.test(brackets[1])) return -digitsOf(brackets[1]);
    if (NUMBER.test(plain)) return digitsOf(plain);
    const infinite = INFINITE.exec(plain);
    if (infinite) return infinite[1] === "-" ? -Infinity : Infinity;
    return NaN;
  }

  function digitsOf(text) {
    return Number(text.replace(/[^\d.eE+-]/g, ""));
  }

  // A missing property, null and undefined are missing values.
  function numberOf(column, value) {
    let number = NaN;
    if (typeof value === "string") {
      const text = strip(value);
      number = parseNumber(text, column.number_format);
      const isMissing = column.missing.has(text) || column.missing.has(value) || NOT_A_NUMBER.test(text);
      if (column.is_strict && Number.isNaN(number) && !isMissing) refuse(column, value, "expected a number");
    } else if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") {
      number = Number(value);
    } else if (value !== null && value !== undefined) {
      refuse(column, value, "expected a number");
    }
    if (number === Infinity || number === -Infinity) refuse(column, value, "expected a finite number");
    if (column.is_required && Number.isNaN(number)) refuse(column, value, "expected a number, none may be missing");
    return number;
  }

  // Numbers as the reader of tables writes them: whole ones in digits as far as they are exact, others up to 1e10.
  function categoryText(column, value) {
    if (typeof value === "string") return value;
    if (typeof value === "boolean" || typeof value === "bigint") return String(value);
    if (value === null || value === undefined || Number.isNaN(value)) return "";
    if (typeof value !== "number") refuse(column, value, "expected a category");
    const isDigits = Math.abs(value) < 1e10 || (Number.isInteger(value) && Math.abs(value) <= 2 ** 53);
    return isDigits ? String(value) : value.toExponential();
  }

  function categoryOf(column, value) {
    let text = categoryText(column, value);
    if (WHOLE.test(text)) {
      const number = Number(text);
      if (Number.isInteger(number) && Math.abs(number) <= 2 ** 53) text = String(number + 0 === 0 ? 0 : number);
    }
    if (column.missing.has(text) || text === "nan") {
      if (column.is_required) refuse(column, value, "expected a category, none may be missing");
      return NaN;
    }
    return column.categories.get(text) ?? -1;
  }

  function daysSince1970(year, month, day) {
    const date = new Date(0);
    date.setUTCFullYear(year, month - 1, day);
    return date.getTime() / 86400000;
  }

  function daysOf(days, hour, minute, second, micros) {
    return (((days * 24 + hour) * 60 + minute) * 60000000 + second * 1000000 + micros) / 86400000000;
  }

  function parseIso(text) {
    const match = ISO.exec(text);
    if (!match) return null;
    const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part || 0));
    const days = daysSince1970(year, month, day);
    const isDay = year >= 1 && new Date(days * 86400000).getUTCDate() === day && month >= 1 && month <= 12 && day >= 1;
    if (!isDay || hour > 23 || minute > 59 || second > 59) return null;
    return daysOf(days, hour, minute, second, Number((match[7] || "").padEnd(6, "0").slice(0, 6)));
  }

  function layoutPattern(layout) {
    const tokens = {"%Y": "\\s*(?<Y>\\d{1,4})", "%A": `(?:${WEEKDAYS})`, "%p": "(?<p>am|pm)"};
    for (const name of "dmHMSIy") tokens["%" + name] = `\\s*(?<${name}>\\d{1,2})`;
    tokens["%b"] = tokens["%B"] = `(?<b>${LONG_MONTHS}|${MONTHS.join("|")})`;
    const parts = layout.match(/%.|\s+|./g).map((part) =>
      tokens[part] || (/^\s+$/.test(part) ? "\\s*" : part.replace(/[^A-Za-z0-9]/, "\\$&")));
    return new RegExp(`^${parts.join("")}$`, "i");
  }

  function parseLayout(text, pattern) {
    const match = pattern.exec(text);
    if (!match) return null;
    const parts = match.groups, short = Number(parts.y);
    const year = parts.y === undefined ? Number(parts.Y || 1900) : short + (short >= 69 ? 1900 : 2000);
    const month = parts.b === undefined ? Number(parts.m) : 1 + MONTHS.indexOf(parts.b.slice(0, 3).toLowerCase());
    const day = Number(parts.d), minute = Number(parts.M || 0), second = Number(parts.S || 0);
    let hour = Number(parts.H || 0);
    if (parts.I !== undefined) {
      if (Number(parts.I) < 1 || Number(parts.I) > 12) return null;
      hour = (Number(parts.I) % 12) + 12 * Number(parts.p.toLowerCase() === "pm");
    }
    const isTime = hour <= 23 && minute <= 59 && second <= 60;
    if (!(isTime && day >= 1 && day <= 31 && month >= 1 && month <= 12 && year >= 1000)) return null;
    // The thirtieth of February is the second of March, or the first.
    return daysOf(daysSince1970(year, month, 1) + day - 1, hour, minute, second, 0);
  }

  // Days since 1970 with their fraction: of text in the layouts of the column, of a Date in UTC, of a number itself.
  function daysOfValue(column, value) {
    if (value === null || value === undefined) return NaN;
    if (value instanceof Date) return value.getTime() / 86400000;
    if (typeof value === "number" && Math.abs(value) !== Infinity) return value;
    if (typeof value !== "string") refuse(column, value, "expected a date");
    const text = strip(value);
    if (column.missing.has(text)) return NaN;
    for (const pattern of column.patterns) {
      const days = pattern === "iso" ? parseIso(text) : parseLayout(text, pattern);
      if (days !== null) return days;
    }
    return NaN;
  }

  function datePart(days, part) {
    const whole = Math.floor(days);
    if (part === "month") return new Date(whole * 86400000).getUTCMonth() + 1;
    if (part === "weekday") return (((whole + 3) % 7) + 7) % 7;
    return part === "hour" ? (days - whole) * 24 : days;
  }

  // Numbers to places on axes, and to values of tables.

  for (const column of model.columns) {
    column.missing = new Set(column.missing);
    if (column.kind === "category") column.categories = new Map(Object.entries(column.categories));
    if (column.kind === "date")
      column.patterns = column.layouts.map((layout) => (layout === "iso" ? layout : layoutPattern(layout)));
  }
  for (const axis of model.axes)
    if (axis.kind === "levels") axis.placeOf = new Map(axis.numbers.map((number, at) => [number, axis.places[at]]));
  const parts = model.classes || [model];
  for (const term of parts.flatMap((part) => part.terms))
    for (const table of term.crossed)
      table.effectOf = new Map(table.levels.map((level, at) => [BigInt(level), table.effects[at]]));

  // The number of sorted values that are below `value`, or at most it where `orEqual`.
  function countBelow(sorted, value, orEqual) {
    let low = 0, high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle] < value || (orEqual && sorted[middle] === value)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function inputsOf(row) {
    const values = model.columns.map((column) => {
      const value = Object.prototype.hasOwnProperty.call(row, column.name) ? row[column.name] : null;
      if (column.kind === "number") return numberOf(column, value);
      return column.kind === "category" ? categoryOf(column, value) : daysOfValue(column, value);
    });
    return model.inputs.map((input) => {
      const value = values[input.column];
      return input.part === undefined || Number.isNaN(value) ? value : datePart(value, input.part);
    });
  }

  // A place and what its value is multiplied by; what is left to one belongs to the next place.
  function locate(axis, value) {
    if (Number.isNaN(value)) return {at: 0, share: 1, rest: 0};
    if (axis.kind === "line") return {at: 1, share: value, rest: 0};
    if (axis.kind === "steps") return {at: 1 + countBelow(axis.cuts, value, false), share: 1, rest: 0};
    if (axis.kind === "levels") return {at: axis.placeOf.get(value) ?? axis.other, share: 1, rest: 0};
    const knots = axis.knots, last = knots.length;
    if (value >= knots[last - 1]) return {at: last, share: 1, rest: 0};
    if (value <= knots[0]) return {at: 1, share: 1, rest: 0};
    const right = countBelow(knots, value, true);
    const share = (knots[right] - value) / (knots[right] - knots[right - 1]);
    return {at: right, share, rest: 1 - share};
  }

  function alongAxis(values, place) {
    const value = place.share * values[place.at];
    return place.rest ? value + place.rest * values[place.at + 1] : value;
  }

  function tableValue(table, places) {
    const last = places[table.axes[table.axes.length - 1]];
    if (table.axes.length === 1) return alongAxis(table.values, last);
    const first = places[table.axes[0]];
    const value = first.share * alongAxis(table.values[first.at], last);
    return first.rest ? value + first.rest * alongAxis(table.values[first.at + 1], last) : value;
  }

  const MIXERS = [0x9e3779b97f4a7c15n, 0xc2b2ae3d27d4eb4fn, 0x165667b19e3779f9n];
  const FINAL_MIXERS = [0xd6e8feb86659fd93n, 0xa0761d6478bd642fn];

  function crossedValue(table, numbers) {
    const bytes = new DataView(new ArrayBuffer(8));
    let key = 0n;
    table.members.forEach((member, at) => {
      let value = numbers[member.input], bits = 1n;
      if (!Number.isNaN(value)) {
        value = member.edges.length ? countBelow(member.edges, value, true) : Math.floor(value);
        bytes.setFloat64(0, value + 0);
        bits = bytes.getBigUint64(0);
      }
      const mixed = BigInt.asUintN(64, (bits ^ (bits >> 32n)) * MIXERS[at]);
      key = BigInt.asUintN(64, key + (mixed ^ (mixed >> 29n)) * MIXERS[at]);
    });
    const shift = BigInt(64 - Math.log2(table.n_levels));
    const [one, other] = FINAL_MIXERS.map(
      (mixer) => table.effectOf.get(BigInt.asUintN(64, key * mixer) >> shift) ?? 0);
    return Math.abs(one) <= Math.abs(other) ? one : other;
  }

  function addTrees(trees, places, out) {
    const nSplits = trees.split_axes.length;
    for (const root of trees.roots)
      for (let at = root; at >= 0; ) {
        const axis = trees.split_axes[at];
        const child = trees.children[at][places[trees.axes[axis]].at > trees.split_places[at] ? 1 : 0];
        out[trees.terms[axis]] += trees.values[child >= 0 ? child : nSplits - 1 - child] - trees.values[at];
        at = child;
      }
  }

  // What each term of each part adds to its score of a row, in the order of its `terms`.
  function contributionsOfParts(row) {
    const numbers = inputsOf(row);
    const places = model.axes.map((axis) => locate(axis, numbers[axis.input]));
    return parts.map((part) => {
      const out = part.terms.map((term) => {
        let value = term.constant;
        for (const table of term.tables) value += tableValue(table, places);
        for (const table of term.crossed) value += crossedValue(table, numbers);
        return value;
      });
      if (part.trees) addTrees(part.trees, places, out);
      return out;
    });
  }

  const columns = model.columns.map((column) => ({name: column.name, kind: column.kind}));
  if (model.classes) return ofClasses();

  // The scores, the probabilities and the label of a model of several classes.
  function ofClasses() {
    const {power, rest_power, log_shares, score} = model.link;

    // The logarithm of the sum of exponentials, of all values but the one at `left`.
    function logSum(values, left) {
      const kept = values.filter((value, at) => at !== left), most = Math.max(...kept);
      return most + Math.log(kept.reduce((sum, value) => sum + Math.exp(value - most), 0));
    }

    function logits(row) {
      return contributionsOfParts(row).map((contributions, at) => {
        const additive = contributions.reduce((sum, value) => sum + value, parts[at].baseline);
        return power * additive - rest_power * (Math.max(additive, 0) + Math.log1p(Math.exp(-Math.abs(additive))));
      });
    }

    function scores(row) {
      const values = logits(row);
      return values.map((value, at) => value - logSum(values, score === "log_odds" ? at : -1));
    }

    function probabilities(row) {
      const values = logits(row).map((value, at) => value + log_shares[at]), whole = logSum(values, -1);
      return values.map((value) => Math.exp(value - whole));
    }

    function label(row) {
      const values = logits(row);
      return model.labels[values.indexOf(Math.max(...values))];
    }

    return {scores, probabilities, label, labels: model.labels, columns};
  }

  // What each term adds to the score of a row, in the order of `terms`.
  function contributions(row) {
    return contributionsOfParts(row)[0];
  }

  function score(row) {
    return contributions(row).reduce((sum, value) => sum + value, model.baseline);
  }

  function probability(row) {
    return 1 / (1 + Math.exp(-(model.probability.slope * score(row) + model.probability.offset)));
  }

  function label(row) {
    return score(row) > model.threshold ? model.labels.positive : model.labels.negative;
  }

  // The k terms, or features, that lower or raise the score most against the mean or the best of all rows.
  function reasons(row, k, options) {
    const {direction = "lower", by = "term", reference = "mean"} = options || {};
    const asked = [["direction", direction, ["lower", "raise"]], ["by", by, ["term", "feature"]],
      ["reference", reference, ["mean", "best"]]];
    for (const [name, value, known] of asked)
      if (!known.includes(value)) throw new RangeError(`${name} must be one of ${known.join(", ")}, got ${value}`);
    if (!model.is_centered) throw new RangeError("reasons need the means of the training rows, which the model lacks");
    const of = reference === "mean" ? "mean" : direction === "lower" ? "highest" : "lowest";
    const sign = direction === "lower" ? 1 : -1;
    const names = (by === "term" ? model.terms : model.columns).map((one) => one.name);
    const differences = names.map((name) => ({name, difference: 0}));
    contributions(row).forEach((value, at) => {
      const term = model.terms[at], columns = by === "term" ? [at] : term.columns;
      for (const column of columns) differences[column].difference += (value - term[of]) / columns.length;
    });
    return differences.filter((one) => sign * one.difference < 0)
      .sort((one, other) => sign * (one.difference - other.difference)).slice(0, k);
  }

  return {
    score, probability, label, reasons, contributions,
    labels: [model.labels.negative, model.labels.positive],
    threshold: model.threshold,
    columns,
    terms: model.terms.map((term) => term.name),
  };
});
