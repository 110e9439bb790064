/**
 * The plotting library: where it is, how it is loaded under our policy, and the colours it draws in.
 *
 * The page names its address. It would add style elements, which the policy forbids: elements of their ids are
 * there before it, one of them the link to `charts.css`, and then it adds none.
 */

/** What is used of plotly.js. */
export interface Plotly {
  react(on: HTMLElement, data: readonly object[], layout: object, config: object): Promise<unknown>;
  relayout(on: HTMLElement, update: object): Promise<unknown>;
  toImage(on: HTMLElement, options: object): Promise<string>;
  purge(on: HTMLElement): void;
}

/** The colours of the page as it is now. */
export interface Palette {
  readonly ink: string;
  readonly mute: string;
  readonly line: string;
  readonly strong: string;
  readonly card: string;
  readonly now: string;
  readonly series: readonly string[];
  /** What keeps memory, as the timeline colours it; empty where it has no colour. */
  readonly held: (kind: string) => string;
  readonly sans: string;
}

const SERIES = 6;

export function palette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  const player = document.querySelector(".player-page");
  const held = player === null ? null : getComputedStyle(player);
  return {
    ink: read("--ink"),
    mute: read("--mute"),
    line: read("--line"),
    strong: read("--line3"),
    card: read("--card"),
    now: read("--nowbar"),
    series: Array.from({ length: SERIES }, (_, i) => read(`--series-${i + 1}`)),
    held: (kind) => held?.getPropertyValue(`--held-${kind}`).trim() ?? "",
    sans: getComputedStyle(document.body).fontFamily,
  };
}

let loading: Promise<Plotly> | null = null;

/** The library, loaded once. Rejects where there is none or it does not come; then it may be asked again. */
export function loadPlotly(): Promise<Plotly> {
  loading ??= load().catch((error: unknown) => {
    loading = null;
    throw error;
  });
  return loading;
}

function load(): Promise<Plotly> {
  const told = document.querySelector<HTMLMetaElement>('meta[name="charts"]');
  if (told === null) return Promise.reject(new Error("no plotting library here"));
  const style = link("plotly.js-style-global", told.dataset["style"] ?? "");
  for (const id of (told.dataset["styles"] ?? "").split(" ")) if (id !== "" && document.getElementById(id) === null) link(id, null);
  const styled = new Promise<void>((done) => {
    style.addEventListener("load", () => done());
    style.addEventListener("error", () => done());
    if (style.sheet !== null) done();
  });
  const script = document.createElement("script");
  script.src = told.content;
  return new Promise<Plotly>((done, fail) => {
    script.addEventListener("load", () => {
      const { Plotly } = window as unknown as { Plotly?: Plotly };
      if (Plotly === undefined) fail(new Error("the plotting library did not start"));
      else void styled.then(() => done(Plotly));
    });
    script.addEventListener("error", () => {
      script.remove();
      fail(new Error("the plotting library did not come"));
    });
    document.head.append(script);
  });
}

function link(id: string, href: string | null): HTMLLinkElement {
  const known = document.getElementById(id);
  if (known instanceof HTMLLinkElement) return known;
  const element = document.createElement("link");
  element.id = id;
  element.className = "no-inline-styles";
  if (href !== null) {
    element.rel = "stylesheet";
    element.href = href;
  }
  document.head.append(element);
  return element;
}

/** Text for plotly, which reads some HTML: names are the reader's and are shown as they are. */
export function plain(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

/** Calls back when the page turns dark or light, until told to stop. */
export function onThemeChange(act: () => void): () => void {
  const observer = new MutationObserver(act);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", act);
  return () => {
    observer.disconnect();
    media.removeEventListener("change", act);
  };
}
