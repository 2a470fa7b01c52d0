// Relative addresses, so that the built page works in any folder of any server.
export default { base: "./", build: { target: "es2022" } };
