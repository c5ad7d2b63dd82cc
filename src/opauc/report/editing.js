"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const MINUS = "\u2212";
  const MAX_SHOWN_LEVELS = 200;

  // What is shown of each term now, and how it came with the model. Points that are no knots follow the others.
  const start = (term) => ({
    y: [...(term.values || [])], missing: term.missing ? term.missing.value : null, tails: true, removed: false,
  });
  const copy = (state) => ({ ...state, y: [...state.y] });
  const first = data.terms.map(start);
  const states = first.map(copy);
  const history = [];
  let current = Math.max(0, data.terms.findIndex((term) => term.kind !== "other")), selected = null, drag = null, exported = "";

  // ---- numbers

  const shown = (value, digits = 3) => {
    if (value === 0 || Math.abs(value) < 5e-13) return "0";
    const text = String(Number(value.toPrecision(digits)));
    return (value > 0 ? "+" : "") + text.replace("-", MINUS);
  };
  const percent = (share) =>
    share > 0 && share < 0.01 ? "< 1 %" : `${Math.round(100 * share)} %`;
  const interpolate = (x, xs, ys) => {
    if (x <= xs[0]) return ys[0];
    for (let i = 1; i < xs.length; i += 1) {
      if (x <= xs[i]) return ys[i - 1] + ((ys[i] - ys[i - 1]) * (x - xs[i - 1])) / (xs[i] - xs[i - 1]);
    }
    return ys[ys.length - 1];
  };
  const ticks = (low, high, count) => {
    const rough = (high - low) / count, unit = 10 ** Math.floor(Math.log10(rough));
    const step = unit * [1, 2, 2.5, 5, 10].find((size) => size * unit >= rough * 0.999);
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) found.push(k * step);
    return { step, values: found };
  };
  const tickLabel = (value, step) => {
    const decimals = Math.max(0, Math.min(8, -Math.floor(Math.log10(step) + 1e-9) + (String(step).includes("25") ? 1 : 0)));
    return (Math.abs(value) < step / 2 ? 0 : value).toFixed(decimals).replace("-", MINUS);
  };
  const near = (one, other) => Math.abs(one - other) <= 1e-12 * Math.max(1, Math.abs(other));
  const isChanged = (k) => {
    const now = states[k], was = first[k];
    if (now.removed) return true;
    if (now.missing !== null && !near(now.missing, was.missing)) return true;
    return now.y.some((value, i) => !near(value, was.y[i]));
  };
  // Pool adjacent violators: the nearest curve that never falls, each value counting with its rows.
  const pool = (values, weights) => {
    const blocks = [];
    values.forEach((value, i) => {
      let block = { sum: value * weights[i], weight: weights[i], size: 1 };
      while (blocks.length && blocks[blocks.length - 1].sum / blocks[blocks.length - 1].weight >= block.sum / block.weight) {
        const before = blocks.pop();
        block = { sum: before.sum + block.sum, weight: before.weight + block.weight, size: before.size + block.size };
      }
      blocks.push(block);
    });
    return blocks.flatMap((block) => Array(block.size).fill(block.sum / block.weight));
  };

  // ---- changes

  const knotsOf = (term) => term.values.map((_, i) => i).filter((i) => !term.knots || term.knots[i]);
  const weightsOf = (term, at) => at.map((i) => (term.rows ? term.rows[i] : 0) + 1e-6);
  const settle = (term, state) => {
    if (!term.knots) return;
    const at = knotsOf(term), xs = at.map((i) => term.x[i]), ys = at.map((i) => state.y[i]);
    term.values.forEach((_, i) => {
      if (!term.knots[i]) state.y[i] = interpolate(term.x[i], xs, ys) + (state.tails ? term.offsets[i] : 0);
    });
  };
  const remember = () => {
    history.push({ term: current, state: copy(states[current]) });
    byId("undo").disabled = false;
  };
  const change = (work) => {
    remember();
    const state = states[current];
    if (state.removed) Object.assign(state, copy(first[current]));
    work(data.terms[current], state);
    settle(data.terms[current], state);
    if (!isChanged(current)) states[current] = copy(first[current]);
    draw();
  };
  const setPoint = (index, value) => {
    const state = states[current];
    if (index === "missing") state.missing = value;
    else state.y[index] = value;
    settle(data.terms[current], state);
  };
  const tools = {
    smooth: (term, state) => {
      const at = knotsOf(term), y = at.map((i) => state.y[i]), last = y.length - 1;
      at.forEach((i, k) => {
        const left = y[Math.max(k - 1, 0)], right = y[Math.min(k + 1, last)];
        state.y[i] = k === 0 || k === last ? (2 * y[k] + (k ? left : right)) / 3 : (left + 2 * y[k] + right) / 4;
      });
    },
    increasing: (term, state) => {
      const at = knotsOf(term), pooled = pool(at.map((i) => state.y[i]), weightsOf(term, at));
      at.forEach((i, k) => { state.y[i] = pooled[k]; });
      state.tails = false;
    },
    decreasing: (term, state) => {
      const at = knotsOf(term), pooled = pool(at.map((i) => -state.y[i]), weightsOf(term, at));
      at.forEach((i, k) => { state.y[i] = -pooled[k]; });
      state.tails = false;
    },
    flatten: (term, state) => {
      const at = term.values.map((_, i) => i), weights = weightsOf(term, at);
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      const mean = at.reduce((sum, i) => sum + weights[i] * state.y[i], 0) / total;
      state.y.fill(mean);
      state.tails = false;
    },
  };
  const remove = () => {
    remember();
    const removed = !states[current].removed;
    states[current] = copy(first[current]);
    if (removed) {
      states[current].removed = true;
      states[current].y.fill(0);
      if (states[current].missing !== null) states[current].missing = 0;
    }
    draw();
  };
  const reset = () => {
    remember();
    states[current] = copy(first[current]);
    draw();
  };
  const undo = () => {
    const last = history.pop();
    if (!last) return;
    states[last.term] = last.state;
    if (last.term !== current) { current = last.term; selected = null; }
    draw();
  };

  // ---- the patch

  const editOf = (k) => {
    const term = data.terms[k], state = states[k];
    if (state.removed) return { term: term.name, remove: true };
    const edit = { term: term.name };
    if (term.x) edit.points = term.x.map((x, i) => [x, state.y[i]]);
    else edit.levels = Object.fromEntries(term.names.map((name, i) => [name, state.y[i]]));
    if (state.missing !== null) edit.missing = state.missing;
    return edit;
  };
  const changedTerms = () => data.terms.map((_, k) => k).filter(isChanged);
  const patch = () => JSON.stringify(
    { format: data.format, version: data.version, model: data.model, edits: changedTerms().map(editOf) }, null, 1,
  );
  const say = (text) => { byId("status").textContent = text; };
  const download = () => {
    const text = patch(), link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "patch.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    exported = text;
    say("Saved as patch.json.");
  };
  const copyPatch = async () => {
    const text = patch();
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      byId("more").open = true;
      byId("patch").select();
      if (!document.execCommand("copy")) { say("Copy the selected text."); return; }
    }
    exported = text;
    say("Copied.");
  };

  // ---- drawing

  const element = (name, attributes, parent, text) => {
    const made = document.createElementNS(SVG, name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  };
  const html = (name, className, parent, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  };
  const rangeOf = (k) => {
    const all = [0, ...first[k].y, ...states[k].y];
    if (first[k].missing !== null) all.push(first[k].missing, states[k].missing);
    const low = Math.min(...all), high = Math.max(...all), room = 0.18 * Math.max(high - low, 0.5);
    return [low - room, high + room];
  };
  const describe = (term, index) => (index === "missing" ? "missing" : term.names[index]);

  const drawCurve = (term, state, box) => {
    const width = Math.max(box.clientWidth, 260), height = Math.max(260, Math.min(440, Math.round(width * 0.58)));
    const left = 72, right = 14, top = 12, bottom = 48, floor = height - bottom;
    const [low, high] = drag ? drag.range : rangeOf(current);
    const across = (position) => left + (width - left - right) * position;
    const up = (value) => top + ((floor - top) * (high - value)) / (high - low);
    const chart = element("svg", {
      class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "group",
      "aria-label": `Contribution of ${term.name}`,
    }, box);
    const scale = ticks(low, high, 6);
    scale.values.forEach((tick) => {
      element("path", { class: "grid", d: `M${left} ${up(tick)}H${width - right}` }, chart);
      element("text", { x: left - 8, y: up(tick), dy: ".35em", "text-anchor": "end" }, chart, tickLabel(tick, scale.step));
    });
    let lastLabel = -Infinity;
    term.ticks.forEach(([position, label]) => {
      element("path", { class: "grid", d: `M${across(position)} ${top}V${floor}` }, chart);
      const half = label.length * 4 + 6;
      if (across(position) - half < lastLabel) return;
      element("text", { x: across(position), y: floor + 20, "text-anchor": "middle" }, chart, label);
      lastLabel = across(position) + half;
    });
    if (term.histogram) {
      const largest = Math.max(...term.histogram, 1e-300), n = term.histogram.length;
      const [from, to] = [across(term.positions[0]), across(term.positions[term.positions.length - 1])];
      const path = term.histogram.map((share, i) => {
        const x = from + ((to - from) * i) / n, y = floor - (0.16 * (floor - top) * share) / largest;
        return `L${x.toFixed(2)} ${y.toFixed(2)}H${(from + ((to - from) * (i + 1)) / n).toFixed(2)}`;
      }).join("");
      element("path", { class: "rows", d: `M${from} ${floor}${path}V${floor}Z` }, chart);
    }
    element("path", { class: "axis", d: `M${left} ${top}V${floor}H${width - right}` }, chart);
    element("path", { class: "guide", d: `M${left} ${up(0)}H${width - right}` }, chart);
    const line = (values) => "M" + values.map((value, i) => `${across(term.positions[i]).toFixed(2)} ${up(value).toFixed(2)}`).join("L");
    if (isChanged(current)) element("path", { class: "was", d: line(first[current].y) }, chart);
    element("path", { class: "curve", d: line(state.y) }, chart);
    element("text", { class: "name", x: left + (width - left - right) / 2, y: height - 8, "text-anchor": "middle" }, chart, term.axis);
    const handles = knotsOf(term).map((i) => [i, term.positions[i], state.y[i]]);
    if (term.missing) {
      const at = across(term.missing.position);
      if (isChanged(current)) element("circle", { class: "was", cx: at, cy: up(first[current].missing), r: 5 }, chart);
      handles.push(["missing", term.missing.position, state.missing]);
    }
    element("text", {
      class: "name", transform: `translate(13 ${top + (floor - top) / 2}) rotate(-90)`, "text-anchor": "middle",
    }, chart, "Contribution, log-odds");
    handles.forEach(([index, position, value]) => {
      const handle = element("g", {
        class: index === selected ? "handle chosen" : "handle", tabindex: 0, role: "slider", "data-index": index,
        "aria-label": describe(term, index), "aria-valuenow": value, "aria-valuetext": `${shown(value)} log-odds`,
        "aria-orientation": "vertical", "aria-valuemin": low, "aria-valuemax": high,
      }, chart);
      element("circle", { class: "reach", cx: across(position), cy: up(value), r: 14 }, handle);
      element("circle", { class: "dot", cx: across(position), cy: up(value), r: 5.5 }, handle);
      element("title", {}, handle, `${describe(term, index)}: ${shown(value)}`);
    });
    chart.addEventListener("pointerdown", (event) => {
      const handle = event.target.closest(".handle");
      if (!handle || event.button > 0) return;
      const name = handle.getAttribute("data-index");
      event.preventDefault();
      begin(name === "missing" ? name : Number(name), event.clientY, (pixels) => -pixels * (high - low) / (floor - top));
      box.querySelector(`[data-index="${name}"]`).focus({ preventScroll: true });
    });
  };

  const drawLevels = (term, state, box) => {
    const [low, high] = drag ? drag.range : rangeOf(current);
    const place = (value) => `${(100 * (value - low)) / (high - low)}%`;
    const list = html("div", "levels", box);
    const order = term.values.map((_, i) => i).slice(0, MAX_SHOWN_LEVELS);
    const entries = order.map((i) => [i, term.names[i], first[current].y[i], state.y[i], term.rows ? term.rows[i] : null]);
    if (term.missing) entries.push(["missing", "missing", first[current].missing, state.missing, term.missing.rows]);
    entries.forEach(([index, name, was, value, rows]) => {
      const line = html("div", "level", list);
      const label = html("label", "level-name", line);
      html("bdi", "", label, name);
      const track = html("div", "track", line);
      track.tabIndex = -1;
      const zero = html("span", "zero", track), bar = html("span", value < 0 ? "bar-down" : "bar-up", track);
      zero.style.left = place(0);
      bar.style.left = place(Math.min(0, value));
      bar.style.width = `${(100 * Math.abs(value)) / (high - low)}%`;
      if (!near(value, was)) html("span", "mark", track).style.left = place(was);
      const grip = html("span", "grip", track);
      grip.style.left = place(value);
      grip.dataset.index = index;
      const input = html("input", "number", line);
      input.type = "number";
      input.step = "any";
      input.value = String(Number(value.toFixed(4)));
      input.id = `level-${index}`;
      label.htmlFor = input.id;
      input.addEventListener("change", () => {
        const number = Number(input.value);
        if (input.value !== "" && Number.isFinite(number)) change((_, now) => { if (index === "missing") now.missing = number; else now.y[index] = number; });
        else draw();
      });
      html("span", "share soft", line, rows === null || rows === undefined ? "" : percent(rows));
      track.addEventListener("pointerdown", (event) => {
        if (event.button > 0) return;
        event.preventDefault();
        begin(index, event.clientX, (pixels) => (pixels * (high - low)) / track.clientWidth);
      });
    });
    const hidden = term.values.length - order.length;
    if (hidden > 0) html("p", "under", box, `${hidden} more levels, with fewer rows, stay as they are.`);
    const axis = html("div", "level level-axis", list);
    html("span", "", axis);
    const scale = html("div", "track", axis), marks = ticks(low, high, 4);
    marks.values.forEach((tick) => {
      html("span", "tick soft", scale, tickLabel(tick, marks.step)).style.left = place(tick);
    });
    html("span", "soft", axis, "log-odds");
    html("span", "share soft", axis, term.rows ? "rows" : "");
  };

  // ---- dragging: the scale stays as it is until the pointer is released

  const begin = (index, from, toValue) => {
    const term = data.terms[current];
    remember();
    const state = states[current];
    if (state.removed) Object.assign(state, copy(first[current]));
    selected = index;
    drag = { index, from, toValue, value: index === "missing" ? state.missing : state.y[index], range: rangeOf(current), along: term.x && term.knots ? "clientY" : "clientX" };
    draw();
  };
  const move = (event) => {
    if (!drag) return;
    const value = drag.value + drag.toValue(event[drag.along] - drag.from);
    setPoint(drag.index, Math.min(Math.max(value, drag.range[0]), drag.range[1]));
    draw();
  };
  const end = () => {
    if (!drag) return;
    drag = null;
    if (!isChanged(current)) states[current] = copy(first[current]);
    const last = history[history.length - 1];
    if (last && last.term === current && JSON.stringify(last.state) === JSON.stringify(states[current])) history.pop();
    draw();
  };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", end);
  window.addEventListener("pointercancel", end);

  const drawPoint = (term, state) => {
    const panel = byId("point");
    panel.replaceChildren();
    const can = term.knots && selected !== null;
    panel.hidden = !can;
    if (!can) return;
    const label = html("label", "", panel);
    html("bdi", "", label, `${term.axis} ${selected === "missing" ? "missing" : `= ${term.names[selected]}`}`);
    const input = html("input", "number", panel), value = selected === "missing" ? state.missing : state.y[selected];
    input.type = "number";
    input.step = "any";
    input.id = "value";
    label.htmlFor = "value";
    input.value = String(Number(value.toFixed(4)));
    html("span", "soft", panel, "log-odds");
    input.addEventListener("change", () => {
      const number = Number(input.value), index = selected;
      if (input.value !== "" && Number.isFinite(number)) change((_, now) => { if (index === "missing") now.missing = number; else now.y[index] = number; });
      else draw();
    });
  };

  const draw = () => {
    const term = data.terms[current], state = states[current], box = byId("chart");
    const focused = document.activeElement, index = focused && box.contains(focused) ? focused.getAttribute("data-index") : null;
    byId("term").textContent = term.name;
    byId("about").textContent = term.about + (term.edited ? " Set by hand before: this edit replaces that one." : "");
    const isSettable = term.kind !== "other";
    ["smooth", "increasing", "decreasing"].forEach((name) => { byId(name).hidden = !(isSettable && term.knots); });
    byId("flatten").hidden = !isSettable;
    byId("remove").textContent = state.removed ? "Keep" : "Remove";
    byId("remove").setAttribute("aria-pressed", String(state.removed));
    byId("reset").disabled = !isChanged(current);
    byId("undo").disabled = !history.length;
    box.replaceChildren();
    box.classList.toggle("removed", state.removed);
    if (term.kind === "other") {
      html("p", "empty soft", box, state.removed ? "This term is removed." : "A term like this can be removed; it has no curve to set.");
    } else if (term.knots) drawCurve(term, state, box);
    else drawLevels(term, state, box);
    if (index !== null) box.querySelector(`[data-index="${index}"]`)?.focus({ preventScroll: true });
    byId("key").hidden = !(isSettable && isChanged(current));
    byId("now").hidden = !term.knots;
    drawPoint(term, state);
    const changed = changedTerms(), text = patch();
    document.querySelectorAll("#terms button").forEach((button, k) => {
      button.setAttribute("aria-current", String(k === current));
      button.querySelector(".state").textContent = isChanged(k) ? (states[k].removed ? "removed" : "edited") : "";
    });
    byId("choose").selectedIndex = current;
    [...byId("choose").options].forEach((option, k) => {
      option.textContent = data.terms[k].name + (isChanged(k) ? (states[k].removed ? " – removed" : " – edited") : "");
    });
    byId("count").textContent = changed.length === 1 ? "1 term changed" : `${changed.length} terms changed`;
    byId("download").disabled = byId("copy").disabled = !changed.length;
    byId("patch").value = text;
    if (text !== exported) say("");
  };

  const choose = (k) => { current = k; selected = null; draw(); };
  const largest = Math.max(...data.terms.map((term) => term.importance), 1e-300);
  data.terms.forEach((term, k) => {
    const button = html("button", "", html("li", "", byId("terms")));
    button.type = "button";
    html("bdi", "term-name", button, term.name);
    html("span", "state", button);
    html("span", "size", html("span", "meter", button)).style.width = `${(100 * term.importance) / largest}%`;
    button.addEventListener("click", () => choose(k));
    html("option", "", byId("choose"), term.name);
  });
  byId("choose").addEventListener("change", (event) => choose(event.target.selectedIndex));
  Object.keys(tools).forEach((name) => byId(name).addEventListener("click", () => change(tools[name])));
  byId("remove").addEventListener("click", remove);
  byId("reset").addEventListener("click", reset);
  byId("undo").addEventListener("click", undo);
  byId("download").addEventListener("click", download);
  byId("copy").addEventListener("click", copyPatch);
  byId("chart").addEventListener("focusin", (event) => {
    const name = event.target.getAttribute("data-index"), index = name === "missing" || name === null ? name : Number(name);
    if (index !== null && data.terms[current].knots && index !== selected && !drag) { selected = index; draw(); }
  });
  byId("chart").addEventListener("keydown", (event) => {
    const name = event.target.getAttribute("data-index"), sign = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!sign || name === null) return;
    event.preventDefault();
    const [low, high] = rangeOf(current), step = (sign * (event.shiftKey ? 10 : 1) * (high - low)) / 200;
    change((_, now) => { if (name === "missing") now.missing += step; else now.y[Number(name)] += step; });
  });
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.shiftKey && event.key === "z" && event.target.tagName !== "INPUT") {
      event.preventDefault();
      undo();
    }
  });
  window.addEventListener("beforeunload", (event) => { if (changedTerms().length && patch() !== exported) event.preventDefault(); });
  new ResizeObserver(() => { if (!drag) draw(); }).observe(byId("editor"));
  draw();
})();
