import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { systemTheme } from "./hooks";
import "@xyflow/react/dist/base.css";
import "uplot/dist/uPlot.min.css";
import "./theme.css";
import "./graph.css";

document.documentElement.dataset.theme = localStorage.getItem("continua-theme") ?? systemTheme();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
