// Vectors, quaternions (w, x, y, z) and 4 by 4 matrices in columns, as WebGL takes them.

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scaled = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const norm = (a) => Math.hypot(a[0], a[1], a[2]);
const unit = (a) => scaled(a, 1 / (norm(a) || 1));

function turned(q, v) {
  const u = [q[1], q[2], q[3]];
  const t = scaled(cross(u, v), 2);
  return add(add(v, scaled(t, q[0])), cross(u, t));
}

// A pose is seven numbers: position, then quaternion.
const poseAt = (poses, k) => poses.subarray(7 * k, 7 * k + 7);
const placed = (pose, point) => add(turned(pose.slice(3), point), pose);

function mixedPose(a, b, share, out) {
  let near = 0;
  for (let k = 3; k < 7; k++) near += a[k] * b[k];
  const sign = near < 0 ? -1 : 1;
  let length = 0;
  for (let k = 0; k < 3; k++) out[k] = (1 - share) * a[k] + share * b[k];
  for (let k = 3; k < 7; k++) { out[k] = (1 - share) * a[k] + share * sign * b[k]; length += out[k] * out[k]; }
  for (let k = 3; k < 7; k++) out[k] /= Math.sqrt(length) || 1;
}

function poseMatrix(pose) {
  const [x, y, z, w, i, j, k] = pose;
  return new Float32Array([
    1 - 2 * (j * j + k * k), 2 * (i * j + k * w), 2 * (i * k - j * w), 0,
    2 * (i * j - k * w), 1 - 2 * (i * i + k * k), 2 * (j * k + i * w), 0,
    2 * (i * k + j * w), 2 * (j * k - i * w), 1 - 2 * (i * i + j * j), 0,
    x, y, z, 1,
  ]);
}

// The matrix with given axes and origin.
const frameMatrix = (x, y, z, o) => new Float32Array([...x, 0, ...y, 0, ...z, 0, ...o, 1]);

function multiply(a, b) {
  const out = new Float32Array(16);
  for (let c = 0; c < 4; c++) for (let r = 0; r < 4; r++) {
    let sum = 0;
    for (let k = 0; k < 4; k++) sum += a[4 * k + r] * b[4 * c + k];
    out[4 * c + r] = sum;
  }
  return out;
}

// Some axes of which the third is the given direction.
function axesAlong(direction) {
  const z = unit(direction);
  const least = z.map(Math.abs).indexOf(Math.min(...z.map(Math.abs)));
  const x = unit(cross([0, 1, 2].map((k) => (k === least ? 1 : 0)), z));
  return [x, cross(z, x), z];
}

function lookAt(eye, target, up) {
  const z = unit(sub(eye, target));
  const x = unit(cross(up, z));
  const y = cross(z, x);
  return new Float32Array([x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, -dot(x, eye), -dot(y, eye), -dot(z, eye), 1]);
}

function perspective(fov, aspect, near, far) {
  const f = 1 / Math.tan(fov / 2);
  const depth = 1 / (near - far);
  return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) * depth, -1, 0, 0, 2 * far * near * depth, 0]);
}

function orthographic(half, near, far) {
  return new Float32Array([1 / half, 0, 0, 0, 0, 1 / half, 0, 0, 0, 0, 2 / (near - far), 0, 0, 0, (far + near) / (near - far), 1]);
}
