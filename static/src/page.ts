/** What every page of ours does: its words, its theme, and the data blocks it carries. */
import { Messages, type Catalogue } from "./model/messages";

/** The data of a `<script type="application/json" id=…>`; null when the page has none. */
export function dataBlock<T>(id: string): T | null {
  const text = document.getElementById(id)?.textContent ?? "";
  return text.trim() === "" ? null : (JSON.parse(text) as T);
}

/** The words of the page's language. */
export function pageMessages(): Messages {
  return new Messages(document.documentElement.lang || "en", dataBlock<Catalogue>("messages") ?? {});
}

/** Storage of the browser, where it may be used: a sandboxed frame has none. */
export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // The choice then holds for this page only.
  }
}

/** What was kept there; null when nothing was, or nothing can be. */
export function remembered(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function themeNow(): "light" | "dark" {
  const chosen = document.documentElement.dataset["theme"];
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** The links to the other language keep the place: what stands after the hash, as it is when they are used. */
function keepPlaceInLanguage(): void {
  const links = document.querySelectorAll<HTMLAnchorElement>(".language-switch a");
  for (const link of links) {
    const carry = (): void => void (link.hash = location.hash);
    for (const event of ["pointerenter", "pointerdown", "focus", "click", "auxclick"]) link.addEventListener(event, carry);
  }
}

/** The link over the header leads to the content, and leaves the place in the address as it is. */
function skipInPlace(): void {
  const main = document.getElementById("main");
  document.querySelector(".skip-link")?.addEventListener("click", (event) => {
    if (main === null) return;
    event.preventDefault();
    main.tabIndex = -1;
    main.focus();
  });
}

/**
 * Sets up the header: its button for light and dark, and its links to the other language. What was
 * chosen before, `theme.ts` has applied.
 */
export function setUpFrame(): void {
  keepPlaceInLanguage();
  skipInPlace();
  const root = document.documentElement;
  const button = document.getElementById("theme");
  if (button === null) return;
  button.hidden = false;
  const mark = (): void => button.setAttribute("aria-pressed", String(themeNow() === "dark"));
  button.addEventListener("click", () => {
    const next = themeNow() === "dark" ? "light" : "dark";
    root.dataset["theme"] = next;
    remember("theme", next);
    mark();
  });
  mark();
}
