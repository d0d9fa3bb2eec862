// The kinds of panels in use: what Grafana's page does around its library's BigValue, TableNG and TimeSeries.
import * as data from "@grafana/data";
import { sceneUtils } from "@grafana/scenes";
import { BigValue, TimeSeries, useTheme2, VizRepeater } from "@grafana/ui";
import { TableNG } from "@grafana/ui/unstable";
import { useMemo } from "react";
import { option } from "./environment";

const LINE = {
    drawStyle: "line",
    lineInterpolation: "linear",
    lineWidth: 1,
    fillOpacity: 0,
    gradientMode: "none",
    showPoints: "auto",
    pointSize: 5,
    stacking: { mode: "none", group: "A" },
    spanNulls: false,
    axisPlacement: "auto",
    axisLabel: "",
    axisSoftMax: undefined,
    lineStyle: undefined,
    scaleDistribution: { type: "linear" },
    thresholdsStyle: { mode: "off" },
    hideFrom: { tooltip: false, viz: false, legend: false },
};
const CELL = { align: undefined, cellOptions: undefined, filterable: undefined, inspect: undefined, minWidth: undefined, width: undefined };
const STATE = { lineWidth: 0, fillOpacity: 70 };

export function registerPanels() {
    register("stat", Stat, {}, "thresholds");
    register("table", Table, CELL, "thresholds").setNoPadding();
    register("timeseries", Lines, LINE, "palette-classic");
    register("state-timeline", Timeline, STATE, "thresholds");
}

function register(pluginId: string, component: any, fields: object, color: string) {
    const plugin = new data.PanelPlugin<any, any>(component);
    plugin.useFieldConfig({
        standardOptions: { color: { defaultValue: { mode: color } } } as any,
        useCustomConfig: (builder) => {
            for (const [id, value] of Object.entries(fields)) builder.addCustomEditor(option(id, data.identityOverrideProcessor, value));
        },
    });
    sceneUtils.registerRuntimePanelPlugin({ pluginId, plugin });
    return plugin;
}

/** The values that a stat shows. */
export function values({ data: { series }, options, fieldConfig, replaceVariables, timeZone }: any, theme: any) {
    const { reduceOptions } = options;
    return data.getFieldDisplayValues({ fieldConfig, reduceOptions, replaceVariables, theme, data: series, timeZone });
}

function Stat(props: any) {
    const theme = useTheme2();
    return (
        <VizRepeater
            source={props.data}
            getValues={() => values(props, theme)}
            getAlignmentFactors={data.getDisplayValueAlignmentFactors}
            orientation={props.options.orientation}
            renderCounter={props.renderCounter}
            width={props.width}
            height={props.height}
            itemSpacing={3}
            autoGrid
            renderValue={({ value, ...size }: any) => (
                <BigValue {...props.options} {...size} disableWideLayout={!props.options.wideLayout} theme={theme} value={value.display} />
            )}
        />
    );
}

function Table({ data: { series, structureRev }, fieldConfig, height, options, timeRange, width }: any) {
    useMemo(() => data.cacheFieldDisplayNames(series), [series]);
    const [frame] = series;
    if (!frame?.fields.length) return <NoData {...fieldConfig.defaults} />;
    return (
        <TableNG
            data={frame}
            width={width}
            height={height}
            enableVirtualization
            noValue={fieldConfig.defaults.noValue}
            noHeader={!options.showHeader}
            sortBy={options.sortBy}
            frozenColumns={options.frozenColumns?.left}
            cellHeight={options.cellHeight}
            timeRange={timeRange}
            fieldConfig={fieldConfig}
            getActions={() => []}
            structureRev={structureRev}
        />
    );
}

function Lines({ data: { series, structureRev }, fieldConfig, height, options, timeRange, timeZone, width }: any) {
    const theme = useTheme2();
    const frames = useMemo(() => drawable(series, theme, timeRange), [series, theme, timeRange]);
    if (!frames.length) return <NoData {...fieldConfig.defaults} />;
    return (
        <TimeSeries
            frames={frames}
            structureRev={structureRev}
            timeRange={timeRange}
            timeZone={timeZone}
            width={width}
            height={height}
            legend={options.legend}
            options={options}
        >
            {() => <></>}
        </TimeSeries>
    );
}

/** The states of each series: Grafana draws them on a canvas, with a library that is no package. */
function Timeline({ data: { series }, fieldConfig, timeRange: { from, to } }: any) {
    const theme = useTheme2();
    data.cacheFieldDisplayNames(series);
    const shown = series.filter((frame: data.DataFrame) => frame.fields.some(({ type }) => type === "number"));
    if (!shown.length) return <NoData {...fieldConfig.defaults} />;
    const [start, length] = [from.valueOf(), to.valueOf() - from.valueOf()];
    return shown.map((frame: data.DataFrame, at: number) => {
        const time = frame.fields.find(({ type }) => type === "time")!;
        const field = frame.fields.find(({ type }) => type === "number")!;
        const display = data.getDisplayProcessor({ field, theme });
        const step = time.config.interval ?? 0;
        return (
            <div key={at} style={{ display: "flex", height: 22, alignItems: "center" }}>
                <div style={{ width: 220, overflow: "hidden", whiteSpace: "nowrap" }}>{data.getFieldDisplayName(field, frame, series)}</div>
                <svg style={{ flex: 1, height: 16 }} viewBox="0 0 1000 16" preserveAspectRatio="none">
                    {time.values.map((when: number, row: number) => {
                        const [x, width] = [((when - start) / length) * 1000, (step / length) * 1000];
                        const { color } = display(field.values[row]);
                        return <rect key={row} x={x} width={width} height={16} fill={color} fillOpacity={field.values[row] ? 0.8 : 0.15} />;
                    })}
                </svg>
            </div>
        );
    });
}

/** The lines, with gaps where samples are missing, each with its place in the palette. */
function drawable(series: data.DataFrame[], theme: data.GrafanaTheme2, { from, to }: data.TimeRange) {
    data.cacheFieldDisplayNames(series);
    const shown = series.filter((frame) => frame.fields.some(({ type }) => type === "number"));
    return shown.map((frame, seriesIndex) => {
        const gaps = data.applyNullInsertThreshold({ frame, refFieldPseudoMin: from.valueOf(), refFieldPseudoMax: to.valueOf() });
        const fields = data.nullToValue(gaps).fields.map((field) => {
            if (field.type !== "number") return field;
            const values = field.values.map((value: number) => (Number.isFinite(value) ? value : null));
            const line = { ...field, values, state: { ...field.state, seriesIndex } };
            return { ...line, display: data.getDisplayProcessor({ field: line, theme }) };
        });
        return { ...gaps, fields };
    });
}

const NoData = ({ noValue = "No data" }: { noValue?: string }) => (
    <div style={{ display: "grid", placeItems: "center", height: "100%" }}>{noValue}</div>
);
