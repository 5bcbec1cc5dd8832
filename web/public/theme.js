// Sets the color scheme before the first paint, so that pages do not flash. Storage may be blocked.
let theme;
try {
  theme = localStorage.getItem("theme");
} catch {}
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
