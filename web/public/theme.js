// Sets the color scheme before the first paint, so that pages do not flash. Reading the stored
// choice throws if the browser blocks storage.
let theme;
try {
  theme = localStorage.getItem("theme");
} catch {}
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
