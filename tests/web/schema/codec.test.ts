import {
  type Block,
  checkTensor,
  decodeFromBrowser,
  decodeToBrowser,
  encodeForSend,
  encodeMessage,
  float32View,
  int32View,
  type Progress,
  ProtocolError,
  type Tensor,
  tensorOf,
  uint16View,
} from "@attract/schema";
import { episodeColumns } from "@attract/worker/rollout/episode-columns";
import { describe as describeGame } from "attract/description";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countingGame } from "../worker/support/counting-game.ts";

const progress: Progress = { type: "progress", run_id: "r", lease_id: 1, steps: 2 };

const description = describeGame(countingGame());

function policyOf(onnx: Uint8Array) {
  return { type: "policy", run_id: "r", policy_id: "main", policy_version: 1, onnx, script: "" } as const;
}

/** The same bytes, `offset` bytes into a larger buffer, as MessagePack's `bin` leaves them. */
function shifted(tensor: Tensor, offset: number): Tensor {
  const room = new Uint8Array(tensor.data.byteLength + offset);
  room.set(tensor.data, offset);
  return { ...tensor, data: room.subarray(offset) };
}

describe("frames", () => {
  it("an owned frame keeps its bytes, a frame for sending is overwritten by the next", () => {
    const owned = encodeMessage(progress);
    const lent = encodeForSend(progress);
    expect([...lent]).toEqual([...owned]);
    const before = [...owned];
    encodeForSend({ ...progress, run_id: "another" });
    expect([...owned]).toEqual(before);
    expect([...lent]).not.toEqual(before);
  });

  it("integers past 2^32 and every float of a time survive", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
        fc.double({ min: 0, max: 1e6, noNaN: true }),
        (lease_id, create_ms) => {
          const read = decodeFromBrowser(encodeMessage({ ...progress, lease_id }));
          expect(read).toEqual({ ...progress, lease_id });
          const ack = {
            type: "policy_ack",
            run_id: "r",
            policy_id: "main",
            policy_version: 0,
            create_ms,
          } as const;
          const back = decodeFromBrowser(encodeMessage(ack));
          expect(back.type === "policy_ack" && back.create_ms === create_ms).toBe(true);
        },
      ),
    );
  });

  it("bytes come back as bytes, at whatever offset they lie", () => {
    const onnx = Uint8Array.from({ length: 1000 }, (_, i) => i % 251);
    const read = decodeToBrowser(encodeMessage(policyOf(onnx)));
    expect(read.type === "policy" && [...read.onnx]).toEqual([...onnx]);
  });

  it.each([
    ["nothing", new Uint8Array()],
    ["half a frame", encodeMessage(progress).subarray(0, 9)],
    ["two frames", new Uint8Array([0x80, 0x80])],
    ["a list", new Uint8Array([0x91, 0x01])],
    ["a map without type", new Uint8Array([0x80])],
    ["a prototype", new Uint8Array([0x81, 0xa9, ...new TextEncoder().encode("__proto__"), 0x80])],
    ["deep nesting", new Uint8Array(100_000).fill(0x91)],
  ])("%s is refused", (_, bytes) => {
    expect(() => decodeToBrowser(bytes)).toThrow(ProtocolError);
    expect(() => decodeFromBrowser(bytes)).toThrow(ProtocolError);
  });

  it.each([
    [{ lease_id: "1" }, /progress\.lease_id: must be integer/],
    [{ lease_id: -1 }, /progress\.lease_id: must be >= 0/],
    [{ lease_id: 1.5 }, /progress\.lease_id: must be integer/],
    [{ surprise: 1 }, /progress: must NOT have additional properties \({"additionalProperty":"surprise"}\)/],
    [{ run_id: "" }, /progress\.run_id: must NOT have fewer than 1 characters/],
    [{ type: "lease" }, /lease: value of tag "type" must be in oneOf/],
  ])("a wrong field is named: %o", (change, says) => {
    const frame = encodeMessage({ ...progress, ...change } as unknown as Progress);
    expect(() => decodeFromBrowser(frame)).toThrow(says);
  });

  it("a union inside a message takes no list and no number either", () => {
    for (const observation of [[], 5, null, "box"]) {
      const described = {
        type: "game_described",
        run_id: "r",
        sha256: "0",
        description: { ...description, observation },
      } as unknown as Progress;
      expect(() => decodeFromBrowser(encodeMessage(described))).toThrow(
        /description\.observation: must be object/,
      );
    }
  });

  it("text where bytes belong, NaN and infinity are refused", () => {
    const text = policyOf("onnx" as unknown as Uint8Array);
    expect(() => decodeToBrowser(encodeMessage(text))).toThrow(/policy\.onnx: must be bytes/);
    for (const create_ms of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const ack = {
        type: "policy_ack",
        run_id: "r",
        policy_id: "main",
        policy_version: 0,
        create_ms,
      } as const;
      expect(() => decodeFromBrowser(encodeMessage(ack))).toThrow(/policy_ack\.create_ms: must be number/);
    }
  });

  it("a damaged frame is refused or still a valid message, never another error", () => {
    const frame = encodeMessage(progress);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(frame.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        (damage) => {
          const damaged = frame.slice();
          for (const [at, byte] of damage) damaged[at] = byte;
          try {
            expect(decodeFromBrowser(damaged).type).toMatch(/^(progress|goodbye)$/);
          } catch (error) {
            if (!(error instanceof ProtocolError)) throw error;
          }
        },
      ),
    );
  });
});

describe("tensors", () => {
  it("a typed array is wrapped without copying", () => {
    const array = new Float32Array([1, 2, 3, 4, 5, 6]).subarray(2);
    const tensor = tensorOf(array, [2, 2]);
    expect(tensor).toMatchObject({ dtype: "float32", shape: [2, 2] });
    expect(tensor.data.buffer).toBe(array.buffer);
    expect([...float32View(tensor)]).toEqual([3, 4, 5, 6]);
  });

  it("a tensor survives the wire and is read at any alignment", () => {
    const floats = tensorOf(new Float32Array([0.5, -1000, 3e38]), [3]);
    const ints = tensorOf(new Int32Array([-1, 2 ** 31 - 1]), [2]);
    const shorts = tensorOf(new Uint16Array([1, 65535]), [2, 1]);
    for (let offset = 0; offset < 8; offset++) {
      expect([...float32View(shifted(floats, offset))]).toEqual([0.5, -1000, Math.fround(3e38)]);
      expect([...int32View(shifted(ints, offset))]).toEqual([-1, 2 ** 31 - 1]);
      expect([...uint16View(shifted(shorts, offset))]).toEqual([1, 65535]);
    }
    expect(float32View(shifted(floats, 4)).buffer, "no copy where none is needed").not.toBe(
      floats.data.buffer,
    );
    const view = shifted(floats, 4);
    expect(float32View(view).buffer).toBe(view.data.buffer);
  });

  it.each([
    [() => tensorOf(new Float32Array(5), [2, 2]), /shape \[2,2\] float32 does not fit Float32Array of 5/],
    [() => tensorOf(new Float32Array(4), [4], "float16"), /float16 does not fit/],
  ])("an array that does not fit its shape is the caller's bug", (make, says) => {
    expect(make).toThrow(says);
  });

  it("float16 travels as the bits of a Uint16Array", () => {
    expect(tensorOf(new Uint16Array([0x3c00]), [1], "float16")).toMatchObject({
      dtype: "float16",
      shape: [1],
    });
  });

  it("a wrong dtype, shape or length is refused by name", () => {
    const tensor = tensorOf(new Float32Array(6), [2, 3]);
    expect(() => checkTensor(tensor, "value", "float32", [null, 3])).not.toThrow();
    expect(() => checkTensor(tensor, "value", "int32", [2, 3])).toThrow(
      /value: got float32 \[2,3\], must be int32/,
    );
    expect(() => checkTensor(tensor, "value", "float32", [3, 2])).toThrow(/must be float32 \[3,2\]/);
    expect(() => checkTensor(tensor, "value", "float32", [6])).toThrow(ProtocolError);
    const short = { ...tensor, data: tensor.data.subarray(1) };
    expect(() => float32View(short, "value")).toThrow(/value: got 23 bytes, must be 24/);
    expect(() => int32View(tensor)).toThrow(ProtocolError);
  });

  it("encoding a block again and again allocates next to nothing", () => {
    const horizon = 32;
    const slots = 64;
    const block: Block = {
      type: "block",
      run_id: "r",
      lease_id: 1,
      segment_index: 0,
      block_index: 0,
      policy_id: "main",
      policy_version: 1,
      slot_id: tensorOf(new Int32Array(slots), [slots]),
      first_step: tensorOf(new Int32Array(slots), [slots]),
      observation: { obs: tensorOf(new Float32Array(horizon * slots * 4), [horizon, slots, 4]) },
      packed: {},
      action: tensorOf(new Int32Array(horizon * slots), [horizon, slots]),
      log_prob: tensorOf(new Float32Array(horizon * slots), [horizon, slots]),
      value: tensorOf(new Float32Array(horizon * slots), [horizon, slots]),
      reward: tensorOf(new Float32Array(horizon * slots), [horizon, slots]),
      terminated: tensorOf(new Uint8Array(horizon * slots), [horizon, slots]),
      truncated: tensorOf(new Uint8Array(horizon * slots), [horizon, slots]),
      valid: tensorOf(new Uint8Array(horizon * slots), [horizon, slots]),
      executed_ticks: tensorOf(new Uint16Array(horizon * slots), [horizon, slots]),
      action_mask: null,
      recurrent_state: {},
      bootstrap_observation: { obs: tensorOf(new Float32Array(slots * 4), [slots, 4]) },
      bootstrap_value: tensorOf(new Float32Array(slots), [slots]),
      final_observations: null,
      episodes: episodeColumns([]),
    };
    const first = encodeForSend(block);
    expect(decodeFromBrowser(first)).toEqual(block);
    // 80 KB a frame: the buffer has grown once, and every further frame lies in the very same memory
    const { buffer } = encodeForSend(block);
    for (let i = 0; i < 20; i++) expect(encodeForSend(block).buffer).toBe(buffer);
  });
});
