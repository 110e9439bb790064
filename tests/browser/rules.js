// What test_rules.py asks of a page.
({
  tracks() {
    const starts = path => [...path.getAttribute('d').matchAll(/M\s*([\d.]+)/g)].map(([, x]) => Number(x));
    const places = path => [...path.getAttribute('d').matchAll(/[MLH]\s*([\d.]+)/g)].map(([, x]) => Number(x));
    const [band, canvas] = [document.querySelector('.timeline-band'), document.querySelector('.timeline-canvas')];
    const boxes = selector => [...document.querySelectorAll(selector)].map(each => each.getBoundingClientRect());
    const drawn = [...boxes('.done .track'), ...boxes('.held-edge')].filter(({ width }) => width > 0);
    return {
      bands: document.querySelectorAll('.timeline-band').length,
      band: [Number(band.getAttribute('x')), Number(band.getAttribute('width'))],
      width: canvas.getBoundingClientRect().width,
      tracks: [...document.querySelectorAll('.done .track')].map(starts),
      memory: [...document.querySelectorAll('.held-edge')].flatMap(places),
      inside: drawn.every(({ top, bottom }) => {
        const { top: above, bottom: below } = band.getBoundingClientRect();
        return above <= top + 1 && below >= bottom - 1;
      }),
    };
  },

  cards() {
    const boxes = [...document.querySelectorAll('.player-page .card')].filter(each => each.checkVisibility())
      .map(each => [each, each.getBoundingClientRect()]);
    const gaps = [];
    for (const [, a] of boxes) for (const [, b] of boxes) {
      const beside = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 20;
      const below = Math.min(a.right, b.right) - Math.max(a.left, b.left) > 20;
      if (beside && b.left >= a.right) gaps.push(b.left - a.right);
      if (below && b.top >= a.bottom && b.top - a.bottom < 60) gaps.push(b.top - a.bottom);
    }
    const heads = [...document.querySelectorAll('.player-page .card > header')].filter(each => each.checkVisibility());
    return {
      gaps,
      corners: boxes.map(([each]) => getComputedStyle(each).borderTopLeftRadius),
      heads: heads.map(each => each.getBoundingClientRect().height),
    };
  },

  sizes() {
    const found = {};
    for (const each of document.querySelectorAll('body *')) {
      const own = [...each.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '');
      if (!own || !each.checkVisibility({ visibilityProperty: true }) || each.closest('.main-svg, svg, .visually-hidden')) continue;
      if (each.matches('code, kbd, small, code *') && !each.closest('.player, .sheet')) continue; // as their text
      const size = Math.round(parseFloat(getComputedStyle(each).fontSize) * 100) / 100;
      (found[size] ??= []).push(`${each.tagName.toLowerCase()}.${each.className}`);
    }
    return found;
  },

  coloured([tokens, allowed]) {
    const root = getComputedStyle(document.documentElement);
    const layers = {};
    for (const [layer, token] of Object.entries(tokens)) {
      const hex = root.getPropertyValue(token).trim();
      layers[`rgb(${[1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)).join(', ')})`] = layer;
    }
    const [wrong, right] = [new Set(), {}];
    for (const each of document.querySelectorAll('body *')) {
      if (!each.checkVisibility({ visibilityProperty: true }) || each.closest('.brand-mark')) continue;
      const style = getComputedStyle(each);
      const drawn = each.namespaceURI.endsWith('svg') ? [style.fill, style.stroke] : [];
      const own = [...each.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '');
      if (own) drawn.push(style.color);
      drawn.push(style.backgroundColor, ...(style.boxShadow.match(/rgb\([^)]*\)/g) ?? []));
      for (const side of ['Top', 'Left']) {
        if (parseFloat(style[`border${side}Width`]) > 0) drawn.push(style[`border${side}Color`]);
      }
      for (const colour of new Set(drawn)) {
        const layer = layers[colour];
        if (layer === undefined) continue;
        if (each.closest(allowed[layer]) === null) wrong.add(`${layer} on ${each.tagName}.${each.getAttribute('class')}`);
        else right[layer] = (right[layer] ?? 0) + 1;
      }
    }
    return [[...wrong], right];
  },

  faded() {
    const faint = [];
    for (const each of document.querySelectorAll('body *')) {
      const own = [...each.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '');
      if (!own || !each.checkVisibility({ visibilityProperty: true })) continue;
      if (getComputedStyle(each).color === 'rgba(0, 0, 0, 0)') continue;
      for (let one = each; one !== null; one = one.parentElement) {
        const { opacity } = getComputedStyle(one);
        if (opacity !== '1') faint.push(`${each.className}: ${opacity}`);
      }
    }
    return faint;
  },

  palette() {
    const root = getComputedStyle(document.documentElement);
    return Object.fromEntries([...document.styleSheets].flatMap(sheet => [...sheet.cssRules])
      .filter(rule => rule.selectorText === ':root')
      .flatMap(rule => [...rule.style].filter(name => name.startsWith('--')))
      .map(name => [name, root.getPropertyValue(name).trim()]));
  },

  async hover(index) {
    const cell = document.querySelectorAll('.place-shared .grid .cell')[index];
    const read = document.querySelector('.detail .formula');
    const before = read.getAttribute('aria-label');
    const began = performance.now();
    const options = { bubbles: true, pointerType: 'mouse' };
    cell.dispatchEvent(new PointerEvent('pointerover', options));
    cell.dispatchEvent(new PointerEvent('pointermove', options));
    while (read.getAttribute('aria-label') === before && performance.now() - began < 1000) {
      await new Promise(done => setTimeout(done, 1));
    }
    return performance.now() - began;
  },

  motions() {
    return document.getAnimations().map(each => {
      const { duration, iterations } = each.effect.getComputedTiming();
      return [each.effect.target.getAttribute('class'), duration, iterations];
    });
  },

  said() {
    return [...document.querySelectorAll('.lane-name, .ledger thead th, .timeline-memory-name')]
      .filter(each => each.checkVisibility()).map(each => each.textContent)
      .filter(text => /cuda/.test(text));
  },
});
