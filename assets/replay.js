/* The replay page: items (motions, some with a reference) played on a Stage, with plots and deep links.
 * Two items of one motion may play together: the second's robot stands beside the first's.
 * The address keeps the moment: #item=0&with=1&t=1.25&play=0&ghost=1&plan=1&follow=1&speed=1&view=azimuth,elevation,distance */
'use strict';

const SIGNALS = 5, GAP = 0, REWRITE = 1, PLANNED = 2, REFUSED = 3, OFF = 4; /* of a frame, as eval/rollout.h has them */
const REWRITTEN = 0.5; /* rad over all joints: from here on the planner is said to work */

const SECOND_COLOUR = '#e5727f', BESIDE_M = 1.5, NAME_M = 0.7; /* metres aside, and above the root */

/* Words that face the camera. */
function nameSprite(words, colour) {
    const canvas = document.createElement('canvas'), pen = canvas.getContext('2d');
    canvas.width = 512;
    canvas.height = 64;
    pen.font = '600 44px system-ui, "DejaVu Sans", sans-serif';
    pen.textAlign = 'center';
    pen.fillStyle = colour;
    pen.fillText(words, 256, 48);
    const sprite = new THREE.Sprite(new THREE.SpriteMaterial({map: new THREE.CanvasTexture(canvas), depthTest: false, fog: false}));
    sprite.scale.set(1.2, 0.15, 1);
    return sprite;
}

function bytesOf(base64) {
    const text = atob(base64), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
}

/* Frames (n, 36) as float32, or as uint16 steps between each channel's smallest and largest value. */
function decodeFrames(packed) {
    if (!packed) return null;
    const bytes = bytesOf(packed.data);
    if (packed.type === 'f32') return new Float32Array(bytes.buffer);
    const steps = new Uint16Array(bytes.buffer), frames = new Float32Array(steps.length);
    for (let i = 0; i < steps.length; i++)
        frames[i] = packed.low[i % NQ] + steps[i] * packed.step[i % NQ];
    return frames;
}

/* A motion: frames at a constant rate, read between frames. */
class Motion {
    constructor(frames, fps) {
        this.frames = frames;
        this.fps = fps;
        this.n = frames.length / NQ;
    }

    pose(t, out) {
        const at = Math.min(this.n - 1, Math.max(0, t * this.fps)), i = Math.floor(at), u = at - i;
        return blendPose(out, this.frames, NQ * i, this.frames, NQ * Math.min(this.n - 1, i + 1), u);
    }

    /* Which way the first frame faces: the twist of its root about the vertical. */
    heading() {
        return 2 * Math.atan2(this.frames[6], this.frames[3]);
    }

    channel(k) {
        return Float32Array.from({length: this.n}, (_, i) => this.frames[NQ * i + k]);
    }

    /* L2 over the joints against another motion, frame by frame; a shorter one holds its last frame. */
    jointError(other) {
        return Float32Array.from({length: this.n}, (_, i) => {
            const a = NQ * i, b = NQ * Math.min(i, other.n - 1);
            let sum = 0;
            for (let k = 7; k < NQ; k++) sum += (this.frames[a + k] - other.frames[b + k]) ** 2;
            return Math.sqrt(sum);
        });
    }

    /* Where a calm camera looks: the root averaged over a second about t. A function of t alone, so a deep
     * link shows the same picture as playing up to it. */
    centre(t, out) {
        const from = Math.max(0, Math.round((t - 0.5) * this.fps));
        const to = Math.min(this.n - 1, Math.round((t + 0.5) * this.fps));
        out.set(0, 0, 0);
        for (let i = from; i <= to; i++) {
            out.x += this.frames[NQ * i];
            out.y += this.frames[NQ * i + 1];
            out.z += this.frames[NQ * i + 2];
        }
        out.multiplyScalar(1 / (to - from + 1));
        out.z = 0.2 + 0.6 * out.z;
        return out;
    }
}

/* What the planner did, frame by frame, and its keyframes. */
class Plans {
    constructor(item) {
        this.fps = item.fps;
        this.signals = new Float32Array(bytesOf(item.signals).buffer);
        this.n = this.signals.length / SIGNALS;
        this.every = item.plan ? item.plan.every : 0;
        this.keyframes = item.plan ? item.plan.keyframes : 0;
        this.frames = item.plan ? decodeFrames(item.plan.frames) : null;
    }

    signal(k) {
        return Float32Array.from({length: this.n}, (_, i) => this.signals[SIGNALS * i + k]);
    }

    at(t, k) {
        return this.signals[SIGNALS * Math.min(this.n - 1, Math.floor(t * this.fps + 1e-6)) + k];
    }

    active() {
        return this.signal(PLANNED).some(x => x > 0) || this.signal(REWRITE).some(x => x > 0);
    }

    /* Keyframe k of the plan in force at t, or null. */
    pose(t, k) {
        if (!this.frames || !this.at(t, PLANNED)) return null;
        const i = Math.floor(t * this.fps / this.every + 1e-6) * this.keyframes + k;
        return this.frames.subarray(NQ * i, NQ * (i + 1));
    }

    /* Spans [{from, to, kind}]: where the planner works, and where the guard refused a plan. */
    spans() {
        const spans = [];
        for (let i = 0; i < this.n; i++) {
            const s = this.signals.subarray(SIGNALS * i, SIGNALS * (i + 1));
            const kind = s[REFUSED] ? 'refused' : s[REWRITE] > REWRITTEN ? 'works' : null;
            const last = spans[spans.length - 1];
            if (!kind) continue;
            if (last && last.kind === kind && last.to >= (i - 5) / this.fps) last.to = (i + 1) / this.fps;
            else spans.push({from: i / this.fps, to: (i + 1) / this.fps, kind});
        }
        return spans;
    }
}

class Replay {
    constructor(data) {
        this.items = data.items;
        this.speeds = [0.1, 0.25, 0.5, 1, 2, 4];
        this.t = 0;
        this.playing = this.ghostOn = this.planOn = this.following = true;
        this.speed = 1;
        this.pose = new Float32Array(NQ);
        this.index = this.other = -1;
        this.asleep = false; /* a page around it may close it: then it takes no keys */
        for (const name of ['play', 'step-back', 'step-on', 'speed', 'ghost', 'plan', 'follow', 'time', 'frame', 'items', 'note'])
            this[name.replace(/-(.)/, (_, c) => c.toUpperCase()) + 'Element'] = document.getElementById(name);
        this.timeline = new Timeline(document.getElementById('timeline'), t => this.seek(t));
        const plots = document.getElementById('plots');
        this.plots = [new Plot(plots, 'Root height', 'm', t => this.seek(t)),
                      new Plot(plots, 'Joint error', 'rad', t => this.seek(t)),
                      new Plot(plots, 'Off the reference', '%', t => this.seek(t)),
                      new Plot(plots, 'Planner', 'rad', t => this.seek(t))];
        this.makeStage(data.robot);
        this.makeItems();
        this.listen();
        this.readHash();
        window.addEventListener('hashchange', () => this.readHash());
    }

    /* Without WebGL the page still shows time, plots and why there is no picture. */
    makeStage(description) {
        const container = document.getElementById('stage');
        try {
            this.stage = new Stage(container);
        } catch (error) {
            this.noteElement.hidden = false;
            this.noteElement.textContent = 'This browser cannot show the 3D view: WebGL is not available (' +
                error.message + '). The plots below still work.';
            this.playing = false;
            return;
        }
        this.aside = new THREE.Vector3();
        this.robot = new Robot(description);
        this.ghost = new Robot(description, {ghost: GHOST_COLOUR});
        this.stage.add(this.robot.root);
        this.stage.add(this.ghost.root);
        this.second = new Robot(description);
        this.place = new THREE.Group(); /* where the second robot stands, from the first one */
        this.place.add(this.second.root);
        this.stage.add(this.place);
        this.labels = [];
        this.keyframes = [4, 7].map((k, i) => {
            const robot = new Robot(description, {ghost: PLAN_COLOUR, opacity: 0.3 - 0.1 * i});
            this.stage.add(robot.root);
            return {k, robot};
        });
        this.stage.orbit.panned = () => this.setFollow(false);
        this.stage.frame = elapsed => this.advance(elapsed);
    }

    makeItems() {
        this.buttons = this.items.map((item, i) => {
            const button = this.itemsElement.appendChild(document.createElement('button'));
            button.type = 'button';
            button.textContent = button.title = this.nameOf(item);
            button.addEventListener('click', () => {
                this.select(i);
                this.seek(0);
            });
            return button;
        });
        if (this.items.length < 2) this.itemsElement.classList.add('single');
    }

    /* Item i with what it needs to play. */
    decoded(i) {
        const item = this.items[i];
        if (item.motion) return item;
        item.motion = new Motion(decodeFrames(item.qpos), item.fps);
        const ref = decodeFrames(item.ref);
        item.reference = ref ? new Motion(ref, item.fps) : null;
        item.plans = item.signals ? new Plans(item) : null;
        item.second = item.beside ? new Motion(decodeFrames(item.beside.qpos), item.fps) : null;
        return item;
    }

    nameOf(item, names) {
        return names ? item.name + ': ' + names[0] + ' and ' + names[1] : item.name + (item.label && !item.beside ? ', ' + item.label : '');
    }

    /* other: of an item that plays beside it; -1: none. */
    select(i, other = -1) {
        if (i === this.index && other === this.other) return;
        this.index = i;
        this.other = other;
        const item = this.decoded(i);
        const names = other >= 0 ? [item.label || item.name, this.items[other].label || this.items[other].name]
            : item.beside ? [item.beside.label, item.beside.besideLabel] : null;
        this.motion = item.motion;
        this.reference = item.reference;
        this.plans = item.plans && item.plans.active() ? item.plans : null;
        this.duration = (this.motion.n - 1) / item.fps;
        this.beside = other >= 0 ? this.decoded(other).motion : item.second;
        if (this.stage) this.placeSecond(names);
        document.title = item.name + ' – heracles replay';
        this.buttons[i].textContent = this.buttons[i].title = this.nameOf(item, other >= 0 ? names : null);
        this.buttons.forEach((button, k) => button.setAttribute('aria-pressed', k === i));
        this.buttons[i].scrollIntoView({block: 'nearest', inline: 'nearest'});
        this.timeline.set(this.duration, item.events, this.plans ? this.plans.spans() : []);
        const heights = [{label: 'robot', colour: ROBOT_COLOUR, values: this.motion.channel(2)}];
        const errors = [];
        if (this.reference) {
            heights.unshift({label: 'reference', colour: GHOST_COLOUR, values: this.reference.channel(2)});
            errors.push({label: '', colour: ROBOT_COLOUR, values: this.motion.jointError(this.reference)});
        }
        if (this.beside) {
            heights[heights.length - 1].label = names[0];
            heights.push({label: names[1], colour: SECOND_COLOUR, values: this.beside.channel(2)});
            if (errors.length) {
                errors[0].label = names[0];
                errors.push({label: names[1], colour: SECOND_COLOUR, values: this.beside.jointError(this.reference)});
            }
        }
        const common = {fps: item.fps, duration: Math.max(this.duration, 1e-9), events: item.events};
        this.plots[0].set({series: heights, ...common});
        this.plots[1].set({series: errors, ...common});
        this.plots[2].set({series: this.plans ? [{label: '100 % lost', colour: ROBOT_COLOUR,
            values: this.plans.signal(OFF).map(x => 100 * x)}] : [], ...common});
        this.plots[3].set({series: this.plans ? [
            {label: 'robot from reference', colour: ROBOT_COLOUR, values: this.plans.signal(GAP)},
            {label: 'plan from reference', colour: PLAN_COLOUR, values: this.plans.signal(REWRITE)},
        ] : [], ...common});
        this.ghostElement.disabled = !this.reference;
        this.planElement.hidden = !this.plans;
        if (this.stage) this.stage.orbit.azimuth = this.motion.heading() + 0.75;
    }

    /* To the left of the first one, with both names above the robots. */
    placeSecond(names) {
        for (const label of this.labels) this.stage.scene.remove(label);
        this.labels = [];
        this.place.visible = this.beside !== null;
        if (!this.beside) return;
        const heading = this.motion.heading();
        this.place.position.set(-BESIDE_M * Math.sin(heading), BESIDE_M * Math.cos(heading), 0);
        this.stage.orbit.distance = Math.max(this.stage.orbit.distance, 3.6);
        this.labels = [[names[0], ROBOT_COLOUR], [names[1], SECOND_COLOUR]].map(words => nameSprite(...words));
        for (const label of this.labels) this.stage.add(label);
    }

    listen() {
        this.playElement.addEventListener('click', () => this.setPlaying(!this.playing));
        this.stepBackElement.addEventListener('click', () => this.step(-1));
        this.stepOnElement.addEventListener('click', () => this.step(1));
        this.ghostElement.addEventListener('click', () => this.setGhost(!this.ghostOn));
        this.planElement.addEventListener('click', () => this.setPlan(!this.planOn));
        this.followElement.addEventListener('click', () => this.setFollow(!this.following));
        for (const speed of this.speeds) this.speedElement.add(new Option(speed + '×', speed));
        this.speedElement.addEventListener('change', () => this.setSpeed(+this.speedElement.value));
        const keys = {
            ' ': () => this.setPlaying(!this.playing),
            ArrowLeft: event => this.step(event.shiftKey ? -10 : -1),
            ArrowRight: event => this.step(event.shiftKey ? 10 : 1),
            Home: () => this.seek(0),
            End: () => this.seek(this.duration),
            g: () => this.setGhost(!this.ghostOn),
            p: () => this.setPlan(!this.planOn),
            f: () => this.setFollow(!this.following),
            '+': () => this.changeSpeed(1),
            '-': () => this.changeSpeed(-1),
        };
        window.addEventListener('keydown', event => {
            if (this.asleep || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
            if (event.target === this.speedElement && event.key !== ' ') return;
            event.preventDefault();
            keys[event.key](event);
        });
        /* Buttons would take the space key as a click of their own. */
        window.addEventListener('keyup', event => {
            if (event.key === ' ' && !this.asleep) event.preventDefault();
        });
    }

    /* ---- State, from the address and the controls. ---- */

    readHash() {
        const hash = new URLSearchParams(location.hash.slice(1));
        const number = (key, fallback) => {
            const x = parseFloat(hash.get(key));
            return Number.isFinite(x) ? x : fallback;
        };
        const item = Math.round(number('item', Math.max(0, this.index)));
        const other = Math.round(number('with', -1));
        this.select(Math.min(this.items.length - 1, Math.max(0, item)), other >= 0 && other < this.items.length ? other : -1);
        this.t = Math.min(this.duration, Math.max(0, number('t', this.t)));
        const view = (hash.get('view') || '').split(',').map(Number);
        if (this.stage && view.length === 3 && view.every(Number.isFinite))
            [this.stage.orbit.azimuth, this.stage.orbit.elevation, this.stage.orbit.distance] = view;
        this.setSpeed(Math.min(4, Math.max(0.1, number('speed', this.speed))));
        this.setGhost(number('ghost', this.ghostOn ? 1 : 0) !== 0);
        this.setPlan(number('plan', this.planOn ? 1 : 0) !== 0);
        this.setFollow(number('follow', this.following ? 1 : 0) !== 0);
        this.setPlaying(number('play', this.playing ? 1 : 0) !== 0);
    }

    /* Only while paused: the address is a bookmark, not a clock. */
    writeHash() {
        if (this.playing) return;
        const parts = ['item=' + this.index, 't=' + this.t.toFixed(3), 'play=0'];
        if (this.other >= 0) parts.push('with=' + this.other);
        if (!this.ghostOn) parts.push('ghost=0');
        if (!this.planOn) parts.push('plan=0');
        if (!this.following) parts.push('follow=0');
        if (this.speed !== 1) parts.push('speed=' + this.speed);
        if (this.stage) {
            const {azimuth, elevation, distance} = this.stage.orbit;
            parts.push('view=' + [azimuth, elevation, distance].map(x => x.toFixed(3)).join());
        }
        history.replaceState(null, '', '#' + parts.join('&'));
    }

    setPlaying(on) {
        this.playing = on && !!this.stage;
        if (this.playing && this.t >= this.duration) this.t = 0;
        this.playElement.classList.toggle('playing', this.playing);
        this.playElement.setAttribute('aria-label', this.playing ? 'pause' : 'play');
        this.show();
    }

    setGhost(on) {
        this.ghostOn = on;
        this.ghostElement.setAttribute('aria-pressed', on);
        this.show();
    }

    setPlan(on) {
        this.planOn = on;
        this.planElement.setAttribute('aria-pressed', on);
        this.show();
    }

    setFollow(on) {
        this.following = on;
        this.followElement.setAttribute('aria-pressed', on);
        this.show();
    }

    setSpeed(speed) {
        this.speed = speed;
        if (!this.speeds.includes(speed)) {
            this.speeds.push(speed);
            this.speedElement.add(new Option(speed + '×', speed));
        }
        this.speedElement.value = String(speed);
    }

    changeSpeed(by) {
        const sorted = [...this.speeds].sort((a, b) => a - b), at = sorted.indexOf(this.speed) + by;
        if (sorted[at]) this.setSpeed(sorted[at]);
    }

    seek(t) {
        this.t = Math.min(this.duration, Math.max(0, t));
        this.show();
    }

    step(frames) {
        this.playing = false;
        const frame = Math.round(this.t * this.motion.fps) + frames;
        this.t = Math.min(this.duration, Math.max(0, frame / this.motion.fps));
        this.setPlaying(false);
    }

    /* ---- Pictures. ---- */

    show() {
        if (this.stage) this.stage.draw();
        else this.showTime();
        clearTimeout(this.hashTimer);
        this.hashTimer = setTimeout(() => this.writeHash(), 300);
    }

    advance(elapsed) {
        if (this.playing) {
            this.t += elapsed * this.speed;
            if (this.t >= this.duration) {
                this.t = this.duration;
                this.setPlaying(false);
            }
        }
        this.robot.setPose(this.motion.pose(this.t, this.pose));
        this.ghost.root.visible = this.ghostOn && this.reference !== null;
        if (this.ghost.root.visible) this.ghost.setPose(this.reference.pose(this.t, this.pose));
        for (const {k, robot} of this.keyframes) {
            const pose = this.planOn && this.plans ? this.plans.pose(this.t, k) : null;
            robot.root.visible = pose !== null;
            if (pose) robot.setPose(pose);
        }
        if (this.beside) {
            this.second.setPose(this.beside.pose(this.t, this.pose));
            this.labels[1].position.set(this.pose[0], this.pose[1], this.pose[2] + NAME_M).add(this.place.position);
            this.motion.pose(this.t, this.pose);
            this.labels[0].position.set(this.pose[0], this.pose[1], this.pose[2] + NAME_M);
        }
        if (this.following) this.lookAtRobot();
        this.showTime();
        return this.playing;
    }

    /* Halfway up to the ghost's height, so that one that still stands stays in view when the robot lies. */
    lookAtRobot() {
        const target = this.motion.centre(this.t, this.stage.orbit.target);
        if (this.beside) target.addScaledVector(this.place.position, 0.5);
        if (this.ghost.root.visible) target.z = (target.z + this.reference.centre(this.t, this.aside).z) / 2;
    }

    /* For films and pictures: the robot alone, without the page around it. */
    bare() {
        document.body.classList.add('bare');
        this.setPlaying(false);
        this.stage.resize();
    }

    /* Moments side by side, as a data URL; several have their times written on them. */
    strip(moments, type) {
        const source = this.stage.renderer.domElement, canvas = document.createElement('canvas'), pen = canvas.getContext('2d');
        const w = canvas.width = source.width * moments.length, h = canvas.height = source.height;
        const size = Math.max(12, Math.round(0.045 * h));
        pen.font = '600 ' + size + 'px system-ui, "DejaVu Sans", sans-serif';
        pen.fillStyle = '#e6eaf0';
        moments.forEach((t, i) => {
            this.t = Math.min(this.duration, Math.max(0, t));
            this.stage.render(0);
            const left = i * w / moments.length;
            pen.drawImage(source, left, 0);
            if (moments.length > 1) pen.fillText(this.t.toFixed(1) + ' s', left + 0.6 * size, h - 0.6 * size);
            if (i) pen.fillRect(left - 1, 0, 2, h);
        });
        return canvas.toDataURL(type, 0.95);
    }

    showTime() {
        this.timeline.show(this.t);
        for (const plot of this.plots) plot.show(this.t);
        this.timeElement.textContent = this.t.toFixed(2) + ' / ' + this.duration.toFixed(2) + ' s';
        this.frameElement.textContent = 'frame ' + Math.round(this.t * this.motion.fps) + ' of ' +
            (this.motion.n - 1) + ' at ' + +this.motion.fps.toFixed(3) + ' Hz';
    }
}

window.replay = new Replay(JSON.parse(document.getElementById('data').textContent));
