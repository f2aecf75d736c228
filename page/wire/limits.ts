/** Bounds that server and browser both know. */
export const limits = {
  /** Metrics in one `m=`, runs in one `with=`. */
  metricsMax: 64,
  withMax: 7,
  /** Runs and metrics of one stream. */
  streamRunsMax: 4,
  streamMetricsMax: 32,
} as const;
