// Tries a call of the API reference, or gives it as a command. The key stays in this page.

const base = new URL("/v1", location.href).href;
const keyOf = () => document.querySelector("#key").value.trim();

/** The URL of a filled form; what is empty is left out. */
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
    // The key is read from the environment, so it does not stay in the shell's history.
    ...(keyOf() ? ['-H "Authorization: Bearer $API_KEY"'] : []),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${quoted(body)}`]),
  ].join(" ");
}

async function send(form) {
  const headers = keyOf() ? { authorization: `Bearer ${keyOf()}` } : {};
  const stop = AbortSignal.timeout(15_000);
  const answer = await fetch(urlOf(form), { headers, signal: stop, cache: "no-store" });
  if (/event-stream/.test(answer.headers.get("content-type") ?? "")) {
    await answer.body.cancel();
    return `${answer.status}: a stream of events; copy the command to follow it`;
  }
  const text = await answer.text();
  try {
    return `${answer.status}\n${JSON.stringify(JSON.parse(text), null, 2)}`;
  } catch {
    return `${answer.status}\n${text}`;
  }
}

for (const form of document.querySelectorAll("form.try")) {
  const output = form.querySelector("output");
  const show = (text) => {
    output.textContent = text;
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (form.dataset.method !== "GET") return;
    show("…");
    send(form).then(show, ({ message }) => show(`No answer: ${message}`));
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
