/** The shapes of the four layers, and the few other signs of the player. Colours come from the stylesheet. */
import type { Layer } from "../model/state";
import { svg } from "./dom";

const LAYER_PATHS: Readonly<Record<Layer, string>> = {
  data: "M3 1.5h6A1.5 1.5 0 0 1 10.5 3v6A1.5 1.5 0 0 1 9 10.5H3A1.5 1.5 0 0 1 1.5 9V3A1.5 1.5 0 0 1 3 1.5z",
  metadata: "M6 .6 11.4 6 6 11.4.6 6z",
  autograd: "M6 .8 11.6 11H.4z",
  device: "M3.2 1h5.6l2.8 5-2.8 5H3.2L.4 6z",
};

const SIGN_PATHS = {
  first: "M2 2h2v10H2zM10.6 1.6 12 3 8 7l4 4-1.4 1.4L5.2 7z",
  previous: "M9 1.6 10.4 3 6.4 7l4 4L9 12.4 3.6 7z",
  next: "M5 1.6 3.6 3l4 4-4 4L5 12.4 10.4 7z",
  last: "M10 2h2v10h-2zM3.4 1.6 2 3l4 4-4 4 1.4 1.4L8.8 7z",
  play: "M3 1.5v11l9-5.5z",
  pause: "M3 2h3v10H3zM8 2h3v10H8z",
} as const;

/** The outline of a layer's shape on a 12 × 12 field, for drawings of their own. */
export function layerPath(layer: Layer): string {
  return LAYER_PATHS[layer];
}

/** A layer's shape, 12 × 12. Decorative: the words beside it say the same. */
export function layerIcon(layer: Layer): SVGSVGElement {
  const path = svg("path", { d: LAYER_PATHS[layer] });
  return svg("svg", { class: `lamp lamp-${layer}`, viewBox: "0 0 12 12", "aria-hidden": "true" }, path);
}

/** A control's sign, 14 × 14. */
export function signIcon(sign: keyof typeof SIGN_PATHS): SVGSVGElement {
  const path = svg("path", { d: SIGN_PATHS[sign] });
  return svg("svg", { class: "sign", viewBox: "0 0 14 14", "aria-hidden": "true" }, path);
}
