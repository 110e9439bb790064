/**
 * The player alone, in other people's pages.
 *
 * It takes the page's height and no keys, tells the page around it how high it is when asked to
 * (`autoheight`), and obeys `{type: "tensor-anatomy.set", step, theme}` from that page alone. A program
 * that stands in the hash is for `pasted.ts`.
 */
import { MORE } from "./features/more";
import { stepOf } from "./model/link";
import type { StepChange } from "./player";
import { defineTracePlayer, TracePlayer } from "./trace-player";

const LEAST_HEIGHT = 200;
const MOST_HEIGHT = 4000;

/** Tells the page around how high the content is, in the words of the hosts that listen. */
function tellHeight(): void {
  let told = 0;
  const id = new URLSearchParams(location.search).get("id");
  new ResizeObserver(() => {
    const height = Math.min(MOST_HEIGHT, Math.max(LEAST_HEIGHT, Math.ceil(document.body.getBoundingClientRect().height)));
    if (Math.abs(height - told) < 1) return;
    told = height;
    const secret = new URLSearchParams(location.hash.replace(/^#\??/, "")).get("secret");
    parent.postMessage({ type: "tensor-anatomy.resize", id, height }, "*");
    parent.postMessage({ subject: "lti.frameResize", height }, "*");
    parent.postMessage({ type: "plugin.resize", payload: { height } }, "*");
    if (secret !== null) parent.postMessage({ secret, message: "height", value: height }, "*");
  }).observe(document.body);
}

function obey(player: TracePlayer, event: MessageEvent<unknown>): void {
  if (event.source !== parent || parent === window) return;
  const { data } = event;
  if (typeof data !== "object" || data === null || !("type" in data) || data.type !== "tensor-anatomy.set") return;
  if ("step" in data && Number.isInteger(data.step)) player.setAttribute("step", String(data.step));
  if ("theme" in data && (data.theme === "light" || data.theme === "dark")) document.documentElement.dataset["theme"] = data.theme;
}

/** Keeps the step in the address. A frame from `srcdoc` has none to keep it in. */
function keepStep(step: number): void {
  const address = new URL(location.href);
  address.searchParams.delete("curInstr");
  address.searchParams.set("step", String(step));
  try {
    history.replaceState(null, "", address);
  } catch {
    // Nowhere to keep it.
  }
}

defineTracePlayer([MORE]);
const player = document.querySelector("trace-player");
if (player instanceof TracePlayer) {
  player.setAttribute("role", "main");
  player.addEventListener("step-changed", (event) => {
    if (player.hasAttribute("src")) keepStep((event as CustomEvent<StepChange>).detail.step);
  });
  addEventListener("message", (event) => obey(player, event));
  if (player.getAttribute("autoheight") === "1") {
    document.documentElement.classList.add("autoheight");
    tellHeight();
  }
  const step = stepOf(new URLSearchParams(location.search));
  if (step !== null && !player.hasAttribute("step")) player.setAttribute("step", String(step));
}
