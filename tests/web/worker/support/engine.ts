/** Tells the inference engine of this thread where its WebAssembly is, as a benchmark's worker does; for its side effect. */

import { setInferenceEngine } from "@attract/worker/policy/policy-session";
import wasmUrl from "onnxruntime-web/ort-wasm-simd-threaded.wasm?url";

setInferenceEngine(new URL(wasmUrl, import.meta.url).href);
