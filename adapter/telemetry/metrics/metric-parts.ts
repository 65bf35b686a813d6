import type { MetricData, ResourceMetrics } from '@opentelemetry/sdk-metrics';

/** The same metrics in parts of at most so many points: collectors refuse messages beyond a size. */
export function inParts(all: ResourceMetrics, maxPoints: number): ResourceMetrics[] {
  const { resource, scopeMetrics } = all;
  const parts: ResourceMetrics[] = [];
  for (const { scope, metrics } of scopeMetrics) {
    for (const some of divided(metrics, maxPoints)) parts.push({ resource, scopeMetrics: [{ scope, metrics: some }] });
  }
  return parts;
}

function divided(metrics: readonly MetricData[], maxPoints: number): MetricData[][] {
  const parts: MetricData[][] = [];
  let room = 0;
  for (const metric of metrics) {
    for (let at = 0; at < metric.dataPoints.length;) {
      if (room === 0) {
        parts.push([]);
        room = maxPoints;
      }
      const dataPoints = metric.dataPoints.slice(at, at + room);
      parts.at(-1)?.push({ ...metric, dataPoints } as MetricData);
      at += dataPoints.length;
      room -= dataPoints.length;
    }
  }
  return parts;
}
