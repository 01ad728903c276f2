"use strict";
/* Curves of logs: one chart a figure, grouped by the first part of its name; several logs share the charts. */
const logs = JSON.parse(document.getElementById("data").textContent).logs;
const COLOURS = ["#56b4ff", "#e8a33d", "#6fd08c", "#e5727f", "#b99cf2", "#5fd3d3", "#d7d06a", "#f29ac7"];
const AXES = ["wall_s", "seconds", "samples", "iteration", "step", "updates"];
const byId = id => document.getElementById(id);
const names = [...new Set(logs.flatMap(log => Object.keys(log.columns)))];
const charts = [];
let axis = null;

function short(x) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  return size >= 1e5 || size < 1e-3 ? x.toExponential(2) : String(Number(x.toPrecision(4)));
}

/* Points of one log's figure along the axis, smoothed by an exponential average. */
function points(log, name) {
  const y = log.columns[name], x = log.columns[axis], keep = Number(byId("smooth").value), out = [];
  if (!y) return out;
  let mean = null;
  for (let i = 0; i < y.length; i++) {
    if (y[i] === null) continue;
    mean = mean === null ? y[i] : keep * mean + (1 - keep) * y[i];
    const at = x ? x[i] : i;
    if (at !== null) out.push([at, mean]);
  }
  return out;
}

function ticks(lo, hi) {
  const raw = (hi - lo) / 4, base = 10 ** Math.floor(Math.log10(raw));
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
  const w = canvas.clientWidth, h = canvas.clientHeight, left = 52, low = 20, pen = canvas.getContext("2d");
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
  for (const t of ticks(x0, x1)) pen.fillText(short(t), Math.min(px(t), w - 20), h - 5);
  lines.forEach((line, k) => {
    pen.strokeStyle = COLOURS[k % COLOURS.length]; pen.lineWidth = 1.6; pen.beginPath();
    line.forEach((p, i) => i ? pen.lineTo(px(p[0]), py(p[1])) : pen.moveTo(px(p[0]), py(p[1])));
    pen.stroke();
    if (line.length === 1) pen.fillRect(px(line[0][0]) - 2, py(line[0][1]) - 2, 4, 4);
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

function addChart(grid, name) {
  const figure = make("figure", grid), caption = make("figcaption", figure);
  make("b", caption, name);
  const chart = { name, figure, value: make("span", caption), canvas: make("canvas", figure), lines: [], toX: p => p };
  chart.canvas.addEventListener("mousemove", e => tell(chart, chart.toX(e.offsetX)));
  chart.canvas.addEventListener("mouseleave", () => tell(chart, null));
  charts.push(chart);
}

function refresh() {
  const only = byId("only").value;
  for (const c of charts) {
    c.figure.hidden = !c.name.includes(only);
    c.figure.style.display = c.figure.hidden ? "none" : "";
    if (!c.figure.hidden) draw(c);
  }
}

const axes = AXES.filter(name => names.includes(name));
axis = axes[0] || null;
for (const name of axes) make("option", byId("axis"), name);
logs.forEach((log, k) => {
  const key = make("span", byId("keys"), log.name + "  ");
  key.className = "key";
  key.style.setProperty("--colour", COLOURS[k % COLOURS.length]);
});
const groups = new Map();
for (const name of names) {
  if (axes.includes(name)) continue;
  const group = name.includes(".") ? name.slice(0, name.indexOf(".")) : "general";
  if (!groups.has(group)) groups.set(group, []);
  groups.get(group).push(name);
}
for (const [group, list] of [...groups].sort((a, b) => (b[0] === "trials") - (a[0] === "trials"))) {
  make("h2", byId("main"), group);
  const grid = make("div", byId("main"));
  grid.className = "grid";
  for (const name of list) addChart(grid, name);
}
byId("axis").addEventListener("change", () => { axis = byId("axis").value; refresh(); });
for (const id of ["smooth", "log", "only"]) byId(id).addEventListener("input", refresh);
window.addEventListener("resize", refresh);
refresh();
