// Runs an executor that kills its own process at a given step:
//
//     node dying.ts STORE CHAINS_FILE STEP
//
// STORE is the JSON of the configuration for `openStore`.

import { readChains } from "../../chain/chains.ts";
import type { Parts } from "../../executor/pass.ts";
import { run } from "../../executor/run.ts";
import { openParts } from "../../executor/start.ts";
import { openStore } from "../../roles/open-store.ts";
import { mapSigners, partsFor, twoKeys } from "./executor.ts";

const [place, chainsFile, step] = process.argv.slice(2) as [string, string, string];

const die = (here: string) => {
  if (here === step) process.kill(process.pid, "SIGKILL");
};

function mortal(core: Parts): Parts {
  const { ledger, endpoints } = core;
  return {
    ...core,
    signers: mapSigners(twoKeys, (signer) => (transaction) => {
      die("before_sign");
      return signer.sign(transaction);
    }),
    ledger: {
      ...ledger,
      async openPurpose(...args) {
        die("before_store");
        const id = await ledger.openPurpose(...args);
        die("after_store");
        return id;
      },
      async settlePurpose(...args) {
        die("before_settle");
        const isNew = await ledger.settlePurpose(...args);
        die("after_settle");
        return isNew;
      },
    },
    endpoints: endpoints.map((rpc) => ({
      ...rpc,
      async ask(calls) {
        const answers = await rpc.ask(calls);
        if (calls[0]?.method === "eth_sendRawTransaction") die("after_broadcast");
        return answers;
      },
    })),
  };
}

// Opens the database without the server's lock, as an operator's command does. The test has already
// opened the database as a server, and SQLite allows only one server.
const store = await openStore(JSON.parse(place), false);
const [core] = openParts(partsFor(store, readChains(chainsFile)), new AbortController().signal);
await run(mortal(core as Parts), { aborted: false });
