/** Attributes and uniforms of a WebGL program, by the declarations in its shaders' source text. */

/** By the numbers of the WebGL specifications. */
const TYPES: Readonly<Record<string, number>> = {
  ...{ float: 5126, vec2: 35664, vec3: 35665, vec4: 35666 },
  ...{ int: 5124, ivec2: 35667, ivec3: 35668, ivec4: 35669 },
  ...{ uint: 5125, uvec2: 36294, uvec3: 36295, uvec4: 36296 },
  ...{ bool: 35670, bvec2: 35671, bvec3: 35672, bvec4: 35673 },
  ...{ mat2: 35674, mat3: 35675, mat4: 35676, mat2x2: 35674, mat3x3: 35675, mat4x4: 35676 },
  ...{ mat2x3: 35685, mat2x4: 35686, mat3x2: 35687, mat3x4: 35688, mat4x2: 35689, mat4x3: 35690 },
  ...{ sampler2D: 35678, sampler3D: 35679, samplerCube: 35680, sampler2DShadow: 35682 },
  ...{ sampler2DArray: 36289, sampler2DArrayShadow: 36292, samplerCubeShadow: 36293 },
  ...{ isampler2D: 36298, isampler3D: 36299, isamplerCube: 36300, isampler2DArray: 36303 },
  ...{ usampler2D: 36306, usampler3D: 36307, usamplerCube: 36308, usampler2DArray: 36311 },
};
const COMMENTS = /\/\*[\s\S]*?\*\/|\/\/.*/g;
/** A declaration that stands by itself: parameters of functions are `in` as well. */
const DECLARED =
  /(?<=^|[;{}\n])\s*(?:layout\s*\(([^)]*)\)\s*)?(attribute|uniform|in)\s+(?:(?:lowp|mediump|highp|flat|smooth)\s+)*(\w+)\s+([^;{}()]+);/g;
const NAMED = /^\s*(\w+)\s*(?:\[\s*(\w+)\s*\])?\s*$/;
const CONSTANTS = /#\s*define\s+(\w+)\s+(\d+)\b|\bconst\s+(?:\w+\s+)?u?int\s+(\w+)\s*=\s*(\d+)/g;

export interface ShaderSource {
  readonly isVertex: boolean;
  readonly text: string;
}

export interface ShaderVariable {
  /** As declared: without the "[0]" of an array. */
  readonly name: string;
  /** The variable's type; null: a structure of the shader's own. */
  readonly type: number | null;
  /** Elements of an array; null: it is none. */
  readonly length: number | null;
  /** The location that the source names; null: none. */
  readonly location: number | null;
}

export interface ShaderVariables {
  readonly attributes: readonly ShaderVariable[];
  readonly uniforms: readonly ShaderVariable[];
}

/** What a program of these shaders declares, each name once, save what depends on a condition of the preprocessor. */
export function shaderVariables(shaders: readonly ShaderSource[]): ShaderVariables {
  const attributes = new Map<string, ShaderVariable>();
  const uniforms = new Map<string, ShaderVariable>();
  for (const { isVertex, text } of shaders) {
    const source = unconditional(text.replace(COMMENTS, " "));
    const constants = new Map<string, string>();
    for (const [, defined, value, constant, number] of source.matchAll(CONSTANTS))
      constants.set(defined ?? constant, value ?? number);
    for (const [, layout = "", storage, type, names] of source.matchAll(DECLARED)) {
      const variables = storage === "uniform" ? uniforms : isVertex ? attributes : null;
      for (const declared of names.split(",")) {
        const [, name, size] = NAMED.exec(declared) ?? [];
        if (name === undefined || variables === null) continue;
        const length = size === undefined ? null : Number(constants.get(size) ?? size) || 0;
        const location = /\blocation\s*=\s*(\d+)/.exec(layout)?.[1];
        // An array without elements is none: engines set the number of their lights so.
        if (length !== 0)
          variables.set(name, {
            name,
            type: TYPES[type] ?? null,
            length,
            location: location === undefined ? null : Number(location),
          });
      }
    }
  }
  return { attributes: [...attributes.values()], uniforms: [...uniforms.values()] };
}

/** Without what stands under a condition: an engine may have no value for a uniform that its device would not see. */
function unconditional(source: string): string {
  let depth = 0;
  const kept = source.split("\n").filter((line) => {
    const directive = /^\s*#\s*(if|endif)/.exec(line)?.[1];
    if (directive === "if") depth++;
    if (directive === "endif") depth--;
    return directive === undefined && depth === 0;
  });
  return kept.join("\n");
}
