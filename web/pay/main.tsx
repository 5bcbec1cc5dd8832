import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Boundary } from "../ui/boundary.tsx";
import "../ui/style.css";
import "./pay.css";
import { Page } from "./page.tsx";
import { Speaking } from "./words/say.tsx";

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Boundary>
      <Speaking>
        <Page />
      </Speaking>
    </Boundary>
  </StrictMode>,
);
