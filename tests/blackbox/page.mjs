// What page.rs has Chromium do with the status page, whose own policy allows no script:
//
//     node page.mjs FOLDER-OF-NODE-MODULES TEST URL
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [folder, test, url] = process.argv.slice(2);
const { chromium } = createRequire(`${resolve(folder)}/`)("playwright-core");

const tests = {
    async person(page) {
        const names = () => page.locator("tbody bdi.name").allTextContents();
        const click = (link) => page.getByRole("link", { name: link }).first().click();
        await page.goto(url);
        assert.match(await page.locator("h2#answer").innerText(), /^Not ready to ship yet: /);
        assert.equal(await page.locator("h2#state").innerText(), "Nothing is wrong with the exporter");
        assert.equal(await page.locator("[role=status]").innerText(), "450 repositories, 1 to 200 on this page");
        assert.deepEqual((await names()).slice(0, 2), ["other/001", "other/002"], "the least complete first");

        await click("Next");
        await click("Next");
        assert.equal(await page.locator("[aria-current=page]").innerText(), "Page 3 of 3");
        assert.equal((await names()).length, 50);

        await click("Repository");
        assert.equal((await names())[0], "acme/003");
        assert.match(await page.locator("th[aria-sort=ascending]").innerText(), /^Repository/);
        await click("Repository");
        assert.equal((await names())[0], "other/449");

        await page.locator("#q").fill("ACME/00");
        await page.locator("#q").press("Enter");
        await page.getByRole("link", { name: "Show all" }).waitFor();
        assert.deepEqual(await names(), ["acme/009", "acme/006", "acme/003"], "the order stays");
        await click("Show all");
        assert.equal((await names())[0], "other/449");
    },

    async colours(page) {
        const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        await page.goto(url);
        assert.equal(await background(), "rgb(250, 248, 245)", "the stylesheet is in force under the page's own policy");
        await page.emulateMedia({ colorScheme: "dark" });
        assert.notEqual(await background(), "rgb(250, 248, 245)");
    },

    async distances(page) {
        const box = (selector) => page.locator(selector).first().boundingBox();
        for (const [width, height] of [
            [1280, 800],
            [390, 844],
        ]) {
            const bottoms = {};
            const seen = async (what, selector) => {
                const { y, height: high } = await box(selector);
                bottoms[what] = Math.round(y + high);
                assert.ok(y >= 0 && y + high <= height, `${what} is on the screen of ${width} by ${height}: ${y}`);
            };
            await page.setViewportSize({ width, height });
            await page.goto(url);
            await seen("the answer", ".answer");
            await page.locator("#q").fill("opal");
            await page.locator("#q").press("Enter");
            await page.getByRole("link", { name: "Show all" }).waitFor();
            await seen("the count of a search", "[role=status]");
            await seen("the first repository of a search", "tbody th");

            await page.goto(`${url}/?language=DE`);
            assert.equal(await page.locator("h1").innerText(), "German (de)");
            await seen("the name of the language", "h1");
            await seen("the way back", "header a");
            await seen("the answer for the language", ".answer");
            assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, "nothing lies beside the screen");
            console.log(width, height, JSON.stringify(bottoms));
        }
    },

    async keyboard(page) {
        const focus = () =>
            page.evaluate(() => {
                const { id, innerText } = document.activeElement;
                return id || innerText;
            });
        await page.goto(url);
        await page.keyboard.press("Tab");
        assert.equal(await focus(), "Skip to the repositories");
        await page.keyboard.press("Enter");
        const order = [];
        for (let at = 0; at < 10; at++) {
            await page.keyboard.press("Tab");
            order.push(await focus());
        }
        const headings = ["Repository", "Ready", "Mean", "Last progress"];
        assert.deepEqual(order, ["q", "language", "sort", "", "Show", "What the marks mean", ...headings], "the controls, then the table");

        await page.goto(url);
        const positions = [];
        for (let at = 0; at < 40; at++) {
            await page.keyboard.press("Tab");
            positions.push(await page.evaluate(() => [...document.querySelectorAll("*")].indexOf(document.activeElement)));
        }
        const sorted = positions.toSorted((one, other) => one - other);
        assert.deepEqual(positions, sorted, "the keyboard goes through the page from top to bottom");
    },

    async scrolling(page) {
        const scrollers = () =>
            [...document.querySelectorAll("body *")].filter(
                (element) =>
                    /auto|scroll/.test(getComputedStyle(element).overflow) && element.scrollHeight > element.clientHeight,
            ).length;
        const outside = () =>
            [...document.querySelectorAll("td, tbody th")].filter((cell) => {
                const box = cell.getBoundingClientRect();
                return box.left < 0 || box.right > document.documentElement.clientWidth;
            }).length;
        for (const width of [1280, 1000, 390]) {
            await page.setViewportSize({ width, height: 844 });
            await page.goto(url);
            assert.equal(await page.locator("tbody bdi.name").count(), 200);
            assert.equal(await page.evaluate(scrollers), 0, `nothing scrolls within the page at ${width}`);
            assert.equal(await page.evaluate(outside), 0, `nothing is cut off at ${width}`);
        }
        const rows = () => page.locator("tbody tr").filter({ visible: true }).count();
        const height = () => page.evaluate(() => document.documentElement.scrollHeight);
        assert.equal(await rows(), 25, "a phone shows 25 rows");
        const short = await height();
        await page.getByLabel("Show all 200 rows of this page").check();
        assert.equal(await rows(), 200, "and the others on request");
        assert.ok((await height()) > 4 * short, `which are most of the page: ${short} of ${await height()}`);
        const labels = await page.evaluate(() =>
            [...document.querySelectorAll("tbody tr:last-child td[data-code]")].map((tile) =>
                getComputedStyle(tile, "::before").content.slice(1, -1),
            ),
        );
        const codes = [..."abcdefghijklmnopqrstuvwxy"].map((letter) => `l${letter}`);
        assert.deepEqual(labels, ["Mean", ...codes], "each tile shows its language");
        const name = await page.evaluate(() => document.querySelector("tbody th").clientWidth);
        assert.ok(name > 0.8 * 390, "a name has the width of the screen");
        await page.setViewportSize({ width: 1280, height: 844 });
        await page.goto(url);
        assert.equal(await rows(), 200, "a wide window shows all rows");
        const heading = await page.evaluate(() => {
            scrollTo(0, document.body.scrollHeight / 2);
            return document.querySelector("thead th").getBoundingClientRect().top;
        });
        assert.equal(heading, 0, "the heading stays in sight");
    },
};

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
// A container has no sandbox, and little shared memory.
const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"];
const browser = await chromium.launch({ executablePath, args });
try {
    await tests[test](await browser.newPage({ viewport: { width: 1400, height: 1100 }, javaScriptEnabled: test !== "person" }));
} finally {
    await browser.close();
}
