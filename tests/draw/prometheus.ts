// Answers a data source's queries as Grafana's server does, which is written in Go and is no npm package: the step, $__interval and
// its like, the two endpoints of Prometheus, and a frame for each series.
import { rangeUtil } from "@grafana/data";

const MINUTE = 60_000;

/** The answer to POST /api/ds/query, asked of the Prometheus behind `url`, which is scraped each `scrape`. */
export async function answerQueries({ queries, from, to }: any, url: string, scrape: string) {
    const range = { from: Number(from), to: Number(to) };
    const results = await Promise.all(queries.map((query: any) => answerQuery(query, range, url, scrape)));
    return { results: Object.fromEntries(queries.map((query: any, at: number) => [query.refId, results[at]])) };
}

async function answerQuery(query: any, { from, to }: { from: number; to: number }, url: string, scrape: string) {
    const least = rangeUtil.intervalToMs(query.interval || scrape);
    const wanted = (to - from) / (query.maxDataPoints || 1500);
    const step = wanted < least ? least : rangeUtil.roundInterval(wanted);
    const expr = withDurations(query.expr, step, Math.max(step + least, 4 * least), to - from);
    const aligned = (time: number) => String((Math.floor(time / step) * step) / 1000);
    const [endpoint, times] = query.instant
        ? ["query", { time: String(to / 1000) }]
        : ["query_range", { start: aligned(from), end: aligned(to), step: String(step / 1000) }];
    const body = new URLSearchParams({ query: expr, ...(times as Record<string, string>) });
    const { status, data, error } = await (await fetch(`${url}/api/v1/${endpoint}`, { method: "POST", body })).json();
    if (status !== "success") return { status: 400, error: `${error}: ${expr}` };
    const frames = data.result.map((series: any) => frame(series, query, step, data.resultType));
    return { status: 200, frames: frames.length ? frames : [{ schema: { refId: query.refId, fields: [] }, data: { values: [] } }] };
}

function withDurations(expr: string, step: number, rate: number, range: number): string {
    const durations = { __rate_interval: rate, __interval: step, __range: range };
    for (const [name, ms] of Object.entries(durations)) {
        const text = ms % MINUTE ? `${Math.round(ms / 1000)}s` : `${ms / MINUTE}m`;
        expr = expr.replaceAll(`$${name}`, text);
    }
    return expr;
}

function frame({ metric, value, values = [value] }: any, { refId, legendFormat }: any, step: number, resultType: string) {
    const name = legendFormat?.replace(/\{\{\s*(\w+)\s*\}\}/g, (_: string, label: string) => metric[label] ?? "");
    const type = resultType === "vector" ? "numeric-multi" : "timeseries-multi";
    return {
        schema: {
            refId,
            meta: { type, typeVersion: [0, 1], custom: { resultType } },
            fields: [
                { name: "Time", type: "time", typeInfo: { frame: "time.Time" }, config: { interval: step } },
                {
                    name: metric.__name__ ?? "Value",
                    type: "number",
                    typeInfo: { frame: "float64" },
                    labels: metric,
                    config: name ? { displayNameFromDS: name } : {},
                },
            ],
        },
        data: {
            values: [
                values.map(([time]: [number, string]) => Math.trunc(time * 1000)),
                values.map(([, text]: [number, string]) => Number(text.replace("Inf", "Infinity"))),
            ],
        },
    };
}
