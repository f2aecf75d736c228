/** A curve the size of a word. Its numbers are next to it, so screen readers skip it. */
const [width, height] = [80, 20];

export function Spark({ values }: { readonly values: readonly number[] }) {
  if (values.length < 2)
    return <svg class="spark" width={width} height={height} aria-hidden="true" />;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const span = high - low || 1;
  const points = values.map((value, i) => {
    const x = (i / (values.length - 1)) * (width - 4) + 1;
    const y = high === low ? height / 2 : height - 3 - ((value - low) / span) * (height - 6);
    return [Number(x.toFixed(1)), Number(y.toFixed(1))] as const;
  });
  const [endX, endY] = points.at(-1)!;
  return (
    <svg class="spark" width={width} height={height} aria-hidden="true">
      <polyline
        points={points.map((p) => p.join()).join(' ')}
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linejoin="round"
      />
      <circle cx={endX} cy={endY} r="2.2" fill="currentColor" />
    </svg>
  );
}
