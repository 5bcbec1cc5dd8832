// npm run openapi -w service: writes spec/openapi.json. document.test.ts compares the file.

import { writeFileSync } from "node:fs";
import { describeApi } from "./document.ts";

const file = new URL("../../../spec/openapi.json", import.meta.url);
writeFileSync(file, `${JSON.stringify(describeApi(), null, 2)}\n`);
