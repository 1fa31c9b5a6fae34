'use strict';
// Filter and keys. Without this script the page shows all there is; nothing here makes markup of a text.
(() => {
  const at = id => document.getElementById(id);
  const box = at('filter'), found = at('found'), all = at('all'), single = at('single');
  const cases = [...document.querySelectorAll('#failures .case, #flaky .case')];
  const lists = [...document.querySelectorAll('main section > details, main .group')];
  const wasOpen = new Map();
  let items; // looked for when first needed: ten thousand of them cost time

  const states = {bad: 'failed', warn: 'flaky', skip: 'skipped'};
  const textOf = el => {
    const head = el.matches('details') ? el.querySelector('summary') : el;
    const state = el.dataset.s || (el.localName === 'li' && el.parentNode.className === 'tests' ? states[el.className] || 'passed' : '');
    return (head.textContent + ' ' + state).toLowerCase();
  };
  const collect = () => [...document.querySelectorAll('[data-item], .tests li')].map(el => ({el, text: textOf(el)}));

  const filter = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    items ||= collect();
    let n = 0;
    for (const {el, text} of items) {
      const hit = words.every(w => text.includes(w));
      if (el.hidden === hit) el.hidden = !hit;
      n += hit;
    }
    for (const list of lists) {
      if (list.matches('.case')) continue;
      if (!wasOpen.has(list)) wasOpen.set(list, list.open);
      list.open = words.length ? !!list.querySelector('[data-item]:not([hidden]), .tests li:not([hidden])') : wasOpen.get(list);
    }
    if (!words.length) wasOpen.clear();
    found.textContent = words.length ? n.toLocaleString('en') + (n === 1 ? ' match' : ' matches') : '';
  };

  const step = by => {
    const shown = cases.filter(c => !c.hidden);
    if (!shown.length) return;
    const now = shown.findIndex(c => c.contains(document.activeElement));
    const next = now < 0 ? (by > 0 ? 0 : shown.length - 1) : (now + by + shown.length) % shown.length;
    shown[next].open = true;
    shown[next].querySelector('summary').focus();
    shown[next].scrollIntoView({block: 'nearest'});
  };
  const toggle = () => {
    const shown = cases.filter(c => !c.hidden), open = shown.some(c => !c.open);
    for (const c of shown) c.open = open;
    name();
  };
  const name = () => { all.textContent = cases.some(c => !c.hidden && !c.open) ? 'Open all failures' : 'Close all failures'; };

  const keys = {'/': () => { box.focus(); box.select(); }, n: () => step(1), p: () => step(-1), o: toggle};
  document.addEventListener('keydown', e => {
    if (e.key === 'Escape' && (box.value || document.activeElement === box)) {
      box.value = '';
      filter();
      box.blur();
      return;
    }
    if (!single.checked || e.ctrlKey || e.metaKey || e.altKey || e.target.matches('input[type=search], textarea')) return;
    if (Object.hasOwn(keys, e.key)) {
      e.preventDefault();
      keys[e.key]();
    }
  });
  let timer;
  box.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(filter, 80); });
  at('bar').addEventListener('submit', e => { e.preventDefault(); filter(); });
  all.addEventListener('click', toggle);
  document.addEventListener('toggle', name, true);
  all.hidden = !cases.length;
  name();
  at('bar').hidden = false;
})();
