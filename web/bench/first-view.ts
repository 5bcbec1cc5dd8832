// Measures the time from the start of the navigation until the payer sees the QR code. Each run
// opens a payment page in Chromium with a new browser profile. The address is on a real chain. Also
// prints the requests of the slowest page load.

import { launchBrowser } from "../../e2e/browser/browser.ts";
import { createOrder } from "../../e2e/browser/pay-page.ts";
import { startService } from "../../e2e/service.ts";

const opens = Number(process.env.BENCH_OPENS ?? 20);
/** JavaScript that sets a performance mark when the QR code is added to the document. */
const watch = `new MutationObserver((_, watcher) => {
  if (!document.querySelector(".qr")) return;
  watcher.disconnect();
  performance.mark("code");
}).observe(document, { childList: true, subtree: true });`;
const seen = `JSON.stringify({
  ms: performance.getEntriesByName("code")[0].startTime,
  requests: performance.getEntriesByType("resource").map(({ name, startTime, responseEnd }) =>
    [new URL(name).pathname, Math.round(startTime), Math.round(responseEnd)].join(" ")),
})`;

type Opened = { ms: number; requests: string[] };

const browser = await launchBrowser();
const service = await startService();
const { origin } = new URL(service.baseUrl);

async function open(): Promise<Opened> {
  const { address } = await createOrder(service);
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.addInitScript(watch);
  await page.goto(`${origin}/a/${address}`);
  await page.locator(".qr").waitFor();
  const opened: Opened = JSON.parse(await page.evaluate(seen));
  await context.close();
  return opened;
}

await open();
const found: Opened[] = [];
for (let count = 0; count < opens; count++) found.push(await open());
found.sort((a, b) => a.ms - b.ms);
const at = (part: number) => found[Math.floor(part * (found.length - 1))]!.ms.toFixed(0);
console.log(
  `the code of an address, ${opens} cold opens: median ${at(0.5)} ms, maximum ${at(1)} ms`,
);
console.log(
  `requests of the slowest open (from, to, in ms):\n  ${found.at(-1)!.requests.join("\n  ")}`,
);
await browser.close();
await service.stop();
