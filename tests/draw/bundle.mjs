// Bundles page.tsx with Grafana's libraries, which lie in node_modules of the folder `tools`.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

/** What Grafana's libraries of each name are: they come twice, and what is registered in one copy is unknown to the other. */
const COPIES = [
    [/^@grafana\/(data|e2e-selectors|i18n|prometheus|schema|ui)$/, (name) => [`${name}/dist/esm/index.mjs`]],
    // Scenes imports functions from it that this release lacks, which only CommonJS forgives.
    [/^@grafana\/runtime$/, () => ["@grafana/runtime/dist/cjs/index.cjs"]],
    [/^@grafana\/runtime\/unstable$/, () => ["@grafana/runtime/dist/cjs/unstable.cjs"]],
    [/^@grafana\/schema\/dist\//, (name) => [`${name}.mjs`, `${name}.js`, name]],
];

/** Returns {script, styles}. */
export async function bundle(tools) {
    const modules = path.join(tools, "node_modules");
    const esbuild = createRequire(path.join(tools, "package.json"))("esbuild");
    const oneCopy = ({ onResolve }) => {
        for (const [filter, candidates] of COPIES) {
            onResolve({ filter }, ({ path: name }) => {
                const found = candidates(name).map((file) => path.join(modules, file)).find(existsSync);
                return found && { path: found };
            });
        }
    };
    // The editors of queries are half of the data source, and are not shown here.
    const editors = /@grafana\/prometheus\/dist\/esm\/(.*\/)?components\/.*\.mjs$/;
    const noEditors = ({ onLoad }) => onLoad({ filter: editors }, () => ({ contents: "module.exports = {}" }));
    const result = await esbuild.build({
        entryPoints: [path.join(import.meta.dirname, "page.tsx")],
        outfile: "page.js",
        bundle: true,
        write: false,
        format: "iife",
        target: "es2022",
        jsx: "automatic",
        nodePaths: [modules],
        define: { "process.env.NODE_ENV": '"production"', "process.env.JEST_WORKER_ID": "undefined", global: "window" },
        loader: Object.fromEntries([".svg", ".png", ".gif", ".woff", ".woff2", ".ttf"].map((type) => [type, "dataurl"])),
        plugins: [
            { name: "one-copy", setup: oneCopy },
            { name: "no-editors", setup: noEditors },
        ],
        logLevel: "error",
    });
    const made = (type) => result.outputFiles.find((file) => file.path.endsWith(type))?.contents ?? "";
    return { script: made(".js"), styles: made(".css") };
}
