import type { Tone } from '../model/headline';

/** A shape for each tone: who sees no colours sees these. Drawn in a square of 16. */
export const shapes: Readonly<Record<Tone, readonly [outline: string, sign: string]>> = {
  good: ['M8 .5a7.5 7.5 0 1 0 0 15a7.5 7.5 0 0 0 0-15Z', 'M4.6 8.3l2.3 2.4l4.5-5'],
  busy: ['M8 .5a7.5 7.5 0 1 0 0 15a7.5 7.5 0 0 0 0-15Z', 'M8 4.2V8l2.7 1.8'],
  warning: ['M8 .9L15.6 14.6H.4Z', 'M8 5.8v4M8 12v.3'],
  bad: ['M5 .5h6L15.5 5v6L11 15.5H5L.5 11V5Z', 'M5.3 5.3l5.4 5.4M10.7 5.3l-5.4 5.4'],
  unknown: ['M1.5 2.5h13v11h-13Z', 'M5 8h.3M8 8h.3M11 8h.3'],
};

export function Icon({ tone }: { readonly tone: Tone }) {
  const [outline, sign] = shapes[tone];
  return (
    <svg class={`icon ${tone}`} viewBox="0 0 16 16" aria-hidden="true">
      <path class="outline" d={outline} />
      <path class="sign" d={sign} />
    </svg>
  );
}

const colors: Readonly<Record<Tone, string>> = {
  good: '#12805c',
  busy: '#2563c9',
  warning: '#b25e00',
  bad: '#c62828',
  unknown: '#667085',
};

/** The same shape for the tab. */
export function favicon(tone: Tone): string {
  const [outline, sign] = shapes[tone];
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="${colors[tone]}" d="${outline}"/><path fill="none" stroke="#fff" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" d="${sign}"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
