// Shows dashboards in headless Chromium as Grafana's own libraries draw them; there is no Grafana server.
//
//     node draw.mjs TOOLS DASHBOARDS
//
// TOOLS is the folder of node_modules, DASHBOARDS that of the JSON files. Each line of standard input is a request:
//     {"uid", "prometheus", "address": "var-job=a&from=now-1h", "theme": "light", "width": 1280, "scrape": "1m"}
// and is answered by a line with what a person sees of that dashboard. With "picture", it is drawn into that PNG file as well, down
// to "height" if that is given.
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";
import { bundle } from "./bundle.mjs";

const [tools, folder] = process.argv.slice(2);
const { chromium } = createRequire(path.join(tools, "package.json"))("playwright-core");
const dashboards = Object.fromEntries(
    readdirSync(folder)
        .filter((name) => name.endsWith(".json"))
        .map((name) => JSON.parse(readFileSync(path.join(folder, name), "utf8")))
        .map((dashboard) => [dashboard.uid, dashboard]),
);
const HTML = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<script>
window.__grafana_public_path__ = "/public/";
window.grafanaBootData = { settings: { featureToggles: {} }, user: { locale: "en-US", language: "en-US" }, navTree: [] };
</script>
<link rel="stylesheet" href="/page.css"><div id="root"></div><script src="/page.js"></script>`;
const TYPES = { "": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2" };

const { script, styles } = await bundle(tools);
const server = createServer((request, response) => {
    answer(request, response).catch((error) => response.writeHead(502).end(String(error)));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});
for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await show(JSON.parse(line))));
await browser.close();
server.closeAllConnections();
server.close();

async function show({ uid, width = 1280, height: shown = Infinity, picture, ...request }) {
    const page = await browser.newPage({ viewport: { width, height: 1000 } });
    const errors = [];
    page.on("pageerror", (error) => errors.push(error.stack));
    try {
        await page.goto(`http://127.0.0.1:${server.address().port}/`);
        const height = await page.evaluate((given) => window.show(given), { dashboard: dashboards[uid], ...request });
        await page.setViewportSize({ width, height });
        if (picture) await page.screenshot({ path: picture, clip: { x: 0, y: 0, width, height: Math.min(height, shown) } });
        return { errors, ...(await page.evaluate(() => window.report())) };
    } catch (error) {
        return { errors: [...errors, error.message] };
    } finally {
        await page.close();
    }
}

/** The page and its parts, and a Prometheus behind /prometheus/HOST:PORT/. */
async function answer(request, response) {
    const { pathname, search } = new URL(request.url, "http://page");
    const [, at, rest] = /^\/prometheus\/([^/]+)(\/.*)$/.exec(pathname) ?? [];
    if (at) {
        const body = Buffer.concat(await request.toArray());
        const forwarded = await fetch(`http://${at}${rest}${search}`, {
            method: request.method,
            headers: { "content-type": request.headers["content-type"] ?? "text/plain" },
            body: body.length ? body : undefined,
        });
        response.writeHead(forwarded.status, { "content-type": "application/json" }).end(await forwarded.text());
        return;
    }
    const content = { "/": HTML, "/page.js": script, "/page.css": styles }[pathname] ?? (await installed(pathname));
    response.writeHead(content ? 200 : 404, { "content-type": TYPES[path.extname(pathname)] ?? "text/plain" }).end(content);
}

/** A font and icons, which Grafana's server has among its files; the packages lack some icons. */
async function installed(pathname) {
    const file = (name) => readFile(path.join(tools, "node_modules", name));
    if (pathname.startsWith("/public/fonts/inter/")) return file("@fontsource-variable/inter/files/inter-latin-wght-normal.woff2");
    const icon = /^\/public\/build\/(img\/icons\/[\w/-]+\.svg)$/.exec(pathname)?.[1];
    return icon && file(`@grafana/ui/dist/public/${icon}`).catch(() => '<svg xmlns="http://www.w3.org/2000/svg"/>');
}
