// Checks pages with axe-core in Chromium, in light and dark mode, and that nothing is wider than the page: at desktop and phone widths,
// at a zoom of 200 %, and printed on A4.
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
// A zoom halves the pixels of CSS in each direction. A4 has 718 of them between margins of a centimetre.
const media = [
    { name: "1280 px", width: 1280, height: 900, media: "screen" },
    { name: "1280 px and 200 %", width: 640, height: 450, media: "screen" },
    { name: "390 px", width: 390, height: 900, media: "screen" },
    { name: "A4", width: 718, height: 1000, media: "print" },
];
for (const url of urls) {
    for (const { name, width, height, media: kind } of media) {
        for (const colorScheme of ["light", "dark"]) {
            const page = await browser.newPage({ viewport: { width, height }, colorScheme });
            await page.emulateMedia({ media: kind });
            await page.goto(url);
            const full = await page.evaluate("document.documentElement.scrollWidth");
            if (full > width) {
                console.log(`${url} at ${name}, ${colorScheme}: it is ${full} px wide`);
                process.exitCode = 1;
            }
            await page.evaluate(axe);
            const { passes, violations } = await page.evaluate("axe.run()");
            if (passes.length === 0) throw new Error(`axe found no rule to check: ${url}`);
            for (const { id, nodes } of violations) {
                console.log(`${url} at ${name}, ${colorScheme}: ${id}, ${nodes.length} times: ${nodes[0].html}`);
                console.log(nodes[0].failureSummary);
                process.exitCode = 1;
            }
            await page.close();
        }
    }
}
await browser.close();
