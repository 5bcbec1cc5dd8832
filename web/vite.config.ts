import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// Two pages that share only ui/: a payer never downloads the dashboard.
export default defineConfig({
  plugins: [react(), tailwindcss()],
  build: {
    target: "es2024",
    modulePreload: { polyfill: false },
    // A data: URL would need img-src data: in the policy the pages are served with.
    assetsInlineLimit: 0,
    rolldownOptions: { input: ["index.html", "pay.html"] },
  },
});
