/**
 * The text of a terminal, with its colours, drawn as a picture: xterm.js in a browser without a screen.
 *
 *   TRITIUM_EDITORS_VSCODE=… node terminal.mjs SCREEN.ansi OUT.webp COLUMNS ROWS
 */
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { savePicture } from './picture.mjs';

const [screen, out, columns, rows] = process.argv.slice(2);
const require = createRequire(path.join(process.env.TRITIUM_EDITORS_VSCODE, 'x'));
const { chromium } = require('playwright-core');
const xterm = path.dirname(require.resolve('@xterm/xterm/package.json'));
const background = '#14161b';

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
const page = await browser.newPage({ viewport: { width: 1400, height: 1100 } });
await page.setContent(`<style>${fs.readFileSync(path.join(xterm, 'css/xterm.css'))} body { margin: 0; background: ${background} } #t { padding: 12px; display: inline-block }</style><div id=t></div>`);
await page.addScriptTag({ path: path.join(xterm, 'lib/xterm.js') });
const text = fs.readFileSync(screen, 'utf8').replace(/\n$/, '').replace(/\n/g, '\r\n');
await page.evaluate(
  ([text, columns, rows, background]) =>
    new Promise((drawn) => {
      // Lines are taller than the font asks for: at its own height every underscore is cut off.
      const terminal = new Terminal({ cols: +columns, rows: +rows, fontFamily: 'DejaVu Sans Mono', fontSize: 14, lineHeight: 1.25, theme: { background } });
      terminal.open(document.getElementById('t'));
      terminal.write(`${text}\x1b[?25l`, () => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    }),
  [text, columns, rows, background],
);
await page.waitForTimeout(300);
await savePicture(page.locator('#t'), out);
await browser.close();
