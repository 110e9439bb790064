/**
 * A panel of the page as a picture that stands by itself: rectangles, paths, text, and what is painted
 * on canvases as images. Nothing in it refers to the page: colours, fonts and sizes are written out.
 *
 * Text keeps the width that it has here, so that another font on another machine does not break it.
 */
import { svg } from "../views/dom";

/** What is left out: what can only be pressed. */
const NOT_IN_PICTURES = ".visually-hidden, [hidden], .figure-tabs, .controls, .hints, dialog, [popover]";
const NOT_IN_HEADERS = "button, select, .segments, .timeline-tools, input";
const SVG_STYLE = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap",
  "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "font-style", "text-anchor", "dominant-baseline",
  "letter-spacing", "visibility", "paint-order",
];
const CAPTION = 34;
const PADDING = 14;

export interface Picture {
  readonly text: string;
  readonly width: number;
  readonly height: number;
}

/** Paints a panel, whole, whatever of it is scrolled away; the caption stands below it. */
export function pictureOf(panel: HTMLElement, caption: string): Picture {
  const width = Math.ceil(panel.getBoundingClientRect().width);
  panel.style.setProperty("--picture-width", `${width}px`);
  panel.classList.add("in-picture");
  try {
    const box = panel.getBoundingClientRect();
    const height = Math.ceil(Math.max(box.height, panel.scrollHeight));
    const painter = new Painter(box.left, box.top);
    const ground = getComputedStyle(panel).backgroundColor;
    const ink = getComputedStyle(panel).color;
    const all = svg("svg", { width, height: height + CAPTION, viewBox: `0 0 ${width} ${height + CAPTION}` });
    all.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const title = svg("title");
    title.textContent = caption;
    const words = svg("text", { x: PADDING, y: height + 21, fill: ink, "font-size": 12, "font-family": familyOf(panel) });
    words.textContent = caption;
    all.append(title, svg("rect", { width, height: height + CAPTION, fill: solid(ground) }), painter.paint(panel), words);
    return { text: new XMLSerializer().serializeToString(all), width, height: height + CAPTION };
  } finally {
    panel.classList.remove("in-picture");
    panel.style.removeProperty("--picture-width");
  }
}

/** The picture as PNG, twice as fine. */
export async function pngOf({ text, width, height }: Picture, scale = 2): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob === null ? reject(new Error("no picture")) : resolve(blob)), "image/png");
  });
}

class Painter {
  private clips = 0;

  constructor(
    private readonly left: number,
    private readonly top: number,
  ) {}

  /** An element and all in it. */
  paint(element: Element): SVGElement {
    const group = svg("g");
    if (element.matches(NOT_IN_PICTURES) || (element.closest("header") !== null && element.matches(NOT_IN_HEADERS))) return group;
    const style = getComputedStyle(element);
    if (style.display === "none" || style.visibility === "hidden" || style.opacity === "0") return group;
    if (Number(style.opacity) < 1) group.setAttribute("opacity", style.opacity);
    if (element instanceof SVGSVGElement) group.append(...this.drawing(element));
    else if (element instanceof HTMLElement) this.box(element, style, group);
    return group;
  }

  private box(element: HTMLElement, style: CSSStyleDeclaration, group: SVGElement): void {
    const box = this.place(element.getBoundingClientRect());
    if (style.display !== "contents") group.append(...this.ground(box, style));
    if (element instanceof HTMLCanvasElement) {
      group.append(this.canvas(element));
      return;
    }
    const inside = style.overflow === "hidden" || style.overflow === "clip" ? this.clipped(element, group) : group;
    inside.append(...this.generated(element, "::before", box));
    for (const child of element.childNodes) {
      if (child instanceof Text) inside.append(...this.words(child, style));
      else if (child instanceof Element) inside.append(this.paint(child));
    }
    inside.append(...this.generated(element, "::after", box));
    group.append(...outline(box, style));
  }

  private clipped(element: HTMLElement, group: SVGElement): SVGElement {
    this.clips += 1;
    const { x, y, width, height } = this.place(element.getBoundingClientRect());
    const id = `clip-${this.clips}`;
    const inside = svg("g", { "clip-path": `url(#${id})` });
    group.append(svg("clipPath", { id }, svg("rect", { x, y, width, height })), inside);
    return inside;
  }

  private place(box: DOMRect): Box {
    return { x: round(box.left - this.left), y: round(box.top - this.top), width: round(box.width), height: round(box.height) };
  }

  /** Background, borders and rings of a box. */
  private ground(box: Box, style: CSSStyleDeclaration): SVGElement[] {
    if (box.width === 0 || box.height === 0) return [];
    const radius = radiusOf(box, style);
    const found: SVGElement[] = [];
    if (!seeThrough(style.backgroundColor)) found.push(svg("rect", { ...box, rx: radius, fill: style.backgroundColor }));
    found.push(...this.layers(box, style, radius), ...borders(box, style, radius));
    for (const ring of style.boxShadow.split(/,(?![^(]*\))/)) {
      const match = /^\s*(.+?) 0px 0px 0px ([\d.]+)px( inset)?\s*$/.exec(ring);
      if (match?.[1] === undefined || seeThrough(match[1])) continue;
      const width = Number(match[2]);
      if (width > 0) found.push(frame(box, width, match[3] === undefined ? -width : 0, radius, match[1]));
    }
    return found;
  }

  /** Background images that are plain colours at a place, or stripes; the first lies on top. */
  private layers(box: Box, style: CSSStyleDeclaration, radius: number): SVGElement[] {
    if (style.backgroundImage === "none") return [];
    const images = style.backgroundImage.split(/,\s*(?=(?:repeating-)?linear-gradient)/);
    const [places, sizes] = [style.backgroundPosition.split(/,\s*/), style.backgroundSize.split(/,\s*/)];
    return images.flatMap((image, index): SVGElement[] => {
      const colours = image.match(/(?:rgba?|color|oklab|oklch)\([^()]*\)|#[\da-f]+|transparent/g) ?? [];
      const [first, second] = colours;
      if (first === undefined) return [];
      if (image.startsWith("repeating")) return [this.stripes(box, radius, image, first, colours.find((each) => each !== first) ?? second ?? first)];
      if (seeThrough(first) || colours.some((each) => each !== first)) return [];
      const [x = 0, y = 0] = (places[index % places.length] ?? "").split(" ").map((each) => parseFloat(each));
      const [width = NaN, height = NaN] = (sizes[index % sizes.length] ?? "").split(" ").map((each) => parseFloat(each));
      const size = { width: Number.isNaN(width) ? box.width : width, height: Number.isNaN(height) ? box.height : height };
      return [svg("rect", { x: round(box.x + x), y: round(box.y + y), ...size, fill: first })];
    }).reverse();
  }

  private stripes(box: Box, radius: number, image: string, first: string, second: string): SVGElement {
    this.clips += 1;
    const id = `stripes-${this.clips}`;
    const stops = [...image.matchAll(/([\d.]+)px/g)].map((match) => Number(match[1]));
    const [edge = 3, period = 7] = [stops.find((stop) => stop > 0), Math.max(...stops)];
    const turn = Number(/([\d.]+)deg/.exec(image)?.[1] ?? 180) - 90;
    const stripe = (x: number, width: number, fill: string): SVGElement | null => (seeThrough(fill) ? null : svg("rect", { x, width, height: period, fill }));
    const pattern = svg("pattern", { id, width: period, height: period, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${turn})` }, stripe(0, edge, first), stripe(edge, period - edge, second));
    return svg("g", {}, pattern, svg("rect", { ...box, rx: radius, fill: `url(#${id})` }));
  }

  private canvas(canvas: HTMLCanvasElement): SVGElement {
    const box = this.place(canvas.getBoundingClientRect());
    const smooth = getComputedStyle(canvas).imageRendering === "pixelated" ? "pixelated" : "auto";
    if (canvas.width === 0 || canvas.height === 0) return svg("g");
    return svg("image", { ...box, href: canvas.toDataURL(), preserveAspectRatio: "none", "image-rendering": smooth });
  }

  /** Boxes and words that a style puts before or after what is in an element. */
  private generated(element: HTMLElement, which: "::before" | "::after", around: Box): SVGElement[] {
    const style = getComputedStyle(element, which);
    if (style.content === "none" || style.content === "normal" || style.display === "none") return [];
    const attribute = /^attr\(([\w-]+)\)$/.exec(style.content)?.[1];
    const text = attribute === undefined ? (/^"(.*)"$/s.exec(style.content)?.[1] ?? "") : (element.getAttribute(attribute) ?? "");
    const free = style.position === "absolute" && getComputedStyle(element).position !== "static";
    const [width, height] = [parseFloat(style.width) || 0, parseFloat(style.height) || 0];
    const size = parseFloat(style.fontSize);
    const box = free
      ? { x: round(around.x + (parseFloat(style.left) || 0)), y: round(around.y + (parseFloat(style.top) || 0)), width, height }
      : { x: which === "::before" ? around.x : around.x + around.width - size * text.length * 0.6, y: around.y, width, height: around.height };
    const found = free ? this.ground(box, style) : [];
    if (text.trim() === "") return found;
    const x = round(box.x + (parseFloat(style.paddingLeft) || 0));
    return [...found, svg("text", { x, y: round(box.y + baseline(style, box.height)), ...fontOf(style) }, document.createTextNode(text))];
  }

  /** A text, line by line as it is broken here. */
  private words(node: Text, style: CSSStyleDeclaration): SVGElement[] {
    if (node.data.trim() === "") return [];
    const range = document.createRange();
    const lines: { from: number; to: number; box: DOMRect }[] = [];
    range.selectNodeContents(node);
    const whole = range.getClientRects();
    const only = whole.length === 1 ? whole[0] : undefined;
    if (only !== undefined) lines.push({ from: 0, to: node.length, box: only });
    else {
      for (let at = 0; at < node.length; at += 1) {
        range.setStart(node, at);
        range.setEnd(node, at + 1);
        const box = range.getClientRects()[0];
        if (box === undefined) continue;
        const last = lines.at(-1);
        if (last !== undefined && Math.abs(last.box.top - box.top) < 2) {
          last.to = at + 1;
          last.box = new DOMRect(last.box.left, last.box.top, box.right - last.box.left, last.box.height);
        } else lines.push({ from: at, to: at + 1, box });
      }
    }
    return lines.flatMap(({ from, to, box }) => {
      const text = transformed(node.data.slice(from, to), style);
      const { x, y, width, height } = this.place(box);
      if (text.trim() === "" || width === 0) return [];
      const shown = style.whiteSpace.startsWith("pre") ? text : text.replace(/\s+/g, " ");
      const element = svg("text", { x, y: round(y + baseline(style, height)), textLength: width, lengthAdjust: "spacingAndGlyphs", ...fontOf(style) }, document.createTextNode(shown));
      element.setAttribute("xml:space", "preserve");
      return [element];
    });
  }

  /** A drawing inside the panel, with its styles written out, and elements of the page inside it painted over it. */
  private drawing(drawing: SVGSVGElement): SVGElement[] {
    const box = this.place(drawing.getBoundingClientRect());
    const copy = drawing.cloneNode(true) as SVGSVGElement;
    const pairs: [Element, Element][] = [[drawing, copy]];
    const gone: Element[] = [];
    const [originals, copies] = [drawing.querySelectorAll("*"), copy.querySelectorAll("*")];
    originals.forEach((original, index) => pairs.push([original, copies[index] ?? copy]));
    const over: SVGElement[] = [];
    for (const [original, target] of pairs) {
      const style = getComputedStyle(original);
      if (style.display === "none") gone.push(target);
      if (original instanceof SVGForeignObjectElement) {
        gone.push(target);
        over.push(...Array.from(original.children, (child) => this.paint(child)));
      }
      if (!(original instanceof SVGElement)) continue;
      for (const name of SVG_STYLE) target.setAttribute(name, style.getPropertyValue(name));
      if (original !== drawing && style.transform !== "none") target.setAttribute("transform", style.transform.replace(/px/g, ""));
      for (const name of ["class", "style", "tabindex", "role", "aria-label", "aria-hidden"]) target.removeAttribute(name);
    }
    for (const each of gone) each.remove();
    for (const [name, value] of Object.entries(box)) copy.setAttribute(name, String(value));
    copy.setAttribute("overflow", getComputedStyle(drawing).overflow === "visible" ? "visible" : "hidden");
    return [copy, ...over];
  }
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

function borders(box: Box, style: CSSStyleDeclaration, radius: number): SVGElement[] {
  const sides = (["Top", "Right", "Bottom", "Left"] as const).map((side) => ({
    width: style[`border${side}Style`] === "none" ? 0 : parseFloat(style[`border${side}Width`]),
    colour: style[`border${side}Color`],
    dashed: style[`border${side}Style`] === "dashed",
  }));
  const [first] = sides;
  if (first !== undefined && first.width > 0 && sides.every(({ width, colour }) => width === first.width && colour === first.colour)) {
    const drawn = frame(box, first.width, 0, radius, first.colour);
    if (first.dashed) drawn.setAttribute("stroke-dasharray", "4 3");
    return seeThrough(first.colour) ? [] : [drawn];
  }
  const { x, y, width, height } = box;
  const ends = [[x, y, x + width, y], [x + width, y, x + width, y + height], [x, y + height, x + width, y + height], [x, y, x, y + height]] as const;
  return sides.flatMap(({ width: thick, colour, dashed }, index) => {
    const [x1, y1, x2, y2] = ends[index] ?? [0, 0, 0, 0];
    if (thick === 0 || seeThrough(colour)) return [];
    return [svg("line", { x1, y1, x2, y2, stroke: colour, "stroke-width": thick, "stroke-dasharray": dashed ? "4 3" : null })];
  });
}

function outline(box: Box, style: CSSStyleDeclaration): SVGElement[] {
  const width = style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth);
  if (width === 0 || box.width === 0) return [];
  return [frame(box, width, -(parseFloat(style.outlineOffset) || 0) - width, radiusOf(box, style), style.outlineColor)];
}

function radiusOf(box: Box, style: CSSStyleDeclaration): number {
  return Math.min(parseFloat(style.borderTopLeftRadius) || 0, box.width / 2, box.height / 2);
}

/** The outline of a box, so far inside its edge. */
function frame(box: Box, thick: number, inset: number, radius: number, colour: string): SVGElement {
  const by = inset + thick / 2;
  const [width, height] = [Math.max(0, box.width - 2 * by), Math.max(0, box.height - 2 * by)];
  return svg("rect", { x: round(box.x + by), y: round(box.y + by), width, height, rx: Math.max(0, radius - by), fill: "none", stroke: colour, "stroke-width": thick });
}

function fontOf(style: CSSStyleDeclaration): Record<string, string> {
  return { fill: style.color, "font-family": style.fontFamily, "font-size": style.fontSize, "font-weight": style.fontWeight, "font-style": style.fontStyle };
}

function familyOf(element: Element): string {
  return getComputedStyle(element).fontFamily;
}

/** Where text stands in its line: the letters are centred in it. */
function baseline(style: CSSStyleDeclaration, height: number): number {
  return height / 2 + parseFloat(style.fontSize) * 0.35;
}

function transformed(text: string, style: CSSStyleDeclaration): string {
  return style.textTransform === "uppercase" ? text.toUpperCase() : text;
}

const seeThrough = (colour: string): boolean => colour === "transparent" || /[,/] ?0\)$/.test(colour);

/** A panel without a ground of its own stands on the page's. */
function solid(colour: string): string {
  return seeThrough(colour) ? getComputedStyle(document.body).backgroundColor : colour;
}

const round = (value: number): number => Math.round(value * 100) / 100;
