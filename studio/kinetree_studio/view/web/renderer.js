// Draws meshes, ground, lines and marks with WebGL 2: one light that casts shadows, no library.

const MESH_VERTEX = `#version 300 es
layout(location=0) in vec3 position; layout(location=1) in vec3 normal;
uniform mat4 model, camera, light; uniform float lift;
out vec3 where, facing; out vec4 lit;
invariant gl_Position;  // what is drawn twice must come to lie on itself
void main() {
  vec4 world = model * vec4(position, 1.0);
  where = world.xyz; facing = mat3(model) * normal;
  lit = light * vec4(where + lift * normalize(facing + 1e-9), 1.0);
  gl_Position = camera * world;
}`;

const SHADOW_TEXT = `
uniform mediump sampler2DShadow shadow; uniform float shade;
float sunlight(vec4 lit) {
  vec3 at = 0.5 * lit.xyz + 0.5;
  if (shade == 0.0 || any(lessThan(at, vec3(0.0))) || any(greaterThan(at, vec3(1.0)))) return 1.0;
  float step = 0.9 / float(textureSize(shadow, 0).x);
  vec3 near = vec3(at.xy, at.z - 0.0006);
  return 0.25 * (texture(shadow, near + vec3(step, step, 0)) + texture(shadow, near + vec3(-step, step, 0))
    + texture(shadow, near + vec3(step, -step, 0)) + texture(shadow, near - vec3(step, step, 0)));
}`;

const MESH_FRAGMENT = `#version 300 es
precision highp float;
in vec3 where, facing; in vec4 lit;
uniform vec4 color; uniform vec3 eye, sun, up; uniform float flatness, plain;
${SHADOW_TEXT}
out vec4 drawn;
void main() {
  vec3 n = flatness > 0.5 ? cross(dFdx(where), dFdy(where)) : facing;
  vec3 v = normalize(eye - where);
  n = normalize(n); if (dot(n, v) < 0.0) n = -n;
  vec3 own = pow(color.rgb, vec3(2.2));
  float sky = 0.5 + 0.5 * dot(n, up), direct = max(dot(n, sun), 0.0) * sunlight(lit);
  float edge = pow(1.0 - max(dot(n, v), 0.0), 3.0);
  float gloss = 0.12 * pow(max(dot(n, normalize(v + sun)), 0.0), 32.0) * step(0.001, direct);
  vec3 light = own * (0.30 + 0.22 * sky + 0.62 * direct + 0.10 * max(dot(n, v), 0.0)) * (1.0 - 0.45 * edge) + gloss;
  light = mix(light, own * (0.75 + 0.25 * max(dot(n, v), 0.0)), plain);
  drawn = vec4(pow(light, vec3(1.0 / 2.2)) * color.a, color.a);
}`;

const DEPTH_VERTEX = `#version 300 es
layout(location=0) in vec3 position; uniform mat4 model, camera;
invariant gl_Position;
void main() { vec4 world = model * vec4(position, 1.0); gl_Position = camera * world; }`;
const DEPTH_FRAGMENT = `#version 300 es
precision mediump float; void main() {}`;

const GROUND_VERTEX = `#version 300 es
layout(location=0) in vec2 corner; uniform mat4 model, camera, light; uniform float half_;
out vec2 at; out vec4 lit;
void main() { at = half_ * corner; vec4 world = model * vec4(at, 0.0, 1.0); lit = light * world; gl_Position = camera * world; }`;
const GROUND_FRAGMENT = `#version 300 es
precision highp float;
in vec2 at; in vec4 lit; uniform float cell, half_; uniform vec2 middle, shift; uniform vec3 line, floor_; uniform float depth_;
${SHADOW_TEXT}
out vec4 drawn;
float grid(vec2 p, float width) {
  vec2 slope = fwidth(p), away = abs(fract(p - 0.5) - 0.5);
  vec2 on = 1.0 - smoothstep(vec2(0.0), slope * width, away);
  return max(on.x, on.y) * clamp(1.0 - 2.0 * max(slope.x, slope.y), 0.0, 1.0);
}
void main() {
  vec2 p = at + shift;
  float fade = 1.0 - smoothstep(0.25, 1.0, length(at - middle) / half_);
  float fine = max(0.30 * grid(p / cell, 1.1), 0.65 * grid(p / (5.0 * cell), 1.3));
  float dark = depth_ * (1.0 - sunlight(lit));
  vec3 c = mix(mix(floor_, line, fine), floor_ * vec3(0.17, 0.2, 0.27), dark);
  float a = max(fade * 0.9, dark);
  drawn = vec4(c * a, a);
}`;

const LINE_VERTEX = `#version 300 es
layout(location=0) in vec2 corner; layout(location=1) in vec3 from; layout(location=2) in vec3 to;
uniform mat4 camera; uniform vec2 screen; uniform float width;
void main() {
  vec4 a = camera * vec4(from, 1.0), b = camera * vec4(to, 1.0);
  a.w = max(a.w, 1e-6); b.w = max(b.w, 1e-6);
  vec2 way = (b.xy / b.w - a.xy / a.w) * screen;
  way = length(way) > 1e-6 ? normalize(way) : vec2(1.0, 0.0);
  vec4 here = mix(a, b, corner.x);
  vec2 side = vec2(-way.y, way.x) * corner.y + way * (corner.x - 0.5);
  gl_Position = vec4(here.xy + side * width / screen * here.w, here.z - 1e-5 * here.w, here.w);
}`;
const LINE_FRAGMENT = `#version 300 es
precision mediump float; uniform vec4 color; out vec4 drawn;
void main() { drawn = vec4(color.rgb * color.a, color.a); }`;

const SKY_VERTEX = `#version 300 es
layout(location=0) in vec2 corner; out float height;
void main() { height = 0.5 + 0.5 * corner.y; gl_Position = vec4(corner, 0.0, 1.0); }`;
const SKY_FRAGMENT = `#version 300 es
precision mediump float; in float height; uniform vec3 high, low; out vec4 drawn;
void main() { drawn = vec4(mix(low, high, height), 1.0); }`;

const SHADOW_SIZE = { graphics: 2048, software: 1024 };

class Renderer {
  constructor(canvas) {
    this.canvas = canvas;
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: false });
    if (!gl) throw new Error("This browser draws no WebGL 2, which the robot needs. Try another, or switch hardware acceleration on.");
    this.gl = gl;
    const about = gl.getExtension("WEBGL_debug_renderer_info");
    const maker = about ? gl.getParameter(about.UNMASKED_RENDERER_WEBGL) : "";
    this.shadowSize = SHADOW_SIZE[/swiftshader|llvmpipe|software/i.test(maker) ? "software" : "graphics"];
    this.programs = {
      mesh: this.program(MESH_VERTEX, MESH_FRAGMENT), depth: this.program(DEPTH_VERTEX, DEPTH_FRAGMENT),
      ground: this.program(GROUND_VERTEX, GROUND_FRAGMENT), line: this.program(LINE_VERTEX, LINE_FRAGMENT),
      sky: this.program(SKY_VERTEX, SKY_FRAGMENT),
    };
    this.makeShadow();
    this.square = gl.createVertexArray();
    gl.bindVertexArray(this.square);
    this.buffer(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]));
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    this.makeLines();
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.DEPTH_TEST);
  }

  program(vertex, fragment) {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(`This browser cannot draw: ${gl.getProgramInfoLog(program)}`);
    const at = {};
    for (let k = 0; k < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); k++) {
      const name = gl.getActiveUniform(program, k).name;
      at[name] = gl.getUniformLocation(program, name);
    }
    return { program, at };
  }

  buffer(target, data) {
    const gl = this.gl;
    const made = gl.createBuffer();
    gl.bindBuffer(target, made);
    gl.bufferData(target, data, gl.STATIC_DRAW);
    return made;
  }

  makeShadow() {
    const gl = this.gl;
    this.shadow = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.shadow);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, this.shadowSize, this.shadowSize);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.LINEAR);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
    this.shadowFrame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowFrame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, this.shadow, 0);
    gl.drawBuffers([gl.NONE]);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  makeLines() {
    const gl = this.gl;
    this.lines = gl.createVertexArray();
    gl.bindVertexArray(this.lines);
    this.buffer(gl.ARRAY_BUFFER, new Float32Array([0, -1, 1, -1, 0, 1, 1, 1]));
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    this.segments = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.segments);
    for (const k of [1, 2]) {
      gl.enableVertexAttribArray(k);
      gl.vertexAttribPointer(k, 3, gl.FLOAT, false, 24, 12 * (k - 1));
      gl.vertexAttribDivisor(k, 1);
    }
  }

  // Make a mesh of corners (n, 3) and triangles (m, 3); normals are the means over the triangles at a corner.
  mesh(vertices, faces) {
    const gl = this.gl;
    const normals = new Float32Array(vertices.length);
    for (let f = 0; f < faces.length; f += 3) {
      const [a, b, c] = [3 * faces[f], 3 * faces[f + 1], 3 * faces[f + 2]];
      const side = (i) => [vertices[i] - vertices[a], vertices[i + 1] - vertices[a + 1], vertices[i + 2] - vertices[a + 2]];
      const n = cross(side(b), side(c));
      for (const i of [a, b, c]) for (let k = 0; k < 3; k++) normals[i + k] += n[k];
    }
    for (let i = 0; i < normals.length; i += 3) {
      const length = Math.hypot(normals[i], normals[i + 1], normals[i + 2]) || 1;
      for (let k = 0; k < 3; k++) normals[i + k] /= length;
    }
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    [vertices, normals].forEach((data, k) => {
      this.buffer(gl.ARRAY_BUFFER, data);
      gl.enableVertexAttribArray(k);
      gl.vertexAttribPointer(k, 3, gl.FLOAT, false, 0, 0);
    });
    this.buffer(gl.ELEMENT_ARRAY_BUFFER, faces);
    gl.bindVertexArray(null);
    return { array, count: faces.length };
  }

  // Begin a picture: which things cast shadows, and from where they are seen.
  //   sight: {matrix, eye, up, sun, center, radius, sky}
  begin(width, height, sight, casting, ratio) {
    const gl = this.gl;
    if (this.canvas.width !== width || this.canvas.height !== height) { this.canvas.width = width; this.canvas.height = height; }
    this.sight = sight;
    this.ratio = ratio;
    const from = add(sight.center, scaled(sight.sun, 2 * sight.radius));
    const view = lookAt(from, sight.center, Math.abs(dot(sight.sun, sight.up)) > 0.99 ? [1, 0, 0] : sight.up);
    sight.light = multiply(orthographic(sight.radius, 0, 4 * sight.radius), view);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowFrame);
    gl.viewport(0, 0, this.shadowSize, this.shadowSize);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.disable(gl.BLEND);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(1.5, 3);
    gl.useProgram(this.programs.depth.program);
    gl.uniformMatrix4fv(this.programs.depth.at.camera, false, sight.light);
    for (const thing of casting) this.depth(thing);
    gl.disable(gl.POLYGON_OFFSET_FILL);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, width, height);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    this.sky(sight.sky);
    gl.enable(gl.BLEND);
    gl.bindTexture(gl.TEXTURE_2D, this.shadow);
    this.startMeshes();
  }

  sky([high, low]) {
    const gl = this.gl;
    this.outside(false);
    const { program, at } = this.programs.sky;
    gl.useProgram(program);
    gl.uniform3fv(at.high, high);
    gl.uniform3fv(at.low, low);
    gl.disable(gl.DEPTH_TEST);
    gl.bindVertexArray(this.square);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.enable(gl.DEPTH_TEST);
  }

  startMeshes(plain = 0) {
    const gl = this.gl;
    const { program, at } = this.programs.mesh;
    gl.useProgram(program);
    gl.uniformMatrix4fv(at.camera, false, this.sight.matrix);
    gl.uniformMatrix4fv(at.light, false, this.sight.light);
    gl.uniform3fv(at.eye, this.sight.eye);
    gl.uniform3fv(at.sun, this.sight.sun);
    gl.uniform3fv(at.up, this.sight.up);
    gl.uniform1f(at.lift, 0.004 * this.sight.radius);
    gl.uniform1f(at.shade, plain ? 0 : 1);
    gl.uniform1f(at.plain, plain);
  }

  // Closed shapes are seen from outside only.
  outside(closed) {
    if (closed) this.gl.enable(this.gl.CULL_FACE); else this.gl.disable(this.gl.CULL_FACE);
  }

  depth({ mesh, matrix, closed }) {
    const gl = this.gl;
    this.outside(closed);
    gl.uniformMatrix4fv(this.programs.depth.at.model, false, matrix);
    gl.bindVertexArray(mesh.array);
    gl.drawElements(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0);
  }

  draw({ mesh, matrix, color, flat, closed }) {
    const gl = this.gl;
    this.outside(closed);
    const { at } = this.programs.mesh;
    gl.uniformMatrix4fv(at.model, false, matrix);
    gl.uniform4fv(at.color, color);
    gl.uniform1f(at.flatness, flat ? 1 : 0);
    gl.bindVertexArray(mesh.array);
    gl.drawElements(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0);
  }

  // Draw see-through things so that only their outer surface is seen: their depth first, then their color.
  drawThrough(things, plain = 0) {
    const gl = this.gl;
    gl.colorMask(false, false, false, false);
    gl.useProgram(this.programs.depth.program);
    gl.uniformMatrix4fv(this.programs.depth.at.camera, false, this.sight.matrix);
    for (const thing of things) this.depth(thing);
    gl.colorMask(true, true, true, true);
    gl.depthFunc(gl.LEQUAL);
    this.startMeshes(plain);
    for (const thing of things) this.draw(thing);
    gl.depthFunc(gl.LESS);
  }

  // Draw the ground: a plane with a grid that fades away from what is looked at.
  ground({ matrix, half, cell, middle, shift, line, floor, dark }) {
    const gl = this.gl;
    const { program, at } = this.programs.ground;
    gl.useProgram(program);
    gl.uniformMatrix4fv(at.model, false, matrix);
    gl.uniformMatrix4fv(at.camera, false, this.sight.matrix);
    gl.uniformMatrix4fv(at.light, false, this.sight.light);
    gl.uniform1f(at.half_, half);
    gl.uniform1f(at.cell, cell);
    gl.uniform1f(at.shade, 1);
    gl.uniform2fv(at.middle, middle);
    gl.uniform2fv(at.shift, shift);
    gl.uniform3fv(at.line, line);
    gl.uniform3fv(at.floor_, floor);
    gl.uniform1f(at.depth_, dark);
    this.outside(false);
    gl.depthMask(false);
    gl.bindVertexArray(this.square);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.depthMask(true);
  }

  // Draw segments, (n, 2, 3) as one array, so many pixels wide.
  line(segments, color, width) {
    if (!segments.length) return;
    const gl = this.gl;
    this.outside(false);
    const { program, at } = this.programs.line;
    gl.useProgram(program);
    gl.uniformMatrix4fv(at.camera, false, this.sight.matrix);
    gl.uniform2f(at.screen, this.canvas.width, this.canvas.height);
    gl.uniform1f(at.width, width * this.ratio);
    gl.uniform4fv(at.color, color);
    gl.bindVertexArray(this.lines);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.segments);
    gl.bufferData(gl.ARRAY_BUFFER, segments, gl.DYNAMIC_DRAW);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, segments.length / 6);
  }

  // Draw things over everything before them.
  overlay(things) {
    this.gl.clear(this.gl.DEPTH_BUFFER_BIT);
    this.startMeshes(0.8);
    for (const thing of things) if (thing.color[3] >= 1) this.draw(thing);
    this.drawThrough(things.filter((thing) => thing.color[3] < 1), 0.5);
  }
}
