/** The ways from a picture of dots to its cells: a button, Ctrl + wheel, two fingers, + and a double click. */
import { el } from "../../views/dom";
import type { Say } from "../../views/view";

/** Watches the places of large storages; `zoom` shows all of one, or what lies at the cell looked at. */
export function watchLarge(memory: HTMLElement, places: readonly HTMLElement[], say: Say, zoom: (near: boolean) => void): void {
  for (const place of places) {
    const body = place.querySelector(".place-body");
    if (body === null) continue;
    addButton(place, say, zoom);
    // A place is built anew for the storage that comes to stand in it.
    new MutationObserver(() => addButton(place, say, zoom)).observe(body, { childList: true });
  }
  const within = (event: Event): boolean => event.target instanceof Element && event.target.closest(".pixels") !== null;
  memory.addEventListener("wheel", (event) => {
    if (!within(event) || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (event.deltaY < 0) zoom(true);
  }, { passive: false });
  memory.addEventListener("dblclick", (event) => within(event) && zoom(true));
  memory.addEventListener("touchstart", (event) => {
    if (within(event) && event.touches.length > 1) zoom(true);
  }, { passive: true });
  memory.addEventListener("keydown", (event) => {
    if (!within(event) || event.ctrlKey || event.metaKey || event.altKey || (event.key !== "+" && event.key !== "=")) return;
    event.preventDefault();
    zoom(true);
  });
}

function addButton(place: HTMLElement, say: Say, zoom: (near: boolean) => void): void {
  const frame = place.querySelector(".pixels");
  if (frame?.nextElementSibling?.classList.contains("pixel-zoom") !== false) return;
  const button = el("button", { type: "button", class: "small-button pixel-zoom", "aria-label": say("ui.lens.zoom"), title: say("ui.lens.zoom") }, "⤢");
  button.addEventListener("click", () => {
    // The storage comes to be the one looked at, unless it is.
    const { left, top, width, height } = frame.getBoundingClientRect();
    const middle = { bubbles: true, clientX: left + width / 2, clientY: top + height / 2 };
    if (!place.classList.contains("looked-at")) frame.querySelector("canvas")?.dispatchEvent(new MouseEvent("click", middle));
    zoom(false);
  });
  frame.after(button);
}
