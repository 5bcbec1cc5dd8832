// Sends requests from the forms of the API reference, or shows them as commands. An API key that a
// user enters is not stored.

const base = new URL("/v1", location.href).href;
const keyOf = () => document.querySelector("#key").value.trim();

/** Returns the URL of a completed form, without empty values. */
function urlOf({ dataset, elements }) {
  const url = new URL(base);
  let { path } = dataset;
  for (const { name, value, dataset: place } of elements) {
    if (place.in === "path") path = path.replace(`{${name}}`, encodeURIComponent(value.trim()));
    if (place.in === "query" && value !== "") url.searchParams.append(name, value);
  }
  url.pathname += path;
  return url.href;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function commandOf(form) {
  const { method } = form.dataset;
  const body = form.elements.body?.value;
  return [
    `curl ${method === "GET" ? "" : `-X ${method} `}${quoted(urlOf(form))}`,
    // The command reads the key from the environment. The shell history then does not contain the
    // key.
    ...(isServersKey(keyOf()) ? ['-H "Authorization: Bearer $API_KEY"'] : []),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${quoted(body)}`]),
  ].join(" ");
}

const isServersKey = (key) => key.startsWith("svc_sk_");

function headersOf(hasBody) {
  const key = keyOf();
  const kind = isServersKey(key) ? { authorization: `Bearer ${key}` } : { "x-client-id": key };
  return { ...(key && kind), ...(hasBody && { "content-type": "application/json" }) };
}

async function send(form) {
  const { method } = form.dataset;
  // If a browser sent an API key, the service would reject the request and warn the owner.
  if (method !== "GET" && isServersKey(keyOf()))
    return "API keys work only on servers. Copy the command, or use a client ID.";
  const body = form.elements.body?.value;
  const headers = headersOf(body !== undefined);
  const stop = AbortSignal.timeout(15_000);
  const init = { method, headers, signal: stop, cache: "no-store" };
  const answer = await fetch(urlOf(form), body === undefined ? init : { ...init, body });
  const head = [answer.status, ...[...answer.headers].map((pair) => pair.join(": "))].join("\n");
  if (/event-stream/.test(answer.headers.get("content-type") ?? "")) {
    await answer.body.cancel();
    return `${head}\n\nThis is a stream of events. Copy the command to follow it.`;
  }
  const text = await answer.text();
  try {
    return `${head}\n\n${JSON.stringify(JSON.parse(text), null, 2)}`;
  } catch {
    return `${head}\n\n${text}`;
  }
}

const daySeconds = 86_400;

/** Adapts the example intents to this service: a listed token, and an expiry in one day. */
async function fitExamples() {
  if (location.protocol === "file:") return;
  const { chains } = await (await fetch(`${base}/chains`)).json();
  const chain = chains.find(({ tokens }) => tokens.length > 0);
  if (!chain) return;
  for (const field of document.querySelectorAll("textarea")) {
    const { token, ...intent } = JSON.parse(field.value);
    if (!token) continue;
    const expirationTimestamp = Math.floor(Date.now() / 1000) + daySeconds;
    const fitted = { token, ...intent, expirationTimestamp, chainId: chain.chainId };
    field.value = JSON.stringify(fitted, null, 2).replaceAll(token, chain.tokens[0].address);
  }
}
const fitted = fitExamples().catch(() => {});

for (const form of document.querySelectorAll("form.try")) {
  const output = form.querySelector("output");
  const show = (text) => {
    output.textContent = text;
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    show("…");
    fitted.then(() => send(form)).then(show, ({ message }) => show(`No answer: ${message}`));
  });
  form.querySelector(".curl").addEventListener("click", async () => {
    const command = commandOf(form);
    const copied = navigator.clipboard?.writeText(command) ?? Promise.reject();
    await copied.then(
      () => show(`Copied: ${command}`),
      () => show(command),
    );
  });
}
