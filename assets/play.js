/* The playground's page: the live robots of the server on a Stage, and everything a person may do to them.
 *   Line       the WebSocket: newest state and frame, orders; comes back by itself when it breaks
 *   Frames     the two newest frames, read between them
 *   Strip      a plot of the last seconds
 *   Arrow      a force in the scene
 *   Catalogue  the list of motions with search, categories and stick figures
 *   Play       the page
 * A frame is float32: a head, then for each robot pose, reference, two keyframes, signals, contact forces
 * (play/live.h). The address keeps a run: #run=..., made by "Share link". */
'use strict';

const STEP = 0, ROBOTS = 1, PACE = 2, BUSY_MS = 3;
const GAP = 0, REWRITE = 1, PLANNED = 2, REFUSED = 3, PLAN_MS = 4, AT = 5, FRAMES = 6, WAITING = 7, PLANNER = 8,
    STUCK = 9, HIT = 10, OFF = 11, FORCES = 12;
const REWRITTEN = 0.5; /* rad over all joints: from here on the planner is said to work */
const MAX_FORCES = 8, RATE_HZ = 50;
const FILE_BYTES = 32 << 20, PIECE = 48 << 10; /* of a file that is sent: at most, and at once (play/intake.h) */
const PULL_N_PER_M = 450, PULL_MAX_N = 600, NEWTONS_PER_M = 900;
const byId = id => document.getElementById(id);
const plain = name => name.replace(/_/g, ' ');
/* In memory of the page's own: each canvas that the graphics process keeps costs it time in every picture. */
const pencil = canvas => canvas.getContext('2d', {willReadFrequently: true});

/* ---- The line to the server. ---- */

class Line {
    constructor(handlers) {
        this.handlers = handlers;
        this.wait = 250;
        this.open();
    }

    open() {
        this.socket = new WebSocket('ws://' + location.host + '/', 'heracles');
        this.socket.binaryType = 'arraybuffer';
        this.socket.onopen = () => {
            this.wait = 250;
            this.handlers.connected(true);
        };
        this.socket.onmessage = event => {
            if (event.data instanceof ArrayBuffer) this.handlers.frame(new Float32Array(event.data));
            else this.handlers[JSON.parse(event.data).type](JSON.parse(event.data));
        };
        this.socket.onclose = () => {
            this.handlers.connected(false);
            setTimeout(() => this.open(), this.wait);
            this.wait = Math.min(4000, 1.6 * this.wait);
        };
    }

    /* The file and its bytes, no faster than they go; false: the line broke. */
    async sendFile(file) {
        const socket = this.socket;
        this.send('file', {name: file.name, size: file.size});
        for (let at = 0; at < file.size; at += PIECE) {
            const piece = await file.slice(at, at + PIECE).arrayBuffer();
            while (socket.readyState === WebSocket.OPEN && socket.bufferedAmount > 8 * PIECE)
                await new Promise(go => setTimeout(go, 10));
            if (socket.readyState !== WebSocket.OPEN) return false;
            socket.send(piece);
        }
        return true;
    }

    send(what, more = {}) {
        if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({do: what, ...more}));
    }
}

/* ---- Frames. ---- */

class Frames {
    constructor(scene) {
        this.scene = scene;
        this.from = this.to = null;
        this.arrived = 0;
        this.interval = 20; /* ms between frames, smoothed */
    }

    add(frame) {
        const now = performance.now(), gap = now - this.arrived;
        if (this.to && gap < 1000) this.interval += 0.1 * (gap - this.interval);
        /* After a restart or a gap there is nothing to read between. */
        const next = this.to && frame[ROBOTS] === this.to[ROBOTS] && frame[STEP] > this.to[STEP] &&
            frame[STEP] < this.to[STEP] + 8;
        this.from = next ? this.to : frame;
        this.to = frame;
        this.arrived = now;
    }

    get robots() {
        return this.to[ROBOTS];
    }

    offset(robot) {
        return this.scene.head + robot * this.scene.stride;
    }

    /* Pose 0: the robot, 1: its reference, 2 and 3: keyframes. */
    pose(robot, which, out) {
        const at = this.offset(robot) + NQ * which;
        const u = Math.min(1, (performance.now() - this.arrived) / Math.max(5, this.interval));
        return blendPose(out, this.from, at, this.to, at, which < 2 ? u : 1);
    }

    raw(robot, which) {
        const at = this.offset(robot) + NQ * which;
        return this.to.subarray(at, at + NQ);
    }

    signal(robot, k) {
        return this.to[this.offset(robot) + 4 * NQ + k];
    }

    force(robot, i) {
        const at = this.offset(robot) + 4 * NQ + this.scene.signals + 6 * i;
        return this.to.subarray(at, at + 6);
    }
}

/* ---- Plots. ---- */

/* Curves of the last seconds; a value that is not finite leaves a gap. */
class Strip {
    /* least: the scale's end is at least this; idle: words for while there is nothing to show. */
    constructor(container, title, unit, least, idle = '') {
        this.unit = unit;
        this.least = least;
        this.idle = idle;
        this.box = container.appendChild(document.createElement('figure'));
        this.box.className = 'plot';
        const caption = this.box.appendChild(document.createElement('figcaption'));
        caption.appendChild(document.createElement('b')).textContent = title;
        this.legend = caption.appendChild(document.createElement('span'));
        this.canvas = this.box.appendChild(document.createElement('canvas'));
        this.series = [];
    }

    /* names: [[label, colour], ...] */
    set(names) {
        this.series = names.map(([label, colour]) => ({label, colour, values: new Float32Array(Strip.LENGTH).fill(NaN)}));
        this.legend.textContent = '';
        for (const series of this.series) {
            const mark = this.legend.appendChild(document.createElement('i'));
            mark.style.background = series.colour;
            if (series.label) this.legend.appendChild(document.createTextNode(series.label + ' '));
            series.output = this.legend.appendChild(document.createElement('output'));
            this.legend.appendChild(document.createTextNode('  '));
        }
        this.head = 0;
    }

    add(values) {
        this.head = (this.head + 1) % Strip.LENGTH;
        this.series.forEach((series, i) => series.values[this.head] = values[i]);
    }

    draw() {
        const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
        if (!width || !height) return;
        const ratio = window.devicePixelRatio || 1, draw = pencil(this.canvas);
        if (this.canvas.width !== Math.round(width * ratio)) this.canvas.width = Math.round(width * ratio);
        if (this.canvas.height !== Math.round(height * ratio)) this.canvas.height = Math.round(height * ratio);
        draw.setTransform(ratio, 0, 0, ratio, 0, 0);
        draw.clearRect(0, 0, width, height);
        let hi = this.least;
        for (const series of this.series) for (const y of series.values) if (y > hi) hi = y;
        const step = Plot.niceStep(hi / 2.5), y = value => height - 6 - (height - 12) * value / (1.08 * hi);
        draw.font = '10px system-ui, sans-serif';
        draw.textAlign = 'right';
        draw.textBaseline = 'middle';
        const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
        for (let k = 0; k * step <= hi; k++) {
            draw.strokeStyle = 'rgba(255,255,255,0.08)';
            draw.beginPath();
            draw.moveTo(Strip.LEFT, Math.round(y(k * step)) + 0.5);
            draw.lineTo(width, Math.round(y(k * step)) + 0.5);
            draw.stroke();
            draw.fillStyle = '#8b95a5';
            draw.fillText((k * step).toFixed(digits), Strip.LEFT - 5, y(k * step));
        }
        for (const series of this.series) this.drawSeries(draw, series, width, y);
        if (this.series.some(series => series.values.some(Number.isFinite))) return;
        draw.textAlign = 'center';
        draw.fillText(this.idle, (Strip.LEFT + width) / 2, height / 2 - 8);
    }

    drawSeries(draw, series, width, y) {
        draw.strokeStyle = series.colour;
        draw.lineWidth = 1.5;
        draw.beginPath();
        let open = false;
        for (let i = 1; i <= Strip.LENGTH; i++) {
            const value = series.values[(this.head + i) % Strip.LENGTH];
            if (!Number.isFinite(value)) {
                open = false;
                continue;
            }
            const x = Strip.LEFT + (width - Strip.LEFT - 4) * i / Strip.LENGTH;
            if (open) draw.lineTo(x, y(value));
            else draw.moveTo(x, y(value));
            open = true;
        }
        draw.stroke();
        const last = series.values[this.head];
        series.output.textContent = Number.isFinite(last) ? last.toFixed(this.unit === 'ms' ? 1 : 2) + ' ' + this.unit : '–';
    }
}
Strip.LENGTH = 500; /* 10 s */
Strip.LEFT = 34;

/* ---- Forces. ---- */

class Arrow {
    constructor(stage, colour) {
        const material = new THREE.MeshBasicMaterial({color: linear(colour), depthTest: false, transparent: true, opacity: 0.85});
        this.group = new THREE.Group();
        this.shaft = new THREE.Mesh(Arrow.shaftGeometry, material);
        this.tip = new THREE.Mesh(Arrow.tipGeometry, material);
        this.shaft.renderOrder = this.tip.renderOrder = 5;
        this.group.add(this.shaft, this.tip);
        this.group.visible = false;
        stage.add(this.group);
    }

    /* From `at` along `vector`, both THREE.Vector3 in metres. */
    show(at, vector) {
        const length = vector.length();
        this.group.visible = length > 0.01;
        if (!this.group.visible) return;
        this.group.position.copy(at);
        this.group.quaternion.setFromUnitVectors(Arrow.UP, Arrow.direction.copy(vector).divideScalar(length));
        const tip = Math.min(0.09, 0.45 * length);
        this.shaft.scale.set(1, length - tip, 1);
        this.tip.position.y = length - tip;
        this.tip.scale.setScalar(tip / 0.09);
    }

    hide() {
        this.group.visible = false;
    }
}
Arrow.UP = new THREE.Vector3(0, 1, 0);
Arrow.direction = new THREE.Vector3();
Arrow.shaftGeometry = new THREE.CylinderBufferGeometry(0.009, 0.009, 1, 8).translate(0, 0.5, 0);
Arrow.tipGeometry = new THREE.ConeBufferGeometry(0.028, 0.09, 12).translate(0, 0.045, 0);

/* ---- Motions. ---- */

class Catalogue {
    constructor(scene, choose, enqueue) {
        this.motions = scene.motions;
        this.figure = new Robot(scene.robot);
        this.parents = scene.robot.links.map(link => link.parent);
        this.category = '';
        this.choose = choose;
        this.enqueue = enqueue;
        this.list = byId('list');
        this.entries = this.motions.map((motion, i) => this.entry(motion, i, choose, enqueue));
        this.chips();
        byId('search').addEventListener('input', () => this.filter());
        this.watcher = new IntersectionObserver(seen => {
            for (const one of seen) if (one.isIntersecting) this.load(+one.target.dataset.index);
        }, {root: this.list});
        this.entries.forEach(entry => this.watcher.observe(entry));
    }

    /* What was added since, first in the list. */
    async grow() {
        const all = await (await fetch('motions.json')).json();
        for (let i = this.motions.length; i < all.length; i++) {
            this.motions.push(all[i]);
            this.entries.push(this.entry(all[i], i, this.choose, this.enqueue));
            this.list.prepend(this.entries[i]);
            this.watcher.observe(this.entries[i]);
        }
        this.list.scrollTop = 0;
        this.chips();
        this.filter();
    }

    entry(motion, i, choose, enqueue) {
        const entry = this.list.appendChild(document.createElement('div'));
        entry.className = 'entry';
        entry.tabIndex = 0;
        entry.dataset.index = i;
        entry.setAttribute('role', 'option');
        entry.title = [motion.name, plain(motion.category), motion.description].filter(Boolean).join(' – ');
        const canvas = entry.appendChild(document.createElement('canvas'));
        canvas.width = 124;
        canvas.height = 80;
        const words = entry.appendChild(document.createElement('div'));
        words.appendChild(document.createElement('b')).textContent = motion.description || motion.name;
        words.appendChild(document.createElement('small')).textContent =
            [motion.seconds.toFixed(1) + ' s', plain(motion.category), motion.description && motion.name].filter(Boolean).join(', ');
        const add = entry.appendChild(document.createElement('button'));
        add.type = 'button';
        add.textContent = '+';
        add.title = 'after the present motion';
        add.setAttribute('aria-label', 'queue ' + motion.name);
        add.addEventListener('click', event => {
            event.stopPropagation();
            enqueue(motion.name);
        });
        entry.addEventListener('click', () => choose(motion.name));
        entry.addEventListener('keydown', event => {
            if (event.key === 'Enter' && event.target === entry) choose(motion.name);
        });
        entry.addEventListener('pointerenter', () => this.animate(i));
        entry.addEventListener('pointerleave', () => this.animate(-1));
        return entry;
    }

    chips() {
        const box = byId('categories'), categories = ['', ...new Set(this.motions.map(motion => motion.category))];
        box.textContent = '';
        const buttons = categories.map(category => {
            const button = box.appendChild(document.createElement('button'));
            button.type = 'button';
            button.textContent = plain(category) || 'all';
            button.setAttribute('aria-pressed', category === this.category);
            button.addEventListener('click', () => {
                this.category = category;
                buttons.forEach(other => other.setAttribute('aria-pressed', other === button));
                this.filter();
            });
            return button;
        });
    }

    filter() {
        const words = byId('search').value.toLowerCase().split(/\s+/).filter(Boolean);
        this.motions.forEach((motion, i) => {
            const text = [motion.name, motion.category, plain(motion.category), motion.description].join(' ').toLowerCase();
            this.entries[i].hidden = (this.category && motion.category !== this.category) ||
                !words.every(word => text.includes(word));
        });
    }

    select(name) {
        this.entries.forEach((entry, i) => entry.setAttribute('aria-selected', this.motions[i].name === name));
    }

    async load(i) {
        const motion = this.motions[i];
        if (motion.poses || motion.loading) return;
        motion.loading = true;
        try {
            const answer = await fetch('preview?i=' + i);
            if (!answer.ok) return;
            const numbers = new Float32Array(await answer.arrayBuffer());
            motion.length = numbers[0];
            motion.poses = numbers.subarray(1);
            this.drawStill(i);
        } catch (error) {
            motion.loading = false; /* the server is away; the next look tries again */
        }
    }

    /* Links of the figure in the plane that it walks in, about its root. */
    points(motion, k) {
        const pose = Float32Array.from(motion.poses.subarray(NQ * k, NQ * (k + 1)));
        pose[0] = pose[1] = 0;
        this.figure.setPose(pose);
        this.figure.root.updateMatrixWorld(true);
        const turn = -2 * Math.atan2(motion.poses[6], motion.poses[3]) - 0.9, c = Math.cos(turn), s = Math.sin(turn);
        return this.figure.links.map(link => {
            const e = link.matrixWorld.elements;
            return [c * e[12] - s * e[13], e[14]];
        });
    }

    drawFigure(draw, points, x, colour) {
        draw.strokeStyle = colour;
        draw.lineWidth = 2.4;
        draw.lineCap = 'round';
        draw.beginPath();
        this.parents.forEach((parent, i) => {
            if (parent < 0) return;
            draw.moveTo(x + 52 * points[parent][0], 74 - 52 * points[parent][1]);
            draw.lineTo(x + 52 * points[i][0], 74 - 52 * points[i][1]);
        });
        draw.stroke();
    }

    canvas(i) {
        const draw = pencil(this.entries[i].firstChild);
        draw.clearRect(0, 0, 124, 80);
        return draw;
    }

    drawStill(i) {
        const motion = this.motions[i], n = motion.poses.length / NQ, draw = this.canvas(i);
        [0, 0.5, 1].forEach((share, k) => this.drawFigure(draw, this.points(motion, Math.round(share * (n - 1))),
            24 + 38 * k, ['#5d6a7d', '#93a0b3', '#e6eaf0'][k]));
    }

    animate(i) {
        clearInterval(this.timer);
        if (this.moving >= 0 && this.motions[this.moving].poses) this.drawStill(this.moving);
        this.moving = i;
        if (i < 0 || !this.motions[i].poses) return;
        const motion = this.motions[i], n = motion.poses.length / NQ, begun = performance.now();
        this.timer = setInterval(() => {
            const t = (performance.now() - begun) / 1000 / Math.max(0.5, motion.length);
            this.drawFigure(this.canvas(i), this.points(motion, Math.floor(n * (t % 1))), 62, '#e8a33d');
        }, 80);
    }
}

/* ---- The page. ---- */

class Play {
    constructor(scene) {
        this.scene = scene;
        this.frames = new Frames(scene);
        this.state = null;
        this.shown = {ghost: true, keyframes: true, forces: true, follow: true};
        this.pose = new Float32Array(NQ);
        this.notices = new Map();
        this.counter = {frames: 0, begun: performance.now(), since: performance.now(), fps: 0, slow: 0};
        this.behind = 0; /* frames in a row with a pace that is too low */
        this.makeStage();
        this.makePlots();
        this.catalogue = new Catalogue(scene, name => this.send('motion', {name}), name => this.send('queue', {name}));
        this.makePad();
        this.listen();
        this.showTab('hands');
        this.tracked = !!scene.tracker;
        if (!scene.tracker) this.notice('tracker', 'There is no tracker: the joints follow the motion by PD control alone, ' +
            'and a robot that stands will fall. Start with --tracker FILE to give it one.', true);
        if (!scene.planner || !scene.tracker)
            for (const id of ['planner', 'pair']) {
                byId(id).disabled = true;
                byId(id).title = 'there is no planner: start with --planner FILE';
            }
        this.line = new Line({
            connected: on => this.connected(on),
            state: state => this.setState(state),
            notice: message => this.notice('said', message.text, true),
            file: message => this.fileAnswered(message.text),
            frame: frame => this.addFrame(frame),
        });
    }

    send(what, more) {
        this.line.send(what, more);
    }

    /* ---- The scene. ---- */

    makeStage() {
        Stage.light = Stage.inSoftware();
        document.body.classList.toggle('light', Stage.light);
        try {
            this.stage = new Stage(byId('stage'));
        } catch (error) {
            byId('note').hidden = false;
            byId('note').textContent = 'This browser cannot show the 3D view: WebGL is not available (' +
                error.message + '). The plots and buttons still work.';
            return;
        }
        const robot = this.scene.robot;
        this.actors = [0, 1].map(() => {
            const actor = {place: new THREE.Group(), robot: new Robot(robot), ghost: new Robot(robot, {ghost: GHOST_COLOUR})};
            actor.keyframes = [0.3, 0.2].map(opacity => new Robot(robot, {ghost: PLAN_COLOUR, opacity}));
            actor.place.add(actor.robot.root, actor.ghost.root, ...actor.keyframes.map(one => one.root));
            actor.forces = Array.from({length: MAX_FORCES}, () => new Arrow({add: one => actor.place.add(one)}, '#ff8f6b'));
            actor.label = byId('labels').appendChild(document.createElement('span'));
            this.stage.add(actor.place);
            return actor;
        });
        this.hand = new Arrow(this.stage, '#ff4d3a');
        this.ray = new THREE.Raycaster();
        this.centre = new THREE.Vector3(0, 0, 0.6);
        this.stage.orbit.panned = () => this.setShown('follow', false);
        this.stage.orbit.zoomed = () => this.ownDistance = true;
        this.stage.orbit.grab = event => this.grab(event);
        this.stage.orbit.ungrab = () => this.letGo();
        this.stage.frame = elapsed => this.draw(elapsed);
        const canvas = this.stage.renderer.domElement;
        canvas.addEventListener('pointermove', event => this.pointerMove(event));
        canvas.addEventListener('pointerup', () => this.release());
        canvas.addEventListener('pointercancel', () => this.letGo());
        canvas.addEventListener('pointerleave', () => this.aimAt(null));
    }

    /* Side by side as they face when the scene begins; only the picture is moved, the robots share one place. */
    placeActors() {
        const pair = this.frames.robots === 2, step = this.frames.to[STEP], begins = !(step >= this.lastStep);
        const same = this.placedPair === pair && !begins;
        this.lastStep = step;
        if (same) return;
        this.placedPair = pair;
        const root = this.frames.raw(0, 0), heading = 2 * Math.atan2(root[6], root[3]);
        this.actors.forEach((actor, i) => {
            const aside = pair ? (i ? 0.62 : -0.62) : 0;
            actor.place.position.set(-Math.sin(heading) * aside, Math.cos(heading) * aside, 0);
            actor.place.visible = i < this.frames.robots;
        });
        this.ownDistance = false;
        if (begins) this.stage.orbit.azimuth = heading + (pair ? 0.3 : 0.6); /* two from ahead: neither stands before the other */
    }

    addFrame(frame) {
        const fresh = !this.frames.to || frame[STEP] !== this.frames.to[STEP];
        this.frames.add(frame);
        if (fresh) this.addToPlots();
        this.showPace();
        if (this.stage) this.stage.draw();
    }

    draw(elapsed) {
        if (!this.frames.to) return false;
        this.placeActors();
        for (let i = 0; i < this.frames.robots; i++) this.drawActor(this.actors[i], i);
        this.viewMoves = this.shown.follow && this.lookAtRobots(elapsed);
        this.drawLabels();
        this.drawHand();
        this.count();
        return this.viewMoves || performance.now() - this.frames.arrived < 400;
    }

    drawActor(actor, i) {
        const f = this.frames;
        actor.robot.setPose(f.pose(i, 0, this.pose));
        actor.ghost.root.visible = this.shown.ghost;
        if (this.shown.ghost) actor.ghost.setPose(f.pose(i, 1, this.pose));
        const planned = this.shown.keyframes && f.signal(i, PLANNED) > 0;
        actor.keyframes.forEach((robot, k) => {
            robot.root.visible = planned;
            if (planned) robot.setPose(f.raw(i, 2 + k));
        });
        const n = this.shown.forces ? f.signal(i, FORCES) : 0;
        actor.forces.forEach((arrow, k) => {
            if (k >= n) return arrow.hide();
            const [x, y, z, fx, fy, fz] = f.force(i, k);
            arrow.show(new THREE.Vector3(x, y, z), new THREE.Vector3(fx, fy, fz).divideScalar(NEWTONS_PER_M));
        });
    }

    /* A part of the way to where the view should be; false: it is there. */
    lookAtRobots(elapsed) {
        const target = new THREE.Vector3();
        for (let i = 0; i < this.frames.robots; i++) {
            target.add(this.actors[i].robot.root.position);
            target.add(this.actors[i].place.position);
        }
        target.divideScalar(this.frames.robots);
        target.z = 0.3 + 0.5 * target.z;
        const far = target.distanceTo(this.centre) > 2, orbit = this.stage.orbit;
        this.centre.lerp(target, far ? 1 : Math.min(1, 4 * elapsed));
        orbit.target.copy(this.centre);
        const distance = this.ownDistance ? orbit.distance : this.fittingDistance();
        orbit.distance = this.near ? orbit.distance + Math.min(1, 4 * elapsed) * (distance - orbit.distance) : distance;
        this.near = true;
        return target.distanceTo(this.centre) > 0.002 || Math.abs(distance - orbit.distance) > 0.002;
    }

    /* So far away that all robots are in view, arms and all, between the panels. */
    fittingDistance() {
        const box = this.stage.container.getBoundingClientRect(), {camera} = this.stage;
        let free = box.width;
        for (const drawer of document.querySelectorAll('.drawer'))
            if (!Stage.light && getComputedStyle(drawer).position === 'absolute') free -= drawer.offsetWidth + 20;
        const high = 2 * Math.tan(camera.fov * Math.PI / 360), wide = high * camera.aspect * Math.max(0.3, free / box.width);
        const apart = this.frames.robots < 2 ? 0 : this.actors[0].robot.root.position.distanceTo(this.actors[1].robot.root.position) +
            this.actors[0].place.position.distanceTo(this.actors[1].place.position);
        return Math.min(12, Math.max(2.05 / high, (1.3 + apart) / wide) + 0.25 * apart);
    }

    /* Where a point of the scene is on the page. */
    onScreen(point) {
        const canvas = this.stage.renderer.domElement, p = point.clone().project(this.stage.camera);
        return [(p.x + 1) / 2 * canvas.clientWidth, (1 - p.y) / 2 * canvas.clientHeight];
    }

    drawLabels() {
        const pair = this.frames.robots === 2;
        this.actors.forEach((actor, i) => {
            actor.label.hidden = !pair;
            if (!pair) return;
            const on = this.frames.signal(i, PLANNER) > 0;
            actor.label.className = on ? 'on' : 'off';
            actor.label.textContent = (!on ? 'planner off' : this.plannerWorks(i) ? 'planner works' : 'planner on') + ', ' + this.offWords(i);
            const above = actor.robot.root.position.clone().add(actor.place.position);
            above.z += 0.68;
            const [x, y] = this.onScreen(above);
            actor.label.style.left = x + 'px';
            actor.label.style.top = y + 'px';
        });
    }

    /* Pictures a second; where they come too slowly they get coarser. */
    count() {
        const c = this.counter, now = performance.now();
        c.frames++;
        if (now - c.since < 1000) return;
        c.fps = 1000 * c.frames / (now - c.since);
        c.frames = 0;
        c.since = now;
        const asked = this.state && !this.state.paused && this.state.speed >= 0.5 && !document.hidden;
        c.slow = asked && c.fps < 24 && now - c.begun > 5000 ? c.slow + 1 : 0; /* the first seconds compile and load */
        if (c.slow < 3 || this.stage.sharpness < 0.5) return;
        this.stage.sharpness = Math.min(1, window.devicePixelRatio || 1, this.stage.sharpness) * 0.75;
        this.stage.resize();
        c.slow = 0;
    }

    /* ---- Hands on the robot. ---- */

    /* {robot, link, point} under the pointer, or null. */
    pick(event) {
        if (!this.frames.to) return null;
        const canvas = this.stage.renderer.domElement, box = canvas.getBoundingClientRect();
        this.ray.setFromCamera({x: 2 * (event.clientX - box.left) / box.width - 1, y: 1 - 2 * (event.clientY - box.top) / box.height},
            this.stage.camera);
        let best = null;
        for (let i = 0; i < this.frames.robots; i++)
            for (const hit of this.ray.intersectObject(this.actors[i].robot.root, true))
                if (!best || hit.distance < best.distance)
                    best = {robot: i, link: hit.object.userData.link, point: hit.point, distance: hit.distance};
        return best;
    }

    /* A punch goes level, away from whoever looks. */
    punchVector() {
        const away = this.ray.ray.direction.clone();
        away.z = 0;
        return away.normalize().multiplyScalar(+byId('punch').value);
    }

    linkName(link) {
        return this.scene.robot.links[link].name.replace(/_link$/, '').replace(/_/g, ' ');
    }

    grab(event) {
        if (event.button !== 0 || event.shiftKey || !this.state || !this.state.control) return false;
        const found = this.pick(event);
        if (!found) return false;
        this.held = {...found, x: event.clientX, y: event.clientY, dragging: false, sent: 0, punch: this.punchVector()};
        this.aimAt(event, found);
        return true;
    }

    pointerMove(event) {
        if (!this.held) {
            if (event.buttons === 0 && event.pointerType === 'mouse') this.aimAt(event, this.pick(event));
            return;
        }
        if (Math.hypot(event.clientX - this.held.x, event.clientY - this.held.y) > 7) this.held.dragging = true;
        if (this.held.dragging) this.pull(event);
    }

    /* Like a rubber band to the pointer, in the plane through the link that faces the camera. */
    pull(event) {
        const held = this.held, now = performance.now();
        const canvas = this.stage.renderer.domElement, box = canvas.getBoundingClientRect();
        const link = this.actors[held.robot].robot.links[held.link].getWorldPosition(new THREE.Vector3());
        const facing = this.stage.camera.getWorldDirection(new THREE.Vector3());
        this.ray.setFromCamera({x: 2 * (event.clientX - box.left) / box.width - 1, y: 1 - 2 * (event.clientY - box.top) / box.height},
            this.stage.camera);
        const to = this.ray.ray.intersectPlane(new THREE.Plane().setFromNormalAndCoplanarPoint(facing, link), new THREE.Vector3());
        if (!to) return;
        const force = to.sub(link).multiplyScalar(PULL_N_PER_M);
        if (force.length() > PULL_MAX_N) force.setLength(PULL_MAX_N);
        held.force = force;
        held.event = event;
        if (now - held.sent < 45) return;
        held.sent = now;
        this.send('drag', {link: held.link, robot: held.robot, x: force.x, y: force.y, z: force.z});
        this.say(event, Math.round(force.length()) + ' N on ' + this.linkName(held.link));
    }

    letGo() {
        this.held = null;
        this.aimAt(null);
    }

    release() {
        const held = this.held;
        this.held = null;
        if (!held) return;
        if (!held.dragging) {
            this.send('punch', {link: held.link, robot: held.robot, x: held.punch.x, y: held.punch.y, z: held.punch.z});
            this.struck = {until: performance.now() + 450, point: held.point, vector: held.punch};
        }
        this.aimAt(null);
    }

    /* The arrow and words of what a click would do. */
    aimAt(event, found) {
        this.aim = event && found && this.state && this.state.control ? {point: found.point, vector: this.punchVector()} : null;
        if (this.stage) this.stage.renderer.domElement.classList.toggle('aiming', !!this.aim);
        if (this.aim) this.say(event, byId('punch').value + ' N on ' + this.linkName(found.link));
        else byId('aim').hidden = true;
        if (this.stage) this.stage.draw();
    }

    say(event, text) {
        const box = this.stage.container.getBoundingClientRect(), aim = byId('aim');
        aim.hidden = false;
        aim.textContent = text;
        aim.style.left = event.clientX - box.left + 'px';
        aim.style.top = event.clientY - box.top + 'px';
    }

    drawHand() {
        const now = performance.now(), held = this.held;
        if (held && held.dragging && held.force) {
            if (now - held.sent > 60) this.pull(held.event); /* a hand that holds still pulls on */
            const link = this.actors[held.robot].robot.links[held.link].getWorldPosition(new THREE.Vector3());
            return this.hand.show(link, held.force.clone().divideScalar(PULL_N_PER_M));
        }
        const shown = this.struck && now < this.struck.until ? this.struck : this.aim;
        if (!shown) return this.hand.hide();
        const vector = shown.vector.clone().divideScalar(NEWTONS_PER_M);
        this.hand.show(shown.point.clone().sub(vector), vector); /* its tip is where it hits */
    }

    push(ahead, left) {
        const size = +byId('push').value / Math.hypot(ahead, left);
        this.send('push', {x: ahead * size, y: left * size, z: 0});
    }

    makePad() {
        const names = {'1,1': 'ahead and left', '1,0': 'ahead', '1,-1': 'ahead and right', '0,1': 'left', '0,-1': 'right',
            '-1,1': 'back and left', '-1,0': 'back', '-1,-1': 'back and right'};
        for (const ahead of [1, 0, -1])
            for (const left of [1, 0, -1]) {
                if (!ahead && !left) {
                    byId('pad').appendChild(document.createElement('span')).textContent = 'robot';
                    continue;
                }
                const button = byId('pad').appendChild(document.createElement('button'));
                button.type = 'button';
                button.setAttribute('aria-label', 'push ' + names[ahead + ',' + left]);
                button.title = 'push ' + names[ahead + ',' + left] + ' (' + (5 + 3 * ahead - left) + ')';
                button.innerHTML = '<svg viewBox="0 0 18 18"><path d="M9 15V4M4.5 8 9 3.5 13.5 8"/></svg>';
                button.firstChild.style.transform = 'rotate(' + Math.atan2(-left, ahead) + 'rad)';
                button.addEventListener('click', () => this.push(ahead, left));
            }
    }

    /* ---- State. ---- */

    connected(on) {
        if (on) this.notice('line', null);
        else this.notice('line', 'The server does not answer. Trying again …');
        if (!on && this.fileAnswer) this.fileAnswered('The line broke before the file was read.');
    }

    /* ---- Motions of one's own. ---- */

    /* One after the other, each followed when it has been read. */
    async addFiles(files) {
        if (this.adding) return this.notice('said', 'One after the other: a file is still being read.', true);
        this.adding = true;
        for (const file of files) await this.addFile(file);
        this.adding = false;
    }

    async addFile(file) {
        if (!this.state.control) return this.notice('said', 'You are watching. Take the controls to add a motion.', true);
        if (file.size > FILE_BYTES || !file.size)
            return this.notice('said', file.name + ': ' + (file.size ? 'has ' + (file.size / (1 << 20)).toFixed(1) +
                ' MB, expected at most 32.' : 'is empty, or a folder.'), true);
        this.notice('file', 'Reading ' + file.name + ' …');
        const answered = new Promise(answer => this.fileAnswer = answer);
        try {
            await this.line.sendFile(file);
        } catch (error) {
            this.fileAnswered(file.name + ': the browser could not read it: ' + error.message);
        }
        await answered;
    }

    fileAnswered(text) {
        this.notice('file', null);
        this.notice('file-said', text, true);
        if (this.fileAnswer) this.fileAnswer();
        this.fileAnswer = null;
    }

    listenToFiles() {
        const isFile = event => event.dataTransfer && [...event.dataTransfer.types].includes('Files');
        const over = on => document.body.classList.toggle('dropping', on);
        byId('add').addEventListener('click', () => byId('file').click());
        byId('file').addEventListener('change', () => {
            const files = [...byId('file').files];
            byId('file').value = ''; /* the same again is a change too */
            this.addFiles(files);
        });
        window.addEventListener('dragover', event => {
            if (!isFile(event)) return;
            event.preventDefault();
            over(true);
        });
        window.addEventListener('dragleave', event => {
            if (!event.relatedTarget) over(false);
        });
        window.addEventListener('drop', event => {
            if (!isFile(event)) return;
            event.preventDefault();
            over(false);
            if (this.state) this.addFiles([...event.dataTransfer.files]);
        });
    }

    setState(state) {
        const first = !this.state;
        this.state = state;
        document.body.classList.remove('loading');
        for (const [id, on] of [['planner', state.planner], ['pair', state.pair], ['repeat', state.repeat], ['record', state.recording]])
            byId(id).setAttribute('aria-pressed', on);
        for (const id of ['friction', 'payload', 'strength']) if (document.activeElement !== byId(id)) byId(id).value = state[id];
        this.showValues();
        if (document.activeElement !== byId('seed')) byId('seed').value = state.seed;
        byId('play').classList.toggle('playing', !state.paused);
        byId('play').setAttribute('aria-label', state.paused ? 'run' : 'pause');
        byId('single').disabled = !state.paused;
        byId('speed').value = String(state.speed);
        byId('queue').textContent = state.queue.join(', ') || (state.repeat ? 'the same again' : 'nothing');
        byId('clear').hidden = !state.queue.length;
        this.catalogue.select(state.motion);
        if (state.motions > this.catalogue.motions.length && !this.growing)
            this.growing = this.catalogue.grow().catch(() => {}).then(() => {
                this.growing = null;
                this.catalogue.select(this.state.motion);
            });
        for (const set of document.querySelectorAll('fieldset')) set.disabled = !state.control;
        for (const id of ['play', 'speed']) byId(id).disabled = !state.control;
        this.notice('watch', state.control ? null : 'You are watching, with ' + (state.viewers - 1) + ' more.', false,
            ['Take the controls', () => this.send('take')]);
        const problem = state.problems.find(Boolean);
        this.notice('problem', problem ? 'A robot stands still: ' + problem : null);
        if (!first && state.refusals !== this.refusals) this.notice('said', state.refusal, true);
        this.refusals = state.refusals;
        if (!first && state.events !== this.events) this.flash(state.event);
        this.events = state.events;
        if (this.pairPlots !== state.pair) this.makeSeries(state.pair);
        if (state.control) this.restoreFromAddress();
    }

    /* One line of words per key; null takes it away. It goes by itself when `passing`. */
    notice(key, text, passing, action) {
        const old = this.notices.get(key);
        if (old && old.text === text) return;
        if (old) {
            old.box.remove();
            clearTimeout(old.timer);
            this.notices.delete(key);
        }
        if (!text) return;
        const box = byId('notices').appendChild(document.createElement('div'));
        box.className = 'notice';
        box.setAttribute('role', 'status');
        box.textContent = text;
        const [label, run] = action || (passing ? ['OK', () => this.notice(key, null)] : []);
        if (label) {
            const button = box.appendChild(document.createElement('button'));
            button.type = 'button';
            button.textContent = label;
            button.addEventListener('click', run);
        }
        const timer = passing && /said/.test(key) ? setTimeout(() => this.notice(key, null), Play.SAID_MS) : 0;
        this.notices.set(key, {box, text, timer});
    }

    flash(text) {
        byId('status').textContent = text;
        clearTimeout(this.flashTimer);
        this.flashTimer = setTimeout(() => byId('status').textContent = '', 2500);
    }

    offWords(i) {
        return Math.round(100 * this.frames.signal(i, OFF)) + ' % off';
    }

    plannerWorks(i) {
        return this.frames.signal(i, PLANNED) > 0 && this.frames.signal(i, REWRITE) > REWRITTEN;
    }

    /* Who acts, and how far off its reference the one robot is. */
    showOff() {
        const f = this.frames, chip = byId('off'), works = this.plannerWorks(0);
        chip.hidden = f.robots !== 1;
        chip.classList.toggle('works', works);
        chip.textContent = (!this.tracked ? 'PD control' : works ? 'planner works' : 'tracker follows') + ' \u00b7 ' +
            this.offWords(0) + ' the reference';
    }

    showTime() {
        this.showOff();
        const f = this.frames, at = f.signal(0, AT), n = f.signal(0, FRAMES);
        byId('time').textContent = (f.to[STEP] / RATE_HZ).toFixed(2) + ' s';
        byId('motion').textContent = this.state ? this.state.motion + (f.signal(0, WAITING) ? ', on its way to the first pose'
            : ', frame ' + at + ' of ' + Math.max(0, n - 1)) : '';
    }

    /* Plainly, when the machine is too slow; a single slow second is not worth words. */
    showPace() {
        const f = this.frames, slow = f.to[PACE] < 0.95 && this.state && !this.state.paused;
        this.behind = slow ? this.behind + 1 : 0;
        if (this.behind > 60)
            this.notice('pace', 'This machine cannot hold real time: it runs at ' + Math.round(100 * f.to[PACE]) +
                ' % of the speed asked for (a step takes ' + f.to[BUSY_MS].toFixed(0) + ' ms).');
        else if (!slow) this.notice('pace', null);
    }

    /* ---- Plots. ---- */

    makePlots() {
        const box = byId('plots');
        const idle = this.scene.planner && this.scene.tracker ? 'the planner is off' : 'there is no planner';
        this.plots = [new Strip(box, 'Root height', 'm', 1), new Strip(box, 'Joint error', 'rad', 0.5),
                      new Strip(box, 'Plan from reference', 'rad', 0.5, idle), new Strip(box, 'Replan time', 'ms', 2, idle)];
        this.makeSeries(false);
        setInterval(() => {
            if (document.hidden || !this.frames.to) return;
            this.plots.forEach(plot => plot.draw());
            this.showTime();
        }, Stage.light ? 250 : 100);
    }

    makeSeries(pair) {
        this.pairPlots = pair;
        const robots = pair ? [['on', PLAN_COLOUR], ['off', ROBOT_COLOUR]] : [['robot', ROBOT_COLOUR]];
        this.plots[0].set([['reference', GHOST_COLOUR], ...robots]);
        this.plots[1].set(robots);
        this.plots[2].set([['', PLAN_COLOUR]]);
        this.plots[3].set([['', PLAN_COLOUR]]);
    }

    addToPlots() {
        const f = this.frames, robots = Array.from({length: f.robots}, (_, i) => i);
        const planned = f.signal(0, PLANNED) > 0;
        this.plots[0].add([f.raw(0, 1)[2], ...robots.map(i => f.raw(i, 0)[2])]);
        this.plots[1].add(robots.map(i => f.signal(i, GAP)));
        this.plots[2].add([planned ? f.signal(0, REWRITE) : NaN]);
        this.plots[3].add([planned || f.signal(0, REFUSED) > 0 ? f.signal(0, PLAN_MS) : NaN]);
    }

    /* ---- Links. ---- */

    async share() {
        const run = await (await fetch('run.json')).json();
        const text = btoa(unescape(encodeURIComponent(JSON.stringify(run)))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
        const link = location.origin + '/#run=' + text;
        byId('link-text').textContent = run.whole
            ? 'Whoever opens this link on a playground with the same models and motions sees the same run, with the same ' +
              run.orders.length + ' pushes and changes at the same moments.'
            : 'More has happened than a link can hold: it restores the scene and its first changes.';
        byId('link-field').value = link;
        byId('link').showModal();
        byId('link-field').select();
        if (navigator.clipboard) navigator.clipboard.writeText(link).catch(() => {});
        return link;
    }

    restoreFromAddress() {
        const found = /^#run=([\w-]+)$/.exec(location.hash);
        if (!found || this.restored === location.hash) return;
        this.restored = location.hash;
        try {
            const bytes = atob(found[1].replace(/-/g, '+').replace(/_/g, '/'));
            this.send('run', {run: JSON.parse(decodeURIComponent(escape(bytes)))});
        } catch (error) {
            this.notice('said', 'The link is damaged: ' + error.message, true);
        }
    }

    /* ---- Controls. ---- */

    setShown(what, on) {
        this.shown[what] = on;
        byId(what).setAttribute('aria-pressed', on);
        if (this.stage) this.stage.draw();
    }

    showValues() {
        byId('push-value').textContent = (+byId('push').value).toFixed(1) + ' m/s';
        byId('punch-value').textContent = byId('punch').value + ' N';
        byId('friction-value').textContent = (+byId('friction').value).toFixed(2);
        byId('payload-value').textContent = (+byId('payload').value).toFixed(1) + ' kg';
        byId('strength-value').textContent = Math.round(100 * byId('strength').value) + ' %';
    }

    showTab(name) {
        for (const button of byId('tabs').children) button.setAttribute('aria-pressed', button.dataset.tab === name);
        for (const panel of document.querySelectorAll('[data-panel]')) panel.classList.toggle('shown', panel.dataset.panel === name);
    }

    changeSpeed(by) {
        const at = Play.SPEEDS.indexOf(this.state.speed) + by;
        if (Play.SPEEDS[at]) this.send('speed', {value: Play.SPEEDS[at]});
    }

    toggle(what) {
        if (!byId(what).disabled) this.send(what, {value: !this.state[what]});
    }

    listen() {
        const click = (id, run) => byId(id).addEventListener('click', run);
        for (const id of Object.keys(this.shown)) {
            this.setShown(id, true);
            click(id, () => this.setShown(id, !this.shown[id]));
        }
        click('play', () => this.send('pause', {value: !this.state.paused}));
        click('single', () => this.send('single'));
        click('planner', () => this.toggle('planner'));
        click('pair', () => this.toggle('pair'));
        click('repeat', () => this.toggle('repeat'));
        click('record', () => this.send('record', {value: !this.state.recording}));
        click('restart', () => this.send('restart'));
        click('clear', () => this.send('clear'));
        click('share', () => this.share());
        click('help', () => byId('keys').showModal());
        for (const button of document.querySelectorAll('[data-posture]'))
            button.addEventListener('click', () => this.send('posture', {value: +button.dataset.posture}));
        for (const id of ['push', 'punch']) byId(id).addEventListener('input', () => this.showValues());
        for (const id of ['friction', 'payload', 'strength']) {
            byId(id).addEventListener('input', () => this.showValues());
            byId(id).addEventListener('change', () => this.send(id, {value: +byId(id).value}));
        }
        byId('seed').addEventListener('change', () => this.send('seed', {value: +byId('seed').value}));
        for (const speed of Play.SPEEDS) byId('speed').add(new Option(speed + '×', speed));
        byId('speed').addEventListener('change', () => this.send('speed', {value: +byId('speed').value}));
        for (const button of byId('tabs').children) button.addEventListener('click', () => this.showTab(button.dataset.tab));
        window.addEventListener('hashchange', () => this.state && this.state.control && this.restoreFromAddress());
        this.listenToKeys();
        this.listenToFiles();
        this.showValues();
    }

    listenToKeys() {
        const keys = {
            ' ': [() => this.send('pause', {value: !this.state.paused}), 'run or pause'],
            '.': [() => this.send('single'), 'one step, while it pauses'],
            'n': [() => this.toggle('planner'), 'planner on or off'],
            'b': [() => this.toggle('pair'), 'side by side'],
            'r': [() => this.send('restart'), 'restart'],
            'l': [() => this.send('posture', {value: 0}), 'put it on its back'],
            'g': [() => this.setShown('ghost', !this.shown.ghost), 'the reference'],
            'k': [() => this.setShown('keyframes', !this.shown.keyframes), 'the plan'],
            'c': [() => this.setShown('forces', !this.shown.forces), 'contact forces'],
            'f': [() => this.setShown('follow', !this.shown.follow), 'follow the robot'],
            'm': [() => byId('search').focus(), 'search a motion'],
            '+': [() => this.changeSpeed(1), 'faster'],
            '-': [() => this.changeSpeed(-1), 'slower'],
            'ArrowUp': [() => this.push(1, 0), 'push ahead; the other arrows likewise'],
            '?': [() => byId('keys').showModal(), 'this list'],
        };
        for (const [key, [, text]] of Object.entries(keys)) {
            byId('keylist').appendChild(document.createElement('dt')).textContent = {' ': 'space', ArrowUp: 'arrow up'}[key] || key;
            byId('keylist').appendChild(document.createElement('dd')).textContent = text;
        }
        byId('keylist').appendChild(document.createElement('dt')).textContent = '1 – 9';
        byId('keylist').appendChild(document.createElement('dd')).textContent = 'push, as on a number pad: 8 ahead, 4 left, 1 back and left';
        const arrows = {ArrowDown: [-1, 0], ArrowLeft: [0, 1], ArrowRight: [0, -1]};
        window.addEventListener('keydown', event => {
            if (event.ctrlKey || event.metaKey || event.altKey || !this.state) return;
            if (/^(INPUT|SELECT)$/.test(event.target.tagName) || document.querySelector('dialog[open]')) return;
            const digit = /^[1-9]$/.test(event.key) && event.key !== '5' ? +event.key - 1 : -1;
            const run = digit >= 0 ? () => this.push(Math.floor(digit / 3) - 1, 1 - digit % 3)
                : arrows[event.key] ? () => this.push(...arrows[event.key]) : keys[event.key] && keys[event.key][0];
            if (!run) return;
            event.preventDefault();
            run();
        });
        /* Buttons would take the space key as a click of their own. */
        window.addEventListener('keyup', event => {
            if (event.key === ' ' && event.target.tagName === 'BUTTON') event.preventDefault();
        });
    }
}
Play.SPEEDS = [0.1, 0.25, 0.5, 1];
Play.SAID_MS = 9000; /* a sentence stays */

fetch('scene.json').then(answer => answer.json()).then(scene => window.playground = new Play(scene)).catch(error => {
    byId('note').hidden = false;
    byId('note').textContent = 'The playground did not start: ' + error.message;
});
