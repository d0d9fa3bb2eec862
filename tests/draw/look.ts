// What only the drawn page can say: columns that one does not see, titles that are cut off, text that is hard to read.

export function look(panel: Element) {
    return { hidden: hiddenColumns(panel), cut: cutTitles(panel), faint: faintTexts(panel) };
}

/** Columns of which something lies beyond the right edge. */
function hiddenColumns(panel: Element): string[] {
    const grid = panel.querySelector("[role=grid]");
    const edge = grid ? grid.getBoundingClientRect().left + grid.clientWidth : 0;
    const headers = [...panel.querySelectorAll("[role=columnheader]")];
    return headers.filter((header) => header.getBoundingClientRect().right > edge + 1).map((header) => header.textContent!);
}

/** Titles of the panel and of its columns that are wider than their place. */
function cutTitles(panel: Element): string[] {
    const range = document.createRange();
    const isCut = (title: Element) => {
        range.selectNodeContents(title);
        const text = range.getBoundingClientRect();
        const place = title.getBoundingClientRect();
        return text.left < place.left - 1 || text.right > place.right + 1;
    };
    return [...panel.querySelectorAll("h2, [role=columnheader]")].filter(isCut).map((title) => title.textContent!);
}

/** Texts with a contrast below 4.5:1 to what is behind them. */
function faintTexts(panel: Element): string[] {
    const walker = document.createTreeWalker(panel, NodeFilter.SHOW_TEXT);
    const found = new Set<string>();
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement!;
        if (!walker.currentNode.textContent!.trim() || element.closest("style") || !element.getClientRects().length) continue;
        const behind = backgroundOf(element);
        const ratio = contrast(over(rgba(getComputedStyle(element).color), behind), behind);
        if (ratio < 4.5) found.add(`${walker.currentNode.textContent} (${ratio.toFixed(2)})`);
    }
    return [...found];
}

type Color = number[];

function backgroundOf(element: Element | null): Color {
    if (!element) return [255, 255, 255, 1];
    const own = rgba(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, backgroundOf(element.parentElement));
}

const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true })!;
const known = new Map<string, Color>();

/** A colour of CSS, however it is written. */
function rgba(css: string): Color {
    if (!known.has(css)) {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = css;
        canvas.fillRect(0, 0, 1, 1);
        const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
        known.set(css, [red, green, blue, alpha / 255]);
    }
    return known.get(css)!;
}

const over = (top: Color, below: Color): Color => [...[0, 1, 2].map((n) => top[n] * top[3] + below[n] * (1 - top[3])), 1];

/** As WCAG 2 defines it. */
function contrast(one: Color, other: Color): number {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
}

function luminance(color: Color): number {
    const [red, green, blue] = color.slice(0, 3).map((part) => {
        const share = part / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
