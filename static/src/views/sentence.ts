/** Puts what `Messages` says into elements: strong for names of things, code for code. */
import { gapAfter, type Messages, type Part } from "../model/messages";
import { el } from "./dom";

/** The parts of a sentence as nodes. */
export function sentence(parts: readonly Part[]): (Text | HTMLElement)[] {
  return parts.map(({ text, style }) => {
    if (style === "plain") return document.createTextNode(text);
    return el(style === "strong" ? "strong" : "code", {}, text);
  });
}

/** Sentences one after the other, as nodes. */
export function sentences(messages: Messages, all: readonly { readonly id: string; readonly args: Readonly<Record<string, unknown>> }[]): (Text | HTMLElement)[] {
  return all.flatMap(({ id, args }, i) => {
    const parts = messages.parts(id, args);
    const gap = i === all.length - 1 ? "" : gapAfter(parts.at(-1)?.text ?? "");
    return [...sentence(parts), ...(gap === "" ? [] : [document.createTextNode(gap)])];
  });
}
