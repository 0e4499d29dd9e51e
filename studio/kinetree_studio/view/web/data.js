// What Python put into the page: a header in JSON, in which {"$": k} stands for the k-th array of the block behind it.

const ARRAYS = { b: Uint8Array, f: Float32Array, u: Uint32Array, d: Float64Array };

async function unpacked(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = await new Response(stream).arrayBuffer();
  const length = Number(new DataView(bytes).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, length)));
  const start = 8 * Math.ceil((8 + length) / 8);
  const arrays = header.arrays.map(([kind, offset, count]) => new ARRAYS[kind](bytes, start + offset, count));
  const filled = (x) => {
    if (Array.isArray(x)) return x.map(filled);
    if (x === null || typeof x !== "object") return x;
    if ("$" in x) return arrays[x.$];
    return Object.fromEntries(Object.entries(x).map(([key, value]) => [key, filled(value)]));
  };
  return filled(header.show);
}
