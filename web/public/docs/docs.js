// Adds search, copy buttons, and a menu that is open on wide screens. The pages also work without
// this script.

const menu = document.querySelector("nav details");
const wide = matchMedia("(width >= 60rem)");
const fit = () => {
  menu.open = wide.matches;
};
fit();
wide.addEventListener("change", fit);

for (const block of document.querySelectorAll("pre")) {
  block.tabIndex = 0;
  const frame = document.createElement("div");
  frame.className = "code";
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const done = navigator.clipboard?.writeText(block.textContent.trimEnd());
    button.textContent = await Promise.resolve(done ?? Promise.reject()).then(
      () => "Copied",
      () => "Select it",
    );
  });
  block.replaceWith(frame);
  frame.append(block, button);
}

const shownMax = 12;
const input = document.querySelector("input[type=search]");
const list = document.querySelector("#found");
input.addEventListener("input", () => {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = ({ title, heading, text }) => {
    const near = `${title} ${heading}`.toLowerCase();
    const all = `${near} ${text.toLowerCase()}`;
    if (!words.every((word) => all.includes(word))) return 0;
    return 1 + words.filter((word) => near.includes(word)).length;
  };
  const found = (globalThis.docsIndex ?? [])
    .map((entry) => ({ entry, rank: rank(entry) }))
    .filter((each) => each.rank > 0)
    .sort((one, other) => other.rank - one.rank)
    .slice(0, shownMax);
  list.hidden = words.length === 0;
  list.replaceChildren(
    ...found.map(({ entry: { page, title, heading, id } }) => {
      const item = document.createElement("li");
      const link = Object.assign(document.createElement("a"), { href: `${page}#${id}` });
      const under = document.createElement("small");
      under.textContent = title;
      link.append(heading, under);
      item.append(link);
      return item;
    }),
  );
  if (found.length === 0) list.textContent = "Nothing found";
});
addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, textarea");
  if (event.key === "Escape") list.hidden = true;
  if (event.key !== "/" || isTyping) return;
  event.preventDefault();
  input.focus();
});
