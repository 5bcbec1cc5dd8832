import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Boundary } from "../ui/boundary.tsx";
import "../ui/style.css";
import { Page } from "./page.tsx";

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Boundary>
      <Page />
    </Boundary>
  </StrictMode>,
);
