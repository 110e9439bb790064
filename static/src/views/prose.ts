/**
 * Lesson prose that came as HTML from our own server, made into elements one by one.
 *
 * Only what prose needs gets through; of anything else its text stays.
 */
const ELEMENTS = new Set(
  ("p code pre strong em b i ul ol li a span br sub sup kbd table thead tbody tr th td " +
    "math mrow mi mn mo msub msup mfrac msqrt mtext mspace munderover munder mover msubsup mtable mtr mtd").split(" "),
);

/** The nodes of a piece of prose. */
export function prose(html: string): Node[] {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  return copies(parsed.body);
}

function copies(from: Node): Node[] {
  return [...from.childNodes].flatMap((node): Node[] => {
    if (node.nodeType === Node.TEXT_NODE) return [document.createTextNode(node.textContent ?? "")];
    if (!(node instanceof Element)) return [];
    if (!ELEMENTS.has(node.localName)) return copies(node);
    const copy = document.createElementNS(node.namespaceURI, node.localName);
    const name = node.getAttribute("class");
    if (name !== null) copy.setAttribute("class", name);
    const address = node.getAttribute("href") ?? "";
    if (node.localName === "a" && /^(https:\/\/|\/|#)/.test(address)) copy.setAttribute("href", address);
    copy.append(...copies(node));
    return [copy];
  });
}
