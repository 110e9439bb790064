"""Text that cannot be read: cut off with no way to the rest, or under other text. Looked for in the browser.

Cut off: a line of text reaches out of a box that hides what reaches out, and neither a tooltip, nor an
accessible twin, nor scrolling brings it back. Over one another: two lines of text whose middles cross,
where neither stands on an opaque ground above the other.
"""

from playwright.sync_api import Page

# What a picture is made of can be panned, zoomed or opened, and says all of its words elsewhere.
_PICTURES = ".graph .viewport, .compiled-picture, .chart-picture, .main-svg, .fx-picture"

# Cut off by choice: the same words stand in full in another place of the page, as said here.
_ELSEWHERE = {
    ".skip-link": "comes into sight when it has the focus",
    ".timeline-label": "a line of the code, which stands above in full",
}

_LIBRARY = """
const pictures = '%s';
const elsewhere = '%s';
const words = text => text.replace(/\s+/g, ' ').trim();
const hidden = each => {
  for (let one = each; one !== null; one = one.parentElement) {
    if (/^inset\(50%%\)/.test(getComputedStyle(one).clipPath)) return true;
  }
  return false;
};
const name = each => `${each.tagName.toLowerCase()}${[...each.classList].map(one => '.' + one).join('')}`;
const roots = root => [root, ...[...root.querySelectorAll('*')].filter(each => each.shadowRoot).flatMap(each => roots(each.shadowRoot))];
function lines() {
  const found = [];
  const top = document.querySelector('dialog[open]') ?? document.body;
  for (const root of roots(top)) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const holder = node.parentElement;
      if (holder === null || node.data.trim() === '' || holder.closest('script, style, noscript, option, title')) continue;
      if (!holder.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || hidden(holder)) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const box of range.getClientRects()) {
        if (box.width > 1 && box.height > 1) found.push({ node, holder, box });
      }
    }
  }
  return found;
}
const up = each => each.parentElement ?? (each.getRootNode() instanceof ShadowRoot ? each.getRootNode().host : null);
""" % (_PICTURES, ", ".join(_ELSEWHERE))

_CUT_OFF = (
    "() => {"
    + _LIBRARY
    + """
  const cut = new Set();
  for (const { node, holder, box } of lines()) {
    if (holder.closest(pictures)) continue;
    let [sideways, downwards] = [true, true];
    for (let each = holder; each !== null && each !== document.documentElement; each = up(each)) {
      if (each.tagName === 'svg' || each.namespaceURI.endsWith('svg')) continue;
      const style = getComputedStyle(each);
      if (style.position === 'fixed') break;
      if (/^(inline|contents)$/.test(style.display)) continue;
      const frame = each.getBoundingClientRect();
      if (/auto|scroll/.test(style.overflowX)) sideways = false;
      if (/auto|scroll/.test(style.overflowY)) downwards = false;
      const [left, top] = [frame.left + each.clientLeft, frame.top + each.clientTop];
      const [right, bottom] = [left + each.clientWidth, top + each.clientHeight];
      const slack = Math.min(6, 2 + box.height * .16);  // the ends of letters are lower than the line's box
      const out = (sideways && /hidden|clip/.test(style.overflowX) && (box.right > right + 1.5 || box.left < left - 1.5))
        || (downwards && /hidden|clip/.test(style.overflowY) && (box.bottom > bottom + slack || box.top < top - slack));
      if (!out) continue;
      const said = words(node.data).slice(0, 80);
      let says = holder.closest(elsewhere) !== null;
      for (let one = holder; one !== null && !says; one = one.parentElement) {
        says = words(one.getAttribute('title') ?? '').includes(said);
      }
      if (!says) cut.add(`${name(holder)} in ${name(each)}: ${node.data.trim().slice(0, 60)}`);
      break;
    }
  }
  return [...cut];
}"""
)

_OVER = (
    "() => {"
    + _LIBRARY
    + """
  const seen = lines().filter(({ holder }) => !holder.closest(pictures)).map(({ node, holder, box }) => {
    const shrink = box.height * .22;
    let [left, right, top, bottom] = [box.left + 1, box.right - 1, box.top + shrink, box.bottom - shrink];
    for (let each = holder; each !== null && each !== document.documentElement; each = up(each)) {
      const style = getComputedStyle(each);
      if (style.overflowX === 'visible' && style.overflowY === 'visible' || style.display === 'inline') continue;
      const frame = each.getBoundingClientRect();
      if (style.overflowX !== 'visible') [left, right] = [Math.max(left, frame.left), Math.min(right, frame.right)];
      if (style.overflowY !== 'visible') [top, bottom] = [Math.max(top, frame.top), Math.min(bottom, frame.bottom)];
    }
    return { node, holder, left, right, top, bottom };
  }).filter(one => one.right - one.left > 1 && one.bottom - one.top > 1).sort((a, b) => a.top - b.top);
  const opaque = (each, other) => {
    for (let one = each; one !== null && !one.contains(other); one = up(one)) {
      const style = getComputedStyle(one);
      const placed = /sticky|fixed|absolute|relative/.test(style.position);
      if (placed && (/, 1\\)|^rgb\\(/.test(style.backgroundColor) || style.backgroundImage !== 'none')) return true;
      if (placed && /sticky|fixed/.test(style.position)) return true;
    }
    return false;
  };
  const over = new Set();
  for (let i = 0; i < seen.length; i++) {
    const a = seen[i];
    for (let j = i + 1; j < seen.length && seen[j].top < a.bottom; j++) {
      const b = seen[j];
      if (a.node === b.node) continue;
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide < 2 || high < 2) continue;
      if (opaque(a.holder, b.holder) || opaque(b.holder, a.holder)) continue;
      over.add(`${name(a.holder)} "${a.node.data.trim().slice(0, 30)}" and ${name(b.holder)} "${b.node.data.trim().slice(0, 30)}"`);
    }
  }
  return [...over];
}"""
)

_SIDEWAYS = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll('body *')]
    .filter(each => each.getBoundingClientRect().right > innerWidth + 0.5)
    .map(each => `wider than the window: ${each.tagName}.${each.className}`).slice(0, 5)"""


def unreadable(page: Page) -> list[str]:
    """Text of the page, or of the sheet that is open, that a reader cannot read."""
    found: list[str] = [f"cut off: {each}" for each in page.evaluate(_CUT_OFF)]
    found += [f"over one another: {each}" for each in page.evaluate(_OVER)]
    found += page.evaluate(_SIDEWAYS)
    return found
