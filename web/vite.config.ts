import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The wheel carries what is built; nothing of it is inlined, so that the page needs no inline scripts.
export default defineConfig({
  plugins: [react()],
  base: "./",
  build: {
    outDir: "../src/continua/server/console",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2000,
  },
});
