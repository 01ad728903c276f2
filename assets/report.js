/* The report: tables, bars, scatters and the list of rollouts, from data.report; replays open over it. Every
 * text of the data reaches the page by textContent. */
'use strict';

const report = JSON.parse(document.getElementById('data').textContent).report;
const METHOD_COLOURS = ['#e8a33d', '#56b4ff', '#6fd08c', '#e57aa8', '#b59cf5', '#d9d16a', '#7fd6d2', '#f08a6b'];
const CATEGORY_COLOURS = ['#56b4ff', '#e8a33d', '#6fd08c', '#e57aa8', '#b59cf5', '#d9d16a', '#7fd6d2', '#f08a6b', '#9aa7b8', '#c08457'];
const MAIN = 5; /* the paper's figures come first */
const categories = [...new Set(report.courses.map(course => course.category))];
const methodColour = m => METHOD_COLOURS[m % METHOD_COLOURS.length];
const categoryColour = name => CATEGORY_COLOURS[categories.indexOf(name) % CATEGORY_COLOURS.length];

/* ---- Making elements. ---- */

function add(parent, tag, text, className) {
    const element = parent.appendChild(document.createElement(tag));
    if (text !== undefined && text !== null) element.textContent = text;
    if (className) element.className = className;
    return element;
}

function draw(parent, tag, attributes, text) {
    const element = parent.appendChild(document.createElementNS('http://www.w3.org/2000/svg', tag));
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    return element;
}

function section(id, title, words) {
    const element = document.getElementById(id);
    add(element, 'h2', title);
    if (words) add(element, 'p', words);
    return element;
}

function keys(parent, entries) {
    const list = add(parent, 'div', null, 'keys');
    for (const [name, colour] of entries) {
        const entry = add(list, 'span');
        add(entry, 'i').style.background = colour;
        entry.appendChild(document.createTextNode(name));
    }
}

const plain = name => name.replace(/_/g, ' ');
const NONE = '–'; /* where there is no number */
const isShare = figure => figure.unit === '';
const unitOf = figure => isShare(figure) ? '%' : figure.unit;
const LONG_NAMES = {cr: 'completion (CR)', joint_rad: 'joint error', height_m: 'height error', ori_rad: 'tilt error',
    linvel_mps: 'velocity error', mpjpe_local_mm: 'links, local', mpjpe_global_mm: 'links, global'};
const longName = figure => LONG_NAMES[figure.name] || figure.heading;
const present = values => values.filter(x => x !== null && Number.isFinite(x));
const show = (figure, x) => x === null ? NONE : isShare(figure) ? (100 * x).toFixed(1) + ' %'
    : figure.unit === 'mm' ? x.toFixed(0) : x.toFixed(x < 0.1 ? 4 : 3);

/* Round numbers (1, 2, 5 x 10^n) from 0 to top, about n of them, as [value, words]. */
function ticks(top, n) {
    const step = Plot.niceStep(top / n), digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    return Array.from({length: Math.floor(top / step + 1e-9) + 1}, (_, i) => [i * step, (i * step).toFixed(digits)]);
}

/* What a clip is, in words where there are any, with what it is called below. */
function clipCell(row, course) {
    const cell = add(row, 'td', course.description || plain(course.name), 'clip');
    if (course.description) add(cell, 'small', course.name);
}

/* ---- Tables. ---- */

function headings(row, figures) {
    for (const figure of figures) {
        const cell = add(row, 'th', longName(figure) + (figure.more ? ' \u2191' : ' \u2193'));
        add(cell, 'small', unitOf(figure));
        cell.title = figure.more ? 'more is better' : 'less is better';
    }
}

/* The best value, when methods differ at all. */
function bestOf(figure, k) {
    const values = present(report.methods.map(method => method.all.mean[k])), lo = Math.min(...values), hi = Math.max(...values);
    return lo === hi ? null : figure.more ? hi : lo;
}

function summaryTable() {
    const part = section('summary', 'Figures', (report.courses.length > 1 ? 'Means over rollouts, with 95 % bootstrap intervals.' : 'Of one rollout.') + (report.paper.length
        ? ' Rows in italics are the paper\'s, on other motions and after other training: for orientation, not for a ranking.' : ''));
    const table = add(add(part, 'div', null, 'scroll'), 'table'), head = add(add(table, 'thead'), 'tr');
    add(head, 'th', 'Method');
    add(head, 'th', 'n');
    headings(head, report.figures);
    const body = add(table, 'tbody');
    for (const method of report.methods) {
        const row = add(body, 'tr');
        add(row, 'td', method.name);
        add(row, 'td', method.all.n);
        report.figures.forEach((figure, k) => {
            const value = method.all.mean[k];
            const cell = add(row, 'td', show(figure, value));
            if (value === bestOf(figure, k)) cell.className = 'best';
            if (method.all.low[k] !== null)
                add(cell, 'small', show(figure, method.all.low[k]) + ' – ' + show(figure, method.all.high[k]));
        });
    }
    for (const paper of report.paper) {
        const row = add(body, 'tr', null, 'paper');
        add(row, 'td', 'paper: ' + paper.name);
        add(row, 'td', '');
        report.figures.forEach((figure, k) => add(row, 'td', k < MAIN ? show(figure, paper.mean[k]) : ''));
    }
    for (const method of report.methods) {
        if (categories.length < 2) break;
        add(add(body, 'tr', null, 'group'), 'td', method.name + ', by category').colSpan = 2 + report.figures.length;
        for (const name of categories) {
            const row = add(body, 'tr'), data = method.categories[name];
            add(row, 'td', plain(name));
            add(row, 'td', data.n);
            report.figures.forEach((figure, k) => add(row, 'td', show(figure, data.mean[k])));
        }
    }
}

/* ---- Bars by category. ---- */

function barPlot(parent, figure, k) {
    const box = add(parent, 'figure');
    const caption = add(box, 'figcaption', longName(figure));
    const scale = isShare(figure) ? 100 : 1;
    add(caption, 'small', isShare(figure) ? '% of frames' : figure.unit);
    const groups = ['all', ...(categories.length > 1 ? categories : [])];
    const of = (method, group) => group === 'all' ? method.all : method.categories[group];
    const top = Math.max(1e-9, isShare(figure) ? 1 : 0,
        ...present(report.methods.flatMap(method => groups.flatMap(g => [of(method, g).mean[k], of(method, g).high[k]]))));
    const width = 520, height = 210, left = 44, base = height - 44, each = (width - left) / groups.length;
    const svg = draw(box, 'svg', {viewBox: `0 0 ${width} ${height}`});
    const y = value => base - (base - 8) * value / top;
    for (const [value, words] of ticks(scale * top, 4)) {
        const at = y(value / scale);
        draw(svg, 'line', {x1: left, x2: width, y1: at, y2: at, stroke: 'rgba(255,255,255,0.08)'});
        draw(svg, 'text', {x: left - 5, y: at + 4, 'text-anchor': 'end'}, words);
    }
    groups.forEach((group, g) => {
        const bar = 0.76 * each / report.methods.length;
        report.methods.forEach((method, m) => {
            const data = of(method, group);
            if (data.mean[k] === null) return;
            const x = left + g * each + 0.12 * each + m * bar;
            const rect = draw(svg, 'rect', {x, y: y(data.mean[k]), width: 0.9 * bar, height: base - y(data.mean[k]),
                fill: methodColour(m), rx: 1.5});
            draw(rect, 'title', {}, `${method.name}, ${plain(group)}: ${show(figure, data.mean[k])}` +
                `${isShare(figure) ? '' : ' ' + figure.unit} (n = ${data.n})`);
            const middle = x + 0.45 * bar;
            if (data.low[k] === null) return;
            draw(svg, 'line', {x1: middle, x2: middle, y1: y(data.low[k]), y2: y(data.high[k]), stroke: '#fff', 'stroke-opacity': 0.7});
        });
        draw(svg, 'text', {x: left + (g + 0.5) * each, y: base + 12, 'text-anchor': 'end',
            transform: `rotate(-28 ${left + (g + 0.5) * each} ${base + 12})`}, plain(group));
    });
}

function bars() {
    const part = section('bars', categories.length > 1 ? 'By category' : 'By method', report.courses.length > 1 ? 'Whiskers are 95 % intervals.' : '');
    keys(part, report.methods.map((method, m) => [method.name, methodColour(m)]));
    const grid = add(part, 'div', null, 'grid');
    report.figures.slice(0, MAIN + 1).forEach((figure, k) => barPlot(grid, figure, k));
}

/* ---- Disturbances. ---- */

/* Ahead is up, left is left. */
function polar(parent, title, unit, key, top) {
    const box = add(parent, 'figure'), size = 300, c = size / 2, radius = c - 26;
    add(add(box, 'figcaption', title), 'small', unit + ', largest survived');
    const svg = draw(box, 'svg', {viewBox: `0 0 ${size} ${size}`});
    for (let i = 1; i <= 3; i++) {
        draw(svg, 'circle', {cx: c, cy: c, r: radius * i / 3, fill: 'none', stroke: 'rgba(255,255,255,0.12)'});
        draw(svg, 'text', {x: c + 3, y: c - radius * i / 3 + 10}, top * i / 3 + (i === 3 ? ' ' + unit : ''));
    }
    for (const [text, x, y] of [['ahead', c, 14], ['back', c, size - 6], ['left', 14, c + 4], ['right', size - 14, c + 4]])
        draw(svg, 'text', {x, y, 'text-anchor': 'middle'}, text);
    report.methods.forEach((method, m) => {
        const points = method.endurance[key].map((value, i) => {
            const angle = 2 * Math.PI * i / method.endurance[key].length, r = radius * value / top;
            return [c - r * Math.sin(angle), c - r * Math.cos(angle)].map(x => x.toFixed(1)).join();
        });
        draw(svg, 'polygon', {points: points.join(' '), fill: methodColour(m), 'fill-opacity': 0.16, stroke: methodColour(m), 'stroke-width': 1.6});
    });
}

function enduranceRow(table, name, e) {
    const row = add(table, 'tr'), share = x => x === null ? NONE : (100 * x).toFixed(1) + ' %';
    for (const text of [name, e.n, share(e.survived), share(e.recovered), share(e.late), share(e.back),
                        e.half === null ? NONE : e.half.toFixed(2) + ' s'])
        add(row, 'td', text);
}

function endurance() {
    if (!report.methods.some(method => method.endurance)) return;
    const part = section('endurance', 'Disturbances and falls', 'Never lost: never out of the bounds of completion. ' +
        'Stands: on the reference from some moment within 5 or 10 s of the blow or of the start, and to the end. Back: within ' +
        'the bounds for a second without a break, begun within 6 s of the push. Half by: the median time to stand, of all robots.');
    const table = add(add(part, 'div', null, 'scroll'), 'table'), head = add(table, 'tr');
    for (const text of ['Method', 'n', 'never lost', 'stands in 5 s', 'stands in 10 s', 'back in 6 s', 'half by'])
        add(head, 'th', text);
    for (const method of report.methods) enduranceRow(table, method.name, method.endurance);
    for (const method of report.methods) {
        if (categories.length < 2) break;
        add(add(table, 'tr', null, 'group'), 'td', method.name + ', by category').colSpan = 7;
        for (const name of categories)
            if (method.categories[name].endurance) enduranceRow(table, plain(name), method.categories[name].endurance);
    }
    if (!categories.includes('push') && !categories.includes('punch')) return;
    keys(part, report.methods.map((method, m) => [method.name, methodColour(m)]));
    const grid = add(part, 'div', null, 'grid');
    polar(grid, 'Pushes', 'm/s', 'push', 3);
    polar(grid, 'Punches of 0.08 s', 'N', 'punch', 600);
}

/* ---- With the planner and without. ---- */

function against() {
    const planned = report.methods.filter(method => method.against);
    if (!planned.length) return;
    const part = section('against', 'With the planner and without', 'Difference of the completion rate from that of the ' +
        'tracker alone, in points, by category. Identity: joint error over that of the tracker alone, on the rollouts which ' +
        'that completes; 1 where the planner changes nothing.');
    const table = add(add(part, 'div', null, 'scroll'), 'table'), head = add(table, 'tr'), groups = Object.keys(planned[0].against.rates);
    add(head, 'th', 'Method');
    for (const name of groups) add(add(head, 'th', plain(name)), 'small', 'points');
    for (const text of ['identity', 'n']) add(head, 'th', text);
    for (const method of planned) {
        const row = add(table, 'tr'), a = method.against;
        add(row, 'td', method.name + ' – ' + a.method);
        for (const name of groups) add(row, 'td', a.rates[name] === null ? NONE : (100 * a.rates[name]).toFixed(2).replace(/^(?=[\d])/, '+'));
        add(row, 'td', a.ratio === null ? NONE : a.ratio.toFixed(3));
        add(row, 'td', a.n);
    }
}

/* ---- How natural it is. ---- */

function natural() {
    if (!report.methods.some(method => method.natural)) return;
    const part = section('natural', 'How natural', 'Distance of half-second windows of the robot\'s motion from the nearest in ' +
        'the training clips, in rad a joint, and that of the reference\'s own; joint speeds and torques, their largest share of ' +
        'what the motors can, and jerk. Means over rollouts; out of bounds: from leaving the bounds of completion until within ' +
        'them for a second.');
    const table = add(add(part, 'div', null, 'scroll'), 'table'), head = add(table, 'tr');
    for (const text of ['Method', 'n']) add(head, 'th', text);
    for (const figure of report.naturals) add(add(head, 'th', figure.heading), 'small', figure.unit);
    for (const method of report.methods)
        for (const {part, n, mean} of method.natural) {
            const row = add(table, 'tr');
            for (const text of [method.name + ', ' + part, n]) add(row, 'td', text);
            for (const x of mean) add(row, 'td', x === null ? NONE : x >= 100 ? x.toFixed(0) : x.toPrecision(3));
        }
}

/* ---- When the planner acts. ---- */

function identityPlot(parent, method, m) {
    const points = method.identity, box = add(parent, 'figure');
    add(add(box, 'figcaption', method.name), 'small', points.length + ' frames');
    const width = 420, height = 330, left = 40, base = height - 34;
    const top = Math.max(0.5, ...points.map(point => Math.max(point[0], point[1])));
    const svg = draw(box, 'svg', {viewBox: `0 0 ${width} ${height}`});
    const x = value => left + (width - left - 8) * value / top, y = value => base - (base - 8) * value / top;
    draw(svg, 'line', {x1: x(0), y1: y(0), x2: x(top), y2: y(top), stroke: 'rgba(255,255,255,0.35)', 'stroke-dasharray': '4 4'});
    draw(svg, 'path', {d: `M${left} 8V${base}H${width - 8}`, fill: 'none', stroke: 'rgba(255,255,255,0.3)'});
    for (const [value, words] of ticks(top, 5)) {
        draw(svg, 'text', {x: x(value), y: base + 14, 'text-anchor': 'middle'}, words);
        if (value) draw(svg, 'text', {x: left - 5, y: y(value) + 4, 'text-anchor': 'end'}, words);
    }
    for (const [a, b] of points) draw(svg, 'circle', {cx: x(a).toFixed(1), cy: y(b).toFixed(1), r: 1.6, fill: methodColour(m), 'fill-opacity': 0.4});
    draw(svg, 'text', {x: (left + width) / 2, y: height - 4, 'text-anchor': 'middle'}, 'robot from reference, rad');
    draw(svg, 'text', {x: 12, y: base / 2, 'text-anchor': 'middle', transform: `rotate(-90 12 ${base / 2})`}, 'plan from reference, rad');
}

function planner() {
    const planned = report.methods.filter(method => method.plans.made > 0);
    if (!planned.length) return;
    const part = section('planner', 'When the planner acts', 'Joint distance (L2 over 29) of the plan from the reference, mean ' +
        'over the window, against that of the robot. Near zero the plan is the reference: the identity. Below the dashed line ' +
        'it leads back.');
    const grid = add(part, 'div', null, 'grid');
    for (const method of planned) identityPlot(grid, method, report.methods.indexOf(method));
    const table = add(part, 'table'), head = add(table, 'tr');
    for (const text of ['Method', 'plans', 'time of a plan', ...Object.keys(planned[0].plans.verdicts)]) add(head, 'th', text);
    for (const method of planned) {
        const row = add(table, 'tr');
        for (const text of [method.name, method.plans.made, method.plans.ms.toFixed(1) + ' ms', ...Object.values(method.plans.verdicts)])
            add(row, 'td', text);
    }
}

/* ---- Tokens: points that turn under the pointer. ---- */

class Cloud {
    constructor(canvas, points) {
        this.canvas = canvas;
        this.points = points;
        this.azimuth = 0.6;
        this.elevation = 0.4;
        let last = null;
        canvas.addEventListener('pointerdown', event => {
            canvas.setPointerCapture(event.pointerId);
            last = event;
        });
        canvas.addEventListener('pointerup', () => last = null);
        canvas.addEventListener('pointermove', event => {
            if (!last) return;
            this.azimuth += 0.01 * (event.clientX - last.clientX);
            this.elevation = Math.min(1.5, Math.max(-1.5, this.elevation + 0.01 * (event.clientY - last.clientY)));
            last = event;
            this.draw();
        });
        new ResizeObserver(() => this.draw()).observe(canvas);
    }

    draw() {
        const ratio = window.devicePixelRatio || 1, w = this.canvas.clientWidth, h = this.canvas.clientHeight;
        if (!w) return;
        this.canvas.width = w * ratio;
        this.canvas.height = h * ratio;
        const context = this.canvas.getContext('2d');
        context.scale(ratio, ratio);
        const ca = Math.cos(this.azimuth), sa = Math.sin(this.azimuth), ce = Math.cos(this.elevation), se = Math.sin(this.elevation);
        const scale = Math.min(w, h) / 6;
        const placed = this.points.map(([x, y, z, name]) => {
            const across = ca * x - sa * y, deep = sa * x + ca * y;
            return [w / 2 + scale * across, h / 2 - scale * (ce * z - se * deep), se * z + ce * deep, name];
        }).sort((a, b) => b[2] - a[2]);
        for (const [x, y, depth, name] of placed) {
            context.globalAlpha = Math.min(0.9, Math.max(0.25, 0.6 - 0.12 * depth));
            context.fillStyle = categoryColour(name);
            context.fillRect(x - 1.4, y - 1.4, 2.8, 2.8);
        }
    }
}

function tokens() {
    const data = report.tokens;
    if (!data) return;
    const share = x => (100 * x).toFixed(1) + ' %';
    const part = section('tokens', 'Motion tokens', 'Tokens of ' + data.points.length + ' reference frames, on their first three ' +
        'principal components (' + data.explained.map(share).join(', ') + ' of the variance). ' + (categories.length < 2 ? '' : 'Of the ten ' +
        'nearest tokens of other clips ' + share(data.purity) + ' are of the same category; chance would give ' + share(data.chance) + '. ') + 'Values of the ' +
        'code in use: ' + share(data.used) + ', entropy ' + share(data.entropy) + ' of the highest. Drag to turn.');
    keys(part, categories.map(name => [plain(name), categoryColour(name)]));
    const canvas = add(add(part, 'figure'), 'canvas', null, 'cloud');
    new Cloud(canvas, data.points).draw();
}

/* ---- Rollouts. ---- */

class Rollouts {
    constructor() {
        const many = report.methods.length > 1;
        const part = section('rollouts', 'Rollouts', 'A click on a figure plays that rollout' +
            (many ? '; "together" plays two methods side by side.' : '.'));
        const tools = add(part, 'div', null, 'tools');
        this.figure = add(tools, 'select');
        report.figures.forEach((figure, k) => this.figure.add(new Option(longName(figure) + ', ' + unitOf(figure), k)));
        this.category = add(tools, 'select');
        for (const name of ['all categories', ...categories]) this.category.add(new Option(plain(name), name));
        this.words = add(tools, 'input');
        this.words.placeholder = 'part of a name';
        this.choosePair(tools);
        for (const element of [this.figure, this.category, this.words]) element.addEventListener('input', () => this.draw());
        const table = add(add(part, 'div', null, 'scroll'), 'table'), head = add(add(table, 'thead'), 'tr');
        this.sort = 0;
        this.down = false;
        this.heads = ['Clip', 'Category', 'Length, s', ...report.methods.map(method => method.name)].map((text, i) => {
            const cell = add(head, 'th', text, i === 1 ? 'sort words' : 'sort');
            cell.addEventListener('click', () => {
                this.down = this.sort === i ? !this.down : false;
                this.sort = i;
                this.draw();
            });
            return cell;
        });
        if (this.pair) add(head, 'th', 'together');
        this.body = add(table, 'tbody');
        this.draw();
    }

    /* Which two play together: the first that plans and the first other, unless more than two leave a choice. */
    choosePair(tools) {
        const names = report.methods.map(method => method.name), first = Math.max(0, report.methods.findIndex(method => method.plans.made > 0));
        this.pair = names.length > 1 ? [first, first ? 0 : 1] : null;
        if (names.length < 3) return;
        this.pair.forEach((chosen, k) => {
            add(tools, 'span', k ? 'beside' : 'together:');
            const select = add(tools, 'select');
            names.forEach((name, m) => select.add(new Option(name, m)));
            select.selectedIndex = chosen;
            select.addEventListener('input', () => this.pair[k] = +select.value);
        });
    }

    value(course, i, k) {
        return i === 0 ? course.description || course.name : i === 1 ? course.category : i === 2 ? course.seconds : course.rows[i - 3].figures[k];
    }

    draw() {
        const k = +this.figure.value, figure = report.figures[k];
        this.heads.forEach((cell, i) => i === this.sort ? cell.setAttribute('aria-sort', this.down ? 'descending' : 'ascending')
            : cell.removeAttribute('aria-sort'));
        const rows = report.courses.filter(course => (this.category.selectedIndex === 0 || course.category === this.category.value) &&
            (course.name + ' ' + course.description).toLowerCase().includes(this.words.value.toLowerCase()));
        rows.sort((a, b) => {
            const x = this.value(a, this.sort, k), y = this.value(b, this.sort, k);
            return (x < y ? -1 : x > y ? 1 : 0) * (this.down ? -1 : 1);
        });
        this.body.textContent = '';
        for (const course of rows) {
            const row = add(this.body, 'tr');
            clipCell(row, course);
            add(row, 'td', plain(course.category), 'words');
            add(row, 'td', course.seconds.toFixed(1));
            for (const result of course.rows) {
                const button = add(add(row, 'td'), 'button', show(figure, result.figures[k]));
                button.type = 'button';
                button.dataset.item = result.item;
                button.addEventListener('click', () => openReplay(result.item));
            }
            if (!this.pair) continue;
            const both = add(add(row, 'td'), 'button', '▶▶');
            both.type = 'button';
            both.className = 'both';
            both.title = 'two methods side by side';
            both.addEventListener('click', () => openReplay(...this.pair.map(m => course.rows[m].item)));
        }
    }
}

/* ---- Replays over the report. ---- */

const overlay = document.getElementById('overlay');

function openReplay(item, other = -1) {
    overlay.hidden = false;
    replay.asleep = false;
    replay.select(item, other);
    replay.t = 0;
    if (replay.stage) replay.stage.resize();
    replay.setPlaying(true);
}

function closeReplay() {
    replay.setPlaying(false);
    replay.asleep = true;
    overlay.hidden = true;
    setTimeout(() => history.replaceState(null, '', location.pathname + location.search), 350);
    document.title = report.title + ' – heracles report';
}

document.getElementById('close').addEventListener('click', closeReplay);
window.addEventListener('keydown', event => {
    if (event.key === 'Escape' && !overlay.hidden) closeReplay();
});

document.getElementById('title').textContent = report.title;
document.getElementById('lead').textContent = report.courses.length + (report.courses.length > 1 ? ' rollouts' : ' rollout') + ' of each method, seed ' + report.seed +
    ', heracles ' + report.version + '. ' + report.methods.map(method => method.name + ': ' +
    (method.tracker === 'off' ? 'plain PD' : method.tracker) + (method.planner === 'off' ? '' : ' + ' + method.planner)).join('; ') + '.';
summaryTable();
bars();
against();
endurance();
natural();
planner();
tokens();
window.rollouts = new Rollouts();
if (/(^|[#&])item=/.test(location.hash)) {
    overlay.hidden = false;
} else {
    replay.setPlaying(false);
    replay.asleep = true;
    document.title = report.title + ' – heracles report';
}
