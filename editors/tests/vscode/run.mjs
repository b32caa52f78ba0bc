/**
 * The extension in the real VS Code: assertions inside the extension host, then a few steps as a person takes them.
 *
 *   TRITIUM_EDITORS_VSCODE=… node run.mjs PACKAGE.vsix OTHER.vsix FAILURES [IMAGES]
 *
 * TRITIUM_TEST_ONLY=host,restricted,person,light runs parts of it, TRITIUM_TEST_MATCH the checks and steps whose name it matches. OTHER is an
 * extension that a person has beside ours. A screenshot of a step that failed goes to FAILURES; with IMAGES the pictures of the documentation are taken there.
 * **The last line says `N passed, N failed`, and the exit status agrees.**
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { inHost, open, poll, screenshot } from './lib.mjs';

const [vsix, other, failures, images] = process.argv.slice(2);
let passed = 0;
let failed = 0;
const pass = (name) => ((passed += 1), console.log(`ok   ${name}`));
const fail = (name, error) => ((failed += 1), console.log(`FAIL ${name}: ${String(error?.message ?? error).slice(0, 1500)}`));

/** Runs one suite of `host/index.js` and takes over its lines. */
async function suite(name, editor, results) {
  const code = await inHost(editor);
  const lines = fs.existsSync(results) ? fs.readFileSync(results, 'utf8').trim().split('\n') : [];
  for (const line of lines) {
    if (line.startsWith('ok')) passed += 1;
    else if (line.startsWith('FAIL')) failed += 1;
    console.log(`${name}: ${line}`);
  }
  if (lines.length === 0 || (code !== 0 && !lines.some((line) => line.startsWith('FAIL')))) fail(name, `the extension host ended with ${code} after ${lines.length} checks`);
}

async function withEditor(name, options, act) {
  const begun = Date.now();
  const seconds = () => Math.round((Date.now() - begun) / 1000);
  const results = path.join(fs.mkdtempSync(path.join(failures, 'results-')), 'lines');
  const editor = await open({ vsix, ...options, env: { TRITIUM_TEST_RESULTS: results, ...options.env } });
  const started = seconds();
  try {
    await act(editor, results);
  } finally {
    console.log(`-- ${name}: ${seconds()} s, ${started} of them until the editor answers`);
    await editor.close();
    fs.rmSync(path.dirname(results), { recursive: true, force: true });
  }
}

/**
 * What a person sees and does. **Each step begins by making sure of what it needs, and a movement is made again until the window answers**:
 * a key or a click that comes while a window still settles goes nowhere, and a step that fails hides none behind it.
 */
async function person(editor, suffix) {
  const page = await editor.page({ width: 1180, height: 740 });
  const line = (words) => page.locator('.view-line', { hasText: words }).first();
  const hints = (words) => page.locator('.view-lines', { hasText: words }).first();
  // Pictures are taken of a settled screen: no pointer, no toast, no blinking cursor.
  const picture = async (name) => {
    if (!images) return;
    await page.waitForTimeout(600);
    await screenshot(page, path.join(images, `${name}${suffix}.png`));
  };
  // By its row: Enter would take whatever is on top by then. Opened again if a window that still settles takes the focus and closes it.
  const choose = async (key, text, row) => {
    const input = page.locator('.quick-input-widget input.input');
    await poll(async () => {
      await page.keyboard.press(key);
      await input.waitFor({ state: 'visible', timeout: 3_000 });
      await input.fill(text, { timeout: 3_000 });
      await row.first().click({ timeout: 5_000 });
      return true;
    }, 60_000, `${text} is chosen`);
  };
  const quickRows = page.locator('.quick-input-list .monaco-list-row');
  const openFile = async (name, words) => {
    // By its whole path: the oldest editor comes without the program that searches files.
    await choose('Control+p', path.join(editor.folder, name), quickRows.filter({ hasText: name }));
    await line(words).waitFor();
  };
  const command = (title) => {
    const whole = new RegExp(`^${title.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);
    return choose('F1', `>${title}`, quickRows.filter({ has: page.locator('.label-name', { hasText: whole }) }));
  };
  const webview = () => page.frameLocator('iframe.webview:visible').frameLocator('iframe#active-frame');
  // By line number: a long file shows only a part of itself, and a layout that settles moves what is clicked.
  const cursorOn = async (name, words) => {
    const text = fs.readFileSync(path.join(editor.folder, name), 'utf8');
    const row = text.slice(0, text.indexOf(words)).split('\n').length;
    const input = page.locator('.quick-input-widget input.input');
    await poll(async () => {
      await page.locator('.tab', { hasText: name }).first().click({ timeout: 5_000 });
      await page.locator('.monaco-editor.focused').first().waitFor({ timeout: 3_000 });
      await page.keyboard.press('Control+g');
      await input.waitFor({ state: 'visible', timeout: 3_000 });
      await input.fill(`:${row}:5`, { timeout: 3_000 });
      await page.keyboard.press('Enter');
      await page.locator('.statusbar-item', { hasText: `Ln ${row}, Col 5` }).first().waitFor({ timeout: 5_000 });
      return true;
    }, 60_000, `the cursor stands at ${words}`);
    await input.waitFor({ state: 'hidden' });
  };
  // Where the pointer shows nothing.
  const aside = () => page.mouse.move(450, 672);
  const clear = async () => {
    await page.keyboard.press('Escape');
    await command('Notifications: Clear All Notifications');
    await command('File: Save All Files');
    await poll(async () => (await page.locator('.tab.dirty').count()) === 0, 20_000, 'all files are saved');
    await command('View: Close All Editors');
    await poll(async () => (await page.locator('.tabs-container .tab').count()) === 0, 20_000, 'no editor is open');
  };
  /** The file in front, as it is on disk unless it was in front already. */
  const showing = async (name, words) => {
    const isShown = (await page.locator('.tab.active', { hasText: name }).count()) > 0 && (await line(words).isVisible());
    if (isShown) return;
    await clear();
    await openFile(name, words);
  };
  /** Over something, as a hand comes to it: one single jump is no movement to what is drawn anew at that moment. */
  const pointAt = async (target) => {
    await page.mouse.move(1100, 600);
    await target.scrollIntoViewIfNeeded({ timeout: 5_000 });
    const { x, y, width, height } = await target.boundingBox({ timeout: 5_000 });
    await page.mouse.move(x + width / 2 - 8, y + height / 2, { steps: 4 });
    await page.mouse.move(x + width / 2, y + height / 2, { steps: 4 });
  };
  const chart = async (title, drawn) => {
    const shown = webview().locator(drawn).first();
    if (await shown.isVisible().catch(() => false)) return;
    await clear();
    await openFile('tuned.py', 'def matmul');
    await cursorOn('tuned.py', 'total = tl.dot');
    await command(title);
    await shown.waitFor({ timeout: 60_000 });
  };
  const problem = page.locator('.markers-panel .monaco-list-row', { hasText: 'SHP001' }).first();
  /** The problem's row is opened, so that the cursor stands at it. */
  const atTheProblem = async () => {
    await showing('broken.py', 'pair_sums');
    await poll(async () => {
      if (!(await page.locator('.markers-panel').isVisible())) await page.keyboard.press('Control+Shift+m');
      await problem.waitFor({ timeout: 5_000 });
      await problem.dblclick({ timeout: 5_000 });
      await page.locator('.monaco-editor.focused').first().waitFor({ timeout: 3_000 });
      return true;
    }, 60_000, 'the problem is opened');
  };
  const withoutPanel = (selector) =>
    poll(async () => {
      if (await page.locator(selector).isVisible()) await page.keyboard.press('Control+j');
      await page.locator(selector).waitFor({ state: 'hidden', timeout: 3_000 });
      return true;
    }, 30_000, 'the panel is closed');
  const closeTab = async (name) => {
    const tab = page.locator('.tab', { hasText: name }).first();
    await tab.click();
    await command('View: Close Editor');
    await tab.waitFor({ state: 'detached' });
  };
  /** Loads the window anew, as it was left, and turns to one of its tabs. */
  const reload = async (tab) => {
    // A window keeps its state when it is left for another; a page that is only unloaded may be too late.
    await page.evaluate(() => {
      document.hasFocus = () => false;
      window.dispatchEvent(new Event('blur'));
    });
    await page.waitForTimeout(1_000);
    await page.goto(editor.url([]), { timeout: 120_000 });
    await page.locator('.tab', { hasText: tab }).first().click({ timeout: 90_000 });
  };
  const steps = {
    'the mistake is underlined': async () => {
      await showing('broken.py', 'pair_sums');
      await page.locator('.squiggly-error').first().waitFor({ timeout: 60_000 });
      await poll(async () => {
        if (await page.locator('.part.sidebar').isVisible()) await page.keyboard.press('Control+b');
        await page.locator('.part.sidebar').waitFor({ state: 'hidden', timeout: 3_000 });
        return true;
      }, 30_000, 'the side bar is closed');
    },
    'the problems panel tells it': async () => {
      await atTheProblem();
      await page.mouse.move(590, 420);
      await page.locator('.codelens-decoration a', { hasText: '▶ Run' }).first().waitFor();
      await page.locator('.statusbar-item', { hasText: 'Saving' }).first().waitFor({ state: 'detached' });
      await picture('vscode-diagnostics');
    },
    'the light bulb mends it': async () => {
      await atTheProblem();
      await withoutPanel('.markers-panel');
      // The panel gives the focus back a moment after it is gone, and actions that are asked for anew close their list.
      const action = page.locator('.action-widget .monaco-list-row.action').first();
      const mistake = page.locator('.squiggly-error').first();
      await poll(async () => {
        if ((await mistake.count()) === 0) return true;
        await page.locator('.monaco-editor.focused').first().waitFor({ timeout: 3_000 });
        await page.keyboard.press('Control+.');
        await action.waitFor({ timeout: 5_000 });
        await page.keyboard.press('Enter');
        await mistake.waitFor({ state: 'detached', timeout: 10_000 });
        return true;
      }, 90_000, 'the mistake is mended');
    },
    'lens and hints stand in the text': async () => {
      await clear();
      await openFile('softmax.py', 'def softmax');
      await page.locator('.codelens-decoration a', { hasText: '▶ Run' }).first().waitFor();
      await hints(': f32[1024]').waitFor();
      // The launch block is coloured as what it is, inside of its comment.
      const spans = line('kernel = "softmax"').locator('span span');
      const colours = () => spans.evaluateAll((all) => new Set(all.map((one) => one.className)).size);
      await poll(async () => (await colours()) > 1, 30_000, 'the launch block has colours');
      await page.mouse.move(1100, 600);
      await picture('vscode-lens');
    },
    'the pointer on a hint explains it': async () => {
      await showing('softmax.py', 'def softmax');
      const card = page.locator('.monaco-hover:visible', { hasText: /under/ }).first();
      // Hints that are drawn anew under a pointer at rest show nothing.
      await poll(async () => {
        await page.keyboard.press('Escape');
        await pointAt(page.locator('.view-line span span', { hasText: /f32\[1024\]$/ }).first());
        await card.waitFor({ timeout: 4_000 });
        return true;
      }, 90_000, 'the hint is explained');
      await page.mouse.move(1100, 600);
      await page.keyboard.press('Escape');
    },
    'the pointer on the kernel tells its cost': async () => {
      await showing('softmax.py', 'def softmax');
      // The exact figure comes with the next hover once ptxas has answered.
      const card = page.locator('.monaco-hover:visible', { hasText: /registers/i }).first();
      await poll(async () => {
        await page.keyboard.press('Escape');
        await pointAt(line('def softmax').locator('span span', { hasText: /^\s*softmax$/ }).first());
        await card.waitFor({ timeout: 5_000 });
        return /exact, ptxas/.test(await card.innerText({ timeout: 5_000 }));
      }, 90_000, 'the registers are exact');
      if (!images) return;
      // As high as what it says, as a person would drag it.
      const { x, y, width, height } = await card.boundingBox();
      await page.mouse.move(x + width / 2, y + height - 1, { steps: 5 });
      await page.mouse.down();
      await page.mouse.move(x + width / 2, y + height + 165, { steps: 10 });
      await page.mouse.up();
      await page.mouse.move(x + width / 2, y + height / 2, { steps: 5 });
      await picture('vscode-hover');
    },
    'beside another server our hover comes first': async () => {
      // Beside the card that the step before has drawn out.
      await page.mouse.move(1100, 600);
      await page.keyboard.press('Escape');
      await showing('blocks.py', 'make_block_ptr');
      await hints(': f16[32, 64]').waitFor();
      const card = page.locator('.monaco-hover:visible', { hasText: 'another server' }).first();
      let words = '';
      await poll(async () => {
        await page.keyboard.press('Escape');
        await pointAt(line('boundary_check').locator('span span', { hasText: /^\s*part$/ }).first());
        await card.waitFor({ timeout: 5_000 });
        // What the pointer passed on its way may have a card for a moment.
        words = (await card.innerText({ timeout: 5_000 })).trim();
        return words.startsWith('part');
      }, 90_000, 'both servers have answered');
      assert.match(words, /^part: f16\[32, 64\][^]*another server/);
      await aside();
      await page.keyboard.press('Escape');
    },
    'a click on the lens runs the kernel': async () => {
      await page.mouse.move(1100, 600);
      await page.keyboard.press('Escape');
      await showing('softmax.py', 'def softmax');
      const printed = page.locator('.panel .view-lines').first();
      // A lens that is drawn anew under the pointer takes no click, and what tells of the run does not stay.
      await poll(async () => {
        await page.locator('.codelens-decoration a', { hasText: '▶ Run' }).first().click({ timeout: 5_000 });
        const toast = page.locator('.notification-toast', { hasText: /verified/i }).first();
        await toast.waitFor({ timeout: 30_000 });
        await toast.getByText('Show Output').click({ timeout: 5_000 });
        await poll(async () => /verified/i.test(await printed.innerText({ timeout: 5_000 })), 10_000, 'the output is shown');
        return true;
      }, 120_000, 'the kernel runs and its output is shown');
      await picture('vscode-run');
      await withoutPanel('.panel .view-lines');
    },
    'the PTX stands beside the source and follows the cursor': async () => {
      await clear();
      await openFile('tuned.py', 'def matmul');
      await cursorOn('tuned.py', 'total = tl.dot');
      await command('Tritium: Show PTX');
      await page.locator('.view-line', { hasText: 'mma' }).first().waitFor({ timeout: 60_000 });
      // The lines that were made of the cursor's line are marked, also after it has moved.
      const marked = page.locator('.monaco-editor .cdr[class*="ced-"]').first();
      for (const words of ['b = tl.load', 'total = tl.dot']) {
        await cursorOn('tuned.py', words);
        await marked.waitFor();
      }
      await aside();
      await picture('vscode-ptx');
    },
    'the matrix shows every configuration': async () => {
      await clear();
      await chart('Tritium: Show Configurations', 'table');
      await poll(async () => !/still being compiled/.test(await webview().locator('body').innerText({ timeout: 5_000 })), 120_000, 'all figures are exact');
      await aside();
      await picture('vscode-configurations');
    },
    'a click on a column looks at that configuration': async () => {
      await chart('Tritium: Show Configurations', 'table');
      // A table that is written anew under the pointer takes no click.
      await poll(async () => {
        await webview().locator('thead button', { hasText: 'BN=128' }).click({ timeout: 5_000 });
        await page.locator('.statusbar-item', { hasText: 'BN=128' }).first().waitFor({ timeout: 5_000 });
        return true;
      }, 60_000, 'the status bar says BN=128');
    },
    'the roofline has a point for every configuration': async () => {
      await clear();
      await chart('Tritium: Show Roofline', 'svg .point');
      const counts = async () => [await webview().locator('svg .point').count(), await webview().locator('svg .point.active').count()].join();
      await poll(async () => (await counts()) === '4,1', 30_000, 'four points, one of them active');
      if (!images) return;
      // The whole width, or its words are too small to read.
      await page.locator('.tab', { hasText: 'matmul: Roofline' }).first().click();
      await command('View: Toggle Maximize Editor Group');
      await aside();
      await picture('vscode-roofline');
      await command('View: Toggle Maximize Editor Group');
    },
    'charts follow the theme': async () => {
      await chart('Tritium: Show Roofline', 'svg .point');
      // Of the page, and of a word and a point of the drawing.
      const colours = () =>
        webview().locator('body').evaluate((body) => {
          const of = (selector, property) => getComputedStyle(body.querySelector(selector) ?? body)[property];
          return [of('body', 'backgroundColor'), of('svg text', 'fill'), of('.point text', 'fill')];
        });
      const before = await colours();
      const changed = (one, index) => one !== before[index];
      await command('Preferences: Toggle between Light/Dark Themes');
      await poll(async () => (await colours()).every(changed), 30_000, 'page and drawing have the colours of the other theme');
      await command('Preferences: Toggle between Light/Dark Themes');
      await poll(async () => !(await colours()).some(changed), 30_000, 'they have their first colours again');
    },
    'charts come back with the window': async () => {
      const points = async () => {
        await webview().locator('svg .point').first().waitFor({ timeout: 30_000 });
        await poll(async () => (await webview().locator('svg .point').count()) === 4, 10_000, 'four points');
      };
      // A window that is left too soon has not written down what was open: all of it again, as a person would.
      await poll(async () => {
        await clear();
        await openFile('tuned.py', 'def matmul');
        await cursorOn('tuned.py', 'total = tl.dot');
        await command('Tritium: Show Configurations');
        await webview().locator('thead button').first().waitFor({ timeout: 60_000 });
        await cursorOn('tuned.py', 'total = tl.dot');
        await command('Tritium: Show Roofline');
        await webview().locator('svg .point').first().waitFor({ timeout: 60_000 });
        await reload('matmul: Roofline');
        await points();
        await page.locator('.tab', { hasText: 'matmul: Configurations' }).first().click();
        // It is no picture of what was: it says which configuration is looked at, and changes it.
        await poll(async () => {
          await webview().locator('thead button', { hasText: 'BN=256' }).click({ timeout: 5_000 });
          await webview().locator('th.active', { hasText: 'BN=256' }).waitFor({ timeout: 5_000 });
          return true;
        }, 60_000, 'the other configuration is looked at');
        // Where no editor shows the file, nothing but the chart wakes the extension.
        await closeTab('tuned.py');
        await reload('matmul: Roofline');
        await points();
        // What was looked at is looked at still.
        await webview().locator('svg .point.active[data-config="3"]').waitFor();
        return true;
      }, 240_000, 'charts are there again');
    },
    'a layout says which thread holds what': async () => {
      await clear();
      await openFile('tuned.py', 'def matmul');
      await cursorOn('tuned.py', 'total = tl.dot');
      await command('Tritium: Show Layout');
      await webview().locator('svg.tritium rect.cell').first().waitFor({ timeout: 60_000 });
      if (!images) return;
      await page.locator('.tab', { hasText: 'matmul: Layout' }).first().click();
      await command('View: Toggle Maximize Editor Group');
      // As high as the drawing.
      await page.setViewportSize({ width: 1180, height: 830 });
      await aside();
      await picture('vscode-layout');
      await page.setViewportSize({ width: 1180, height: 740 });
      await command('View: Toggle Maximize Editor Group');
    },
    'the status bar changes what is looked at': async () => {
      await clear();
      await openFile('softmax.py', 'def softmax');
      await cursorOn('softmax.py', 'z = x');
      const row = (words) => page.locator('.quick-input-list .monaco-list-row', { hasText: words }).first();
      const entry = (words) => page.locator('.statusbar-item', { hasText: words }).first();
      const choice = (first, second, said, before = async () => {}) =>
        poll(async () => {
          if (await entry(said).isVisible()) return true;
          await page.keyboard.press('Escape');
          await entry('· Triton').click({ timeout: 5_000 });
          await row(first).click({ timeout: 5_000 });
          await row(second).waitFor({ timeout: 5_000 });
          await before();
          await row(second).click({ timeout: 5_000 });
          await entry(said).waitFor({ timeout: 10_000 });
          return true;
        }, 90_000, `the status bar says ${said}`);
      await choice('Board…', 'H200', 'H200 · Triton 3.6', () => picture('vscode-board'));
      await choice('Triton Version…', '3.9', 'H200 · Triton 3.9');
      // What the rest of the window says is about it, too.
      await hints('on H200').waitFor();
    },
    'the walkthrough leads through it': async () => {
      await clear();
      await poll(async () => {
        await command('Welcome: Open Walkthrough...');
        await quickRows.filter({ hasText: 'Start with Tritium' }).first().click({ timeout: 5_000 });
        return true;
      }, 60_000, 'the walkthrough is chosen');
      await page.locator('.getting-started-step', { hasText: 'Open a kernel' }).first().waitFor();
      // Over the list of steps it would mark one.
      await page.mouse.move(1100, 600);
      await picture('vscode-walkthrough');
    },
    'a check of the workspace shows how far it is, and can be cancelled': async () => {
      await clear();
      await openFile('softmax.py', 'def softmax');
      await hints(': f32[1024]').waitFor();
      // Enough to be in the middle of.
      const copies = Array.from({ length: 60 }, (_, i) => path.join(editor.folder, `copy_${String(i).padStart(2, '0')}.py`));
      for (const copy of copies) fs.copyFileSync(path.join(editor.folder, 'resources.py'), copy);
      let attempt = 0;
      try {
        // The server may not know of the new files at once, and knows the answers of those that it has checked.
        await poll(async () => {
          attempt += 1;
          for (const copy of copies) fs.appendFileSync(copy, `\n\nATTEMPT = ${attempt}\n`);
          await command('Tritium: Check Workspace');
          const toast = page.locator('.notification-toast', { hasText: /Checking kernels: copy_/ }).first();
          await toast.waitFor({ timeout: 5_000 });
          await toast.hover();
          await toast.getByText('Cancel', { exact: true }).click({ timeout: 5_000 });
          await toast.waitFor({ state: 'detached', timeout: 5_000 });
          return true;
        }, 120_000, 'the check shows itself and is cancelled');
      } finally {
        for (const copy of copies) fs.rmSync(copy);
      }
      await poll(async () => {
        await command('Tritium: Check Workspace');
        await page.locator('.notification-toast', { hasText: /\d+ remarks in [5-9] files with kernels/ }).first().waitFor({ timeout: 10_000 });
        return true;
      }, 120_000, 'the check tells what it found');
    },
    'the language status tells the server and leads to its log': async () => {
      await clear();
      await openFile('softmax.py', 'def softmax');
      const entry = page.locator('.hover-language-status .element', { hasText: 'Tritium' }).first();
      await poll(async () => {
        await aside();
        await page.locator('[id="status.languageStatus"]').first().hover();
        await entry.waitFor({ timeout: 4_000 });
        return true;
      }, 60_000, 'the status opens');
      assert.match(await entry.innerText(), /tritium \d+\.\d+/);
      await entry.getByText('Show Logs').click();
      await poll(async () => /bundled:\s/.test(await page.locator('.panel .view-lines').first().innerText()), 20_000, 'the log is shown');
      await page.keyboard.press('Control+j');
    },
  };
  page.setDefaultTimeout(30_000);
  // A step that failed may have left anything open.
  const afresh = async () => {
    await page.goto(editor.url([]), { timeout: 120_000 });
    await page.locator('.monaco-workbench .part.editor').first().waitFor({ timeout: 90_000 });
    await clear();
  };
  const wanted = new RegExp(process.env.TRITIUM_TEST_MATCH ?? '');
  await page.goto(editor.url([['openFile', editor.remote(path.join(editor.folder, 'broken.py'))]]), { timeout: 120_000 });
  await line('pair_sums').waitFor({ timeout: 90_000 });
  for (const [name, step] of Object.entries(steps).filter(([name]) => wanted.test(name))) {
    try {
      await step();
      pass(`person: ${name}`);
    } catch (error) {
      const shot = path.join(failures, `vscode-${name.replaceAll(/\W+/g, '-')}.png`);
      await page.screenshot({ path: shot }).catch(() => {});
      fail(`person: ${name}`, `${error.message}\n     screenshot: ${shot}`);
      await afresh().catch((error) => console.log(`-- the window does not settle: ${error.message}`));
    }
  }
  await page.close();
}

assert.ok(vsix && other && failures, 'usage: run.mjs PACKAGE.vsix OTHER.vsix FAILURES [IMAGES]');
fs.mkdirSync(failures, { recursive: true });
if (images) fs.mkdirSync(images, { recursive: true });
for (const [name, options, act] of [
  ['host', {}, (editor, results) => suite('host', editor, results)],
  ['restricted', { trusted: false, env: { TRITIUM_TEST_SUITE: 'restricted' } }, (editor, results) => suite('restricted', editor, results)],
  ['person', { driven: false, beside: [other] }, (editor) => person(editor, '')],
  // The same row in a light theme, for the pictures alone.
  ...(images ? [['light', { driven: false, beside: [other], theme: 'Default Light Modern' }, (editor) => person(editor, '-light')]] : []),
]) {
  if (process.env.TRITIUM_TEST_ONLY && !process.env.TRITIUM_TEST_ONLY.split(',').includes(name)) continue;
  await withEditor(name, options, act).catch((error) => fail(name, error));
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
