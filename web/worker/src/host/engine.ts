/** Files that threads of the sandbox are made of, which cannot load any themselves. */

import wasmUrl from "onnxruntime-web/ort-wasm-simd-threaded.wasm?url";

/** The inference engine's WebAssembly. Raises Error when the server does not give it. */
export function fetchEngine(): Promise<Blob> {
  return fetchOnce(wasmUrl, "application/wasm");
}

/**
 * Whether a device that joins a run begins without the engine, which is most of what it would load: a phone, and any device
 * whose owner saves data.
 */
export function isLight(device: {
  userAgent: string;
  userAgentData?: { mobile?: boolean };
  connection?: { saveData?: boolean };
}): boolean {
  if (device.connection?.saveData === true) return true;
  return device.userAgentData?.mobile ?? /\bMobi/.test(device.userAgent);
}

const fetched = new Map<string, Promise<Blob>>();

/** A file of the server's, asked for once. Raises Error when the server does not give it. */
export function fetchOnce(url: string, type: string): Promise<Blob> {
  const known = fetched.get(url);
  if (known !== undefined) return known;
  const blob = fetchBlob(new URL(url, import.meta.url), type);
  fetched.set(url, blob);
  blob.catch(() => fetched.delete(url));
  return blob;
}

async function fetchBlob(url: URL, type: string): Promise<Blob> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${answer.status} at ${url}`);
  return new Blob([await answer.blob()], { type });
}
