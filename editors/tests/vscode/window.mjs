/**
 * What a person does in the window of an editor, and sees there.
 *
 * **A movement is made until what it is for is seen** (`until`), so each names that; those called `try…` are made once, to be part of others.
 */
import fs from 'node:fs';
import path from 'node:path';
import { poll, until } from './lib.mjs';

export async function openWindow(editor, viewport) {
  const page = await editor.page(viewport);
  // A movement that is held up is made again.
  page.setDefaultTimeout(10_000);

  const isVisible = (locator) => () => locator.first().isVisible();
  const isGone = (locator) => async () => !(await locator.first().isVisible());
  /** Waits for what comes without a movement. */
  const seen = (what, locator) => poll(isVisible(locator), 240_000, what);
  const gone = (what, locator) => poll(isGone(locator), 240_000, what);

  const line = (words) => page.locator('.view-line', { hasText: words });
  const hint = (words) => page.locator('.view-lines', { hasText: words });
  const lens = page.locator('.codelens-decoration a', { hasText: '▶ Run' });
  const statusItem = (words) => page.locator('.statusbar-item', { hasText: words });
  const toast = (words) => page.locator('.notification-toast', { hasText: words });
  const tab = (name) => page.locator('.tab', { hasText: name });
  const activeTab = (name) => page.locator('.editor-group-container.active .tab.active', { hasText: name });
  const panel = page.locator('.part.panel');
  const input = page.locator('.quick-input-widget input.input');
  const quickRow = (words) => page.locator('.quick-input-list .monaco-list-row', { hasText: words });
  const webview = () => page.frameLocator('iframe.webview:visible').frameLocator('iframe#active-frame');

  const press = (what, key, effect) => until(what, () => page.keyboard.press(key), effect);

  /** Clicks a row of the list that is open, once the list has settled: rows are used again for other words. */
  const tryRow = async (row) => {
    const all = page.locator('.quick-input-list .monaco-list-rows').first();
    await row.first().waitFor();
    await poll(async () => {
      const before = await all.innerText();
      await page.waitForTimeout(150);
      return before === (await all.innerText());
    }, 10_000, 'the list settles');
    await row.first().click();
  };
  const closeInput = () => press('the list is closed', 'Escape', isGone(input));
  /** By its row: Enter would take whatever is on top by then. */
  const tryChoose = async (key, text, row) => {
    await closeInput();
    await page.keyboard.press(key);
    await input.waitFor();
    await input.fill(text);
    await tryRow(row);
  };
  const tryCommand = (title) => {
    const whole = new RegExp(`^${title.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);
    return tryChoose('F1', `>${title}`, page.locator('.quick-input-list .monaco-list-row').filter({ has: page.locator('.label-name', { hasText: whole }) }));
  };
  // A command may take its time: given again too soon, it does its work twice.
  const command = (title, effect) => until(`what \`${title}\` does`, () => tryCommand(title), effect, { patience: 15_000 });

  const openFile = (name, words) =>
    // By its whole path: the oldest editor comes without the program that searches files.
    until(`${name} is open`, () => tryChoose('Control+p', path.join(editor.folder, name), quickRow(name)), async () => {
      return (await isVisible(activeTab(name))()) && (await isVisible(line(words))()) && (await isGone(input)());
    }, { patience: 10_000 });

  /** By line number: a long file shows only a part of itself, and a layout that settles moves what is clicked. */
  const cursorOn = async (name, words, column = 5) => {
    const text = fs.readFileSync(path.join(editor.folder, name), 'utf8');
    const row = text.slice(0, text.indexOf(words)).split('\n').length;
    const move = async () => {
      await closeInput();
      await tab(name).first().click();
      await page.locator('.editor-group-container.active .monaco-editor.focused').first().waitFor();
      await page.keyboard.press('Control+g');
      await input.waitFor();
      await input.fill(`:${row}:${column}`);
      await page.keyboard.press('Enter');
    };
    const focused = page.locator('.editor-group-container.active .monaco-editor.focused');
    await until(`the cursor stands at ${words}`, move, async () => {
      const stands = await isVisible(statusItem(new RegExp(`Ln ${row}, Col ${column}\\b`)))();
      return stands && (await isVisible(activeTab(name))()) && (await isVisible(focused)()) && (await isGone(input)());
    });
  };

  /** Where the pointer shows nothing: in the title. */
  const aside = () => page.mouse.move(960, 18);
  const hideCards = async () => {
    await aside();
    await press('no card is shown', 'Escape', isGone(page.locator('.monaco-hover:visible')));
  };
  /** Rests the pointer on something until a card is shown whose words are right; returns the card. */
  const pointAt = async (what, target, words) => {
    const card = page.locator('.monaco-hover:visible', { hasText: words }).first();
    await until(what, async () => {
      await hideCards();
      await target.first().hover();
    }, isVisible(card));
    return card;
  };

  const hidePanel = () => press('the panel is hidden', 'Control+j', isGone(panel));
  const clearToasts = () => command('Notifications: Clear All Notifications', isGone(page.locator('.notification-toast')));
  /** No editor, no panel, no message. */
  const clear = async () => {
    await hideCards();
    await closeInput();
    await clearToasts();
    await hidePanel();
    await command('File: Save All Files', isGone(page.locator('.tab.dirty')));
    await command('View: Close All Editors', isGone(page.locator('.tabs-container .tab')));
  };

  /** Opens the window on one file, without the side bar. */
  const start = async (name) => {
    await until('the window opens', () => page.goto(editor.url([['openFile', editor.remote(path.join(editor.folder, name))]]), { timeout: 120_000 }), isVisible(tab(name)), { patience: 90_000, rounds: 3 });
    await press('the side bar is hidden', 'Control+b', isGone(page.locator('.part.sidebar')));
  };
  /** Loads the window anew, as it was left. */
  const tryReload = async (settling) => {
    // A window keeps its state when it is left for another; a page that is only unloaded may be too late, and nobody says when it is kept.
    // One whose focus is in a chart does not notice that it is left: it gets the focus first.
    await page.evaluate(() => {
      window.dispatchEvent(new Event('focus'));
      document.hasFocus = () => false;
      window.dispatchEvent(new Event('blur'));
    });
    await page.waitForTimeout(settling);
    await page.goto(editor.url([]), { timeout: 120_000 });
  };

  return {
    page, line, hint, lens, statusItem, toast, tab, activeTab, panel, quickRow, webview,
    isVisible, isGone, seen, gone, press, tryRow, closeInput, tryCommand, command, openFile, cursorOn,
    aside, hideCards, pointAt, hidePanel, clearToasts, clear, start, tryReload,
  };
}
