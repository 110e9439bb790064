/** The home page: point at a cell, and every place that reads the same bytes shows it. */
import { setUpFrame } from "./page";

setUpFrame();

const hero = document.getElementById("hero");

function point(cell: string | null): void {
  hero?.classList.toggle("pointing", cell !== null);
  for (const each of hero?.querySelectorAll("[data-cell]") ?? []) {
    each.classList.toggle("pointed", cell !== null && each.getAttribute("data-cell") === cell);
  }
}

hero?.addEventListener("pointerover", (event) => {
  const target = event.target instanceof Element ? event.target.closest("[data-cell]") : null;
  point(target?.getAttribute("data-cell") ?? null);
});
hero?.addEventListener("pointerleave", () => point(null));
