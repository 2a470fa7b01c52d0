/** The pictures of a block as raw deflate (RFC 1951): what the browser has for it, and what it is worth. */

import type { Block, PackedPictures, Tensor } from "@attract/schema";

/** With fewer bytes of pictures in a block, deflating does not pay. */
const SMALL_BYTES = 16 * 1024;

/** A block, and what of it was pictures: as they are, and deflated. */
export interface DeflatedBlock {
  block: Block;
  pictureBytes: number;
  deflatedBytes: number;
}

/** Whether this browser has raw deflate. */
export function canDeflate(): boolean {
  try {
    new CompressionStream("deflate-raw");
    return true;
  } catch {
    return false;
  }
}

/** One raw stream of `bytes`, which may change once this has been called. */
export async function deflateRaw(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * `block` with the pictures of the observations `keys` deflated, those that get smaller by it; `block` itself where none does, or
 * where it has few. Its tensors must not change until this is done.
 */
export async function deflateBlock(block: Block, keys: readonly string[]): Promise<DeflatedBlock> {
  const made = {
    ...block,
    observation: { ...block.observation },
    bootstrap_observation: { ...block.bootstrap_observation },
    packed: { ...block.packed },
    final_observations:
      block.final_observations === null
        ? null
        : { ...block.final_observations, observation: { ...block.final_observations.observation } },
  };
  let pictureBytes = 0;
  let deflatedBytes = 0;
  for (const key of keys) {
    const stacks = block.packed[key]?.stacks ?? null;
    const final = block.final_observations?.observation[key];
    const tensors = [
      block.observation[key],
      block.bootstrap_observation[key],
      ...(final === undefined ? [] : [final]),
      ...(stacks === null ? [] : [stacks.older]),
    ];
    const before = sizeOf(tensors);
    pictureBytes += before;
    if (before < SMALL_BYTES) {
      deflatedBytes += before;
      continue;
    }
    const done = new Map<Tensor, Tensor>();
    for (const tensor of tensors) done.set(tensor, await deflateTensor(tensor));
    const deflated = (tensor: Tensor): Tensor => done.get(tensor) as Tensor;
    const after = sizeOf(tensors.map(deflated));
    deflatedBytes += Math.min(before, after);
    if (after >= before) continue;
    made.observation[key] = deflated(block.observation[key]);
    made.bootstrap_observation[key] = deflated(block.bootstrap_observation[key]);
    if (final !== undefined && made.final_observations !== null)
      made.final_observations.observation[key] = deflated(final);
    const packed: PackedPictures = {
      stacks: stacks === null ? null : { ...stacks, older: deflated(stacks.older) },
      deflated: true,
    };
    made.packed[key] = packed;
  }
  return { block: deflatedBytes < pictureBytes ? made : block, pictureBytes, deflatedBytes };
}

/** Nothing is no stream. */
async function deflateTensor(tensor: Tensor): Promise<Tensor> {
  if (tensor.data.byteLength === 0) return tensor;
  return { ...tensor, data: await deflateRaw(tensor.data as Uint8Array<ArrayBuffer>) };
}

function sizeOf(tensors: readonly Tensor[]): number {
  return tensors.reduce((sum, { data }) => sum + data.byteLength, 0);
}
