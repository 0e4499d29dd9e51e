// Taking hold of a body: which one is under the pointer, and where the pointer pulls it.

const NEAR = [[0, 0], [5, 0], [-5, 0], [0, 5], [0, -5], [9, 9], [-9, 9], [9, -9], [-9, -9]];  // thin links are easily missed, so look around

class Grip {
  // Takes hold in the app's scene; says app.grab(grip), app.pull(grip, target) and app.drop(grip). What app.handleUnder(e)
  // returns comes before bodies: it is told to take(e), to move(e) and to drop().
  constructor(stage, canvas, app) {
    Object.assign(this, { canvas, app, held: null });
    stage.addEventListener("pointerdown", (e) => {
      const handle = e.button === 0 && e.target === canvas && !this.held ? app.handleUnder(e) : null;
      if (handle) {
        e.stopPropagation();
        canvas.setPointerCapture(e.pointerId);
        this.handle = { handle, pointer: e.pointerId };
        stage.classList.add("holding");
        handle.take(e);
        return;
      }
      if (e.button !== 0 || e.shiftKey || this.held || app.waits || e.target !== canvas) return;
      const found = this.under(e);
      if (!found) return;
      e.stopPropagation();
      canvas.setPointerCapture(e.pointerId);
      canvas.focus();
      this.held = { ...found, pointer: e.pointerId };
      stage.classList.add("holding");
      app.grab(this.held);
    }, true);
    stage.addEventListener("pointermove", (e) => {
      if (this.handle && e.pointerId === this.handle.pointer) {
        e.stopPropagation();
        this.handle.handle.move(e);
        return;
      }
      if (this.held && e.pointerId === this.held.pointer) {
        e.stopPropagation();
        this.held.target = this.target(e);
        app.pull(this.held);
      } else if (!e.buttons && e.pointerType === "mouse" && e.target === canvas && !app.waits) stage.classList.toggle("over", Boolean(app.handleUnder(e) || this.under(e)));
    }, true);
    for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, (e) => {
      if (this.handle && e.pointerId === this.handle.pointer) {
        const { handle } = this.handle;
        this.handle = null;
        stage.classList.remove("holding");
        handle.drop();
        return;
      }
      if (!this.held || e.pointerId !== this.held.pointer) return;
      const held = this.held;
      this.held = null;
      stage.classList.remove("holding");
      app.drop(held);
    }, true);
  }

  // The ray through a point of the canvas: where it starts, and its direction.
  ray(x, y) {
    const { canvas, app } = this;
    const [wide, tall] = [canvas.clientWidth, canvas.clientHeight];
    const { eye, center } = app.orbit.sight(wide / tall, [0, 0, 0]);
    const back = unit(sub(eye, center)), right = unit(cross(app.orbit.axes[2], back)), above = cross(back, right);
    const slope = Math.tan(0.5 * app.show.camera.fov);
    const [u, v] = [((2 * x) / wide - 1) * slope * (wide / tall), (1 - (2 * y) / tall) * slope];
    return { eye, way: unit(add(add(scaled(right, u), scaled(above, v)), scaled(back, -1))), back };
  }

  under(e) {
    const box = this.canvas.getBoundingClientRect();
    for (const [dx, dy] of NEAR) {
      const ray = this.ray(e.clientX - box.left + dx, e.clientY - box.top + dy), hit = this.hit(ray);
      if (hit) return { ...hit, back: ray.back };
    }
    return null;
  }

  // The first body that a ray meets, and where: the point in the body's coordinates, unscaled.
  hit({ eye, way }) {
    const robot = this.app.scene.main;
    let best = null, nearest = Infinity;
    robot.parts.forEach((part) => {
      if (part.role === "base" || part.role === "shape" || !robot.known(part.body)) return;
      const pose = robot.pose(part.body), s = robot.stretch(part.body), q = [pose[3], -pose[4], -pose[5], -pose[6]];
      const o = scaled(turned(q, sub(eye, pose)), 1 / s), d = scaled(turned(q, way), 1 / s);
      if (!meetsBox(part, o, d)) return;
      const { vertices: p, faces: f } = part;
      for (let k = 0; k < f.length; k += 3) {
        const [a, b, c] = [3 * f[k], 3 * f[k + 1], 3 * f[k + 2]];
        const e1 = [p[b] - p[a], p[b + 1] - p[a + 1], p[b + 2] - p[a + 2]], e2 = [p[c] - p[a], p[c + 1] - p[a + 1], p[c + 2] - p[a + 2]];
        const n = cross(d, e2), det = dot(e1, n);
        if (Math.abs(det) < 1e-18) continue;
        const from = [o[0] - p[a], o[1] - p[a + 1], o[2] - p[a + 2]], u = dot(from, n) / det;
        if (u < 0 || u > 1) continue;
        const across = cross(from, e1), v = dot(d, across) / det;
        if (v < 0 || u + v > 1) continue;
        const t = dot(e2, across) / det;
        if (t > 0 && t < nearest) { nearest = t; best = { body: part.body, local: add(o, scaled(d, t)), at: add(eye, scaled(way, t)) }; }
      }
    });
    return best && best.body >= 0 ? best : null;
  }

  // Where the pointer pulls: in the plane through the point that was taken, across the view.
  target(e) {
    const box = this.canvas.getBoundingClientRect(), { eye, way } = this.ray(e.clientX - box.left, e.clientY - box.top);
    const t = dot(sub(this.held.at, eye), this.held.back) / dot(way, this.held.back);
    return add(eye, scaled(way, t));
  }
}

function meetsBox(part, o, d) {
  if (!part.box) {
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    part.vertices.forEach((x, k) => { low[k % 3] = Math.min(low[k % 3], x); high[k % 3] = Math.max(high[k % 3], x); });
    part.box = [low, high];
  }
  let [near, far] = [0, Infinity];
  for (let c = 0; c < 3; c++) {
    const [a, b] = [(part.box[0][c] - o[c]) / d[c], (part.box[1][c] - o[c]) / d[c]];
    near = Math.max(near, Math.min(a, b));
    far = Math.min(far, Math.max(a, b));
  }
  return near <= far;
}
