/* The viewer's parts, for every page that shows the robot. Plain JavaScript on three.js (global THREE):
 *   Robot     a scene graph of links; setPose(qpos) turns its hinges, so the graph is the kinematics
 *   Orbit     mouse, wheel and touch move a camera about a point
 *   Stage     renderer, lights, floor, camera; draws only when something changed
 *   Timeline  a slider with marks
 *   Plot      curves over time with a cursor
 * Metres, radians, z up; a pose is 36 numbers: root position, root quaternion w,x,y,z, 29 joints.
 * Nothing here knows an element of a page by its name. */
'use strict';

const NQ = 36;
const ROBOT_COLOUR = '#e8a33d', GHOST_COLOUR = '#56b4ff', PLAN_COLOUR = '#6fd08c';

/* The pose between frame a of `from` and frame b of `to` (offsets into arrays); slerp is not needed at these angles. */
function blendPose(out, from, a, to, b, u) {
    for (let k = 0; k < NQ; k++) out[k] = from[a + k] + u * (to[b + k] - from[a + k]);
    let dot = 0, norm = 0;
    for (let k = 3; k < 7; k++) dot += from[a + k] * to[b + k];
    if (dot < 0) for (let k = 3; k < 7; k++) out[k] = from[a + k] - u * (to[b + k] + from[a + k]);
    for (let k = 3; k < 7; k++) norm += out[k] * out[k];
    for (let k = 3; k < 7; k++) out[k] /= Math.sqrt(norm);
    return out;
}

/* ---- Shapes. Half sizes as in the robot's table; capsules and cylinders lie along z. ----
 * `fine`: segments around and, from pole to pole, of a round end; where pictures are drawn in software every triangle
 * counts, most of all those of ghosts, which come in threes. */

const FINE = {full: {around: 32, round: 20}, light: {around: 7, round: 4}, ghost: {around: 5, round: 3}};

/* Turn a profile about z. Each strip is a list of [radius, z, normal radius, normal z]; strips do not share
 * vertices, so that edges between them stay sharp. */
function revolve(strips, around) {
    const position = [], normal = [], index = [];
    for (const strip of strips) {
        const first = position.length / 3;
        for (const [r, z, nr, nz] of strip)
            for (let k = 0; k <= around; k++) {
                const c = Math.cos(2 * Math.PI * k / around), s = Math.sin(2 * Math.PI * k / around);
                position.push(r * c, r * s, z);
                normal.push(nr * c, nr * s, nz);
            }
        for (let i = 0; i + 1 < strip.length; i++)
            for (let k = 0; k < around; k++) {
                const a = first + i * (around + 1) + k, b = a + around + 1;
                if (strip[i][0] > 1e-9) index.push(a, a + 1, b); /* at the axis there is nothing to turn */
                if (strip[i + 1][0] > 1e-9) index.push(b, a + 1, b + 1);
            }
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.Float32BufferAttribute(position, 3));
    geometry.setAttribute('normal', new THREE.Float32BufferAttribute(normal, 3));
    geometry.setIndex(index);
    return geometry;
}

/* A cylinder whose rims are chamfered, as machined housings are. */
function cylinderGeometry(r, h, fine) {
    if (fine !== FINE.full)
        return revolve([[[0, -h, 0, -1], [r, -h, 0, -1]], [[r, -h, 1, 0], [r, h, 1, 0]], [[r, h, 0, 1], [0, h, 0, 1]]], fine.around);
    const c = Math.min(0.004, 0.3 * r, 0.5 * h), d = Math.SQRT1_2;
    return revolve([
        [[0, -h, 0, -1], [r - c, -h, 0, -1]],
        [[r - c, -h, d, -d], [r, c - h, d, -d]],
        [[r, c - h, 1, 0], [r, h - c, 1, 0]],
        [[r, h - c, d, d], [r - c, h, d, d]],
        [[r - c, h, 0, 1], [0, h, 0, 1]],
    ], fine.around);
}

function capsuleGeometry(r, h, fine) {
    const strip = [], steps = Math.floor(fine.round / 2);
    for (let i = 0; i <= 2 * steps + 1; i++) {
        const lower = i <= steps, angle = Math.PI / 2 * ((lower ? i : i - 1) / steps - 1);
        strip.push([r * Math.cos(angle), (lower ? -h : h) + r * Math.sin(angle), Math.cos(angle), Math.sin(angle)]);
    }
    return revolve([strip], fine.around);
}

/* A box with rounded edges: five cells a side, the outer ones bent onto the rounding. */
function boxGeometry(half, fine) {
    if (fine !== FINE.full) return new THREE.BoxBufferGeometry(2 * half[0], 2 * half[1], 2 * half[2]).deleteAttribute('uv');
    const geometry = new THREE.BoxBufferGeometry(2, 2, 2, 5, 5, 5);
    const position = geometry.attributes.position.array, normal = geometry.attributes.normal.array;
    const r = Math.min(0.016, 0.45 * Math.min(half[0], half[1], half[2]));
    for (let v = 0; v < position.length; v += 3) {
        const out = [0, 0, 0], inner = [0, 0, 0];
        for (let k = 0; k < 3; k++) {
            const cell = Math.abs(position[v + k]), sign = Math.sign(position[v + k]);
            inner[k] = sign * (half[k] - r);
            out[k] = cell > 0.9 ? sign : cell > 0.5 ? 0.55 * sign : 0;
        }
        const length = Math.hypot(out[0], out[1], out[2]);
        for (let k = 0; k < 3; k++) {
            normal[v + k] = out[k] / length;
            position[v + k] = inner[k] + r * normal[v + k];
        }
    }
    geometry.deleteAttribute('uv');
    return geometry;
}

function ellipsoidGeometry(half, fine) {
    const geometry = new THREE.SphereBufferGeometry(1, fine.around, fine.round);
    geometry.deleteAttribute('uv');
    return geometry.applyMatrix(new THREE.Matrix4().makeScale(half[0], half[1], half[2]));
}

function visualGeometry(visual, fine) {
    const [a, b] = visual.size;
    const geometry = visual.shape === 'box' ? boxGeometry(visual.size, fine)
        : visual.shape === 'capsule' ? capsuleGeometry(a, b, fine)
        : visual.shape === 'cylinder' ? cylinderGeometry(a, b, fine)
        : ellipsoidGeometry(visual.size, fine);
    const turn = new THREE.Quaternion().setFromEuler(new THREE.Euler(...visual.euler, 'XYZ'));
    return geometry.applyMatrix(new THREE.Matrix4().compose(
        new THREE.Vector3(...visual.pos), turn, new THREE.Vector3(1, 1, 1)));
}

/* One geometry from several, so that a link is drawn by one call a colour. */
function mergeGeometries(geometries) {
    const position = [], normal = [], index = [];
    for (const geometry of geometries) {
        const first = position.length / 3;
        for (const x of geometry.attributes.position.array) position.push(x);
        for (const x of geometry.attributes.normal.array) normal.push(x);
        for (const i of geometry.index.array) index.push(first + i);
        geometry.dispose();
    }
    const merged = new THREE.BufferGeometry();
    merged.setAttribute('position', new THREE.Float32BufferAttribute(position, 3));
    merged.setAttribute('normal', new THREE.Float32BufferAttribute(normal, 3));
    merged.setIndex(index);
    return merged;
}

/* ---- The robot. ---- */

/* Light adds up in linear colours; the renderer turns the sum back to what screens show. */
function linear(colour) {
    return new THREE.Color(colour).convertSRGBToLinear();
}

class Robot {
    /* description: {links: [{name, parent, pos, quat, axis}], visuals: [{link, shape, colour, size, pos, euler}]}.
     * options.ghost: a colour makes it translucent, without shadow; options.opacity. */
    constructor(description, options = {}) {
        this.links = description.links.map(link => {
            const group = new THREE.Group();
            group.position.set(...link.pos);
            group.userData.rest = new THREE.Quaternion(link.quat[1], link.quat[2], link.quat[3], link.quat[0]);
            group.userData.axis = new THREE.Vector3(...link.axis);
            group.quaternion.copy(group.userData.rest);
            return group;
        });
        description.links.forEach((link, i) => {
            if (link.parent >= 0) this.links[link.parent].add(this.links[i]);
        });
        this.root = this.links[0];
        this.turn = new THREE.Quaternion();
        const ghost = options.ghost === undefined ? null : Robot.ghostMaterials(options);
        for (const part of Robot.parts(description, ghost !== null))
            this.links[part.link].add(...(ghost ? Robot.ghostMeshes(part, ghost) : [Robot.solidMesh(part)]));
    }

    /* Merged geometries by link and colour, made once for each description; light ghosts do without details. */
    static parts(description, ghost) {
        const coarse = ghost && Stage.light, name = coarse ? 'coarse' : 'parts';
        const fine = coarse ? FINE.ghost : Stage.light ? FINE.light : FINE.full;
        if (!description[name]) {
            const groups = new Map();
            for (const visual of description.visuals) {
                if (coarse && Robot.bulk(visual) < 1.5e-5) continue;
                const key = visual.link + (coarse ? '' : ' ' + visual.colour);
                if (!groups.has(key)) groups.set(key, []);
                groups.get(key).push(visual);
            }
            description[name] = [...groups.values()].map(visuals => ({
                link: visuals[0].link,
                colour: visuals[0].colour,
                geometry: mergeGeometries(visuals.map(visual => visualGeometry(visual, fine))),
            }));
        }
        return description[name];
    }

    static solidMesh(part) {
        if (!Robot.materials) Robot.materials = Stage.light ? {
            light: new THREE.MeshLambertMaterial({color: linear(0xa9b0ba)}),
            dark: new THREE.MeshLambertMaterial({color: linear(0x3a3f47)}),
        } : {
            light: new THREE.MeshStandardMaterial({color: linear(0xa9b0ba), metalness: 0.3, roughness: 0.45}),
            dark: new THREE.MeshStandardMaterial({color: linear(0x2e3238), metalness: 0.3, roughness: 0.36}),
        };
        const mesh = new THREE.Mesh(part.geometry, Robot.materials[part.colour]);
        mesh.userData.link = part.link;
        mesh.castShadow = mesh.receiveShadow = true;
        return mesh;
    }

    /* First only depth, then colour: each pixel is blended once, however many shapes lie behind it. */
    static ghostMaterials(options) {
        const look = {color: linear(options.ghost), emissive: linear(options.ghost), emissiveIntensity: 0.35,
            transparent: true, opacity: options.opacity || 0.3};
        const materials = Stage.light ? [new THREE.MeshLambertMaterial(look)] : [
            new THREE.MeshBasicMaterial({colorWrite: false, transparent: true}),
            new THREE.MeshStandardMaterial({...look, roughness: 0.7}),
        ];
        for (const material of materials) material.onBeforeCompile = Robot.yieldDepth;
        return materials;
    }

    /* A ghost's depth is that of 12 cm further away: where it stands in the robot, the robot is seen, not a mixture. */
    static yieldDepth(shader) {
        shader.vertexShader = shader.vertexShader.replace('#include <project_vertex>', `#include <project_vertex>
            vec4 yielded = projectionMatrix * (mvPosition - vec4(0.0, 0.0, 0.12, 0.0));
            gl_Position.z = yielded.z / yielded.w * gl_Position.w;`);
    }

    static ghostMeshes(part, materials) {
        return materials.map((material, pass) => {
            const mesh = new THREE.Mesh(part.geometry, material);
            mesh.renderOrder = 1 + pass;
            return mesh;
        });
    }

    setPose(qpos) {
        this.root.position.set(qpos[0], qpos[1], qpos[2]);
        this.root.quaternion.set(qpos[4], qpos[5], qpos[6], qpos[3]);
        for (let i = 1; i < this.links.length; i++) {
            const link = this.links[i];
            this.turn.setFromAxisAngle(link.userData.axis, qpos[6 + i]);
            link.quaternion.copy(link.userData.rest).multiply(this.turn);
        }
    }
}

/* Half sizes multiplied, m^3. */
Robot.bulk = ({shape, size: [a, b, c]}) => a * b * (shape === 'capsule' || shape === 'cylinder' ? a : c);

/* ---- The stage. ---- */

/* Left or one finger orbits; right, middle, or shift + left pans; wheel or pinch zooms; two fingers pan. */
class Orbit {
    constructor(element, changed) {
        this.target = new THREE.Vector3(0, 0, 0.7);
        this.azimuth = 0.75;
        this.elevation = 0.2;
        this.distance = 2.5;
        this.changed = changed;
        this.pointers = new Map();
        this.grabbed = null; /* id of the pointer that the page took by `grab`; `ungrab` takes it away from the page */
        element.style.touchAction = 'none';
        element.addEventListener('contextmenu', event => event.preventDefault());
        element.addEventListener('wheel', event => {
            event.preventDefault();
            this.zoom(Math.exp(0.0012 * event.deltaY * (event.deltaMode === 1 ? 30 : 1)));
        }, {passive: false});
        element.addEventListener('pointerdown', event => {
            element.setPointerCapture(event.pointerId);
            if (this.grabbed !== null) this.takeBack();
            else if (this.pointers.size === 0 && this.grab && this.grab(event)) this.grabbed = event.pointerId; /* the page wants it */
            this.pointers.set(event.pointerId, {x: event.clientX, y: event.clientY});
        });
        for (const name of ['pointerup', 'pointercancel'])
            element.addEventListener(name, event => {
                this.pointers.delete(event.pointerId);
                if (this.grabbed === event.pointerId) this.grabbed = null;
            });
        element.addEventListener('pointermove', event => this.move(event, element.clientHeight));
    }

    /* A second finger: both are for the view, whatever the first one was on. */
    takeBack() {
        this.grabbed = null;
        this.ungrab();
    }

    move(event, height) {
        const last = this.pointers.get(event.pointerId);
        if (!last) return;
        if (this.grabbed === event.pointerId) {
            last.x = event.clientX;
            last.y = event.clientY;
            return;
        }
        const dx = event.clientX - last.x, dy = event.clientY - last.y;
        if (this.pointers.size === 2) {
            const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
            const before = Math.hypot(last.x - other.x, last.y - other.y);
            const after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
            this.pan(dx / 2, dy / 2, height);
            if (before > 0 && after > 0) this.zoom(before / after);
        } else if (event.shiftKey || event.buttons & 6) {
            this.pan(dx, dy, height);
        } else {
            this.azimuth -= 0.006 * dx;
            this.elevation = Math.min(1.55, Math.max(-0.12, this.elevation + 0.006 * dy));
        }
        last.x = event.clientX;
        last.y = event.clientY;
        this.changed();
    }

    zoom(factor) {
        this.distance = Math.min(30, Math.max(0.5, this.distance * factor));
        if (this.zoomed) this.zoomed();
        this.changed();
    }

    /* By as much as the pointer moved, in the plane of the target. `panned` lets a page end its follow mode. */
    pan(dx, dy, height) {
        const scale = 2 * this.distance * Math.tan(Stage.FOV * Math.PI / 360) / height;
        const sa = Math.sin(this.azimuth), ca = Math.cos(this.azimuth), se = Math.sin(this.elevation);
        this.target.x += scale * (dx * sa - dy * se * ca);
        this.target.y += scale * (-dx * ca - dy * se * sa);
        this.target.z = Math.max(0, this.target.z + scale * dy * Math.cos(this.elevation));
        if (this.panned) this.panned();
    }

    place(camera) {
        const ce = Math.cos(this.elevation);
        camera.position.set(
            this.target.x + this.distance * ce * Math.cos(this.azimuth),
            this.target.y + this.distance * ce * Math.sin(this.azimuth),
            Math.max(0.03, this.target.z + this.distance * Math.sin(this.elevation)));
        camera.lookAt(this.target);
    }
}

class Stage {
    /* Throws when the browser has no WebGL. `frame(seconds)`, if set, runs before each picture and returns
     * whether another one should follow. */
    constructor(container) {
        this.container = container;
        this.renderer = new THREE.WebGLRenderer({antialias: !Stage.light});
        this.renderer.gammaOutput = true;
        this.renderer.toneMapping = THREE.ACESFilmicToneMapping;
        this.renderer.toneMappingExposure = 0.95;
        this.renderer.shadowMap.enabled = !Stage.light;
        this.renderer.shadowMap.type = THREE.PCFSoftShadowMap;
        container.appendChild(this.renderer.domElement);
        this.renderer.domElement.addEventListener('webglcontextrestored', () => this.draw());
        this.scene = new THREE.Scene();
        this.camera = new THREE.PerspectiveCamera(Stage.FOV, 1, 0.05, 120);
        this.camera.up.set(0, 0, 1);
        this.orbit = new Orbit(this.renderer.domElement, () => this.draw());
        this.frame = null;
        this.pending = false;
        this.last = null;
        this.sharpness = Stage.light ? 0.75 : 2; /* pixels of the picture per pixel of the page, at most */
        this.addWorld();
        new ResizeObserver(() => this.resize()).observe(container);
        this.resize();
    }

    add(object) {
        this.scene.add(object);
    }

    addWorld() {
        this.haze = new THREE.Color(0x1b212b);
        this.scene.fog = new THREE.Fog(this.haze, 6, 26);
        if (Stage.light) this.renderer.autoClear = false;
        else this.scene.background = this.haze;
        this.scene.add(new THREE.HemisphereLight(0xdfe8ff, 0x4a4640, 0.85));
        this.sun = new THREE.DirectionalLight(0xfff1de, 1.9);
        this.sun.castShadow = true;
        this.sun.shadow.mapSize.set(2048, 2048);
        this.sun.shadow.bias = -0.001;
        this.sun.shadow.radius = 2;
        Object.assign(this.sun.shadow.camera, {left: -2, right: 2, bottom: -2, top: 2, near: 1, far: 14});
        const rim = new THREE.DirectionalLight(0x8fb7ff, 0.55);
        rim.position.set(-4, 3, 2.5);
        this.ground = Stage.light ? this.lines() : this.floor();
        this.scene.add(this.sun, this.sun.target, rim, this.ground);
    }

    /* A checkerboard of metre squares with thin lines, fading into the haze. */
    floor() {
        const cell = 128, canvas = document.createElement('canvas');
        canvas.width = canvas.height = 2 * cell;
        const draw = canvas.getContext('2d');
        for (let i = 0; i < 4; i++) {
            const x = (i & 1) * cell, y = (i >> 1) * cell;
            draw.fillStyle = (i & 1) === (i >> 1) ? '#2f3743' : '#282f3a';
            draw.fillRect(x, y, cell, cell);
            draw.strokeStyle = '#414b5a';
            draw.lineWidth = 1.5;
            draw.strokeRect(x, y, cell, cell);
        }
        const texture = new THREE.CanvasTexture(canvas);
        texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
        texture.repeat.set(100, 100);
        texture.encoding = THREE.sRGBEncoding;
        texture.anisotropy = Math.min(8, this.renderer.capabilities.getMaxAnisotropy());
        const floor = new THREE.Mesh(new THREE.PlaneBufferGeometry(200, 200),
            new THREE.MeshStandardMaterial({map: texture, roughness: 0.85, metalness: 0}));
        floor.receiveShadow = true;
        return floor;
    }

    /* In software a floor costs more than all else together. There it is what the picture is cleared with, below the
     * horizon, and lines a metre apart that move with the view. */
    lines() {
        const reach = 12, piece = 2, ends = []; /* in pieces: lines from behind the camera get lost */
        for (let k = -reach; k <= reach; k++)
            for (let a = -reach; a < reach; a += piece) ends.push(k, a, 0, k, a + piece, 0, a, k, 0, a + piece, k, 0);
        const geometry = new THREE.BufferGeometry();
        geometry.setAttribute('position', new THREE.Float32BufferAttribute(ends, 3));
        return new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({color: linear(0x6b778b)}));
    }

    clearToHorizon() {
        const {renderer, camera} = this, {fog} = this.scene, size = renderer.getSize(new THREE.Vector2()), colour = new THREE.Color();
        const ahead = camera.getWorldDirection(new THREE.Vector3()), tan = Math.tan(camera.fov * Math.PI / 360);
        const pitch = Math.asin(ahead.z), bands = 24;
        renderer.setScissorTest(true);
        for (let k = 0; k < bands; k++) {
            const from = Math.floor(size.y * k / bands), to = Math.floor(size.y * (k + 1) / bands);
            const down = -pitch - Math.atan(((from + to) / size.y - 1) * tan); /* the band's rays against the level */
            const far = down > 0 ? camera.position.z / Math.sin(down) : Infinity;
            colour.set(Stage.FLOOR).lerp(this.haze, Math.min(1, Math.max(0, (far - fog.near) / (fog.far - fog.near))));
            renderer.setClearColor(colour);
            renderer.setScissor(0, from, size.x, to - from + 2); /* so that no row is left between two bands */
            renderer.clear();
        }
        renderer.setScissorTest(false);
        this.ground.position.set(Math.round(this.orbit.target.x), Math.round(this.orbit.target.y), 0);
    }

    /* The smaller the window, the further the camera must stand for the same figure. */
    resize() {
        const width = Math.max(1, this.container.clientWidth), height = Math.max(1, this.container.clientHeight);
        this.renderer.setPixelRatio(Math.min(this.sharpness, window.devicePixelRatio || 1));
        this.renderer.setSize(width, height);
        this.camera.aspect = width / height;
        this.camera.fov = this.camera.aspect < 0.8
            ? 360 / Math.PI * Math.atan(Math.tan(Stage.FOV * Math.PI / 360) * 0.8 / this.camera.aspect) : Stage.FOV;
        this.camera.updateProjectionMatrix();
        this.draw();
    }

    draw() {
        if (this.pending) return;
        this.pending = true;
        requestAnimationFrame(now => {
            this.pending = false;
            const elapsed = this.last === null ? 0 : Math.min(0.25, (now - this.last) / 1000);
            const more = this.render(elapsed);
            this.last = more ? now : null;
            if (more) this.draw();
        });
    }

    /* At once. What WebGL drew can be read only until the browser has shown it. */
    render(elapsed) {
        const more = this.frame ? this.frame(elapsed) : false, target = this.orbit.target;
        this.sun.position.set(target.x + 1.3, target.y - 1.5, 6.2);
        this.sun.target.position.set(target.x, target.y, 0.4);
        this.orbit.place(this.camera);
        if (Stage.light) this.clearToHorizon();
        this.renderer.render(this.scene, this.camera);
        return more;
    }
}
Stage.FOV = 38;
Stage.FLOOR = 0x333c49;
Stage.light = false; /* set before anything is made: fewer triangles, cheaper light, no shadows */

/* Does this browser draw in software? */
Stage.inSoftware = () => {
    const gl = document.createElement('canvas').getContext('webgl');
    const info = gl && gl.getExtension('WEBGL_debug_renderer_info');
    return !!info && /swiftshader|llvmpipe|software/i.test(gl.getParameter(info.UNMASKED_RENDERER_WEBGL));
};

/* ---- Time. ---- */

/* A slider over 0..duration s with marks [{t, text}] and spans [{from, to, kind}]; calls seek(t). */
class Timeline {
    constructor(container, seek) {
        this.seek = seek;
        this.duration = 1;
        this.bar = container.appendChild(document.createElement('div'));
        this.bar.className = 'timeline';
        this.bar.tabIndex = 0;
        this.bar.setAttribute('role', 'slider');
        this.bar.setAttribute('aria-label', 'time');
        this.bar.setAttribute('aria-valuemin', '0');
        this.fill = this.bar.appendChild(document.createElement('div'));
        this.fill.className = 'timeline-fill';
        this.marks = this.bar.appendChild(document.createElement('div'));
        this.knob = this.bar.appendChild(document.createElement('div'));
        this.knob.className = 'timeline-knob';
        const to = event => {
            const box = this.bar.getBoundingClientRect();
            this.seek(this.duration * Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)));
        };
        this.bar.addEventListener('pointerdown', event => {
            this.bar.setPointerCapture(event.pointerId);
            to(event);
        });
        this.bar.addEventListener('pointermove', event => {
            if (this.bar.hasPointerCapture(event.pointerId)) to(event);
        });
    }

    set(duration, events, spans = []) {
        this.duration = Math.max(duration, 1e-9);
        this.bar.setAttribute('aria-valuemax', duration.toFixed(2));
        this.marks.textContent = '';
        for (const span of spans) {
            const bar = this.marks.appendChild(document.createElement('div'));
            bar.className = 'timeline-span ' + span.kind;
            bar.style.left = 100 * span.from / this.duration + '%';
            bar.style.width = 100 * (span.to - span.from) / this.duration + '%';
        }
        let labelled = -Infinity;
        for (const event of events) {
            const share = Math.min(1, Math.max(0, event.t / this.duration));
            const mark = this.marks.appendChild(document.createElement('button'));
            mark.className = 'timeline-mark';
            mark.type = 'button';
            mark.style.left = 100 * share + '%';
            mark.title = event.t.toFixed(2) + ' s: ' + event.text;
            mark.appendChild(document.createElement('span')).textContent = event.text;
            mark.classList.toggle('leftwards', share > 0.7);
            /* Labels that would lie on one another show when pointed at. */
            mark.classList.toggle('quiet', share - labelled < 0.16);
            if (share - labelled >= 0.16) labelled = share;
            mark.addEventListener('pointerdown', down => down.stopPropagation());
            mark.addEventListener('click', () => this.seek(event.t));
        }
    }

    show(t) {
        const share = 100 * Math.min(1, t / this.duration) + '%';
        this.fill.style.width = this.knob.style.left = share;
        this.bar.setAttribute('aria-valuenow', t.toFixed(2));
    }
}

/* Curves over time in a canvas. set({series: [{label, colour, values}], fps, duration, events}); a click or
 * drag seeks. What does not move is drawn once; show(t) copies it and adds the cursor. */
class Plot {
    constructor(container, title, unit, seek) {
        this.title = title;
        this.unit = unit;
        this.seek = seek;
        this.box = container.appendChild(document.createElement('figure'));
        this.box.className = 'plot';
        this.caption = this.box.appendChild(document.createElement('figcaption'));
        this.canvas = this.box.appendChild(document.createElement('canvas'));
        this.still = document.createElement('canvas');
        this.data = null;
        this.t = 0;
        const to = event => {
            const box = this.canvas.getBoundingClientRect();
            const share = (event.clientX - box.left - Plot.LEFT) / (box.width - Plot.LEFT - Plot.RIGHT);
            if (this.data) this.seek(this.data.duration * Math.min(1, Math.max(0, share)));
        };
        this.canvas.addEventListener('pointerdown', event => {
            this.canvas.setPointerCapture(event.pointerId);
            to(event);
        });
        this.canvas.addEventListener('pointermove', event => {
            if (this.canvas.hasPointerCapture(event.pointerId)) to(event);
        });
        new ResizeObserver(() => this.redraw()).observe(this.canvas);
    }

    set(data) {
        this.data = data;
        this.box.hidden = data.series.length === 0;
        this.caption.textContent = '';
        this.caption.appendChild(document.createElement('b')).textContent = this.title;
        this.values = data.series.map(series => {
            const entry = this.caption.appendChild(document.createElement('span'));
            entry.appendChild(document.createElement('i')).style.background = series.colour;
            if (series.label) entry.appendChild(document.createTextNode(series.label + ' '));
            return entry.appendChild(document.createElement('output'));
        });
        let lo = Infinity, hi = -Infinity;
        for (const series of data.series)
            for (const y of series.values) {
                if (y < lo) lo = y;
                if (y > hi) hi = y;
            }
        if (!(hi > lo)) hi = (lo = Number.isFinite(lo) ? lo - 0.5 : 0) + 1;
        this.step = Plot.niceStep((hi - lo) / 3);
        this.lo = lo >= 0 && lo < 0.35 * hi ? 0 : lo - 0.06 * (hi - lo);
        this.hi = hi + 0.08 * (hi - lo);
        this.redraw();
    }

    static niceStep(raw) {
        const power = Math.pow(10, Math.floor(Math.log10(raw))), rest = raw / power;
        return power * (rest > 7.1 ? 10 : rest > 3.5 ? 5 : rest > 1.4 ? 2 : 1);
    }

    x(t) {
        return Plot.LEFT + (this.width - Plot.LEFT - Plot.RIGHT) * t / this.data.duration;
    }

    y(value) {
        return 4 + (this.height - 18) * (1 - (value - this.lo) / (this.hi - this.lo));
    }

    redraw() {
        this.width = this.canvas.clientWidth;
        this.height = this.canvas.clientHeight;
        if (!this.data || !this.width || this.box.hidden) return;
        const ratio = window.devicePixelRatio || 1;
        for (const canvas of [this.canvas, this.still]) {
            canvas.width = Math.round(this.width * ratio);
            canvas.height = Math.round(this.height * ratio);
        }
        const draw = this.still.getContext('2d');
        draw.setTransform(ratio, 0, 0, ratio, 0, 0);
        this.drawAxes(draw);
        for (const series of this.data.series) this.drawSeries(draw, series);
        this.show(this.t);
    }

    drawAxes(draw) {
        draw.font = '10px system-ui, sans-serif';
        draw.lineWidth = 1;
        draw.textAlign = 'right';
        draw.textBaseline = 'middle';
        const digits = Math.max(0, -Math.floor(Math.log10(this.step) + 1e-9));
        for (let k = Math.ceil(this.lo / this.step); k * this.step <= this.hi; k++) {
            const y = Math.round(this.y(k * this.step)) + 0.5;
            draw.strokeStyle = 'rgba(255,255,255,0.08)';
            draw.beginPath();
            draw.moveTo(Plot.LEFT, y);
            draw.lineTo(this.width - Plot.RIGHT, y);
            draw.stroke();
            draw.fillStyle = '#8b95a5';
            draw.fillText((k * this.step).toFixed(digits), Plot.LEFT - 6, y);
        }
        draw.textAlign = 'center';
        draw.textBaseline = 'alphabetic';
        const step = Plot.niceStep(this.data.duration / Math.max(2, this.width / 90));
        for (let k = 0; k * step <= this.data.duration; k++)
            draw.fillText(+(k * step).toFixed(3) + (k ? '' : ' s'), this.x(k * step), this.height - 2);
        draw.strokeStyle = 'rgba(232,163,61,0.45)';
        draw.setLineDash([3, 3]);
        for (const event of this.data.events) {
            draw.beginPath();
            draw.moveTo(this.x(event.t), 2);
            draw.lineTo(this.x(event.t), this.height - 14);
            draw.stroke();
        }
        draw.setLineDash([]);
    }

    /* Long curves: the smallest and largest value of each half pixel, so that no peak is lost. */
    drawSeries(draw, series) {
        const n = series.values.length, bin = Math.max(1, Math.floor(n / (2 * this.width)));
        draw.strokeStyle = series.colour;
        draw.lineWidth = 1.6;
        draw.lineJoin = 'round';
        draw.beginPath();
        for (let i = 0; i < n; i += bin) {
            let lo = series.values[i], hi = lo;
            for (let j = i + 1; j < Math.min(n, i + bin); j++) {
                lo = Math.min(lo, series.values[j]);
                hi = Math.max(hi, series.values[j]);
            }
            draw.lineTo(this.x(i / this.data.fps), this.y(lo));
            if (hi > lo) draw.lineTo(this.x(i / this.data.fps), this.y(hi));
        }
        draw.stroke();
    }

    show(t) {
        this.t = t;
        if (!this.data || !this.width || this.box.hidden) return;
        const draw = this.canvas.getContext('2d'), ratio = window.devicePixelRatio || 1;
        draw.setTransform(1, 0, 0, 1, 0, 0);
        draw.clearRect(0, 0, this.canvas.width, this.canvas.height);
        draw.drawImage(this.still, 0, 0);
        draw.setTransform(ratio, 0, 0, ratio, 0, 0);
        const x = this.x(Math.min(t, this.data.duration));
        draw.fillStyle = 'rgba(255,255,255,0.75)';
        draw.fillRect(x - 0.5, 2, 1, this.height - 16);
        this.data.series.forEach((series, k) => {
            const i = Math.min(series.values.length - 1, Math.round(t * this.data.fps));
            const value = series.values[i];
            this.values[k].textContent = value.toFixed(3) + ' ' + this.unit;
            draw.fillStyle = series.colour;
            draw.beginPath();
            draw.arc(x, this.y(value), 3, 0, 2 * Math.PI);
            draw.fill();
        });
    }
}
Plot.LEFT = 38;
Plot.RIGHT = 10;
