/** Servers of published packages, from which pages load engines and libraries. Equal to the gateway's list. */

export const PACKAGE_HOSTS: readonly string[] = [
  "ajax.googleapis.com",
  "cdn.babylonjs.com",
  "cdn.jsdelivr.net",
  "cdn.skypack.dev",
  "cdnjs.cloudflare.com",
  "code.createjs.com",
  "code.jquery.com",
  "esm.sh",
  "ga.jspm.io",
  "pixijs.download",
  "unpkg.com",
];
