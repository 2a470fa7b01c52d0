/** A WebGL device that draws nothing and says that all is well: engines run on it as on a real one, at no cost. */

import { nullPrograms } from "./null-programs.ts";
import { define, defineGetter } from "./overriding.ts";

type Page = Window & typeof globalThis;

/** By the numbers of the WebGL 1 and 2 specifications. */
const SIZES: Readonly<Record<number, number>> = {
  3379: 4096, // MAX_TEXTURE_SIZE
  34024: 4096, // MAX_RENDERBUFFER_SIZE
  34076: 4096, // MAX_CUBE_MAP_TEXTURE_SIZE
  34921: 16, // MAX_VERTEX_ATTRIBS
  34930: 16, // MAX_TEXTURE_IMAGE_UNITS
  35660: 16, // MAX_VERTEX_TEXTURE_IMAGE_UNITS
  35661: 32, // MAX_COMBINED_TEXTURE_IMAGE_UNITS
  36347: 1024, // MAX_VERTEX_UNIFORM_VECTORS
  36348: 30, // MAX_VARYING_VECTORS
  36349: 1024, // MAX_FRAGMENT_UNIFORM_VECTORS
  36183: 4, // MAX_SAMPLES
  32883: 256, // MAX_3D_TEXTURE_SIZE
  35071: 256, // MAX_ARRAY_TEXTURE_LAYERS
  34852: 8, // MAX_DRAW_BUFFERS
  36063: 8, // MAX_COLOR_ATTACHMENTS
  35375: 24, // MAX_UNIFORM_BUFFER_BINDINGS
  35376: 16384, // MAX_UNIFORM_BLOCK_SIZE
  35380: 256, // UNIFORM_BUFFER_OFFSET_ALIGNMENT
};
const VIEWPORT = [2978, 3088];
const MAX_VIEWPORT_DIMS = 3386;
const RANGES = [33901, 33902];
const COLORS = [3106, 32773];
const COLOR_WRITEMASK = 3107;
const FRAMEBUFFER_COMPLETE = 36053;
const ALREADY_SIGNALED = 37146;
const SIGNALED = 37145;
const QUERY_RESULT_AVAILABLE = 34919;
const INVALID_INDEX = 0xffffffff;
/** UNIFORM_BLOCK_INDEX, UNIFORM_OFFSET, UNIFORM_ARRAY_STRIDE, UNIFORM_MATRIX_STRIDE */
const IN_BLOCK = [35386, 35387, 35388, 35389];
/** What any device has. */
const EXTENSIONS = [
  "EXT_float_blend",
  "EXT_texture_filter_anisotropic",
  "OES_texture_float_linear",
  "WEBGL_lose_context",
];
const FIRST_EXTENSIONS = [
  "ANGLE_instanced_arrays",
  "EXT_blend_minmax",
  "EXT_color_buffer_half_float",
  "EXT_frag_depth",
  "EXT_shader_texture_lod",
  "OES_element_index_uint",
  "OES_standard_derivatives",
  "OES_texture_float",
  "OES_texture_half_float",
  "OES_texture_half_float_linear",
  "OES_vertex_array_object",
  "WEBGL_color_buffer_float",
  "WEBGL_depth_texture",
  "WEBGL_draw_buffers",
];
const SECOND_EXTENSIONS = ["EXT_color_buffer_float", "EXT_color_buffer_half_float"];
/** Extensions that are refused: engines work without them, and would read results back with them. */
const REFUSED = /compressed|debug_shaders|disjoint_timer|multi_draw|multiview/i;

/** @returns an object of class WebGLRenderingContext or WebGL2RenderingContext, the same type as the real one. */
export function createNullWebGl(
  window: Page,
  canvas: HTMLCanvasElement | OffscreenCanvas,
  isSecond: boolean,
): object {
  const { prototype } = isSecond ? window.WebGL2RenderingContext : window.WebGLRenderingContext;
  const gl = Object.create(prototype) as object;
  for (const name of Object.getOwnPropertyNames(prototype)) {
    const { value } = Object.getOwnPropertyDescriptor(prototype, name) as PropertyDescriptor;
    if (name === "constructor" || typeof value !== "function") continue;
    define(gl, name, plainAnswer(name));
  }
  define(gl, "canvas", canvas);
  define(gl, "drawingBufferColorSpace", "srgb");
  define(gl, "unpackColorSpace", "srgb");
  defineGetter(gl, "drawingBufferWidth", () => canvas.width);
  defineGetter(gl, "drawingBufferHeight", () => canvas.height);
  const answers: Record<string, (...args: never[]) => unknown> = {
    getParameter: (name: number) => parameter(name, canvas, isSecond),
    getExtension: (name: string) => (REFUSED.test(name) ? null : extension()),
    getSupportedExtensions: () => [...(isSecond ? SECOND_EXTENSIONS : FIRST_EXTENSIONS), ...EXTENSIONS],
    getContextAttributes: () => ({
      alpha: true,
      antialias: false,
      depth: true,
      powerPreference: "default",
      premultipliedAlpha: true,
      preserveDrawingBuffer: false,
      stencil: true,
    }),
    getShaderPrecisionFormat: () => ({ precision: 23, rangeMin: 127, rangeMax: 127 }),
    getShaderInfoLog: () => "",
    getProgramInfoLog: () => "",
    getError: () => 0,
    isContextLost: () => false,
    checkFramebufferStatus: () => FRAMEBUFFER_COMPLETE,
    getUniformBlockIndex: () => 0,
    isEnabled: () => false,
    getInternalformatParameter: () => new Int32Array([4]),
    getQuery: () => null,
    getQueryParameter: (_query: object, name: number) => name === QUERY_RESULT_AVAILABLE || 0,
    getActiveUniformBlockName: () => "",
    // No uniform is in a block: it has no offset or stride there either.
    getActiveUniforms: (_program: object, indices: Iterable<number>, name: number) =>
      Array.from(indices, () => (IN_BLOCK.includes(name) ? -1 : 0)),
    getUniformIndices: (_program: object, names: Iterable<string>) => Array.from(names, () => INVALID_INDEX),
    getFragDataLocation: () => -1,
    getTransformFeedbackVarying: () => null,
    clientWaitSync: () => ALREADY_SIGNALED,
    getSyncParameter: () => SIGNALED,
    ...nullPrograms(),
  };
  for (const [name, answer] of Object.entries(answers)) if (name in gl) define(gl, name, answer);
  return gl;
}

/** What a function of that name answers unless something else is known of it, in the type of the browser's own. */
function plainAnswer(name: string): (given?: unknown) => unknown {
  if (name.startsWith("create") || name === "fenceSync") return () => ({});
  if (/^is[A-Z]/.test(name)) return (given) => given != null;
  return name.startsWith("get") ? () => 0 : () => undefined;
}

function parameter(name: number, canvas: { width: number; height: number }, isSecond: boolean): unknown {
  const version = isSecond ? "2.0" : "1.0";
  const texts: Record<number, string> = {
    7936: "Attract",
    7937: "null",
    7938: `WebGL ${version}`,
    35724: `WebGL GLSL ES ${isSecond ? "3.00" : "1.0"}`,
    37445: "Attract",
    37446: "null",
  };
  const known = texts[name] ?? SIZES[name];
  if (known !== undefined) return known;
  if (name === MAX_VIEWPORT_DIMS) return new Int32Array([4096, 4096]);
  if (VIEWPORT.includes(name)) return new Int32Array([0, 0, canvas.width, canvas.height]);
  if (RANGES.includes(name)) return new Float32Array([1, 64]);
  if (COLORS.includes(name)) return new Float32Array(4);
  if (name === COLOR_WRITEMASK) return [true, true, true, true];
  return 0;
}

/** An extension: names in capitals are constants, all others are functions. */
function extension(): object {
  return new Proxy(
    {},
    {
      get: (_target, name) => {
        if (/^[A-Z0-9_]+$/.test(String(name))) return 1;
        return /^create/.test(String(name)) ? () => ({}) : () => undefined;
      },
    },
  );
}
