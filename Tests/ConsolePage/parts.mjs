// Loads files of the console's page as they are served, and returns names that they define.

import { readFileSync } from "node:fs";
import vm from "node:vm";

const folder = new URL("../../Sources/PusherConsole/Page/", import.meta.url);

/** Loads files in their order on the page; the ones here need no document. */
export function load(files, names) {
  for (const file of files) vm.runInThisContext(readFileSync(new URL(`${file}.js`, folder), "utf8"), { filename: file });
  return vm.runInThisContext(`({ ${names.join(", ")} })`);
}
