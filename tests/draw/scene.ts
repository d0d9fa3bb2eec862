// A dashboard's JSON as a scene, as Grafana's page makes it: variables, time range, events, rows, panels and their repetitions.
import { LoadingState } from "@grafana/data";
import * as scenes from "@grafana/scenes";

/** The scene of a dashboard that was opened with this address, once everything in it has its data. */
export async function open(dashboard: any, address: string): Promise<scenes.EmbeddedScene> {
    const scene = new scenes.EmbeddedScene({
        $timeRange: new scenes.SceneTimeRange({ ...dashboard.time, timeZone: dashboard.timezone }),
        $variables: new scenes.SceneVariableSet({ variables: dashboard.templating.list.map(variable) }),
        $data: new scenes.SceneDataLayerSet({
            layers: dashboard.annotations.list.map((query: any) => new scenes.dataLayers.AnnotationsDataLayer({ name: query.name, query })),
        }),
        controls: [new scenes.VariableValueSelectors({}), new scenes.SceneControlsSpacer(), new scenes.SceneTimePicker({})],
        body: new scenes.SceneGridLayout({ isLazy: false, children: [] }),
    });
    scenes.sceneUtils.syncStateFromSearchParams(scene, new URLSearchParams(address));
    scene.activate();
    const variables = scene.state.$variables as scenes.SceneVariableSet;
    await until(() => variables.state.variables.every((one) => !variables.isVariableLoadingOrWaitingToUpdate(one)));
    (scene.state.body as scenes.SceneGridLayout).setState({ children: rows(scene, dashboard) });
    return scene;
}

export const panelsOf = (scene: scenes.EmbeddedScene) =>
    scenes.sceneGraph.findAllObjects(scene, (object) => object instanceof scenes.VizPanel) as scenes.VizPanel[];

export async function loaded(scene: scenes.EmbeddedScene) {
    const state = (panel: scenes.VizPanel) => scenes.sceneGraph.getData(panel).state.data?.state;
    const ended = [LoadingState.Done, LoadingState.Error];
    await until(() => panelsOf(scene).every((panel) => panel.getPlugin() && ended.includes(state(panel)!)));
}

async function until(met: () => boolean) {
    for (const end = Date.now() + 120_000; !met(); await new Promise((later) => setTimeout(later, 20))) {
        if (Date.now() > end) throw new Error("Prometheus does not answer all queries within two minutes");
    }
}

function variable(model: any): any {
    const { name, label, query, regex, sort, refresh, datasource, multi: isMulti, includeAll, allValue, current } = model;
    // Grafana has those for its menu (3) elsewhere.
    const common = { name, label, hide: model.hide === 3 ? 2 : model.hide };
    if (model.type === "datasource") return new scenes.DataSourceVariable({ ...common, pluginId: query });
    const all = { isMulti, includeAll, allValue, defaultToAll: Boolean(includeAll) };
    const { value = "", text = "" } = current ?? {};
    return new scenes.QueryVariable({ ...common, ...all, value, text, query, regex, sort, refresh, datasource });
}

/** Rows with their panels; a panel that is repeated pushes down all that is below it. */
function rows(scene: scenes.EmbeddedScene, dashboard: any): scenes.SceneGridRow[] {
    const made: scenes.SceneGridRow[] = [];
    let below = 0;
    for (const model of dashboard.panels) {
        const y = model.gridPos.y + below;
        if (model.type === "row") {
            made.push(new scenes.SceneGridRow({ title: model.title, y, children: [] }));
            continue;
        }
        const locals = model.repeat ? chosen(scene, model.repeat) : [undefined];
        const items = locals.map((local, at) => item(model, y + at * model.gridPos.h, local, at));
        below += (items.length - 1) * model.gridPos.h;
        const row = made.at(-1)!;
        row.setState({ children: [...row.state.children, ...items] });
    }
    return made;
}

/** What a panel is repeated for: every value that is chosen; once where there is none. */
function chosen(scene: scenes.EmbeddedScene, name: string): (scenes.LocalValueVariable | undefined)[] {
    const { value, options } = scenes.sceneGraph.lookupVariable(name, scene)!.state as any;
    const all = [value].flat().includes("$__all") ? options.map((option: any) => option.value) : [value].flat();
    return all.length ? all.map((one: string) => new scenes.LocalValueVariable({ name, value: one, text: one })) : [undefined];
}

function item(model: any, y: number, local: scenes.LocalValueVariable | undefined, at: number) {
    const queries = new scenes.SceneQueryRunner({
        queries: model.targets,
        datasource: model.datasource,
        maxDataPoints: model.maxDataPoints,
        maxDataPointsFromWidth: true,
    });
    const body = new scenes.VizPanel({
        key: `panel-${model.id}-${at}`,
        title: model.title,
        description: model.description,
        pluginId: model.type,
        options: model.options,
        fieldConfig: structuredClone(model.fieldConfig),
        $data: new scenes.SceneDataTransformer({ $data: queries, transformations: model.transformations ?? [] }),
        $variables: local && new scenes.SceneVariableSet({ variables: [local] }),
    });
    const { x, w: width, h: height } = model.gridPos;
    return new scenes.SceneGridItem({ x, y, width, height, body });
}
