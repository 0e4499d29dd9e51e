// The robot's functions as WebAssembly: inputs and results are doubles in its memory.

const PAGE_OF_MEMORY = 65536;

class Engine {
  // From code, or from a module that was compiled before.
  static async of(code, functions) {
    const made = await WebAssembly.instantiate(code);
    return new Engine((made.instance || made).exports, functions);
  }

  constructor(exports, functions) {
    Object.assign(this, { exports, functions });
    this.free = exports.heap.value;
    this.slots = {};
    for (const [name, facts] of Object.entries(functions)) {
      const ins = facts.inputs.reduce((sum, [, n]) => sum + n, 0), outs = facts.shape.reduce((a, b) => a * b, 1);
      this.slots[name] = { ins, outs, at: this.room(ins), to: this.room(outs), many: 0 };
    }
    this.numbers = new Float64Array(exports.memory.buffer);
  }

  // Reserve memory for so many numbers; views of the memory end when it grows.
  room(count) {
    const at = this.free;
    this.free += 8 * count;
    const missing = this.free - this.exports.memory.buffer.byteLength;
    if (missing > 0) this.exports.memory.grow(Math.ceil(missing / PAGE_OF_MEMORY));
    this.numbers = new Float64Array(this.exports.memory.buffer);
    return at;
  }

  put(name, at, given) {
    for (const [key, size] of this.functions[name].inputs) {
      const value = given[key];
      if (size === 1 && typeof value === "number") this.numbers[at] = value;
      else this.numbers.set(size === value.length ? value : value.subarray(0, size), at);
      at += size;
    }
  }

  // Call for one state; the result is a view that the next call of this function overwrites.
  call(name, given) {
    const slot = this.slots[name];
    this.put(name, slot.at / 8, given);
    this.exports[name](slot.at, slot.to);
    return this.numbers.subarray(slot.to / 8, slot.to / 8 + slot.outs);
  }

  // Call for many states, two at a time; the result has a row for each.
  many(name, states) {
    const slot = this.slots[name], count = states.length;
    if (slot.many < count) Object.assign(slot, { many: count, manyAt: this.room(count * slot.ins), manyTo: this.room(count * slot.outs) });
    states.forEach((given, k) => this.put(name, slot.manyAt / 8 + k * slot.ins, given));
    this.exports[`${name}_many`](count, slot.manyAt, slot.manyTo);
    return states.map((_, k) => this.numbers.slice(slot.manyTo / 8 + k * slot.outs, slot.manyTo / 8 + (k + 1) * slot.outs));
  }
}

// In place of an engine whose code is still being made: one pose, and nothing is known of motions.
class Still {
  constructor(facts, seen) { Object.assign(this, { facts, seen, still: true }); }
  call(name, given) {
    const { facts, seen } = this;
    if (name === "kinematics") return seen.kinematics;
    if (name === "move") return Float64Array.from(given.q);
    const told = new Float64Array(3 * facts.nv + 3 + 6 * facts.pins.length).fill(NaN);
    told[told.length - 1] = 0;
    return told;
  }
  many(name, states) { return states.map((given) => this.call(name, given)); }
}
