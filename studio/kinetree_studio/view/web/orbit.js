// The camera: it circles a target; one finger or the left button turns, two or the right button move, the wheel zooms.

class Orbit {
  constructor(canvas, show, changed) {
    this.show = show;
    this.changed = changed;
    this.axes = axesAlong(show.up);
    this.reset();
    this.pointers = new Map();
    canvas.addEventListener("pointerdown", (e) => { canvas.setPointerCapture(e.pointerId); this.pointers.set(e.pointerId, [e.clientX, e.clientY]); });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (e) => this.pointers.delete(e.pointerId));
    canvas.addEventListener("pointermove", (e) => this.moved(e, canvas));
    canvas.addEventListener("wheel", (e) => { e.preventDefault(); this.zoom(Math.exp(0.0012 * e.deltaY)); }, { passive: false });
    canvas.addEventListener("contextmenu", (e) => e.preventDefault());
    canvas.addEventListener("dblclick", () => { this.reset(); this.changed(); });
  }

  reset() {
    const { target, away } = this.show.camera;
    this.target = [...target];
    this.zoomed = 1;
    const [x, y, z] = this.axes;
    this.pitch = Math.asin(Math.max(-1, Math.min(1, dot(away, z))));
    this.yaw = Math.atan2(dot(away, y), dot(away, x));
  }

  zoom(factor) {
    this.zoomed = Math.min(Math.max(this.zoomed * factor, 0.03), 15);
    this.changed();
  }

  moved(e, canvas) {
    const before = this.pointers.get(e.pointerId);
    if (!before) return;
    const [dx, dy] = [e.clientX - before[0], e.clientY - before[1]];
    const spread = this.spread();
    this.pointers.set(e.pointerId, [e.clientX, e.clientY]);
    if (this.pointers.size >= 2) {
      this.shift(dx / 2, dy / 2, canvas);
      if (spread > 0 && this.spread() > 0) this.zoom(spread / this.spread());
    } else if (e.buttons & 6 || e.shiftKey) {
      this.shift(dx, dy, canvas);
    } else {
      this.yaw -= 0.007 * dx;
      this.pitch = Math.min(Math.max(this.pitch + 0.007 * dy, -1.55), 1.55);
    }
    this.changed();
  }

  spread() {
    const [a, b] = [...this.pointers.values()];
    return b ? Math.hypot(a[0] - b[0], a[1] - b[1]) : 0;
  }

  shift(dx, dy, canvas) {
    const away = this.away();
    const right = unit(cross(this.axes[2], away));
    const step = (2 * this.distance(canvas.clientWidth / canvas.clientHeight) * Math.tan(0.5 * this.show.camera.fov)) / canvas.clientHeight;
    this.target = add(this.target, add(scaled(right, -dx * step), scaled(cross(away, right), dy * step)));
  }

  away() {
    const [x, y, z] = this.axes;
    const flat = Math.cos(this.pitch);
    return add(add(scaled(x, flat * Math.cos(this.yaw)), scaled(y, flat * Math.sin(this.yaw))), scaled(z, Math.sin(this.pitch)));
  }

  // A narrow picture is seen from farther away, so that all of the robot is there.
  distance(aspect) {
    const { vertical, horizontal } = this.show.camera;
    return this.zoomed * Math.max(vertical, horizontal / aspect);
  }

  sight(aspect, followed) {
    const fov = this.show.camera.fov;
    const distance = this.distance(aspect);
    const center = add(this.target, followed);
    const eye = add(center, scaled(this.away(), distance));
    const matrix = multiply(perspective(fov, aspect, 0.02 * distance, 30 * distance), lookAt(eye, center, this.axes[2]));
    return { matrix, eye, center };
  }
}
