// What cannot be read of the page, or of the sheet that is open: see reading.py, which runs this.
([pictures, elsewhere]) => {
  const words = (text) => text.replace(/\s+/g, " ").trim();
  const name = (each) => `${each.tagName.toLowerCase()}${[...each.classList].map((one) => `.${one}`).join("")}`;
  const up = (each) => each.parentElement ?? (each.getRootNode() instanceof ShadowRoot ? each.getRootNode().host : null);

  /** Kept for readers of the screen alone. */
  function unseen(each) {
    for (let one = each; one !== null; one = one.parentElement) {
      if (/^inset\(50%\)/.test(getComputedStyle(one).clipPath)) return true;
    }
    return !each.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  }

  function roots(root) {
    const inside = [...root.querySelectorAll("*")].filter((each) => each.shadowRoot);
    return [root, ...inside.flatMap((each) => roots(each.shadowRoot))];
  }

  /** Every line of text that is drawn, with the element that holds it. */
  function lines() {
    const found = [];
    for (const root of roots(document.querySelector("dialog[open]") ?? document.body)) {
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        const holder = node.parentElement;
        if (holder === null || node.data.trim() === "") continue;
        if (holder.closest("script, style, noscript, option, title") || holder.closest(pictures) || unseen(holder)) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const box of range.getClientRects()) {
          if (box.width > 1 && box.height > 1) found.push({ node, holder, box });
        }
      }
    }
    return found;
  }

  /** A tooltip says it, or it stands elsewhere. */
  function told(node, holder) {
    if (holder.closest(elsewhere) !== null) return true;
    const said = words(node.data).slice(0, 80);
    for (let one = holder; one !== null; one = one.parentElement) {
      const title = words(one.getAttribute("title") ?? "");
      if (title !== "" && (title.includes(said) || said.includes("…") || said.length < 3)) return true;
    }
    return false;
  }

  /** The box that cuts a line off, or null. */
  function cutter(holder, box) {
    let [sideways, downwards] = [true, true];
    const slack = Math.min(6, 2 + box.height * 0.16); // a line's box reaches below its letters
    for (let each = holder; each !== null && each !== document.documentElement; each = up(each)) {
      const { display, position, overflowX, overflowY } = getComputedStyle(each);
      if (position === "fixed") return null;
      if (each.namespaceURI.endsWith("svg") || /^(inline|contents)$/.test(display)) continue;
      if (/auto|scroll/.test(overflowX)) sideways = false;
      if (/auto|scroll/.test(overflowY)) downwards = false;
      const frame = each.getBoundingClientRect();
      const [left, top] = [frame.left + each.clientLeft, frame.top + each.clientTop];
      const [right, bottom] = [left + each.clientWidth, top + each.clientHeight];
      const across = box.right > right + 1.5 || box.left < left - 1.5;
      const below = box.bottom > bottom + slack || box.top < top - slack;
      if (sideways && /hidden|clip/.test(overflowX) && across) return each;
      if (downwards && /hidden|clip/.test(overflowY) && below) return each;
    }
    return null;
  }

  /** The middle of a line, as far as no box hides it. */
  function middle({ node, holder, box }) {
    const shrink = box.height * 0.22;
    const kept = { left: box.left + 1, right: box.right - 1, top: box.top + shrink, bottom: box.bottom - shrink };
    for (let each = holder; each !== null && each !== document.documentElement; each = up(each)) {
      const { display, overflowX, overflowY } = getComputedStyle(each);
      if (display === "inline" || (overflowX === "visible" && overflowY === "visible")) continue;
      const frame = each.getBoundingClientRect();
      kept.left = Math.max(kept.left, frame.left);
      kept.right = Math.min(kept.right, frame.right);
      kept.top = Math.max(kept.top, frame.top);
      kept.bottom = Math.min(kept.bottom, frame.bottom);
    }
    return { node, holder, ...kept };
  }

  /** It stands on a ground of its own, above the other. */
  function above(each, other) {
    for (let one = each; one !== null && !one.contains(other); one = up(one)) {
      const { position, backgroundColor, backgroundImage } = getComputedStyle(one);
      if (/sticky|fixed/.test(position)) return true;
      const ground = /^rgb\(/.test(backgroundColor) || backgroundImage !== "none";
      if (/absolute|relative/.test(position) && ground) return true;
    }
    return false;
  }

  const all = lines();
  const cut = new Set();
  for (const { node, holder, box } of all) {
    const by = cutter(holder, box);
    if (by !== null && !told(node, holder)) cut.add(`${name(holder)} in ${name(by)}: ${node.data.trim().slice(0, 60)}`);
  }
  const over = new Set();
  const seen = all.map(middle).filter((one) => one.right - one.left > 1 && one.bottom - one.top > 1);
  seen.sort((a, b) => a.top - b.top);
  seen.forEach((a, i) => {
    for (let j = i + 1; j < seen.length && seen[j].top < a.bottom; j++) {
      const b = seen[j];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (a.node === b.node || wide < 2 || high < 2) continue;
      if (above(a.holder, b.holder) || above(b.holder, a.holder)) continue;
      over.add([a, b].map(({ node, holder }) => `${name(holder)} "${node.data.trim().slice(0, 30)}"`).join(" and "));
    }
  });
  const page = document.documentElement;
  const wide = page.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("body *")]
    .filter((each) => each.getBoundingClientRect().right > innerWidth + 0.5).slice(0, 5).map(name);
  return [
    ...[...cut].map((each) => `cut off: ${each}`),
    ...[...over].map((each) => `over one another: ${each}`),
    ...wide.map((each) => `wider than the window: ${each}`),
  ];
}
