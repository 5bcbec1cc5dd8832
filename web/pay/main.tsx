import { createRoot } from "react-dom/client";
import "../ui/style.css";

createRoot(document.getElementById("root")!).render(<main>…</main>);
