"use strict";
/* Curves of logs: what a training is judged by first, then the rest in folded groups by the first part of the
 * name; several logs share the charts. What never changes is a line of text, no chart. */
const logs = JSON.parse(document.getElementById("data").textContent).logs;
const COLOURS = ["#56b4ff", "#e8a33d", "#6fd08c", "#e5727f", "#b99cf2", "#5fd3d3", "#d7d06a", "#f29ac7"];
/* name: title, unit, what one unit is in the log's */
const AXES = {
  wall_s: ["training time", "min", 60], seconds: ["computing time", "min", 60], samples: ["samples", "million", 1e6],
  iteration: ["iteration", "", 1], step: ["step", "", 1], updates: ["updates", "", 1],
};
const LEAD = {
  "trials.success": ["trials that succeed", "%", 0.01],
  "trials.progress": ["progress before the first failure", "%", 0.01],
  "trials.joint_rad": ["joint error", "rad", 1],
  "trials.height_m": ["height error", "cm", 0.01],
  "trials.tilt_rad": ["tilt error", "rad", 1],
  "heldout": ["held-out loss", "", 1],
  "loss": ["loss", "", 1],
};
const GROUPS = {
  "general": "Pace and size", "share_of_time": "Share of the time, by phase", "reward": "Reward of a step, by term",
  "ends": "How episodes end, share of them", "trials": "Trials, more closely",
};
const UNITS = [[/_rad$/, "rad"], [/_m$/, "m"], [/_per_s$/, "1/s"], [/_s$/, "s"], [/^share_of_time\.|^ends\./, "share"],
  [/\.(success|progress|used|saturated)$/, "share"], [/^steps_per_episode$/, "steps of 20 ms"]];
const byId = id => document.getElementById(id);
const names = [...new Set(logs.flatMap(log => Object.keys(log.columns)))];
const charts = [];
let axis = null;

/* Title, unit and scale of a figure; those without one are called as in the log. */
function meaning(name) {
  if (LEAD[name]) return LEAD[name];
  const last = name.slice(name.indexOf(".") + 1).replace(/_(rad|m|s|per_s)$/, "").replace(/_/g, " ").replaceAll(".", ", ");
  const unit = UNITS.find(u => u[0].test(name));
  return [/_per_s$/.test(name) ? last + " a second" : last, unit && !/_per_s$/.test(name) ? unit[1] : "", 1];
}

function titled(title, unit) {
  return unit ? title + " (" + unit + ")" : title;
}

/* A figure that is the same number on every line of every log has nothing to draw. */
function constant(name) {
  const values = logs.flatMap(log => log.columns[name] || []).filter(v => v !== null);
  return values.length > 1 && values.every(v => v === values[0]);
}

function short(x) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  return size >= 1e5 || size < 1e-3 ? x.toExponential(2) : String(Number(x.toPrecision(4)));
}

/* Points of one log's figure along the axis, smoothed by an exponential average. */
function points(log, name) {
  const y = log.columns[name], x = log.columns[axis], keep = Number(byId("smooth").value), out = [];
  const size = meaning(name)[2], unit = axis ? AXES[axis][2] : 1;
  if (!y) return out;
  let mean = null;
  for (let i = 0; i < y.length; i++) {
    if (y[i] === null) continue;
    mean = mean === null ? y[i] / size : keep * mean + (1 - keep) * y[i] / size;
    const at = x ? x[i] : i;
    if (at !== null) out.push([at / unit, mean]);
  }
  return out;
}

function ticks(lo, hi) {
  const raw = (hi - lo) / 5, base = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(k => k * base).find(s => s >= raw), out = [];
  for (let t = Math.ceil(lo / step) * step; t <= hi + 1e-9 * step; t += step) out.push(t);
  return out;
}

function range(values) {
  let lo = Math.min(...values), hi = Math.max(...values);
  if (!(hi > lo)) { const half = Math.abs(lo) * 0.05 || 0.5; lo -= half; hi += half; }
  return [lo, hi];
}

function draw(chart) {
  const lines = logs.map(log => points(log, chart.name)), all = lines.flat();
  const canvas = chart.canvas, scale = window.devicePixelRatio || 1;
  const w = canvas.clientWidth, h = canvas.clientHeight, left = 52, low = 36, pen = canvas.getContext("2d");
  const logarithmic = byId("log").checked && all.length && all.every(p => p[1] > 0);
  const up = v => logarithmic ? Math.log10(v) : v;
  canvas.width = w * scale; canvas.height = h * scale;
  pen.scale(scale, scale);
  pen.clearRect(0, 0, w, h);
  if (!all.length) return;
  const [x0, x1] = range(all.map(p => p[0])), [y0, y1] = range(all.map(p => up(p[1])));
  const px = x => left + (x - x0) / (x1 - x0) * (w - left - 6), py = y => 6 + (y1 - up(y)) / (y1 - y0) * (h - low - 10);
  pen.font = "11px system-ui, sans-serif"; pen.fillStyle = "#93a0b3"; pen.strokeStyle = "#2a3240"; pen.lineWidth = 1;
  for (const t of ticks(y0, y1)) {
    const v = logarithmic ? 10 ** t : t, y = py(v);
    pen.beginPath(); pen.moveTo(left, y); pen.lineTo(w - 6, y); pen.stroke();
    pen.textAlign = "right"; pen.fillText(short(v), left - 6, y + 4);
  }
  pen.textAlign = "center";
  for (const t of ticks(x0, x1)) pen.fillText(short(t), Math.min(px(t), w - 20), h - 20);
  pen.fillText(axis ? titled(AXES[axis][0], AXES[axis][1]) : "line", left + (w - left) / 2, h - 5);
  lines.forEach((line, k) => {
    pen.strokeStyle = COLOURS[k % COLOURS.length]; pen.lineWidth = 1.6; pen.beginPath();
    line.forEach((p, i) => i ? pen.lineTo(px(p[0]), py(p[1])) : pen.moveTo(px(p[0]), py(p[1])));
    pen.stroke();
    if (line.length === 1) pen.fillStyle = pen.strokeStyle, pen.fillRect(px(line[0][0]) - 2, py(line[0][1]) - 2, 4, 4);
  });
  chart.lines = lines; chart.toX = pixel => x0 + (pixel - left) / (w - left - 6) * (x1 - x0);
  tell(chart, null);
}

/* The newest values, or those nearest to the pointer. */
function tell(chart, x) {
  const said = chart.lines.filter(line => line.length).map(line => {
    let best = line[line.length - 1];
    if (x !== null) for (const p of line) if (Math.abs(p[0] - x) < Math.abs(best[0] - x)) best = p;
    return short(best[1]) + (x === null ? "" : " at " + short(best[0]));
  });
  chart.value.textContent = said.join("   ");
}

function make(tag, parent, text) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

function addChart(grid, name, group) {
  const figure = make("figure", grid), caption = make("figcaption", figure);
  const [title, unit] = meaning(name);
  make("b", caption, titled(title, unit)).title = name + " in the log";
  const chart = { name, figure, group, value: make("span", caption), canvas: make("canvas", figure), lines: [], toX: p => p };
  chart.canvas.addEventListener("mousemove", e => tell(chart, chart.toX(e.offsetX)));
  chart.canvas.addEventListener("mouseleave", () => tell(chart, null));
  charts.push(chart);
}

function refresh() {
  const only = byId("only").value.toLowerCase();
  for (const c of charts) {
    c.figure.hidden = !(c.name + " " + meaning(c.name)[0]).toLowerCase().includes(only);
    c.figure.style.display = c.figure.hidden ? "none" : "";
    if (only && !c.figure.hidden && c.group) c.group.open = true;
    if (!c.figure.hidden && c.canvas.clientWidth) draw(c);
  }
}

function addGrid(parent, list, group) {
  const grid = make("div", parent);
  grid.className = "grid";
  for (const name of list) addChart(grid, name, group);
}

/* A folded group; its charts are drawn when it opens, for they have no size before. */
function addGroup(title, list) {
  const group = make("details", byId("main"));
  make("summary", group, title).append(" ", Object.assign(document.createElement("small"), { textContent: list.length }));
  addGrid(group, list, group);
  group.addEventListener("toggle", refresh);
}

function addConstants(list) {
  if (!list.length) return;
  const group = make("details", byId("main")), table = make("table", group);
  group.prepend(Object.assign(document.createElement("summary"), { textContent: "Never changes " }));
  group.firstChild.append(Object.assign(document.createElement("small"), { textContent: list.length }));
  for (const name of list) {
    const row = make("tr", table), [title, unit, size] = meaning(name);
    const value = logs.flatMap(log => log.columns[name] || []).find(v => v !== null);
    make("td", row, titled(title, unit)).title = name + " in the log";
    make("td", row, short(value / size));
    make("td", row, name);
  }
}

const axes = Object.keys(AXES).filter(name => names.includes(name));
axis = axes[0] || null;
for (const name of axes) make("option", byId("axis"), AXES[name][0]).value = name;
logs.forEach((log, k) => {
  const key = make("span", byId("keys"), log.name + "  ");
  key.className = "key";
  key.style.setProperty("--colour", COLOURS[k % COLOURS.length]);
});
byId("title").textContent = logs.map(log => log.name).join(", ");
document.title = "Training: " + byId("title").textContent;
const drawn = names.filter(name => !axes.includes(name)), constants = drawn.filter(constant);
const lead = Object.keys(LEAD).filter(name => drawn.includes(name) && !constants.includes(name));
const groups = new Map();
for (const name of drawn) {
  if (lead.includes(name) || constants.includes(name)) continue;
  const group = name.includes(".") ? name.slice(0, name.indexOf(".")) : "general";
  if (!groups.has(group)) groups.set(group, []);
  groups.get(group).push(name);
}
if (lead.length) addGrid(byId("main"), lead, null);
for (const [group, list] of groups) addGroup(GROUPS[group] || group, list);
addConstants(constants);
if (!lead.length && byId("main").querySelector("details")) byId("main").querySelector("details").open = true;
byId("axis").addEventListener("change", () => { axis = byId("axis").value; refresh(); });
for (const id of ["smooth", "log", "only"]) byId(id).addEventListener("input", refresh);
window.addEventListener("resize", refresh);
refresh();
