/** The lines that put a player into other people's pages. Pure: addresses in, text out. */

export type SnippetKind = "html" | "markdown" | "jupyter" | "myst";
/** Names of formats are the same in every language. */
export const SNIPPET_KINDS: readonly (readonly [SnippetKind, string])[] = [["html", "HTML"], ["markdown", "Markdown"], ["jupyter", "Jupyter"], ["myst", "MyST"]];

export interface Embedded {
  /** Address of the player alone. */
  readonly frame: string;
  /** Address of the playground with the same program. */
  readonly page: string;
  readonly title: string;
}

export const FRAME_HEIGHT = 420;

/** The text to copy. */
export function snippet(kind: SnippetKind, { frame, page, title }: Embedded): string {
  switch (kind) {
    case "html":
      return `<iframe src="${escaped(frame)}" width="100%" height="${FRAME_HEIGHT}" title="${escaped(title)}" loading="lazy" allowfullscreen></iframe>`;
    case "markdown":
      return `[${title.replace(/[[\]\\]/g, "\\$&")}](${page.replaceAll("(", "%28").replaceAll(")", "%29")})`;
    case "jupyter":
      return `from IPython.display import IFrame\nIFrame(${JSON.stringify(frame)}, width="100%", height=${FRAME_HEIGHT})`;
    case "myst":
      return `:::{iframe} ${frame}\n:width: 100%\n:title: ${title}\n:::`;
  }
}

/** `tensor-anatomy-memory-step-7.svg` */
export function fileName(what: string, step: number | null, ending: string): string {
  return `tensor-anatomy-${what}${step === null ? "" : `-step-${step}`}.${ending}`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
