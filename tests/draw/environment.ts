// What Grafana's page gives to its libraries, as far as these dashboards need it: a theme, one data source, transformations, the
// options that all fields have.
import * as data from "@grafana/data";
import { initPluginTranslations } from "@grafana/i18n";
import { PrometheusDatasource } from "@grafana/prometheus";
import * as runtime from "@grafana/runtime";
import { initializeLoggersRegistry } from "@grafana/runtime/unstable";
import { sceneGraph } from "@grafana/scenes";
import { catchError, defer, from, map, of } from "rxjs";
import { answerQueries } from "./prometheus";

export async function start(theme: "light" | "dark", url: string, scrape: string) {
    await initPluginTranslations("grafana");
    initializeLoggersRegistry();
    const made = data.createTheme({ colors: { mode: theme } });
    Object.assign(runtime.config, { theme2: made, theme: made.v1 });
    data.standardTransformersRegistry.setInit(transformations);
    data.standardFieldConfigEditorRegistry.setInit(fieldOptions);
    runtime.setEchoSrv({ addEvent() {}, flush() {}, addBackend() {} } as any);
    runtime.setAppEvents(new data.EventBusSrv());
    runtime.setPluginImportUtils({ getPanelPluginFromCache() {}, importPanelPlugin: Promise.reject } as any);
    const containsTemplate = (text?: string) => Boolean(text?.includes("$"));
    runtime.setTemplateSrv({ replace, getVariables: () => [], containsTemplate } as any);
    runtime.setBackendSrv({ fetch: (request: any) => from(serve(request, url, scrape)) } as any);
    runtime.setRunRequest(run as any);
    const settings: any = {
        uid: "prometheus",
        name: "Prometheus",
        type: "prometheus",
        access: "proxy",
        url,
        isDefault: true,
        jsonData: { timeInterval: scrape, httpMethod: "POST" },
        meta: { id: "prometheus", name: "Prometheus", type: "datasource", metrics: true, annotations: true, info: { logos: {} } },
    };
    const source = new PrometheusDatasource(settings);
    Object.assign(source, { meta: settings.meta });
    // Scenes asks whether there is one before it runs the query of a variable.
    Object.assign(source.variables!, { editor: () => null });
    runtime.setDataSourceSrv({
        get: async () => source,
        getInstanceSettings: () => settings,
        getList: () => [settings],
        reload() {},
    } as any);
    return made;
}

/** The text with its variables replaced, as the object of the scene that asks sees them. */
function replace(text = "", scoped: any = {}, format?: any): string {
    const object = scoped.__sceneObject?.value.valueOf() ?? (window as any).__grafanaSceneContext;
    return object ? sceneGraph.interpolate(object, text, scoped, format) : text;
}

/** What the server is asked for: queries, and values of labels. */
async function serve({ url, method, data: body, params }: any, prometheus: string, scrape: string) {
    if (url.startsWith("/api/ds/query")) return { status: 200, ok: true, data: await answerQueries(body, prometheus, scrape) };
    const path = url.replace(/^\/api\/datasources\/uid\/[^/]+\/resources\//, "");
    const given = Object.entries({ ...params, ...body }).filter(([, value]) => value !== undefined) as [string, string][];
    const form = new URLSearchParams(given);
    const asked = method === "GET" ? fetch(`${prometheus}/${path}?${form}`) : fetch(`${prometheus}/${path}`, { method, body: form });
    const response = await asked;
    return { status: response.status, ok: response.ok, data: await response.json() };
}

/** Runs the queries of a panel, once. */
function run(source: any, request: any, query?: (request: any) => any) {
    const panel = { timeRange: request.range, request, series: [] as any[], annotations: [] };
    return defer(() => (query ? query(request) : source.query(request))).pipe(
        map(({ data: frames, errors, error }: any) => {
            const failed = errors ?? (error ? [error] : undefined);
            const state = failed ? data.LoadingState.Error : data.LoadingState.Done;
            const series = frames.map((frame: any) => (frame.fields ? data.toDataFrame(frame) : frame));
            return { ...panel, series, errors: failed, state };
        }),
        catchError((error) => of({ ...panel, state: data.LoadingState.Error, errors: [{ message: String(error) }] })),
    );
}

function transformations(): any[] {
    const known = new Map(Object.values(data.standardTransformers).map((one: any) => [one.id, one]));
    return [...known.values()].map((one) => ({ id: one.id, name: one.name, transformation: async () => one }));
}

function fieldOptions(): any[] {
    const processes: Record<string, any> = {
        unit: data.unitOverrideProcessor,
        min: data.numberOverrideProcessor,
        max: data.numberOverrideProcessor,
        decimals: data.numberOverrideProcessor,
        displayName: data.displayNameOverrideProcessor,
        color: data.identityOverrideProcessor,
        noValue: data.stringOverrideProcessor,
        links: data.dataLinksOverrideProcessor,
        mappings: data.valueMappingsOverrideProcessor,
        thresholds: data.thresholdsOverrideProcessor,
    };
    const thresholds = { mode: "absolute", steps: [] };
    const defaults: Record<string, any> = { color: { mode: "thresholds" }, mappings: [], thresholds };
    return Object.entries(processes).map(([id, process]) => option(id, process, defaults[id]));
}

/** An option of a field, without the editor that it has in Grafana. */
export function option(id: string, process: any, defaultValue?: unknown): any {
    const nothing = () => null;
    const always = { shouldApply: () => true, getItemsCount: () => 0 };
    return { id, path: id, name: id, process, defaultValue, settings: {}, editor: nothing, override: nothing, ...always };
}
