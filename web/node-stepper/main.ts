/**
 * A fleet of the games in Node worker threads, started by `attract.vector` as `node node-stepper.mjs JSON`.
 *
 * JSON: `{"module": path, "sha256": hash, "run_id": id, "fds": [fd per thread]}`. Each thread has a socket of its own to the
 * starter and waits in it; this thread only ends the process with its starter, whose end of stdin closes when it dies.
 */

import { pathToFileURL } from "node:url";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { Pipe } from "./pipe.ts";
import { runStepper } from "./stepper.ts";

interface ProcessOptions {
  module: string;
  sha256: string;
  run_id: string;
  fds: number[];
}

interface ThreadOptions {
  moduleUrl: string;
  sha256: string;
  runId: string;
  workerIndex: number;
  fd: number;
}

function startThreads(options: ProcessOptions): void {
  let running = options.fds.length;
  options.fds.forEach((fd, workerIndex) => {
    const data: ThreadOptions = {
      moduleUrl: pathToFileURL(options.module).href,
      sha256: options.sha256,
      runId: options.run_id,
      workerIndex,
      fd,
    };
    const worker = new Worker(new URL(import.meta.url), { workerData: data });
    worker.on("error", (error) => console.error(error));
    worker.on("exit", () => {
      running--;
      if (running === 0) process.exit();
    });
  });
  process.stdin.on("end", () => process.exit());
  process.stdin.resume();
}

if (isMainThread) startThreads(JSON.parse(process.argv[2]) as ProcessOptions);
else {
  const { fd, ...rest } = workerData as ThreadOptions;
  await runStepper({ pipe: new Pipe(fd), ...rest });
}
