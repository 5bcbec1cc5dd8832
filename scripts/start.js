// The door of `npm start`: plain JavaScript, so that an old Node reads a sentence, not a stack.

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `Node ${process.versions.node} is too old: npm ci installs Node 24 into node_modules, ` +
      "so run it once without --ignore-scripts and start again.",
  );
  process.exit(1);
}
await import("./start.ts");
