/**
 * What a person sees and does in the window, step by step.
 *
 * **Every step opens what it is about by itself**, so one that fails hides none behind it; with `images` the pictures of the documentation are taken.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { poll, screenshot, until, withoutServer, workers } from './lib.mjs';

export const FIRST_FILE = 'broken.py';

/** The steps in one window (`openWindow`), by name. */
export function steps(editor, w, images, suffix) {
  const { page, line, hint, lens, statusItem, toast, tab, quickRow, webview, isVisible, isGone } = w;
  // Pictures are taken of a settled screen: no pointer, no toast, no blinking cursor.
  const picture = async (name) => {
    if (!images) return;
    await page.waitForTimeout(600);
    await screenshot(page, path.join(images, `${name}${suffix}.webp`));
  };
  const softmax = async () => {
    await w.openFile('softmax.py', 'def softmax');
    await w.seen('shapes stand in the text', hint(': f32[1024]'));
  };
  const shape = page.locator('.view-line span span', { hasText: /f32\[1024\]$/ });
  /** Opens a chart of the product beside its source, at the cursor. */
  const chart = (title, content) =>
    until(`${title} is open`, async () => {
      await w.openFile('tuned.py', 'def matmul');
      await w.cursorOn('tuned.py', 'total = tl.dot');
      await w.tryCommand(`Tritium: Show ${title}`);
    }, isVisible(content()), { patience: 20_000, rounds: 6 });
  const matrix = () => chart('Configurations', () => webview().locator('thead button'));
  const points = () => webview().locator('svg .point');
  const roofline = () => chart('Roofline', points);
  const column = (words) => webview().locator('thead button', { hasText: words });
  /** The whole width for a picture, and back. */
  const maximized = async (act) => {
    if (!images) return;
    const isWide = (wide) => async () => (await page.locator('.editor-group-container.active').first().boundingBox()).width > 900 === wide;
    await w.command('View: Toggle Maximize Editor Group', isWide(true));
    await act();
    await w.command('View: Toggle Maximize Editor Group', isWide(false));
  };

  return {
    'the mistake is underlined': async () => {
      await w.openFile('broken.py', 'pair_sums');
      await w.seen('the mistake is underlined', page.locator('.squiggly-error'));
    },
    'the problems panel tells it': async () => {
      await w.openFile('broken.py', 'pair_sums');
      const row = page.locator('.markers-panel .monaco-list-row', { hasText: 'SHP001' });
      await w.press('the problems panel tells it', 'Control+Shift+m', isVisible(row));
      await until('the row leads to the mistake', () => row.first().dblclick(), isVisible(statusItem(/Ln 13, Col \d+/)));
      await page.mouse.move(590, 420);
      await w.seen('the lens stands in the text', lens);
      await w.gone('nothing is being saved', statusItem('Saving'));
      await picture('vscode-diagnostics');
    },
    'the light bulb mends it': async () => {
      await w.openFile('broken.py', 'pair_sums');
      await w.seen('the mistake is underlined', page.locator('.squiggly-error'));
      await w.hidePanel();
      // The panel gives the focus back a moment after it is gone, and actions that are asked for anew close their list. Left open it keeps
      // the pointer from everything else.
      const action = page.locator('.action-widget .monaco-list-row.action');
      await until('the mistake is mended', async () => {
        await w.press('no actions are shown', 'Escape', isGone(action));
        await w.cursorOn('broken.py', 'total = x + y', 13);
        await w.press('the actions are offered', 'Control+.', isVisible(action));
        // The list takes no click before the pointer has moved over it.
        await action.first().hover({ force: true });
        await action.first().click();
      }, isGone(page.locator('.squiggly-error')), { patience: 10_000 });
    },
    'lens and hints stand in the text': async () => {
      await w.clear();
      await softmax();
      await w.seen('the lens stands in the text', lens);
      // The launch block is coloured as what it is, inside of its comment.
      await poll(async () => {
        const colours = await line('kernel = "softmax"').first().locator('span span').evaluateAll((all) => all.map((one) => one.className));
        return new Set(colours).size > 1;
      }, 240_000, 'the launch block has its colours');
      await w.aside();
      await picture('vscode-lens');
    },
    'the pointer on a hint explains it': async () => {
      await softmax();
      await w.pointAt('the hint is explained', shape, /is\s+f32\[1024\]/);
      await w.hideCards();
    },
    'the pointer on the kernel tells its cost': async () => {
      await softmax();
      // The exact figure comes with the next card once ptxas has answered.
      const name = line('def softmax').locator('span span', { hasText: /^\s*softmax$/ });
      const card = await w.pointAt('the registers are exact', name, /registers[^]*exact,\sptxas/i);
      // All of it is seen at once, and one click away is the rest.
      const { height } = await card.boundingBox();
      assert.ok(height < 250, `the card is ${height} high`);
      await picture('vscode-hover');
      await card.locator('a', { hasText: 'Report' }).first().click();
      await w.seen('the report stands beside the source', page.locator('.tab', { hasText: 'softmax.md' }));
      await w.hideCards();
      await w.clear();
    },
    'the best row of a tuning is one click away, and undone by one key': async () => {
      await w.clear();
      await w.openFile('tuned.py', 'def matmul');
      await w.cursorOn('tuned.py', 'total = tl.dot');
      const offer = page.locator('.notification-toast .monaco-button', { hasText: 'Write 1 predicted row into tuned.py' });
      await w.command('Tritium: Tune Kernel', w.isVisible(offer));
      await picture('vscode-tune');
      // Written into the editor, and not into the file.
      const dirty = page.locator('.tab.dirty', { hasText: 'tuned.py' });
      await until('it is written', () => offer.first().click({ timeout: 5_000 }), w.isVisible(dirty), { patience: 15_000 });
      await w.cursorOn('tuned.py', 'import torch', 1);
      await w.seen('the best row stands alone', line('configs=[triton.Config({"BM": 128, "BN": 256, "BK": 64}'));
      await w.press('it is undone', 'Control+z', w.isGone(dirty));
      await w.clear();
    },
    'beside another server our hover comes first': async () => {
      // Beside the card that the step before has drawn out.
      await w.aside();
      await w.openFile('blocks.py', 'make_block_ptr');
      await w.seen('shapes stand in the text', hint(': f16[32, 64]'));
      const name = line('boundary_check').locator('span span', { hasText: /^\s*part$/ });
      await w.pointAt('both servers have answered, ours first', name, /^\s*part:\sf16\[32,\s64\][^]*another\sserver/);
      await w.hideCards();
    },
    'a notebook is one program, and each cell is told its own': async () => {
      await w.clear();
      // All of its cells.
      await page.setViewportSize({ width: 1180, height: 900 });
      await w.openFile('softmax_rows.ipynb', 'def softmax');
      const cell = (words) => page.locator('.cell .monaco-editor', { hasText: words });
      const kernel = cell('def softmax');
      await w.seen('the mistake is underlined', kernel.locator('.squiggly-error'));
      await w.seen('the constant of another cell has shaped the row', kernel.locator('.view-lines', { hasText: ': f32[256]' }));
      await w.seen('the lens stands in the cell', kernel.locator('.codelens-decoration a', { hasText: '▶ Run' }));
      assert.equal(await cell('def stable_exp').locator('.squiggly-error').count(), 0);
      const mistake = kernel.locator('.view-line', { hasText: 'tl.store' }).locator('span span', { hasText: /^\s*at$/ });
      await w.pointAt('the mistake is told', mistake.last(), /a\smask\sis\si1/);
      await picture('vscode-notebook');
      await w.hideCards();
      await page.setViewportSize({ width: 1180, height: 740 });
    },
    'a click on the lens runs the kernel': async () => {
      await softmax();
      await w.clearToasts();
      const verified = toast(/verified/i);
      const printed = page.locator('.panel .view-lines', { hasText: /verified/i });
      // A message goes by itself after a while.
      await until('the output is shown', async () => {
        await until('the kernel runs', () => lens.first().click(), isVisible(toast(/running|verified/i)));
        await w.seen('it is verified', verified);
        await verified.first().getByText('Show Output').click();
      }, isVisible(printed), { patience: 10_000, rounds: 5 });
      await picture('vscode-run');
      await w.hidePanel();
    },
    'the view of tests shows the launches and what came of them': async () => {
      await w.clear();
      await softmax();
      const row = page.locator('.test-explorer .monaco-list-row', { hasText: 'softmax' });
      await until('the launch is in the tree', () => w.tryCommand('Testing: Focus on Test Explorer View'), isVisible(row), { patience: 10_000, rounds: 2 });
      const passed = page.locator('.test-explorer .monaco-list-row .codicon-testing-passed-icon');
      await until('it passes', () => w.tryCommand('Test: Run Tests in Current File'), isVisible(passed), { patience: 20_000, rounds: 2 });
      await w.hidePanel();
      await w.clearToasts();
      await picture('vscode-tests');
      await w.command('View: Toggle Primary Side Bar Visibility', isGone(row));
    },
    'what takes long tells what it does, and can be cancelled': async () => {
      await w.clear();
      const files = ['endless.py', 'many_rows.py'];
      for (const name of files) fs.copyFileSync(path.join(editor.home, name), path.join(editor.folder, name));
      try {
        const deeds = [
          // A kernel that never ends, and a tuner of which nobody awaits the end.
          ['Tritium: Run Kernel', 'endless.py', 'tl.store', 'Running'],
          ['Tritium: Sanitize Kernel', 'endless.py', 'tl.store', 'Checking'],
          ['Tritium: Bench Kernel', 'endless.py', 'tl.store', 'Timing'],
          ['Tritium: Tune Kernel', 'many_rows.py', 'tl.store', 'Tuning'],
        ];
        for (const [title, name, words, doing] of deeds) {
          await w.openFile(name, 'tl.store');
          await w.cursorOn(name, words);
          await w.clearToasts();
          const under = toast(doing);
          await w.command(title, isVisible(under));
          await poll(() => workers(editor).length > 0, 60_000, 'it is under way');
          await until(`${title} is cancelled`, async () => {
            await under.first().hover();
            await under.first().getByText('Cancel', { exact: true }).click();
          }, isGone(under), { patience: 10_000 });
          await poll(() => workers(editor).length === 0, 60_000, 'nothing is left running');
        }
      } finally {
        await w.clear();
        for (const name of files) fs.rmSync(path.join(editor.folder, name));
      }
    },
    'the PTX stands beside the source and follows the cursor': async () => {
      await w.clear();
      await w.openFile('tuned.py', 'def matmul');
      await w.cursorOn('tuned.py', 'total = tl.dot');
      await w.command('Tritium: Show PTX', isVisible(line('mma')));
      await w.cursorOn('tuned.py', 'rows = tl.program_id');
      await w.seen('the PTX of the first line is shown', line('%ctaid.x'));
      await w.cursorOn('tuned.py', 'total = tl.dot');
      await w.seen('the PTX of the product is shown', line('mma'));
      await w.aside();
      await picture('vscode-ptx');
    },
    'the matrix shows every configuration': async () => {
      await w.clear();
      await matrix();
      await poll(async () => !/still being compiled/.test(await webview().locator('body').innerText()), 240_000, 'all figures are exact');
      assert.equal(await webview().locator('thead button').count(), 4);
      await w.aside();
      await picture('vscode-configurations');
    },
    'a click on a column looks at that configuration': async () => {
      await matrix();
      await until('the configuration is looked at', () => column('BN=128').click(), isVisible(statusItem('BN=128')));
    },
    'the roofline has a point for every configuration': async () => {
      await w.clear();
      await roofline();
      await poll(async () => (await points().count()) === 4 && (await webview().locator('svg .point.active').count()) === 1, 240_000, 'four points, one of them active');
      // The whole width, or its words are too small to read.
      await until('the chart is in front', () => tab('matmul: Roofline').first().click(), isVisible(w.activeTab('matmul: Roofline')));
      await maximized(async () => {
        await w.aside();
        await picture('vscode-roofline');
      });
    },
    'charts follow the theme': async () => {
      await roofline();
      // Of the page, and of a word and a point of the drawing.
      const colours = () =>
        webview().locator('body').evaluate((body) => {
          const of = (selector, property) => getComputedStyle(body.querySelector(selector) ?? body)[property];
          return [of('body', 'backgroundColor'), of('svg text', 'fill'), of('.point text', 'fill')];
        });
      const before = await poll(colours, 240_000, 'the drawing has colours');
      const changed = (one, index) => one !== before[index];
      await w.command('Preferences: Toggle between Light/Dark Themes', async () => (await colours()).every(changed));
      await w.command('Preferences: Toggle between Light/Dark Themes', async () => !(await colours()).some(changed));
    },
    'charts come back with the window': async () => {
      await w.clear();
      const front = (name) => tab(`matmul: ${name}`);
      /** Loads the window anew until it comes back as it was left. */
      const reloaded = async (what, prepare, asLeft) => {
        let settling = 1_000;
        await until(what, async () => {
          await prepare();
          await w.tryReload(settling);
          settling *= 4;
        }, asLeft, { patience: 90_000, rounds: 3 });
      };
      let isLoaded = false;
      await reloaded('both charts come back', async () => {
        await matrix();
        await w.cursorOn('tuned.py', 'total = tl.dot');
        await until('the roofline is open', () => w.tryCommand('Tritium: Show Roofline'), isVisible(points()), { patience: 20_000 });
        isLoaded = true;
      }, async () => isLoaded && (await isVisible(front('Roofline'))()) && (await isVisible(front('Configurations'))()));
      const drawn = async () => {
        await until('the roofline is drawn', () => front('Roofline').first().click(), async () => (await points().count()) === 4, { patience: 20_000 });
      };
      await drawn();
      await until('the matrix is drawn', () => front('Configurations').first().click(), isVisible(column('BN=256')), { patience: 20_000 });
      // It is no picture of what was: it says which configuration is looked at, and changes it.
      await until('the configuration is looked at', () => column('BN=256').click(), isVisible(webview().locator('th.active', { hasText: 'BN=256' })));
      // Where no editor shows the file, nothing but the chart wakes the extension.
      let isAlone = false;
      await reloaded('the charts come back alone', async () => {
        await until('the source is closed', async () => {
          await tab('tuned.py').first().click();
          await w.activeTab('tuned.py').first().waitFor();
          await w.tryCommand('View: Close Editor');
        }, isGone(tab('tuned.py')), { patience: 10_000 });
        isAlone = true;
      }, async () => isAlone && (await isVisible(front('Roofline'))()) && (await isGone(tab('tuned.py'))()));
      await drawn();
      // What was looked at is looked at still.
      await w.seen('the configuration is looked at still', webview().locator('svg .point.active[data-config="3"]'));
    },
    'a layout says which thread holds what': async () => {
      await w.clear();
      await chart('Layout', () => webview().locator('svg.tritium rect.cell'));
      if (!images) return;
      await until('the chart is in front', () => tab('matmul: Layout').first().click(), isVisible(w.activeTab('matmul: Layout')));
      await maximized(async () => {
        // As high as the drawing.
        await page.setViewportSize({ width: 1180, height: 830 });
        await w.aside();
        await picture('vscode-layout');
        await page.setViewportSize({ width: 1180, height: 740 });
      });
    },
    'the status bar changes what is looked at': async () => {
      await w.clear();
      await softmax();
      await w.cursorOn('softmax.py', 'z = x');
      const choose = (entry, list, words, effect, act = () => {}) =>
        until(`${words} is looked at`, async () => {
          await w.closeInput();
          await statusItem(entry).first().click();
          await w.tryRow(quickRow(list));
          await quickRow(words).first().waitFor();
          await act();
          await w.tryRow(quickRow(words));
        }, isVisible(statusItem(effect)), { patience: 10_000 });
      await choose('H100 · Triton', 'Board…', 'H200', 'H200 · Triton 3.6 to 3.9', () => picture('vscode-board'));
      await choose('H200 · Triton', 'Triton Version…', '3.9', 'H200 · Triton 3.9');
      // What the rest of the window says is about it, too.
      await w.seen('the hints are about it', hint('on H200'));
    },
    'the walkthrough leads through it': async () => {
      await w.clear();
      await until('the walkthrough is open', async () => {
        await w.tryCommand('Welcome: Open Walkthrough...');
        await w.tryRow(quickRow('Start with Tritium'));
      }, isVisible(page.locator('.getting-started-step', { hasText: 'Open a kernel' })), { patience: 10_000 });
      // Over the list of steps it would mark one.
      await w.aside();
      await picture('vscode-walkthrough');
    },
    'a check of the workspace shows how far it is, and can be cancelled': async () => {
      await w.clear();
      await softmax();
      const checking = toast('Checking kernels');
      // Enough to be in the middle of, and new every time: what is known already is told at once.
      const text = fs.readFileSync(path.join(editor.folder, 'resources.py'), 'utf8');
      const copies = Array.from({ length: 60 }, (_, i) => path.join(editor.folder, `copy_${String(i).padStart(2, '0')}.py`));
      let [round, isCancelled] = [0, false];
      try {
        // The server may not know of the new files at once.
        await until('the check shows itself and is cancelled', async () => {
          await w.gone('no other check is under way', checking);
          round += 1;
          for (const copy of copies) fs.writeFileSync(copy, `${text}\n# ${round}\n`);
          await w.tryCommand('Tritium: Check Workspace');
          await toast(/Checking kernels: copy_/).first().waitFor();
          await withoutServer(editor, async () => {
            await checking.first().hover();
            await checking.first().getByText('Cancel', { exact: true }).click();
          });
          await w.gone('the check is over', checking);
          isCancelled = true;
        }, () => isCancelled);
      } finally {
        for (const copy of copies) fs.rmSync(copy);
      }
      await until('the check tells what it found', async () => {
        await w.gone('no other check is under way', checking);
        await w.tryCommand('Tritium: Check Workspace');
      }, isVisible(toast(/\d+ remarks in [5-9] files with kernels/)), { patience: 10_000 });
    },
    'the language status tells the server and leads to its log': async () => {
      await w.clear();
      await softmax();
      const entry = page.locator('.hover-language-status .element', { hasText: /Tritium[^]*tritium\s\d+\.\d+/ });
      const log = page.locator('.panel .view-lines', { hasText: /bundled:\s/ });
      await until('the log is shown', async () => {
        await until('the status opens', async () => {
          await w.aside();
          await page.locator('[id="status.languageStatus"]').first().hover();
        }, isVisible(entry));
        await entry.first().getByText('Show Logs').click();
      }, isVisible(log), { patience: 10_000 });
      await w.hidePanel();
    },
  };
}
