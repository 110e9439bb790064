/**
 * Makes elements. Strings become text nodes, never markup: traces hold strangers' strings.
 *
 * There is no way to set `style` here; the page's security policy forbids the attribute.
 * A position or a size goes through `element.style.x = …`.
 */
export type Child = Element | Text | string | null;
export type Attributes = Readonly<Record<string, string | number | boolean | null>>;

const SVG = "http://www.w3.org/2000/svg";

function fill<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") throw new Error("set styles through element.style");
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** An HTML element with attributes (null and false leave one out) and children. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element with attributes and children. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(SVG, tag) as SVGElementTagNameMap[K], attributes, children);
}

/** Gives an element a text, unless it has it: even the same text again would be laid out again. */
export function write(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets an attribute, unless it has that value; null takes it away. */
export function set(element: Element, name: string, value: string | null): void {
  if (element.getAttribute(name) === value) return;
  if (value === null) element.removeAttribute(name);
  else element.setAttribute(name, value);
}

/**
 * Gives a parent these children: those that it has are changed where they differ, the rest stays, so that the
 * browser styles and lays out again only what changed. Not for children with listeners or styles of their own.
 */
export function renew(parent: Element, ...children: readonly (Node | string | null)[]): void {
  const next = children.filter((child) => child !== null).map((child) => (child instanceof Node ? child : document.createTextNode(child)));
  next.forEach((child, index) => {
    const old = parent.childNodes[index];
    if (old === undefined) parent.append(child);
    else if (old.nodeName !== child.nodeName) old.replaceWith(child);
    else if (old instanceof Element && child instanceof Element) {
      for (const name of old.getAttributeNames()) set(old, name, child.getAttribute(name));
      for (const name of child.getAttributeNames()) set(old, name, child.getAttribute(name));
      renew(old, ...child.childNodes);
    } else if (old.nodeValue !== child.nodeValue) old.nodeValue = child.nodeValue;
  });
  while (parent.childNodes.length > next.length) parent.lastChild?.remove();
}
