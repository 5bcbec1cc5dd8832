// Starts the payment page.

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Boundary } from "../ui/boundary.tsx";
import "../ui/style.css";
import "./pay.css";
import { Speaking } from "../shown/words/say.tsx";
import { Page } from "./page.tsx";

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Speaking>
      <Boundary>
        <Page />
      </Boundary>
    </Speaking>
  </StrictMode>,
);
