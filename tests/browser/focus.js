// Where the focus is: which stop, the part it is in, its box on the page, and whether it is seen.
() => {
  let here = document.activeElement;
  while (here?.shadowRoot?.activeElement) here = here.shadowRoot.activeElement;
  if (here === null || here === document.body) return null;
  const stops = (window.stops ??= new Map());
  if (!stops.has(here)) stops.set(here, stops.size);
  const { left, top, width, height } = here.getBoundingClientRect();
  let [ring, one] = [getComputedStyle(here), here];
  const drawn = style => style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
  let seen = drawn(ring) && here.matches(':focus-visible');
  // A container may draw it instead: the editor's frame, the ring of a grid, the label of a field.
  for (; !seen && one !== null; one = one.parentElement ?? one.getRootNode().host ?? null) {
    const after = getComputedStyle(one, '::after');
    seen = (after.content !== 'none' && after.boxShadow !== 'none') || (one !== here && drawn(getComputedStyle(one)));
    if (one.matches('.cell, .pixels, .field-window, .cell *')) seen = seen || one.matches('.ring') || drawn(ring);
  }
  const parts = ['dialog', '.player-code', '.player-memory', '.player-graph', '.player-compiled',
    '.player-timeline', '.outcome', '.site-header', 'main', 'footer'];
  const part = parts.find(each => here.closest(each) !== null) ?? '';
  return {
    id: stops.get(here),
    name: `${here.tagName.toLowerCase()}.${here.className}`,
    part: part.replace('.', ''),
    box: [left + scrollX, top + scrollY, width, height],
    inside: left < innerWidth && top < innerHeight && left + width > 0 && top + height > 0,
    seen,
    ring: ring.outlineColor,
  };
};
