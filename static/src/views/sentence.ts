/** Puts what `Messages` says into elements: strong for names of things, code for code. */
import type { Part } from "../model/messages";
import { el } from "./dom";

/** The parts of a sentence as nodes. */
export function sentence(parts: readonly Part[]): (Text | HTMLElement)[] {
  return parts.map(({ text, style }) => {
    if (style === "plain") return document.createTextNode(text);
    return el(style === "strong" ? "strong" : "code", {}, text);
  });
}
