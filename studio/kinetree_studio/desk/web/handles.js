// Handles in the scene: arrows and rings that move and turn what is chosen in the tree, and balls for centers of mass and
// for the points of a drawing. What is dragged is written as one edit, in steps of the units that are shown.

const HANDLE = 0.13;          // length of an arrow, as a share of the height of the picture
const REACH = 9;              // pixels from a handle that still take hold of it
const RING_SIDES = 48;
const ANGLE_STEP = 5;         // degrees
const BALL_COLOR = [0.12, 0.12, 0.14, 1];
const POINT_COLOR = [0.2, 0.45, 0.85, 1];
const HELD_COLOR = [1, 0.8, 0.1, 1];

const product = ([a, b, c, d], [w, x, y, z]) => [a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y, a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w];
const about = (axis, angle) => [Math.cos(0.5 * angle), ...[0, 1, 2].map((k) => (k === axis ? Math.sin(0.5 * angle) : 0))];

// Roll, pitch and yaw of a quaternion: about the fixed x, then y, then z.
function rollPitchYaw(q) {
  const [x, y, z] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((axis) => turned(q, axis)), level = Math.hypot(x[0], x[1]);
  if (level < 1e-12) return [Math.atan2(-z[1], y[1]), Math.atan2(-x[2], level), 0];
  return [Math.atan2(y[2], z[2]), Math.atan2(-x[2], level), Math.atan2(x[1], x[0])];
}

class Handles {
  constructor(page) { Object.assign(this, { page, held: null }); }

  get desk() { return this.page.desk; }
  get scene() { return this.page.scene; }
  get units() { return this.page.units; }

  // What is chosen, where it is: the pose of what it is on, and its own position and orientation there.
  target() {
    const { desk, page } = this, { chosen } = desk.builder;
    if (!desk.handles || page.waits || page.tries || page.playing || !chosen || desk.told.content.linkage) return null;
    const own = (desk.told.placed[chosen.section] || {})[chosen.name];
    if (!own) return null;
    const on = this.scene.main.pose(own.body), frame = own.on.slice(3), base = placed(on, own.on);
    return { ...own, at: chosen.at, on: [...base, ...product([...on.slice(3)], frame)] };
  }

  // All handles as they are seen: kind, axis, where they begin and end, or the points of a ring.
  list() {
    const found = [], { main } = this.scene, long = this.length();
    const target = this.held ? this.held.target : this.target();
    if (target) {
      const change = this.held && this.held.target === target ? this.held.change : null;
      const position = change && change.position ? change.position : target.position, turn = target.on.slice(3);
      const at = add(turned(turn, position), target.on), axes = [0, 1, 2].map((k) => turned(turn, [0, 1, 2].map((i) => (i === k ? 1 : 0))));
      axes.forEach((axis, k) => {
        found.push({ kind: "move", axis: k, from: at, to: add(at, scaled(axis, long)), along: axis, target });
        const [u, v] = [axes[(k + 1) % 3], axes[(k + 2) % 3]];
        const ring = Array.from({ length: RING_SIDES + 1 }, (_, i) => { const a = (2 * Math.PI * i) / RING_SIDES; return add(at, add(scaled(u, 0.8 * long * Math.cos(a)), scaled(v, 0.8 * long * Math.sin(a)))); });
        if (target.quaternion) found.push({ kind: "turn", axis: k, at, ring, u, v, along: axis, target });
      });
      if (target.com) {
        const pose = main.pose(target.of), com = this.held && this.held.kind === "com" && this.held.change ? this.held.change.com : target.com;
        found.push({ kind: "com", at: placed(pose, com), pose: [...pose], target, color: BALL_COLOR });
      }
    }
    for (const own of this.points()) found.push(own);
    return found;
  }

  // Points of a drawing, where it is drawn; there is nothing to hold while the mechanism is elsewhere.
  points() {
    const { desk, page } = this, { content, places } = desk.told, { main } = this.scene;
    if (!desk.handles || !content.linkage || page.waits || page.tries || page.playing) return [];
    const dragged = this.held && this.held.kind === "point" && this.held.change ? this.held : null;
    return Object.entries(places || {}).flatMap(([name, [x, y]]) => {
      if (!Array.isArray(content.linkage.points[name])) return [];
      const own = main.points[name], at = own ? main.point(own) : [x, y, 0];
      if (norm(sub(at, [x, y, 0])) > 1e-5 * page.show.size) return [];
      return [{ kind: "point", name, at: dragged && dragged.name === name ? [...dragged.change.place, 0] : [x, y, 0], target: null, color: POINT_COLOR }];
    });
  }

  length() {
    const { orbit, show } = this.page, { canvas } = this.scene;
    return 2 * HANDLE * orbit.distance((canvas.clientWidth || 1) / (canvas.clientHeight || 1)) * Math.tan(0.5 * show.camera.fov);
  }

  // ---------------------------------------------------------------- drawing

  marks() {
    const list = [], r = 0.022 * this.length(), { shapes } = this.scene;
    for (const own of this.list()) {
      const color = this.isHeld(own) ? HELD_COLOR : own.color || AXIS_COLORS[own.axis];
      if (own.kind === "move") list.push(...this.scene.arrow(own.from, own.to, r, color));
      else if (own.kind !== "turn") { const s = 3.2 * r; list.push({ mesh: shapes.ball, matrix: frameMatrix([s, 0, 0], [0, s, 0], [0, 0, s], own.at), color }); }
    }
    return list;
  }

  rings() {
    for (const own of this.list()) if (own.kind === "turn") {
      const segments = [];
      for (let k = 0; k < RING_SIDES; k++) segments.push(...own.ring[k], ...own.ring[k + 1]);
      this.scene.renderer.line(new Float32Array(segments), this.isHeld(own) ? HELD_COLOR : AXIS_COLORS[own.axis], 2.4);
    }
  }

  isHeld(own) { return Boolean(this.held) && this.held.kind === own.kind && this.held.axis === own.axis && this.held.name === own.name; }

  // ---------------------------------------------------------------- taking hold

  seen(point) {
    const { canvas } = this.scene, { matrix: m } = this.page.orbit.sight(canvas.clientWidth / canvas.clientHeight, [0, 0, 0]);
    const [u, v, w] = [0, 1, 3].map((row) => m[row] * point[0] + m[row + 4] * point[1] + m[row + 8] * point[2] + m[row + 12]);
    return w > 0 ? [(0.5 + 0.5 * u / w) * canvas.clientWidth, (0.5 - 0.5 * v / w) * canvas.clientHeight] : [Infinity, Infinity];
  }

  under(e) {
    if (!this.desk.handles) return null;
    const box = this.scene.canvas.getBoundingClientRect(), here = [e.clientX - box.left, e.clientY - box.top];
    let best = null, nearest = e.pointerType === "touch" ? 2 * REACH : REACH;
    for (const own of this.list()) {
      const line = own.kind === "move" ? [add(own.from, scaled(sub(own.to, own.from), 0.25)), own.to] : own.kind === "turn" ? own.ring : [own.at, own.at];
      const path = line.map((point) => this.seen(point));
      for (let k = 0; k + 1 < path.length; k++) {
        const away = awayFrom(here, path[k], path[k + 1]) - (line.length === 2 && own.kind !== "move" ? 4 : 0);  // balls come before lines
        if (away < nearest) [best, nearest] = [own, away];
      }
    }
    return best;
  }

  take(e, own) { this.held = { ...own, begun: this.at(e, own), change: null }; this.page.redraw(); }

  // What the pointer means for a handle: a length along an arrow, an angle on a ring, or a point.
  at(e, own) {
    const box = this.scene.canvas.getBoundingClientRect(), { eye, way, back } = this.page.grip.ray(e.clientX - box.left, e.clientY - box.top);
    const onPlane = (through, normal) => add(eye, scaled(way, dot(sub(through, eye), normal) / dot(way, normal)));
    if (own.kind === "move") {
      const side = unit(cross(own.along, cross(back, own.along)));  // the plane through the arrow that faces the eye
      return dot(sub(onPlane(own.from, norm(side) > 0.1 ? side : back), own.from), own.along);
    }
    if (own.kind === "turn") {
      const flat = Math.abs(dot(own.along, way)) > 0.05 ? onPlane(own.at, own.along) : onPlane(own.at, back), arm = sub(flat, own.at);
      return Math.atan2(dot(arm, own.v), dot(arm, own.u));
    }
    return own.kind === "point" ? onPlane([0, 0, 0], [0, 0, 1]) : onPlane(own.at, back);
  }

  // A number in steps of the unit that is shown: a hundredth of the robot, rounded; a tenth of that with Shift.
  snapped(value, unit, fine) {
    const one = this.units.shown(1, unit), step = unit === "rad" ? (ANGLE_STEP * Math.PI) / 180 / (fine ? 10 : 1) : roundStep(this.page.show.size * one, 200) / one / (fine ? 10 : 1);
    return Number((step * Math.round(value / step)).toPrecision(12));
  }

  move(e) {
    const { held } = this, { target } = held, now = this.at(e, held), say = (text) => { this.page.saying = null; this.page.say(text); };
    const lengths = (values) => values.map((x) => short(this.units.shown(x, "m"), 5)).join(", ");
    if (held.kind === "move") {
      const position = [...target.position];
      position[held.axis] = this.snapped(position[held.axis] + now - held.begun, "m", e.shiftKey);
      held.change = { position };
      say(`${"xyz"[held.axis]}: ${lengths([position[held.axis]])} ${this.units.label("m")}`);
    } else if (held.kind === "turn") {
      const gone = now - held.begun, angle = this.snapped(Math.atan2(Math.sin(gone), Math.cos(gone)), "rad", e.shiftKey);
      held.change = { angle, rpy: rollPitchYaw(product(about(held.axis, angle), target.quaternion)).map((x) => Number(x.toPrecision(12))) };
      say(`turned by ${short(this.units.shown(angle, "rad"), 4)} ${this.units.label("rad")} about ${"xyz"[held.axis]}`);
    } else if (held.kind === "com") {
      const local = turned(inverse(held.pose.slice(3)), sub(now, held.pose)), first = turned(inverse(held.pose.slice(3)), sub(held.begun, held.pose));
      held.change = { com: target.com.map((x, k) => (Math.abs(local[k] - first[k]) < 1e-9 ? x : this.snapped(x + local[k] - first[k], "m", e.shiftKey))) };
      say(`center of mass: ${lengths(held.change.com)} ${this.units.label("m")}`);
    } else {
      held.change = { place: [0, 1].map((k) => this.snapped(now[k], "m", e.shiftKey)) };
      say(`${held.name}: ${lengths(held.change.place)} ${this.units.label("m")}`);
    }
    this.page.redraw();
  }

  async drop() {
    const { held, desk } = this, { change, target } = held;
    if (!change) { this.held = null; this.page.redraw(); return; }
    const { placement } = target ? deep(desk.told.content, target.at) || {} : {}, plain = !placement || Object.keys(placement).every((key) => ["position", "rpy"].includes(key));
    const to = change.position || change.com || change.rpy || change.place.map((x) => Number((x / { m: 1, cm: 0.01, mm: 0.001, in: 0.0254 }[desk.told.content.linkage.units || "m"]).toPrecision(12)));
    const whole = { ...numbered(placement || {}), position: change.position || numbered((placement || {}).position || [0, 0, 0]) };
    const edit = { com: () => ({ at: [...target.at, "com"], to }), point: () => ({ at: ["linkage", "points", held.name], to }), move: () => ({ at: [...target.at, "placement", "position"], to }), turn: () => (plain ? { at: [...target.at, "placement", "rpy"], to } : { at: [...target.at, "placement"], to: { position: whole.position, rpy: to } }) }[held.kind]();
    try {
      await desk.change({ do: "set", ...edit });
      desk.say("");
    } catch (problem) { desk.say(problem.message.replace(/^[^\n:]*\.yaml(, line \d+)?: /, "")); }
    this.held = null;
    if (desk.app) desk.app.redraw();
  }
}

const inverse = ([w, x, y, z]) => [w, -x, -y, -z];

// How far a point of the picture is from a segment of it.
function awayFrom([x, y], [a, b], [c, d]) {
  const square = (c - a) ** 2 + (d - b) ** 2, share = square ? Math.min(Math.max(((x - a) * (c - a) + (y - b) * (d - b)) / square, 0), 1) : 0;
  return Math.hypot(a + share * (c - a) - x, b + share * (d - b) - y);
}
