// The shape that a dashboard of this project has, made from Grafana's own types: classic schema, Prometheus, the panels in use.
//
// Grafana's types use enums, which a JSON text cannot name. Here each enum stands for its values.

import type * as schema from "@grafana/schema";
import type * as stat from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen";
import type * as timeline from "@grafana/schema/dist/esm/raw/composable/statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen";
import type * as table from "@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen";
import type * as timeseries from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";

type Json<T> = unknown extends T
    ? T
    : T extends string
      ? `${T}`
      : T extends number
        ? number extends T
            ? number
            : `${T}` extends `${infer N extends number}`
              ? N
              : never
        : T extends boolean | null | undefined
          ? T
          : T extends readonly (infer E)[]
            ? Json<E>[]
            : { [K in keyof T]: Json<T[K]> };

type Datasource = { type: "prometheus"; uid: "${datasource}" };

// @grafana/schema has no query type for Prometheus: these are the fields of its data source that are in use here.
interface Query {
    datasource: Datasource;
    refId: string;
    expr: string;
    editorMode: "code";
    instant: boolean;
    range: boolean;
    format?: "table" | "time_series" | "heatmap";
    legendFormat?: string;
}

interface DataLink {
    title: string;
    url: string;
    targetBlank: boolean;
}

type Defaults<Custom> = Omit<Json<schema.FieldConfig>, "custom" | "links"> & {
    links?: DataLink[];
    custom?: Partial<Json<Custom>>;
};

type Property<Custom> =
    | { [K in Exclude<keyof Defaults<Custom>, "custom">]-?: { id: K; value: Defaults<Custom>[K] } }[Exclude<
          keyof Defaults<Custom>,
          "custom"
      >]
    | { [K in keyof Custom & string]-?: { id: `custom.${K}`; value: Json<Custom[K]> } }[keyof Custom & string];

interface FieldConfig<Custom> {
    defaults: Defaults<Custom>;
    overrides: { matcher: Json<schema.MatcherConfig>; properties: Property<Custom>[] }[];
}

type Panel<Type extends string, Options, Custom> = Omit<
    Json<schema.Panel>,
    "type" | "title" | "description" | "datasource" | "targets" | "options" | "fieldConfig"
> & {
    type: Type;
    title: string;
    description: string;
    datasource: Datasource;
    targets: Query[];
    options: Json<Options>;
    fieldConfig: FieldConfig<Custom>;
};

type AnyPanel =
    | Panel<"stat", stat.Options, object>
    | Panel<"table", table.Options, table.FieldConfig>
    | Panel<"timeseries", timeseries.Options, timeseries.FieldConfig>
    | Panel<"state-timeline", timeline.Options, timeline.FieldConfig>
    | Json<schema.RowPanel>;

type Event = Omit<Json<schema.AnnotationQuery>, "target" | "datasource"> & {
    datasource: Datasource;
    target: { refId: string; expr: string; interval: string };
    titleFormat: string;
    textFormat: string;
    tagKeys: string;
    useValueForTime: boolean;
};

export type Dashboard = Omit<Json<schema.Dashboard>, "panels" | "annotations" | "templating"> & {
    panels: AnyPanel[];
    annotations: { list: Event[] };
    templating: { list: Json<schema.VariableModel>[] };
};
