/**
 * Stylesheets that are loaded on first use. The page names their addresses; where it does not, they are inside.
 */
import { el } from "./views/dom";

const loading = new Map<string, Promise<void>>();

/** Loads one, once. What it styles works without it, so that one that does not come is no fault. */
export function styled(name: string): Promise<void> {
  const href = document.querySelector<HTMLMetaElement>('meta[name="styles"]')?.dataset[name];
  const known = loading.get(name);
  if (href === undefined || known !== undefined) return known ?? Promise.resolve();
  const link = el("link", { rel: "stylesheet", href });
  const done = new Promise<void>((settle) => {
    for (const event of ["load", "error"]) link.addEventListener(event, () => settle());
  });
  document.head.append(link);
  loading.set(name, done);
  return done;
}
