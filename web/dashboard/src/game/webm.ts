/** A video of what is drawn on a canvas, by the browser's own recorder. */

const TYPE = "video/webm";

/** Whether this browser can record a canvas. */
export function canRecord(): boolean {
  return (
    typeof MediaRecorder !== "undefined" &&
    MediaRecorder.isTypeSupported(TYPE) &&
    "captureStream" in HTMLCanvasElement.prototype
  );
}

/** Records `canvas` until the returned function is called, which saves the video as `name`. */
export function recordWebm(canvas: HTMLCanvasElement, name: string): () => void {
  const parts: Blob[] = [];
  const stream = canvas.captureStream();
  const recorder = new MediaRecorder(stream, { mimeType: TYPE });
  recorder.ondataavailable = ({ data }) => parts.push(data);
  recorder.onstop = () => {
    for (const track of stream.getTracks()) track.stop();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(parts, { type: TYPE }));
    link.download = name;
    link.click();
    // The browser reads it some time after the click.
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  };
  recorder.start();
  return () => recorder.state !== "inactive" && recorder.stop();
}
