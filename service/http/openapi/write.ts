// `npm run openapi -w service` runs this file to write spec/openapi.json. A test checks that the
// file is up to date (document.test.ts).

import { writeFileSync } from "node:fs";
import { describeApi } from "./document.ts";

const file = new URL("../../../spec/openapi.json", import.meta.url);
writeFileSync(file, `${JSON.stringify(describeApi(), null, 2)}\n`);
