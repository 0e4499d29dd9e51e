// One picture: robots where they are at a time, the ground, trails, arrows and marks, seen by the camera.

const TRAIL_COLORS = [[0.84, 0.24, 0.24, 1], [0.2, 0.43, 0.78, 1], [0.16, 0.59, 0.35, 1], [0.59, 0.31, 0.71, 1]];
const FORCE_COLOR = [0.8, 0.12, 0.35, 1];
const MOMENT_COLOR = [0.45, 0.2, 0.75, 1];
const AXIS_COLORS = [[0.85, 0.2, 0.2, 1], [0.2, 0.65, 0.25, 1], [0.2, 0.35, 0.9, 1]];
const JOINT_AXIS = [0.95, 0.55, 0.1, 1];
const GHOST = [0.36, 0.44, 0.54, 0.42];
const MOST_TRAIL = 600;

function ball(rings = 16) {
  const vertices = [], faces = [];
  for (let i = 0; i <= rings; i++) for (let j = 0; j <= 2 * rings; j++) {
    const [a, b] = [(Math.PI * i) / rings, (Math.PI * j) / rings];
    vertices.push(Math.sin(a) * Math.cos(b), Math.sin(a) * Math.sin(b), Math.cos(a));
  }
  const row = 2 * rings + 1;
  for (let i = 0; i < rings; i++) for (let j = 0; j < 2 * rings; j++) {
    const k = i * row + j;
    faces.push(k, k + row, k + 1, k + 1, k + row, k + row + 1);
  }
  return [new Float32Array(vertices), new Uint32Array(faces)];
}

// A body of revolution about z: pairs of radius and height, with sharp edges between them.
function revolved(profile, sides = 20) {
  const vertices = [], faces = [];
  for (let p = 0; p + 1 < profile.length; p++) {
    const first = vertices.length / 3;
    for (let j = 0; j <= sides; j++) for (const [r, z] of [profile[p], profile[p + 1]]) {
      const a = (2 * Math.PI * j) / sides;
      vertices.push(r * Math.cos(a), r * Math.sin(a), z);
    }
    for (let j = 0; j < sides; j++) {
      const k = first + 2 * j;
      faces.push(k, k + 2, k + 1, k + 1, k + 2, k + 3);
    }
  }
  return [new Float32Array(vertices), new Uint32Array(faces)];
}

// Colors of sky, ground and shadow, by the style of the page.
function palette() {
  const style = getComputedStyle(document.body);
  const color = (name) => [1, 3, 5].map((k) => parseInt(style.getPropertyValue(name).trim().slice(k, k + 2), 16) / 255);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  return { sky: [color("--sky-high"), color("--sky-low")], line: dark ? [0.42, 0.48, 0.55] : [0.62, 0.67, 0.73], floor: dark ? [0.2, 0.235, 0.28] : [0.955, 0.963, 0.975], shadow: dark ? 0.55 : 0.3 };
}

class ShownRobot {
  constructor(renderer, data) {
    Object.assign(this, data);
    this.count = this.bodies.length;
    this.meshes = this.parts.map((part) => renderer.mesh(part.vertices, part.faces));
    this.now = new Float32Array(7 * this.count);
    this.sample = 0;
  }

  // Go to a time, between samples if need be.
  seek(time) {
    const times = this.time;
    let [low, high] = [0, times.length - 1];
    while (low < high) { const middle = (low + high + 1) >> 1; if (times[middle] <= time) low = middle; else high = middle - 1; }
    this.sample = low;
    const size = 7 * this.count;
    const here = this.poses.subarray(low * size, (low + 1) * size);
    if (low + 1 >= times.length || time <= times[low]) { this.now.set(here); return; }
    const next = this.poses.subarray((low + 1) * size, (low + 2) * size);
    const share = (time - times[low]) / (times[low + 1] - times[low]);
    for (let b = 0; b < this.count; b++) mixedPose(poseAt(here, b), poseAt(next, b), share, poseAt(this.now, b));
  }

  // Where the parts of a body are drawn.
  matrix(body) { return poseMatrix(this.pose(body)); }
  pose(body) { return body < 0 ? new Float32Array([0, 0, 0, 1, 0, 0, 0]) : poseAt(this.now, body); }
  known(body) { return body < 0 || Number.isFinite(poseAt(this.now, body).reduce((a, b) => a + b)); }
  point(at) { return placed(this.pose(at.body), at.point); }
  centerOfMass() {
    const sum = [0, 0, 0];
    let mass = 0;
    for (const { body, mass: m, point } of this.masses) {
      const at = this.point({ body, point });
      for (let k = 0; k < 3; k++) sum[k] += m * at[k];
      mass += m;
    }
    return mass > 0 ? scaled(sum, 1 / mass) : null;
  }
}

class Scene {
  constructor(canvas, show) {
    this.show = show;
    this.renderer = new Renderer(canvas);
    this.canvas = canvas;
    this.robots = show.robots.map((data) => this.shown(data));
    this.main = this.robots[0];
    this.shapes = {
      ball: this.renderer.mesh(...ball()),
      shaft: this.renderer.mesh(...revolved([[0, 0], [1, 0], [1, 1], [0, 1]])),
      cone: this.renderer.mesh(...revolved([[0, 0], [1, 0], [0, 1]])),
    };
    this.radius = 0.012 * show.size;
    this.time = show.begin;
    this.held = null;
  }

  shown(data) { return new ShownRobot(this.renderer, data); }

  // The pose of the first robot that is shown instead of the motion; null goes back to the motion.
  hold(poses) { this.held = poses === null ? null : Float32Array.from(poses, (x) => (x === null ? NaN : x)); }

  // How far the camera has gone along with the robot.
  followed() {
    const path = this.show.follow;
    if (!path || !this.show.shown.follow || this.held) return [0, 0, 0];
    const k = this.main.sample, next = Math.min(k + 1, this.main.time.length - 1);
    const gap = this.main.time[next] - this.main.time[k];
    const share = gap > 0 ? Math.min(Math.max((this.time - this.main.time[k]) / gap, 0), 1) : 0;
    return [0, 1, 2].map((i) => (1 - share) * path[3 * k + i] + share * path[3 * next + i]);
  }

  things(robot) {
    const { shown } = this.show;
    const list = [];
    robot.parts.forEach((part, k) => {
      if ((part.role === "joint" && !shown.joints) || (part.role === "shape" && !shown.shapes)) return;
      if (robot.ghost && (part.role === "joint" || part.role === "shape" || !shown.ghost)) return;
      if (!robot.known(part.body)) return;
      const thin = shown.inertia && part.role === "link" ? 0.35 : 1;
      const color = robot.ghost ? GHOST : [...part.color.slice(0, 3), part.color[3] * thin];
      list.push({ mesh: robot.meshes[k], matrix: robot.matrix(part.body), color, flat: part.flat, closed: part.closed && part.role !== "shape", part });
    });
    for (const { from, to, color } of robot.ghost && !shown.ghost ? [] : robot.connectors) {
      if (!robot.known(from.body) || !robot.known(to.body)) continue;
      const rod = this.rod(robot.point(from), robot.point(to), 0.5 * robot.thickness, robot.ghost ? GHOST : color);
      if (rod) list.push(rod);
    }
    return list;
  }

  rod(from, to, radius, color, shape = "shaft") {
    const way = sub(to, from);
    const length = norm(way);
    if (!(length > 1e-6 * this.show.size)) return null;
    const [x, y, z] = axesAlong(way);
    return { mesh: this.shapes[shape], matrix: frameMatrix(scaled(x, radius), scaled(y, radius), scaled(z, length), from), color };
  }

  arrow(from, to, radius, color) {
    const way = sub(to, from);
    const length = norm(way);
    const head = Math.min(6 * radius, 0.5 * length);
    const neck = add(from, scaled(way, (length - head) / (length || 1)));
    return [this.rod(from, neck, radius, color), this.rod(neck, to, Math.min(2.4 * radius, 0.5 * head), color, "cone")].filter(Boolean);
  }

  // Arrows of forces, and with two heads those of moments, each to scale with its like, but for short peaks.
  wrenches(robot) {
    if (!this.show.shown.forces || this.held) return [];
    const list = [];
    for (const [kind, color, heads] of [["forces", FORCE_COLOR, 1], ["moments", MOMENT_COLOR, 2]]) {
      const { vectors, scale, least, longest } = robot[kind];
      if (!(scale > 0)) continue;
      robot.spots.forEach((spot, k) => {
        const at = 3 * (robot.sample * robot.spots.length + k);
        const vector = [...vectors.subarray(at, at + 3)];
        const start = robot.point(spot);
        if (!Number.isFinite(norm(vector) + norm(start)) || norm(vector) < least) return;
        const way = scaled(vector, Math.min(scale, longest / norm(vector)));
        list.push(...this.arrow(start, add(start, way), 0.6 * this.radius, color));
        if (heads > 1) list.push(...this.arrow(start, add(start, scaled(way, 0.82)), 0.6 * this.radius, color));
      });
    }
    return list;
  }

  marks(robot) {
    const { shown } = this.show;
    const list = [];
    const long = 0.14 * this.show.size;
    if (shown.frames) for (const frame of robot.frames) {
      if (!robot.known(frame.body)) continue;
      const pose = robot.pose(frame.body);
      const origin = placed(pose, frame.point);
      [[1, 0, 0], [0, 1, 0], [0, 0, 1]].forEach((axis, k) => {
        const end = add(origin, scaled(turned(pose.slice(3), turned(frame.quaternion, axis)), 0.6 * long));
        list.push(...this.arrow(origin, end, 0.3 * this.radius, AXIS_COLORS[k]));
      });
    }
    if (shown.axes) for (const axis of robot.axes) {
      if (!robot.known(axis.body)) continue;
      const pose = robot.pose(axis.body);
      const [origin, along] = [placed(pose, axis.point), scaled(turned(pose.slice(3), axis.direction), long)];
      list.push(...this.arrow(sub(origin, scaled(along, 0.6)), add(origin, along), 0.3 * this.radius, JOINT_AXIS));
    }
    if (shown.inertia) for (const { body, point, quaternion, radii } of robot.ellipsoids) {
      if (!robot.known(body)) continue;
      const pose = robot.pose(body);
      const axes = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((e, k) => scaled(turned(pose.slice(3), turned(quaternion, e)), radii[k]));
      list.push({ mesh: this.shapes.ball, matrix: frameMatrix(...axes, placed(pose, point)), color: [0.95, 0.55, 0.1, 0.55] });
    }
    const com = shown.com ? robot.centerOfMass() : null;
    if (com && Number.isFinite(norm(com))) {
      const r = 1.6 * this.radius;
      list.push({ mesh: this.shapes.ball, matrix: frameMatrix([r, 0, 0], [0, r, 0], [0, 0, r], com), color: [0.1, 0.1, 0.1, 1] });
      const { height } = this.show.ground;
      if (shown.ground) {
        const foot = add(com, scaled(this.show.up, height - dot(com, this.show.up)));
        const stick = this.rod(foot, com, 0.2 * this.radius, [0.1, 0.1, 0.1, 1]);
        if (stick) list.push(stick);
      }
    }
    return list;
  }

  trail(name) {
    const place = this.main.points[name];
    if (!place || this.held) return new Float32Array(0);
    const { poses, count, sample } = this.main;
    const every = Math.max(1, Math.ceil(sample / MOST_TRAIL));
    const path = [];
    for (let k = 0; k <= sample; k += every) {
      const pose = poseAt(poses, k * count + place.body);
      path.push(placed(pose, place.point));
    }
    path.push(this.main.point(place));
    const segments = [];
    for (let k = 1; k < path.length; k++) {
      if (Number.isFinite(norm(path[k]) + norm(path[k - 1]))) segments.push(...path[k - 1], ...path[k]);
    }
    return new Float32Array(segments);
  }

  // Draw so many pixels.
  draw(width, height, ratio, orbit, palette) {
    const { show, renderer } = this;
    this.robots.forEach((robot) => robot.seek(this.time));
    if (this.held) this.main.now.set(this.held);
    const sight = orbit.sight(width / height, this.followed());
    Object.assign(sight, { up: show.up, radius: show.shadowRadius, sky: palette.sky, sun: show.sun });
    const solid = [], through = [], casting = [];
    for (const robot of this.robots) for (const thing of this.things(robot)) {
      (thing.color[3] < 1 ? through : solid).push(thing);
      if (!robot.ghost) casting.push(thing);
    }
    renderer.begin(width, height, sight, casting, ratio);
    for (const thing of solid) renderer.draw(thing);
    if (show.shown.ground) {
      const [x, y, z] = axesAlong(show.up);
      const middle = add(sight.center, scaled(show.up, show.ground.height - dot(sight.center, show.up)));
      renderer.ground({
        matrix: frameMatrix(x, y, z, middle), half: show.ground.half, cell: show.ground.cell, middle: [0, 0],
        shift: [dot(middle, x), dot(middle, y)], line: palette.line, floor: palette.floor, dark: palette.shadow,
      });
    }
    show.trails.forEach((name, k) => renderer.line(this.trail(name), TRAIL_COLORS[k % TRAIL_COLORS.length], 2.2));
    if (through.length) renderer.drawThrough(through);
    const marks = this.robots.flatMap((robot) => (robot.ghost ? [] : [...this.marks(robot), ...this.wrenches(robot)]));
    if (marks.length) renderer.overlay(marks);
  }
}
