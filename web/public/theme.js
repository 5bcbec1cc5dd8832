// Before the first paint, so that no page flashes in the other light. Site data may be blocked.
let theme;
try {
  theme = localStorage.getItem("theme");
} catch {}
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
