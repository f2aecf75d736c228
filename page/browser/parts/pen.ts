/**
 * A canvas as sharp as its screen, ready to be drawn on: in pixels of the page, with the colours and the font
 * of its style.
 */

export interface Pen {
  readonly pen: CanvasRenderingContext2D;
  /** Of the canvas, in pixels of the page. */
  readonly width: number;
  readonly height: number;
  /** The value of a custom property, such as `--line`. */
  readonly colour: (name: string) => string;
  readonly font: string;
}

/** Empties the canvas. */
export function penOf(canvas: HTMLCanvasElement): Pen {
  const { clientWidth: width, clientHeight: height } = canvas;
  const density = devicePixelRatio;
  canvas.width = width * density;
  canvas.height = height * density;
  const pen = canvas.getContext('2d')!;
  pen.scale(density, density);
  const style = getComputedStyle(canvas);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  return { pen, width, height, colour, font: `11px ${style.fontFamily}` };
}
