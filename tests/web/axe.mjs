// Checks the accessibility of pages: axe-core in Chromium, at desktop and phone widths, in light and dark mode.
//
//     node axe.mjs FOLDER-OF-NODE-MODULES URL…
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const [folder, ...urls] = process.argv.slice(2);
const require = createRequire(`${resolve(folder)}/`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core"), "utf8");

// Containers have no sandbox for Chromium and little shared memory.
const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"],
});
for (const url of urls) {
    for (const width of [1280, 390]) {
        for (const colorScheme of ["light", "dark"]) {
            const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
            await page.goto(url);
            await page.evaluate(axe);
            const { passes, violations } = await page.evaluate("axe.run()");
            if (passes.length === 0) throw new Error(`axe found no rule to check: ${url}`);
            for (const { id, nodes } of violations) {
                console.log(`${url} at ${width} px, ${colorScheme}: ${id}, ${nodes.length} times: ${nodes[0].html}`);
                console.log(nodes[0].failureSummary);
                process.exitCode = 1;
            }
            await page.close();
        }
    }
}
await browser.close();
