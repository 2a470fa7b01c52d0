import { expect, test } from "vitest";
import { shaderVariables } from "../../../web/page-clock/src/shader-variables.ts";

const variable = (name: string, type: number | null, rest = {}): object => ({
  name,
  type,
  length: null,
  location: null,
  ...rest,
});

test("attributes are those of the vertex shader, and a uniform of both shaders is one", () => {
  const { attributes, uniforms } = shaderVariables([
    {
      isVertex: true,
      text: `attribute highp vec2 aPosition; attribute vec4 aColor;
        // attribute vec2 aOld;
        uniform mat3 matrix; uniform float time, speed;
        varying vec4 vColor;
        void main() { gl_Position = vec4((matrix * vec3(aPosition, 1.0)).xy, time, speed); }`,
    },
    {
      isVertex: false,
      text: `precision mediump float; uniform lowp sampler2D samplers[16]; uniform float time;
        /* uniform vec2 old; */ in vec4 vColor;`,
    },
  ]);
  expect(attributes).toEqual([variable("aPosition", 35664), variable("aColor", 35666)]);
  expect(uniforms).toEqual([
    variable("matrix", 35675),
    variable("time", 5126),
    variable("speed", 5126),
    variable("samplers", 35678, { length: 16 }),
  ]);
});

test("GLSL 3: inputs with locations, lengths by name, no parameters of functions, and no members of blocks", () => {
  const { attributes, uniforms } = shaderVariables([
    {
      isVertex: true,
      text: `#version 300 es
        #define NUM_LIGHTS 3
        #define NUM_BONES 0
        const int SIZE = 4;
        layout(location = 2) in vec3 position;
        layout (location=5) in ivec4 bones;
        in uint kind;
        struct Light { vec3 color; };
        layout(std140) uniform Camera { mat4 view; vec3 eye; };
        uniform Light lights[NUM_LIGHTS];
        uniform vec4 bands[ SIZE ];
        uniform mat4 skeleton[NUM_BONES];
        float turned(in vec2 place, in float angle) { return place.x * angle; }
        vec3 lit(
          in vec3 normal,
          in Light light) { return normal * light.color; }`,
    },
  ]);
  expect(attributes).toEqual([
    variable("position", 35665, { location: 2 }),
    variable("bones", 35669, { location: 5 }),
    variable("kind", 5125),
  ]);
  // A structure has no type of its own, and an array without elements is not there.
  expect(uniforms).toEqual([
    variable("lights", null, { length: 3 }),
    variable("bands", 35666, { length: 4 }),
  ]);
});

test("what depends on a condition is not declared: an engine may have no value for it", () => {
  const text = `uniform vec2 size;
    #if defined(FOG) && NUM > 0
      #ifdef FAR
        uniform vec3 far;
      #else
        attribute vec3 near;
      #endif
      uniform vec3 fog;
    #endif
    attribute vec2 place;`;
  const { attributes, uniforms } = shaderVariables([{ isVertex: true, text }]);
  expect([attributes, uniforms]).toEqual([[variable("place", 35664)], [variable("size", 35664)]]);
});
