/** What is drawn where nobody looks: nothing, by the browser's own canvases or by WebGL without a device, which answers as one with. */

import { expect, test } from "vitest";
import { heldPage } from "./held-page.ts";

const CANVASES = ["document.createElement('canvas')", "new OffscreenCanvas(300, 150)"];
const CALLS = [
  ...["fillRect(0, 0, 9, 9)", "strokeRect(0, 0, 9, 9)", "fillText('word', 0, 9)", "strokeText('word', 0, 9)"],
  ...[
    "beginPath(); context.rect(0, 0, 9, 9); context.fill()",
    "beginPath(); context.rect(2, 2, 9, 9); context.stroke()",
  ],
  ...["drawImage(picture, 0, 0)", "putImageData(data, 0, 0)"],
];
/** Whether anything stands on a canvas of the page after the call. */
const marks = (canvas: string, call: string): string => `
  (() => {
    const picture = Object.assign(document.createElement("canvas"), { width: 9, height: 9 });
    const data = new ImageData(new Uint8ClampedArray(4 * 81).fill(200), 9, 9);
    raw.call(picture.getContext("2d"), 0, 0, 9, 9);
    const context = (${canvas}).getContext("2d");
    context.${call};
    return read.call(context, 0, 0, 20, 20).data.some((value) => value > 0);
  })()`;

test.each(CALLS)("%s leaves nothing where nobody looks, and what it should where somebody does", (call) => {
  for (const canvas of CANVASES)
    for (const draws of [false, true]) {
      // Reads by a page without a clock do not count as the page's own.
      const { run, page } = heldPage({ draws });
      const { prototype } = CanvasRenderingContext2D;
      const isOffscreen = canvas.includes("Offscreen");
      page.raw = prototype.fillRect;
      page.read = isOffscreen
        ? OffscreenCanvasRenderingContext2D.prototype.getImageData
        : prototype.getImageData;
      expect([canvas, draws, run(marks(canvas, call))]).toEqual([canvas, draws, draws]);
    }
});

test("T5: what is drawn stays where it is not cleared for want of a look", () => {
  const { run, clock, page } = heldPage();
  page.read = CanvasRenderingContext2D.prototype.getImageData;
  run(`context = document.createElement("canvas").getContext("2d"); context.fillRect(0, 0, 9, 9)`);
  clock.draws = false;
  expect(run("context.clearRect(0, 0, 9, 9); read.call(context, 0, 0, 1, 1).data[3]")).toBe(255);
  clock.draws = true;
  expect(run("context.clearRect(0, 0, 9, 9); read.call(context, 0, 0, 1, 1).data[3]")).toBe(0);
});

test("the null WebGL has what engines ask for at their start, and leaves out what would be read back", () => {
  const { run } = heldPage();
  for (const kind of ["webgl", "webgl2"])
    expect(
      run(`gl = document.createElement("canvas").getContext("${kind}");
        pixel = new Uint8Array(4); gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
        [pixel.join(), gl.isContextLost(), gl.getExtension("WEBGL_compressed_texture_s3tc"), gl.getExtension("WEBGL_lose_context") !== null,
         gl.getSupportedExtensions().length > 4, gl.getShaderPrecisionFormat(gl.VERTEX_SHADER, gl.HIGH_FLOAT).precision,
         Array.from(gl.getParameter(gl.VIEWPORT)), gl.getParameter(gl.VERSION).startsWith("WebGL ${kind === "webgl" ? 1 : 2}"),
         gl.canvas.getContext("${kind}") === gl, typeof gl.getUniformLocation({}, "x"), gl.getProgramParameter({}, gl.ACTIVE_UNIFORMS)]`),
    ).toEqual(["0,0,0,0", false, null, true, true, 23, [0, 0, 300, 150], true, true, "object", 0]);
});

test("a page may put an Object.defineProperty of its own in place, as Box2dWeb does: one for accessors alone", () => {
  const { run } = heldPage();
  // In a page's own frame the stack is the page's; here the clock's code is within the test's.
  const { defineProperty } = Object;
  Object.defineProperty = <T>(object: T, name: PropertyKey, given: PropertyDescriptor): T =>
    given.get === undefined ? object : defineProperty(object, name, given);
  try {
    const context = `document.createElement("canvas").getContext("experimental-webgl")`;
    expect(run(`gl = ${context}; gl.getExtension("OES_texture_float") !== null`)).toBe(true);
    expect(run("gl.getParameter(gl.VERSION)")).toContain("WebGL 1");
  } finally {
    Object.defineProperty = defineProperty;
  }
});

test("T5: the browser's own WebGL draws nothing where nobody looks, and goes on where somebody does", () => {
  const { run, clock, page } = heldPage({ webGl: "real" });
  page.read = WebGLRenderingContext.prototype.readPixels;
  const cleared = `pixel = new Uint8Array(4); gl.clear(gl.COLOR_BUFFER_BIT);
    read.call(gl, 0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel); pixel[0]`;
  run(
    `gl = document.createElement("canvas").getContext("webgl", { preserveDrawingBuffer: true }); gl.clearColor(1, 0, 0, 1)`,
  );
  clock.draws = false;
  expect(run(cleared)).toBe(0);
  clock.draws = true;
  expect(run(cleared)).toBe(255);
});

/** What is bound and made before, then arguments of each function that answers. Those that are left out return nothing. */
const ANSWERS = `
  const program = gl.createProgram(), texture = gl.createTexture(), buffer = gl.createBuffer();
  for (const [type, text] of [[gl.VERTEX_SHADER, "attribute vec2 a; uniform float u; void main() { gl_Position = vec4(a, u, u); }"],
      [gl.FRAGMENT_SHADER, "void main() { gl_FragColor = vec4(1.0); }"]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  const [shader] = gl.getAttachedShaders(program), frame = gl.createFramebuffer(), drawn = gl.createRenderbuffer();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bindRenderbuffer(gl.RENDERBUFFER, drawn);
  const answers = {
    checkFramebufferStatus: [gl.FRAMEBUFFER], getActiveAttrib: [program, 0], getActiveUniform: [program, 0],
    getAttachedShaders: [program], getAttribLocation: [program, "a"], getBufferParameter: [gl.ARRAY_BUFFER, gl.BUFFER_SIZE],
    getContextAttributes: [], getError: [], getExtension: ["WEBGL_lose_context"], getParameter: [gl.MAX_TEXTURE_SIZE],
    getProgramInfoLog: [program], getProgramParameter: [program, gl.LINK_STATUS],
    getRenderbufferParameter: [gl.RENDERBUFFER, gl.RENDERBUFFER_WIDTH], getShaderInfoLog: [shader],
    getShaderParameter: [shader, gl.COMPILE_STATUS], getShaderPrecisionFormat: [gl.VERTEX_SHADER, gl.HIGH_FLOAT],
    getShaderSource: [shader], getSupportedExtensions: [], getTexParameter: [gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER],
    getUniformLocation: [program, "u"], getVertexAttribOffset: [0, gl.VERTEX_ATTRIB_ARRAY_POINTER], isBuffer: [buffer],
    isContextLost: [], isEnabled: [gl.BLEND], isFramebuffer: [frame], isProgram: [program], isRenderbuffer: [drawn],
    isShader: [shader], isTexture: [texture], createBuffer: [], createFramebuffer: [], createProgram: [],
    createRenderbuffer: [], createShader: [gl.VERTEX_SHADER], createTexture: [],
    getVertexAttrib: [0, gl.VERTEX_ATTRIB_ARRAY_SIZE], getUniform: [program, gl.getUniformLocation(program, "u")],
    getFramebufferAttachmentParameter: null, getBufferSubData: null,
  };
  if ("createSampler" in gl) {
    const sampler = gl.createSampler(), query = gl.createQuery(), sync = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    Object.assign(answers, {
      clientWaitSync: [sync, 0, 0], createQuery: [], createSampler: [], createTransformFeedback: [], createVertexArray: [],
      fenceSync: [gl.SYNC_GPU_COMMANDS_COMPLETE, 0], getActiveUniformBlockName: null, getActiveUniformBlockParameter: null,
      getActiveUniforms: [program, [0], gl.UNIFORM_TYPE], getFragDataLocation: [program, "nothing"],
      getIndexedParameter: [gl.UNIFORM_BUFFER_START, 0], getInternalformatParameter: [gl.RENDERBUFFER, gl.RGBA8, gl.SAMPLES],
      getQuery: [gl.ANY_SAMPLES_PASSED, gl.CURRENT_QUERY], getQueryParameter: null,
      getSamplerParameter: [sampler, gl.TEXTURE_MAG_FILTER], getSyncParameter: [sync, gl.SYNC_STATUS],
      getTransformFeedbackVarying: null, getUniformBlockIndex: [program, "none"], getUniformIndices: [program, ["u"]],
      isQuery: [query], isSampler: [sampler], isSync: [sync], isTransformFeedback: [gl.createTransformFeedback()],
      isVertexArray: [gl.createVertexArray()],
    });
  }
  const kindOf = (value) => value === null || typeof value !== "object" ? (value === null ? "null" : typeof value)
    : Array.isArray(value) ? "Array of " + typeof value[0]
    : ArrayBuffer.isView(value) ? value.constructor.name + (value.length > 0 ? " with entries" : "") : "object";
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(gl))
    .filter((name) => typeof Object.getOwnPropertyDescriptor(Object.getPrototypeOf(gl), name).value === "function");
  ({
    unknown: names.filter((name) => /^(get|is|create|check|fence|clientWait)/.test(name) && !(name in answers)),
    kinds: Object.entries(answers).flatMap(([name, given]) => given === null ? [] : [[name, kindOf(gl[name](...given))]]),
  })`;

interface Answers {
  unknown: string[];
  kinds: [name: string, kind: string][];
}

test.each(["webgl", "webgl2"])(
  "T5: each function of a %s without a picture answers in the browser's own type",
  (kind) => {
    const ask = `{ const gl = document.createElement("canvas").getContext("${kind}"); ${ANSWERS} }`;
    const own = heldPage({ webGl: "real" }).run(ask) as Answers;
    const given = heldPage().run(ask) as Answers;
    // A function that a newer browser has is to be named above.
    expect(own.unknown).toEqual([]);
    expect(given.kinds).toEqual(own.kinds);
  },
);

/** What engines ask of a program before they draw with it: PixiJS 4 and 5 read `location` of each attribute by its name. */
const ASKED = `
  const made = (type, text) => {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    return shader;
  };
  const vertex = made(gl.VERTEX_SHADER, "attribute vec2 aVertexPosition; attribute vec2 aTextureCoord; attribute vec4 aColor;" +
    "uniform mat3 projectionMatrix; varying vec4 vColor; void main() {" +
    "gl_Position = vec4((projectionMatrix * vec3(aVertexPosition, 1.0)).xy, aTextureCoord); vColor = aColor; }");
  const fragment = made(gl.FRAGMENT_SHADER, "precision highp float; varying vec4 vColor; uniform sampler2D uSamplers[2]; uniform vec4 tint;" +
    "void main() { gl_FragColor = vColor * tint * texture2D(uSamplers[0], vColor.xy) * texture2D(uSamplers[1], vColor.xy); }");
  const program = gl.createProgram();
  gl.attachShader(program, vertex);
  gl.attachShader(program, fragment);
  gl.bindAttribLocation(program, 1, "aColor");
  gl.linkProgram(program);
  gl.validateProgram(program);
  const attributes = Array.from({ length: gl.getProgramParameter(program, gl.ACTIVE_ATTRIBUTES) }, (_, i) => {
    const { name, type, size } = gl.getActiveAttrib(program, i);
    return [name, type, size, gl.getAttribLocation(program, name)];
  });
  const uniforms = Array.from({ length: gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS) }, (_, i) => {
    const { name, type, size } = gl.getActiveUniform(program, i);
    return [name, type, size, gl.getUniformLocation(program, name) !== null];
  });
  ({
    attributes: attributes.sort(),
    locations: new Set(attributes.map(([, , , location]) => location)).size,
    uniforms: uniforms.sort(),
    absent: [gl.getAttribLocation(program, "aAbsent"), gl.getUniformLocation(program, "absent")],
    element: gl.getUniformLocation(program, "uSamplers[1]") !== null,
    beyond: [gl.getActiveAttrib(program, 3), gl.getActiveUniform(program, 3)],
    shaders: [gl.getShaderParameter(vertex, gl.SHADER_TYPE) === gl.VERTEX_SHADER, gl.getShaderParameter(fragment, gl.COMPILE_STATUS),
      gl.getShaderParameter(vertex, gl.DELETE_STATUS), gl.getAttachedShaders(program).length, gl.getShaderSource(vertex).length > 100],
    program: [gl.LINK_STATUS, gl.VALIDATE_STATUS, gl.DELETE_STATUS, gl.ATTACHED_SHADERS].map((name) => gl.getProgramParameter(program, name)),
    blocks: "ACTIVE_UNIFORM_BLOCKS" in gl ? [gl.getProgramParameter(program, gl.ACTIVE_UNIFORM_BLOCKS), gl.getActiveUniforms(program, [0], gl.UNIFORM_BLOCK_INDEX)] : [],
  })`;

/** Without the locations that a device is free to choose. */
function asked(run: (code: string) => unknown, kind: string): Record<string, unknown[][]> {
  const found = run(
    `{ const gl = document.createElement("canvas").getContext("${kind}"); ${ASKED} }`,
  ) as Record<string, unknown[][]>;
  const bound = found.attributes.find(([name]) => name === "aColor")?.[3];
  return { ...found, attributes: found.attributes.map((one) => one.slice(0, 3)), bound: [[bound]] };
}

test.each(["webgl", "webgl2"])(
  "T5: a %s without a picture names what a program declares, as the browser's own does",
  (kind) => {
    const own = asked(heldPage({ webGl: "real" }).run, kind);
    expect(asked(heldPage().run, kind)).toEqual(own);
    expect(own.attributes.map(([name]) => name)).toEqual(["aColor", "aTextureCoord", "aVertexPosition"]);
    expect(own.bound).toEqual([[1]]);
  },
);

test("a shader that is changed and linked again has what it declares then", () => {
  const { run } = heldPage();
  const count = run(`
    const gl = document.createElement("canvas").getContext("webgl");
    const shader = gl.createShader(gl.VERTEX_SHADER), program = gl.createProgram();
    gl.attachShader(program, shader);
    [[], ["attribute vec2 a;"], ["attribute vec2 a;", "attribute vec2 b;"]].map((lines) => {
      gl.shaderSource(shader, lines.join(" "));
      gl.linkProgram(program);
      return gl.getProgramParameter(program, gl.ACTIVE_ATTRIBUTES);
    })`);
  expect(count).toEqual([0, 1, 2]);
});
