/**
 * Applies the theme the reader chose before, ahead of the first paint. The address wins over it.
 *
 * A page loads this one in its head, before anything is drawn; the rest of the scripts can wait.
 */
const root = document.documentElement;
try {
  const kept = localStorage.getItem("theme");
  if (root.dataset["theme"] === undefined && (kept === "light" || kept === "dark")) root.dataset["theme"] = kept;
} catch {
  // A sandboxed frame has no storage: the reader's system decides.
}

export {};
