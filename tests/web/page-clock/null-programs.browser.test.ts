import { expect, test } from "vitest";
import { heldPage } from "./held-page.ts";

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
