/** The slope of the line that fits the points best (least squares): units of y a unit of x. 0 where x does not vary. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (at: 0 | 1): number =>
    points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [x0, y0] = [mean(0), mean(1)];
  const varied = points.reduce((sum, [x]) => sum + (x - x0) ** 2, 0);
  const together = points.reduce((sum, [x, y]) => sum + (x - x0) * (y - y0), 0);
  return varied === 0 ? 0 : together / varied;
}
