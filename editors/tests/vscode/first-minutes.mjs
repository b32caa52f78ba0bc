/**
 * The first minutes with Tritium: a fresh profile, the packaged extension, and a kernel that nobody prepared.
 *
 *   TRITIUM_EDITORS_VSCODE=… node first-minutes.mjs PACKAGE.vsix KERNEL.py LAUNCH.txt DOCS
 *
 * LAUNCH.txt is what the person types at the end of the file. DOCS/first-minutes.md tells what was reached when, with the pictures in
 * DOCS/images/first-minutes. **Nothing is waited for but what the person would wait for.**
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { open, poll, screenshot } from './lib.mjs';

const [vsix, kernel, launch, docs] = process.argv.slice(2);
const folder = path.join(docs, 'images/first-minutes');
fs.mkdirSync(folder, { recursive: true });
const begin = Date.now();
const editor = await open({ vsix, driven: false });
const steps = [];
const name = path.basename(kernel);
fs.copyFileSync(kernel, path.join(editor.folder, name));
const page = await editor.page({ width: 1280, height: 800 });
page.setDefaultTimeout(60_000);
const reached = async (what, picture) => {
  steps.push({ what, seconds: Math.round((Date.now() - begin) / 100) / 10, picture });
  console.log(`${steps.at(-1).seconds} s  ${what}`);
  if (picture) {
    // What is over leaves the screen.
    await page.locator('.notification-toast', { hasText: 'Running' }).first().waitFor({ state: 'detached' });
    await page.waitForTimeout(500);
    await screenshot(page, path.join(folder, picture));
  }
};
const line = (words) => page.locator('.view-line', { hasText: words }).first();
const command = async (title) => {
  await page.keyboard.press('F1');
  const input = page.locator('.quick-input-widget input.input');
  await input.waitFor({ state: 'visible' });
  await input.fill(`>${title}`);
  await page.locator('.quick-input-list .monaco-list-row').filter({ has: page.locator('.label-name', { hasText: new RegExp(`^${title}$`) }) }).first().click();
};
const goTo = async (row) => {
  await page.keyboard.press('Control+g');
  const input = page.locator('.quick-input-widget input.input');
  await input.waitFor({ state: 'visible' });
  await input.fill(`:${row}:5`);
  await page.keyboard.press('Enter');
  await input.waitFor({ state: 'hidden' });
  await page.locator('.statusbar-item', { hasText: `Ln ${row}, Col 5` }).first().waitFor();
};
const webview = () => page.frameLocator('iframe.webview:visible').frameLocator('iframe#active-frame');

try {
  await reached('the extension is installed in a fresh profile');
  await page.goto(editor.url([['openFile', editor.remote(path.join(editor.folder, name))]]), { timeout: 120_000 });
  await page.locator('.view-lines').first().waitFor({ timeout: 90_000 });
  await page.keyboard.press('Control+b');
  await reached('the editor shows the file');
  await page.locator('.statusbar-item', { hasText: 'Triton' }).first().waitFor();
  await reached('Tritium knows the file', undefined);
  const text = fs.readFileSync(kernel, 'utf8');
  const definition = /kernel = "(\w+)"/.exec(fs.readFileSync(launch, 'utf8'))[1];
  const row = text.slice(0, text.indexOf(`def ${definition}(`)).split('\n').length;
  await goTo(row);
  await page.locator('.view-lines', { hasText: /:\s(f32|bf16|f16|i32)\[/ }).first().waitFor();
  await reached('shapes stand beside the tiles', 'shapes.png');
  await line(`def ${definition}(`).locator('span span', { hasText: new RegExp(`^\\s*${definition}$`) }).first().hover();
  await page.locator('.monaco-hover:visible', { hasText: /registers/i }).first().waitFor();
  await reached('the hover tells registers, shared memory and occupancy', 'cost.png');
  await page.mouse.move(1200, 700);
  await page.keyboard.press('Escape');
  // The person says how the kernel is launched.
  await page.keyboard.press('Control+End');
  await page.keyboard.insertText(`\n\n${fs.readFileSync(launch, 'utf8')}`);
  await goTo(row);
  await page.locator('.codelens-decoration a', { hasText: '▶ Run' }).first().waitFor();
  await reached('a launch block is written, and ▶ Run stands above the kernel', 'launch.png');
  await command('Tritium: Show Configurations');
  await webview().locator('table').waitFor();
  await poll(async () => !/still being compiled/.test(await webview().locator('body').innerText()), 120_000, 'all figures are exact');
  await page.mouse.move(450, 700);
  await reached('the matrix compares the launches, with exact registers', 'configurations.png');
  await page.locator('.codelens-decoration a', { hasText: '▶ Run' }).first().click();
  await page.locator('.notification-toast', { hasText: /verified|ran/i }).first().waitFor({ timeout: 90_000 });
  await reached('the kernel has run on the CPU and its result is verified', 'run.png');
} catch (error) {
  await page.screenshot({ path: path.join(folder, 'failure.png') }).catch(() => {});
  console.error(error);
  process.exitCode = 1;
} finally {
  await editor.close();
}
if (process.exitCode === undefined) {
  const load = fs.readFileSync('/proc/loadavg', 'utf8').split(' ')[0];
  const cores = spawnSync('nproc', { encoding: 'utf8' }).stdout.trim();
  const server = spawnSync(process.env.TRITIUM_BIN, ['--version'], { encoding: 'utf8' }).stdout.trim();
  const shot = ({ what, picture }) => (picture ? `\n![${what}](images/first-minutes/${picture})\n` : '');
  fs.writeFileSync(
    path.join(docs, 'first-minutes.md'),
    `# The first minutes

A fresh profile of VS Code, the packaged extension, and \`${name}\`, a file of kernels that nobody prepared for Tritium. A script takes the steps that
a person would; seconds count from the start of the editor. Taken on ${cores} cores under a load of ${load}, with ${server}
(${process.env.TRITIUM_BUILD ?? 'release build'}), by \`editors/first-minutes.sh\`.

| reached | after |
|---|---:|
${steps.map(({ what, seconds }) => `| ${what} | ${seconds.toFixed(1)} s |`).join('\n')}
${steps.map(shot).join('')}
The launch block says how the kernel is launched, since the file itself leaves that to its callers:

\`\`\`python
${fs.readFileSync(launch, 'utf8').trim()}
\`\`\`
`,
  );
}
