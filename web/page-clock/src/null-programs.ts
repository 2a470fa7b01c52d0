/** Shaders and programs of a WebGL device that draws nothing: they answer by what their source text declares. */

import { type ShaderVariable, type ShaderVariables, shaderVariables } from "./shader-variables.ts";

/** By the numbers of the WebGL specifications. */
const VERTEX_SHADER = 35633;
const SHADER_TYPE = 35663;
const DELETE_STATUS = 35712;
const ATTACHED_SHADERS = 35717;
const ACTIVE_UNIFORMS = 35718;
const ACTIVE_ATTRIBUTES = 35721;
const ACTIVE_UNIFORM_BLOCKS = 35382;
const TRANSFORM_FEEDBACK_VARYINGS = 35971;

interface Shader {
  readonly type: number;
  text: string;
}

interface Program {
  readonly shaders: Set<object>;
  /** Attributes' locations that the page has asked for. */
  readonly bound: Map<string, number>;
  /** Null: not linked, or not asked about since. */
  variables: ShaderVariables | null;
  readonly locations: Map<string, object>;
}

/** The functions of a context that know shaders and programs. */
export function nullPrograms(): Record<string, (...args: never[]) => unknown> {
  const shaders = new WeakMap<object, Shader>();
  const programs = new WeakMap<object, Program>();

  const variablesOf = (program: Program | undefined): ShaderVariables => {
    if (program === undefined) return { attributes: [], uniforms: [] };
    program.variables ??= shaderVariables(
      [...program.shaders].flatMap((one) => {
        const shader = shaders.get(one);
        return shader === undefined ? [] : [{ isVertex: shader.type === VERTEX_SHADER, text: shader.text }];
      }),
    );
    return program.variables;
  };
  // Members of structures have no entry of their own, so a structure has none.
  const active = (variables: readonly ShaderVariable[]): ShaderVariable[] =>
    variables.filter(({ type }) => type !== null);
  const infoOf = (variables: readonly ShaderVariable[], index: number): object | null => {
    const found = active(variables)[index];
    if (found === undefined) return null;
    const { name, type, length } = found;
    return { name: length === null ? name : `${name}[0]`, type, size: length ?? 1 };
  };

  return {
    createShader: (type: number) => {
      const shader = {};
      shaders.set(shader, { type, text: "" });
      return shader;
    },
    shaderSource: (shader: object, text: string) => {
      const known = shaders.get(shader);
      if (known !== undefined) known.text = String(text);
    },
    getShaderSource: (shader: object) => shaders.get(shader)?.text ?? null,
    getShaderParameter: (shader: object, name: number) =>
      name === SHADER_TYPE ? (shaders.get(shader)?.type ?? null) : name !== DELETE_STATUS,
    createProgram: () => {
      const program = {};
      programs.set(program, { shaders: new Set(), bound: new Map(), variables: null, locations: new Map() });
      return program;
    },
    attachShader: (program: object, shader: object) => void programs.get(program)?.shaders.add(shader),
    bindAttribLocation: (program: object, index: number, name: string) =>
      void programs.get(program)?.bound.set(name, index),
    linkProgram: (program: object) => {
      const known = programs.get(program);
      if (known !== undefined) known.variables = null;
    },
    getAttachedShaders: (program: object) => [...(programs.get(program)?.shaders ?? [])],
    getProgramParameter: (program: object, name: number) => {
      const known = programs.get(program);
      if (name === ATTACHED_SHADERS) return known?.shaders.size ?? 0;
      if (name === ACTIVE_ATTRIBUTES) return active(variablesOf(known).attributes).length;
      if (name === ACTIVE_UNIFORMS) return active(variablesOf(known).uniforms).length;
      if (name === ACTIVE_UNIFORM_BLOCKS || name === TRANSFORM_FEEDBACK_VARYINGS) return 0;
      return name !== DELETE_STATUS;
    },
    getActiveAttrib: (program: object, index: number) =>
      infoOf(variablesOf(programs.get(program)).attributes, index),
    getActiveUniform: (program: object, index: number) =>
      infoOf(variablesOf(programs.get(program)).uniforms, index),
    getAttribLocation: (program: object, name: string) => {
      const known = programs.get(program);
      if (known === undefined) return -1;
      return attributeLocations(variablesOf(known).attributes, known.bound).get(name) ?? -1;
    },
    getUniformLocation: (program: object, name: string) => {
      const known = programs.get(program);
      const [declared] = String(name).split(/[.[]/);
      if (!variablesOf(known).uniforms.some((one) => one.name === declared)) return null;
      const location = known?.locations.get(name) ?? {};
      known?.locations.set(name, location);
      return location;
    },
  };
}

/** The locations in the source count first, then those that the page has asked for; the others get the next free ones. */
function attributeLocations(
  attributes: readonly ShaderVariable[],
  bound: ReadonlyMap<string, number>,
): Map<string, number> {
  const given = attributes.map(({ name, location }) => location ?? bound.get(name));
  const taken = new Set(given);
  let free = 0;
  return new Map(
    attributes.map(({ name }, i) => {
      const location = given[i];
      if (location !== undefined) return [name, location];
      while (taken.has(free)) free++;
      return [name, free++];
    }),
  );
}
