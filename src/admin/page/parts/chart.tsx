import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { counted } from '../../../format/counted';
import { series, timeOfDay } from '../model/text';

interface ChartProps {
  readonly feed: string;
  readonly counts: readonly number[];
  readonly isStale: boolean;
  /** The publisher's clock. */
  readonly nowMs: number;
}

const HEIGHT = 58;
const dark = matchMedia('(prefers-color-scheme: dark)');

/** Changes of each of the last 60 minutes. */
export function Chart({ feed, counts, isStale, nowMs }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const { minutes, top, total, summary } = series(counts);
  const data: uPlot.AlignedData = [[...minutes], [...counts]];
  const text = counts.join();
  const end = useRef(top);
  end.current = top;

  useEffect(() => {
    const element = place.current!;
    let isGone = false;
    function make(): void {
      plot.current?.destroy();
      plot.current = new uPlot(
        options(element, () => end.current, setPointed),
        data,
        element,
      );
    }
    make();
    const resized = new ResizeObserver(() => {
      if (!isGone) plot.current?.setSize({ width: element.clientWidth, height: HEIGHT });
    });
    resized.observe(element);
    dark.addEventListener('change', make);
    return () => {
      isGone = true;
      resized.disconnect();
      dark.removeEventListener('change', make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [isStale]);

  useEffect(() => plot.current?.setData(data), [text]);

  const at = pointed === null ? undefined : minutes[pointed];
  return (
    <figure class="chart">
      <figcaption>
        <span class="label">Changes a minute</span>
        <span class="total">
          {at === undefined
            ? total === 0
              ? 'none in the last hour'
              : `${counted(total, 'change')} in the last hour`
            : `${timeOfDay(nowMs + at * 60_000).slice(0, 5)}: ${counted(counts[pointed!] ?? 0, 'change')}`}
        </span>
      </figcaption>
      <div ref={place} class="plot" role="img" aria-label={`${feed}: ${summary}`} />
    </figure>
  );
}

function options(
  element: HTMLElement,
  top: () => number,
  onPoint: (index: number | null) => void,
): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: color('--muted'),
    font: '10px system-ui, sans-serif',
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    padding: [7, 14, 0, 0],
    cursor: { x: false, y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range: (_, min, max) => [min - 0.5, max + 0.5] },
      y: { range: () => [0, top()] },
    },
    axes: [
      {
        ...axis,
        size: 16,
        gap: 2,
        grid: { show: false },
        splits: (self) => {
          const first = self.data[0][0] ?? 0;
          return (self.width < 280 ? [-30, 0] : [-45, -30, -15, 0]).filter((minute) => minute >= first);
        },
        values: (_, splits) => splits.map((minute) => (minute === 0 ? 'now' : `−${-minute} min`)),
      },
      {
        ...axis,
        size: 32,
        gap: 4,
        grid: { stroke: color('--line'), width: 1 },
        splits: (self) => {
          const most = self.scales.y!.max ?? 1;
          return most % 2 !== 0 ? [0, most] : [0, most / 2, most];
        },
        values: (_, splits) => splits.map((value) => short.format(value)),
      },
    ],
    series: [
      {},
      {
        fill: color('--bar'),
        width: 0,
        paths: uPlot.paths.bars!({ size: [0.72, 12], radius: 0.2 }),
        points: { show: false },
      },
    ],
    hooks: {
      draw: [(self) => nameBeyond(self, top(), color('--muted'))],
      setCursor: [(self) => onPoint(self.cursor.idx ?? null)],
    },
  };
}

/** A bar that is cut off has its number beside its top. */
function nameBeyond({ ctx, data, bbox, valToPos }: uPlot, top: number, color: string): void {
  ctx.save();
  ctx.fillStyle = color;
  ctx.font = `${10 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textBaseline = 'top';
  ctx.textAlign = 'right';
  let free = bbox.left + bbox.width;
  for (let at = data[0].length - 1; at >= 0; at--) {
    const count = data[1]?.[at] ?? 0;
    if (count <= top) continue;
    const text = `↑${short.format(count)} `;
    const x = valToPos(data[0][at]!, 'x', true) - 4 * devicePixelRatio;
    const width = ctx.measureText(text).width;
    // Two beside each other have room for one number.
    if (x > free || x - width < bbox.left) continue;
    ctx.fillText(text, x, bbox.top);
    free = x - width;
  }
  ctx.restore();
}

const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
