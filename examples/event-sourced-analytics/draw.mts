import { Resvg } from '@resvg/resvg-js';
import * as vega from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';

interface TextMetrics {
  width(item: { readonly fontSize?: number }, text: unknown): number;
}
// Without a canvas to measure on, vega takes every letter for a wide one, and squeezes the plot under a long title.
const { textMetrics } = vega as unknown as { readonly textMetrics: TextMetrics }; // missing from its types
textMetrics.width = ({ fontSize = 11 }, text) => 0.58 * fontSize * String(text).length;

const FONT = 'Inter, Helvetica Neue, Arial, DejaVu Sans, sans-serif';
const INK = '#1f2933';
const GREY = '#6b7785';

/** The look that all charts share. */
const config = {
  background: 'white',
  padding: { left: 24, right: 32, top: 22, bottom: 20 },
  font: FONT,
  view: { stroke: null },
  title: {
    anchor: 'start',
    frame: 'group',
    offset: 22,
    color: INK,
    fontSize: 18,
    fontWeight: 600,
    subtitleColor: GREY,
    subtitleFontSize: 13,
    subtitlePadding: 7,
  },
  axis: {
    domain: false,
    ticks: false,
    gridColor: '#e6e9ed',
    labelColor: GREY,
    labelFontSize: 12,
    labelPadding: 8,
    titleColor: GREY,
    titleFontSize: 12,
    titleFontWeight: 'normal',
    titlePadding: 12,
  },
  legend: { labelColor: INK, labelFontSize: 12, title: null, symbolType: 'square', symbolSize: 130 },
} as const;

/** @returns the chart as a vector picture, and as pixels for where SVG is not shown (1,600 wide) */
export async function draw(chart: object): Promise<{ svg: string; png: Buffer }> {
  const { spec } = compile({ ...chart, config } as TopLevelSpec);
  const view = new vega.View(vega.parse(spec), { renderer: 'none' });
  const svg = await view.toSVG();
  view.finalize();
  const png = new Resvg(svg, { fitTo: { mode: 'width', value: 1_600 } }).render().asPng();
  return { svg, png };
}
