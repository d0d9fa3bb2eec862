// The page's two functions for draw.mjs: `show` draws a dashboard, `report` says what a person sees of it.
import { fieldReducers, formattedValueToString, getFieldDisplayName, reduceField, textUtil, ThemeContext, type DataFrame, type Field } from "@grafana/data";
import { config } from "@grafana/runtime";
import { sceneGraph, SceneGridRow, type EmbeddedScene, type VizPanel } from "@grafana/scenes";
import { GlobalStyles, PortalContainer } from "@grafana/ui";
import { createRoot } from "react-dom/client";
import { MemoryRouter } from "react-router-dom";
import { start } from "./environment";
import { look } from "./look";
import { registerPanels, values } from "./panels";
import { loaded, open, panelsOf } from "./scene";

let scene: EmbeddedScene;
let dashboard: any;

/** Returns the height that the dashboard takes. */
async function show({ dashboard: model, prometheus, address = "", theme: name = "light", scrape = "1m" }: any): Promise<number> {
    dashboard = model;
    const theme = await start(name, `/prometheus/${new URL(prometheus).host}`, scrape);
    registerPanels();
    scene = await open(dashboard, address);
    Object.assign(document.body.style, { margin: "0", background: theme.colors.background.canvas });
    createRoot(document.getElementById("root")!).render(
        <ThemeContext.Provider value={theme}>
            <GlobalStyles />
            <MemoryRouter>
                <div style={{ padding: 16 }}>
                    <h3>{dashboard.title}</h3>
                    <scene.Component model={scene} />
                </div>
            </MemoryRouter>
            <PortalContainer />
        </ThemeContext.Provider>,
    );
    await loaded(scene);
    await unchanged();
    return document.getElementById("root")!.scrollHeight;
}

/** Waits until the page has not changed for a while. */
async function unchanged() {
    let changed = Date.now();
    const observer = new MutationObserver(() => (changed = Date.now()));
    observer.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    for (const end = Date.now() + 10_000; Date.now() - changed < 300 && Date.now() < end; ) {
        await new Promise((later) => setTimeout(later, 50));
    }
    observer.disconnect();
}

async function report() {
    await unchanged();
    const variables = sceneGraph.getVariables(scene).state.variables.map(({ state }: any) => [
        state.name,
        { value: state.value, text: state.text, options: state.options?.map(({ value }: any) => value), error: state.error?.message },
    ]);
    const rows = sceneGraph.findAllObjects(scene, (object) => object instanceof SceneGridRow) as SceneGridRow[];
    return {
        variables: Object.fromEntries(variables),
        rows: rows.map((row) => sceneGraph.interpolate(row, row.state.title)),
        links: Object.fromEntries(dashboard.links.map(({ title, url }: any) => [title, address(url)])),
        events: (scene.state.$data as any).state.layers.map(({ state }: any) => ({
            name: state.name,
            failed: state.data?.errors?.length ?? 0,
            titles: state.data?.series[0]?.fields.find(({ name }: Field) => name === "title")?.values ?? [],
        })),
        panels: panelsOf(scene).map(panel),
    };
}

/** Of a link above the panels, which Grafana's page sanitizes; its libraries do so with those of the cells. */
const address = (url: string) => textUtil.sanitizeUrl(sceneGraph.interpolate(scene, url));

function panel(one: VizPanel): any {
    const received = sceneGraph.getData(one).state.data!;
    const { series } = one.applyFieldConfig(received);
    const kinds: Record<string, any> = { stat, table, timeseries: lines, "state-timeline": lines };
    return {
        title: one.interpolate(one.state.title),
        errors: received.errors?.map(({ message }) => message) ?? [],
        ...kinds[one.state.pluginId](series, one),
        ...look(document.querySelector(`[data-viz-panel-key="${one.state.key}"]`)!),
    };
}

const text = (value: any) => (value ? formattedValueToString(value).trim() : "");
const numbers = (frame: DataFrame) => frame.fields.filter(({ type }) => type === "number");

function stat(series: DataFrame[], one: VizPanel) {
    const { options, fieldConfig } = one.state as any;
    const shown = values({ data: { series }, options, fieldConfig, replaceVariables: one.interpolate, timeZone: "utc" }, config.theme2);
    return { values: shown.map(({ display, name }: any) => ({ name: display.title ?? name, text: text(display), color: display.color })) };
}

/** The rows in the order in which they are shown; of each cell its text, its colour and the addresses that it links to. */
function table([frame]: DataFrame[], one: VizPanel) {
    if (!frame) return { columns: [], cells: [] };
    const columns = frame.fields.map((field) => getFieldDisplayName(field, frame, [frame]));
    const [{ displayName, desc }] = (one.state.options as any).sortBy;
    const by = frame.fields[columns.indexOf(displayName)]?.values ?? [];
    const order = [...Array(frame.length).keys()].sort((a, b) => (by[a] < by[b] ? -1 : Number(by[a] > by[b])) * (desc ? -1 : 1));
    const cell = (field: Field, row: number) => {
        const shown = field.display!(field.values[row]);
        const links = field.getLinks?.({ valueRowIndex: row, calculatedValue: shown }) ?? [];
        return { text: text(shown), color: shown.color, links: links.map(({ href }) => href) };
    };
    return {
        columns,
        sorted: columns.includes(displayName),
        cells: order.slice(0, 100).map((row) => Object.fromEntries(frame.fields.map((field, at) => [columns[at], cell(field, row)]))),
    };
}

function lines(series: DataFrame[]) {
    const all = series.flatMap((frame) => numbers(frame).map((field) => ({ field, name: getFieldDisplayName(field, frame, series) })));
    const reducers = [fieldReducers.get("lastNotNull").id, "min", "max"];
    return {
        lines: all.map(({ field, name }) => {
            const { lastNotNull, min, max } = reduceField({ field, reducers });
            return { name, last: text(field.display!(lastNotNull)), min, max };
        }),
    };
}

Object.assign(window, { show, report });
