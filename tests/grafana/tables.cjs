// Makes the tables of the dashboards with Grafana's own code, @grafana/data, and checks that what they configure is there.
// Usage: node tables.cjs FOLDER_OF_NODE_MODULES FILE, where FILE holds [{dashboard, panel, frames: [{refId, series}]}].

const fs = require("node:fs");
const { createRequire } = require("node:module");

const load = createRequire(`${process.argv[2]}/package.json`);
// @grafana/data reads these of a browser's globals when loaded. react-use must not see them, or it assumes a browser.
load("react-use");
globalThis.window = { addEventListener() {}, location: {} };
globalThis.navigator ??= { languages: ["en"] };
const grafana = load("@grafana/data");
const { firstValueFrom } = load("rxjs");

const known = new Map(Object.values(grafana.standardTransformers).map((transformer) => [transformer.id, transformer]));
grafana.standardTransformersRegistry.setInit(() =>
    [...known.values()].map((transformation) => ({ id: transformation.id, name: transformation.name, transformation })),
);
const units = new Set(grafana.getValueFormats().flatMap((group) => group.submenu.map((unit) => unit.value)));

const theme = grafana.createTheme();
const mistakes = [];

// A table of an instant query, as Grafana's data source for Prometheus makes it.
function frame({ refId, series }, alone) {
    const labels = [...new Set(series.flatMap(([metric]) => Object.keys(metric)))].sort();
    return grafana.toDataFrame({
        refId,
        fields: [
            { name: "Time", type: "time", values: series.map(() => 0) },
            ...labels.map((name) => ({ name, type: "string", values: series.map(([metric]) => metric[name] ?? "") })),
            { name: alone ? "Value" : `Value #${refId}`, type: "number", values: series.map(([, value]) => value) },
        ],
    });
}

function properties(panel) {
    const { defaults, overrides } = panel.fieldConfig;
    return [
        ...Object.entries(defaults),
        ...overrides.flatMap((override) => override.properties.map(({ id, value }) => [id, value])),
    ];
}

// The configurations in use: the defaults, and the defaults with each override.
function configurations({ fieldConfig: { defaults, overrides } }) {
    const changed = overrides.map(({ properties }) => Object.fromEntries(properties.map(({ id, value }) => [id, value])));
    return [defaults, ...changed.map((one) => ({ ...defaults, ...one }))];
}

async function check({ dashboard, panel, frames }) {
    const wrong = (what) => mistakes.push(`${dashboard} / ${panel.title}: ${what}`);
    for (const [id, value] of properties(panel)) {
        if (id === "unit" && !units.has(value)) wrong(`Grafana has no unit ${value}`);
    }
    for (const config of configurations(panel)) {
        if (config.unit !== "percentunit" || config.decimals !== 1) continue;
        const display = grafana.getDisplayProcessor({ field: { type: "number", config, values: [] }, theme });
        const shown = [0.9994, 0.9996, 0.99999, 1].map((value) => [display(value)].map(({ text, suffix }) => text + (suffix ?? ""))[0]);
        if (shown.join() !== "99.9%,< 100 %,< 100 %,100.0%") wrong(`completions are shown as ${shown}`);
    }
    if (panel.type !== "table") return;
    for (const { id } of panel.transformations) {
        if (!known.has(id)) wrong(`Grafana has no transformation ${id}`);
    }
    const alone = frames.length === 1;
    const made = await firstValueFrom(
        grafana.transformDataFrame(panel.transformations, frames.map((series) => frame(series, alone))),
    );
    if (made.length !== 1) return wrong(`${made.length} tables instead of one`);
    const [{ fields, length }] = made;
    const names = fields.map((field) => grafana.getFieldDisplayName(field, made[0], made));
    const found = (name) => fields[names.indexOf(name)];
    if (length === 0) wrong("no row");
    for (const override of panel.fieldConfig.overrides) {
        if (!found(override.matcher.options)) wrong(`no column ${override.matcher.options} among ${names}`);
        // One title may replace another.
        const title = override.properties.find(({ id }) => id === "displayName");
        if (title) names[names.indexOf(override.matcher.options)] = title.value;
    }
    for (const { displayName } of panel.options.sortBy) {
        if (!found(displayName)) wrong(`cannot be sorted by ${displayName}`);
    }
    for (const name of names) {
        if (/^(Time|Value.*|instance|pod)$/.test(name)) wrong(`a column is called ${name}`);
    }
    const absent = (value) => value === null || value === undefined || value === "";
    fields.forEach(({ values }, at) => {
        if (values.every(absent)) wrong(`the column ${names[at]} is empty`);
    });
    // Rows that could not be joined stay separate, each with empty cells.
    const keys = new Set(fields.filter(({ type }) => type === "string").map(({ values }) => values).reduce(
        (rows, values) => rows.map((row, at) => `${row}\n${values[at]}`), Array(length).fill("")));
    if (keys.size !== length) wrong(`${length} rows about ${keys.size} things`);
    for (const [id, links] of properties(panel)) {
        for (const { url } of id === "links" ? links : []) {
            for (const [, name, at] of url.matchAll(/__data\.fields(?:\.(\w+)|\[(\d+)\])/g)) {
                const field = name ? found(name) : fields[Number(at)];
                if (field?.type !== "string") wrong(`the link ${url} finds no text`);
            }
        }
    }
    const row = fields.map(({ values }, at) => `${names[at]}=${values[0]}`).slice(0, 12).join("  ");
    console.log(`${dashboard} / ${panel.title}: ${length} rows of ${fields.length} columns\n    ${row}`);
}

(async () => {
    for (const panel of JSON.parse(fs.readFileSync(process.argv[3], "utf8"))) await check(panel);
    for (const mistake of mistakes) console.error(mistake);
    process.exitCode = mistakes.length ? 1 : 0;
})();
