import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Boundary } from "../ui/boundary.tsx";
import "../ui/style.css";
import { App } from "./app.tsx";
import { queryClient } from "./queries.ts";

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <Boundary>
        <App />
      </Boundary>
    </QueryClientProvider>
  </StrictMode>,
);
