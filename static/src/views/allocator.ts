/** What a device's allocator holds: allocated, reserved, free, the segments with their blocks, and what changed. */
import { largestFree, segmentsOf, type Told } from "../layout/transfers";
import { formatBytes } from "../model/messages";
import { el, type Child } from "./dom";
import type { Say } from "./view";

const MOST_SEGMENTS = 12;

/** A picture of one allocator. `before` is what it said before this very step; undefined when the step told nothing. */
export function allocatorPicture(now: Told, before: Told | undefined, changed: boolean, say: Say): HTMLElement {
  const { figures } = now;
  const { allocated_bytes: allocated, reserved_bytes: reserved } = figures;
  const capacity = figures.capacity_bytes ?? null;
  const pill = figures.simulated ? el("span", { class: "pill simulated", title: say("ui.devices.note") }, say("ui.simulated")) : null;
  const whole = Math.max(1, capacity ?? figures.peak_reserved_bytes);
  const bar = el("div", { class: "allocator-bar", "aria-hidden": "true" }, part("allocated", allocated / whole), part("reserved", (reserved - allocated) / whole));
  const facts: Child[] = [
    fact(say("ui.allocator.allocated"), allocated, "allocated"),
    fact(say("ui.allocator.cached"), reserved - allocated, "reserved"),
    capacity === null ? null : fact(say("ui.allocator.free"), capacity - reserved, "free"),
  ];
  const told = changed ? news(now, before, say) : [];
  return el(
    "section",
    { class: "allocator" },
    el("h3", {}, say("ui.allocator.title", { device: figures.device }), pill),
    bar,
    el("dl", {}, ...facts),
    ...told.map((words) => el("p", { class: "allocator-news" }, words)),
    ...segments(now, say),
  );
}

function part(name: string, share: number): HTMLElement {
  const piece = el("i", { class: `allocator-${name}` });
  piece.style.width = `${100 * Math.max(0, Math.min(1, share))}%`;
  return piece;
}

function fact(word: string, bytes: number, name: string): HTMLElement {
  return el("div", {}, el("dt", {}, el("i", { class: `allocator-${name}`, "aria-hidden": "true" }), word), el("dd", {}, formatBytes(Math.max(0, bytes))));
}

/** What the step did to it: gave memory back, or found none. */
function news({ figures }: Told, before: Told | undefined, say: Say): string[] {
  const was = before?.figures;
  const given = (was?.reserved_bytes ?? 0) - figures.reserved_bytes;
  const taken = -given;
  return [
    given > 0 ? say("ui.allocator.gaveBack", { bytes: given }) : "",
    taken > 0 ? say("ui.allocator.took", { bytes: taken }) : "",
    figures.retries > (was?.retries ?? 0) ? say("ui.allocator.retried") : "",
    figures.failures > (was?.failures ?? 0) ? say("ui.allocator.full", { bytes: figures.allocated_bytes }) : "",
  ].filter(Boolean);
}

function segments({ figures }: Told, say: Say): HTMLElement[] {
  const all = segmentsOf(figures);
  if (all === null || all.length === 0) return [];
  const most = Math.max(...all.map(({ bytes }) => bytes));
  const rows = all.slice(0, MOST_SEGMENTS).map(({ bytes, used, blocks }) => {
    const words = say("ui.allocator.segment", { bytes, used, blocks: blocks.filter(({ free }) => !free).length });
    const strip = el("div", { class: "segment-strip" }, ...blocks.map(({ share, free, bytes: size }) => {
      const block = el("i", { class: free ? "allocator-reserved" : "allocator-allocated", title: `${formatBytes(size)} ${say(free ? "ui.allocator.isFree" : "ui.allocator.inUse")}` });
      block.style.width = `${100 * share}%`;
      return block;
    }));
    // A small segment is still to be seen beside a large one.
    strip.style.width = `${Math.max(12, (100 * bytes) / most)}%`;
    return el("li", { title: words }, strip, el("span", { class: "visually-hidden" }, words));
  });
  const free = all.reduce((sum, { bytes, used }) => sum + bytes - used, 0);
  const fragments = say("ui.allocator.fragments", { n: all.length, free, largest: largestFree(all) });
  return [el("ul", { class: "segments-list" }, ...rows), el("p", { class: "mute" }, fragments)];
}
