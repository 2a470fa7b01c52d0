import { expect, test } from "vitest";
import { heldPage } from "./held-page.ts";

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
