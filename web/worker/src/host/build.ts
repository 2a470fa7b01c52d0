/** Which build of the web side this is; the server refuses another one's pages. */

declare const __ATTRACT_BUILD__: string;

/** The hash that the web build stamped, or `dev` outside of one. */
export const BUILD: string = typeof __ATTRACT_BUILD__ === "string" ? __ATTRACT_BUILD__ : "dev";
