// The scene of a page that computes: bodies where they are computed to be, stretched, and forces in the joints.

// A robot whose poses are computed; lengths stretch its bodies.
class ComputedRobot extends ShownRobot {
  stretch(body) { return this.stretched ? this.stretched[body + 1] : 1; }
  matrix(body) {
    const m = poseMatrix(this.pose(body)), s = this.stretch(body);
    if (s !== 1) for (let k = 0; k < 12; k++) m[k] *= s;
    return m;
  }
  point(at) { return placed(this.pose(at.body), scaled(at.point, this.stretch(at.body))); }
  centerOfMass() { return this.com; }
  seek() {}
}

class LiveScene extends Scene {
  constructor(canvas, show, app) {
    super(canvas, show);
    this.app = app;
  }

  shown(data) { return new ComputedRobot(this.renderer, data); }

  // Arrows of the forces that joints transmit to the bodies that they carry, and a line to the pointer that pulls.
  wrenches(robot) {
    const { app } = this, list = [];
    const { held } = app.grip;
    if (held && held.target) {
      const from = placed(robot.pose(held.body), held.point), rod = this.rod(from, held.target, 0.35 * this.radius, [0.95, 0.55, 0.1, 1]);
      if (rod) list.push(rod);
    }
    if (!this.show.shown.forces || !app.knows || !app.hasForces) return list;
    const w = app.told.wrenches, { facts } = app;
    facts.pins.forEach((_, k) => {
      if (!facts.pinKinds[k]) return;
      const force = [...w.subarray(6 * k, 6 * k + 3)], loop = facts.loops[k - robot.count];
      const start = loop ? robot.point(loop) : robot.point({ body: k, point: [0, 0, 0] });
      if (!(norm(force) > 1e-3 * app.usualForce)) return;
      list.push(...this.arrow(start, add(start, scaled(force, Math.min((0.25 * this.show.size) / app.usualForce, (0.6 * this.show.size) / norm(force)))), 0.6 * this.radius, FORCE_COLOR));
    });
    return list;
  }

  trail() { return this.app.path || new Float32Array(0); }
}
