// Helpers for dashboard tests in a browser. They create accounts and send create requests as these
// accounts.

import type { BrowserContext, Page } from "playwright-core";
import { demoTokens, localChainId, shopAddress } from "../../scripts/local-chain.ts";
import type { Running } from "../service.ts";

export const email = "ada@example.com";
export const password = "correct horse battery";

const intent = {
  chainId: localChainId,
  token: demoTokens[0]!.address,
  amount: "25000000",
  calls: [
    {
      target: demoTokens[0]!.address,
      function: "transfer(address to, uint256 amount)",
      args: [shopAddress, "25000000"],
    },
  ],
  expirationTimestamp: Math.floor(Date.now() / 1000) + 3600,
  recovery: shopAddress,
};

type Answer = { status: number; body: { address?: string; error?: { code: string } } };

/** Sends a create request from a page of `origin`, as a script in that page would. */
export async function createFrom(
  context: BrowserContext,
  { baseUrl }: Running,
  origin: string,
  headers: Record<string, string>,
): Promise<Answer> {
  const shopping = await context.newPage();
  await shopping.goto(origin);
  const answer = await shopping.evaluate(
    async ({ url, headers, body }) => {
      const answer = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body,
      });
      return { status: answer.status, body: (await answer.json()) as Answer["body"] };
    },
    { url: `${baseUrl}/address/create`, headers, body: JSON.stringify(intent) },
  );
  await shopping.close();
  return answer;
}

/** Sends a create request without an Origin header, as a server would. */
export async function createWithKey(
  { baseUrl }: Running,
  key: string,
  reference = "",
): Promise<Response> {
  const query = reference && `?reference=${encodeURIComponent(reference)}`;
  return fetch(`${baseUrl}/address/create${query}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify(intent),
  });
}

/** Signs up and opens the overview page. */
export async function signUp(page: Page, site: string): Promise<void> {
  await page.goto(`${site}/sign-up`);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
}

/** Creates the account's first API key on the dashboard. */
export async function createApiKey(page: Page, site: string): Promise<string> {
  await page.goto(`${site}/credentials`);
  await page.getByRole("button", { name: "Create API key" }).click();
  const apiKey = await page.getByTestId("new-api-key").textContent();
  await page.getByRole("button", { name: "I’ve saved it" }).click();
  return String(apiKey);
}
