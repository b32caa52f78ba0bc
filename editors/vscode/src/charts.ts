/**
 * The configuration matrix, the roofline, the occupancy, layouts and what was measured as pages that follow the theme, the text and the cursor.
 *
 * The server draws; a page shows. **A page may run one script and one style, both known by a number of this page alone**, and loads
 * nothing. What it needs to come back after a reload is its state.
 */
import { randomBytes } from 'node:crypto';
import { commands, type Disposable, type ExtensionContext, Position, Uri, ViewColumn, type WebviewPanel, window, workspace } from 'vscode';
import type { Looks } from './looks';
import { ask, debounced, fileOf, isProblem, type Matrix, type Problem, type Stage } from './requests';
import type { Server } from './server';
import type { Views } from './views';

const KINDS = {
  configurations: { title: 'Configurations', command: 'tritium.showConfigurations' },
  roofline: { title: 'Roofline', command: 'tritium.showRoofline' },
  occupancy: { title: 'Occupancy', command: 'tritium.showOccupancy' },
  layout: { title: 'Layout', command: 'tritium.showLayout' },
  history: { title: 'History', command: 'tritium.showHistory' },
} as const;

export type Kind = keyof typeof KINDS;

interface State {
  kind: Kind;
  uri: string;
  kernel?: string;
  line: number;
  character: number;
}

type Message = { activate: string } | { stage: Stage; configuration: string };

const STYLE = `
body { color: var(--vscode-foreground); background: var(--vscode-editor-background); font-family: var(--vscode-font-family); font-size: var(--vscode-font-size); padding: 12px 16px }
h1 { font-size: 1.15em; font-weight: 600; margin: 0 0 10px }
body svg { max-width: 100%; height: auto }
#roofline svg text, #occupancy svg text { font-size: 14px }
#roofline svg .small { font-size: 10.5px }
#roofline svg .title { font-size: 17px }
#roofline svg .point text { font-size: 10px }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
.scroll { overflow-x: auto }
th, td { padding: 4px 8px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--vscode-widget-border, var(--vscode-panel-border)) }
th[scope=row] { text-align: left; font-weight: normal; color: var(--vscode-descriptionForeground); position: sticky; left: 0; background: var(--vscode-editor-background) }
thead th { vertical-align: bottom; font-weight: 600 }
thead button { all: unset; cursor: pointer; display: block; width: 100%; text-align: right; color: var(--vscode-textLink-foreground) }
thead button span { display: block }
thead button:focus-visible { outline: 1px solid var(--vscode-focusBorder); outline-offset: 2px }
.active { background: var(--vscode-list-inactiveSelectionBackground) }
.best { color: var(--vscode-charts-green); font-weight: 600 }
.bad { color: var(--vscode-errorForeground) }
.spills { color: var(--vscode-editorWarning-foreground) }
.note, .problem { color: var(--vscode-descriptionForeground); max-width: 80em; line-height: 1.5 }
.problem { white-space: pre-wrap; font-family: var(--vscode-editor-font-family) }
.point { cursor: pointer }
.point.active circle { stroke: var(--vscode-foreground); stroke-width: 3 }
body svg { --tritium-ink: var(--vscode-foreground); --tritium-faint: var(--vscode-widget-border, var(--vscode-panel-border)); --tritium-sheet: var(--vscode-charts-blue); --tritium-measured: var(--vscode-charts-green); --tritium-point: var(--vscode-charts-red); --tritium-ground: var(--vscode-editor-background) }
.links button { all: unset; cursor: pointer; color: var(--vscode-textLink-foreground); margin-left: 8px }
.links button:focus-visible { outline: 1px solid var(--vscode-focusBorder) }
`;

const SCRIPT = `
const vscode = acquireVsCodeApi();
vscode.setState(JSON.parse(document.body.dataset.state));
document.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-message]');
  if (button) vscode.postMessage(JSON.parse(button.dataset.message));
  const point = event.target.closest('.point');
  if (point) vscode.postMessage({ activate: nameOf(point) });
});
function nameOf(point) {
  return point.dataset.config === undefined ? point.dataset.launch : point.dataset.launch + ':' + point.dataset.config;
}
for (const point of document.querySelectorAll('.point')) point.classList.toggle('active', nameOf(point) === document.body.dataset.active);
`;

export class Charts implements Disposable {
  private readonly pages = new Map<Kind, Page>();
  private readonly subscriptions: Disposable[];

  constructor(
    private readonly server: Server,
    private readonly looks: Looks,
    private readonly views: Views,
    context: ExtensionContext,
  ) {
    this.subscriptions = (Object.keys(KINDS) as Kind[]).flatMap((kind) => [
      commands.registerCommand(KINDS[kind].command, () => this.show(kind)),
      window.registerWebviewPanelSerializer(`tritium.${kind}`, {
        deserializeWebviewPanel: async (panel, state?: State) => {
          if (state?.kind !== kind) return panel.dispose();
          // No editor may show its file yet, and the server starts for a text that mentions Triton.
          await workspace.openTextDocument(Uri.parse(state.uri)).then((document) => this.server.consider(document), () => {});
          this.adopt(panel, state);
        },
      }),
    ]);
    context.subscriptions.push(this);
  }

  dispose(): void {
    for (const one of this.subscriptions) one.dispose();
    for (const page of this.pages.values()) page.panel.dispose();
  }

  /** The whole markup of a page as it stands; an extension can read its own alone. */
  markup(kind: Kind): string | undefined {
    return this.pages.get(kind)?.panel.webview.html;
  }

  private async show(kind: Kind): Promise<string | undefined> {
    const at = await this.looks.at();
    const editor = window.activeTextEditor;
    if (at === undefined || at.choices.kernel === null) {
      void window.showInformationMessage('Place the cursor in a Triton kernel first.');
      return undefined;
    }
    const cursor = editor?.document.uri.toString() === at.uri.toString() ? editor.selection.active : new Position(0, 0);
    const state: State = { kind, uri: at.uri.toString(), kernel: at.choices.kernel, line: cursor.line, character: cursor.character };
    const known = this.pages.get(kind);
    if (known !== undefined) {
      known.panel.reveal(undefined, true);
      await known.turn(state);
      return known.panel.webview.html;
    }
    const panel = window.createWebviewPanel(`tritium.${kind}`, KINDS[kind].title, { viewColumn: ViewColumn.Beside, preserveFocus: true }, { enableScripts: true, localResourceRoots: [] });
    const page = this.adopt(panel, state);
    await page.drawn;
    return panel.webview.html;
  }

  private adopt(panel: WebviewPanel, state: State): Page {
    const page: Page = new Page(panel, state, this.server, this.looks, (message) => this.act(page, message));
    this.pages.set(state.kind, page);
    panel.onDidDispose(() => {
      page.dispose();
      if (this.pages.get(state.kind) === page) this.pages.delete(state.kind);
    });
    return page;
  }

  private async act(page: Page, message: Message): Promise<void> {
    const { uri, kernel } = page.state;
    if (kernel === undefined) return;
    if ('activate' in message) await this.looks.activate(uri, kernel, message.activate);
    else if ('stage' in message) await this.views.open({ uri, kernel, configuration: message.configuration, stage: message.stage });
  }
}

class Page implements Disposable {
  private readonly nonce = randomBytes(16).toString('base64');
  private readonly later = debounced(250, () => void this.draw());
  private readonly subscriptions: Disposable[];
  /** Counts drawings: an answer that comes after a later one began is dropped. */
  private turns = 0;
  readonly drawn: Promise<void>;

  constructor(
    readonly panel: WebviewPanel,
    public state: State,
    private readonly server: Server,
    looks: Looks,
    act: (message: Message) => Promise<void>,
  ) {
    this.subscriptions = [
      this.later,
      looks.onDidChange(() => this.later()),
      workspace.onDidChangeTextDocument(({ document }) => {
        if (fileOf(document.uri.toString()) === fileOf(this.state.uri)) this.later();
      }),
      window.onDidChangeTextEditorSelection(({ textEditor: { document, selection } }) => {
        if (document.uri.toString() !== this.state.uri) return;
        const { line, character } = selection.active;
        // Only a layout belongs to a place; the others stay with their kernel.
        if (this.state.kind !== 'layout' || (line === this.state.line && character === this.state.character)) return;
        this.state = { ...this.state, kernel: undefined, line, character };
        this.later();
      }),
      panel.webview.onDidReceiveMessage((message: Message) => void act(message)),
    ];
    this.drawn = this.draw();
  }

  dispose(): void {
    for (const one of this.subscriptions) one.dispose();
  }

  async turn(state: State): Promise<void> {
    this.state = state;
    await this.draw();
  }

  private async draw(): Promise<void> {
    this.turns += 1;
    const turn = this.turns;
    const target = { uri: this.state.uri, kernel: this.state.kernel };
    const more = { position: new Position(this.state.line, this.state.character) };
    const isLast = () => turn === this.turns;
    if (this.state.kind === 'configurations') {
      const matrix = await ask(this.server, 'tritium/configurations', target, more);
      if (!isLast()) return;
      this.put(isProblem(matrix) ? problem(matrix) : table(matrix), isProblem(matrix) ? 'Configurations' : `${matrix.kernel}: Configurations`);
      // The figures that are still being compiled come later; whoever asked sees what is known now.
      if (!isProblem(matrix) && matrix.pending > 0) void this.settle(turn);
      return;
    }
    const method = `tritium/${this.state.kind}` as const;
    const chart = await ask(this.server, method, target, { ...more, wait: this.state.kind === 'occupancy' });
    if (!isLast()) return;
    if (isProblem(chart)) this.put(problem(chart), KINDS[this.state.kind].title);
    else this.put(chart.svg, `${chart.title.split(' · ')[0]}: ${KINDS[this.state.kind].title}`, chart.active);
  }

  private async settle(turn: number): Promise<void> {
    const target = { uri: this.state.uri, kernel: this.state.kernel };
    for (let left = 30; left > 0 && turn === this.turns; left -= 1) {
      const matrix = await ask(this.server, 'tritium/configurations', target, { wait: true });
      if (turn !== this.turns) return;
      if (isProblem(matrix)) return;
      this.put(table(matrix), `${matrix.kernel}: Configurations`);
      if (matrix.pending === 0) return;
    }
  }

  private put(content: string, title: string, active = ''): void {
    this.panel.title = title;
    const { nonce } = this;
    const policy = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'`;
    const state = escaped(JSON.stringify(this.state));
    const body = content.replaceAll('<style>', `<style nonce="${nonce}">`);
    const html = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(title)}</title><style nonce="${nonce}">${STYLE}</style></head>
<body id="${this.state.kind}" data-state="${state}" data-active="${escaped(active)}">${body}<script nonce="${nonce}">${SCRIPT}</script></body></html>`;
    if (this.panel.webview.html !== html) this.panel.webview.html = html;
  }
}

function problem({ problem }: Problem): string {
  return `<p class="problem">${escaped(problem)}</p>`;
}

function table(matrix: Matrix): string {
  const message = (value: Message) => escaped(JSON.stringify(value));
  const klass = (index: number) => (matrix.columns[index]?.is_active ? 'active' : '');
  const heads = matrix.columns.map((column, index) => {
    const mark = column.fits === false ? 'does not fit' : column.spills === true ? 'spills' : column.problem !== null ? 'no figures' : '';
    const words = column.head.split(' ').map((word) => `<span>${escaped(word)}</span>`).join('');
    const title = escaped(column.problem ?? (column.is_active ? 'the configuration that is looked at' : 'look at this configuration'));
    const warning = mark === '' ? '' : `<span class="${mark === 'spills' ? 'spills' : 'bad'}">${mark}</span>`;
    return `<th scope="col" class="${klass(index)}"><button title="${title}" data-message="${message({ activate: column.id })}">${words}${warning}</button></th>`;
  });
  const rows = matrix.rows.map(({ name, cells, best }) => {
    const cell = (text: string, index: number) =>
      `<td class="${[klass(index), best.includes(index) ? 'best' : '', text === 'does not fit' ? 'bad' : ''].filter(Boolean).join(' ')}">${escaped(text)}</td>`;
    return `<tr><th scope="row">${escaped(name)}</th>${cells.map(cell).join('')}</tr>`;
  });
  const links = matrix.columns.map((column, index) => {
    const link = (stage: Stage, label: string) => `<button data-message="${message({ stage, configuration: column.id })}">${label}</button>`;
    return `<td class="links ${klass(index)}">${link('ptx', 'PTX')}${link('sass', 'SASS')}</td>`;
  });
  const pending = matrix.pending === 0 ? '' : `<p class="note">${matrix.pending} still being compiled: their registers, spills and occupancy are estimates.</p>`;
  return `<h1>${escaped(matrix.kernel)} on ${escaped(matrix.gpu)}</h1><div class="scroll"><table><thead><tr><th></th>${heads.join('')}</tr></thead>
<tbody>${rows.join('\n')}<tr><th scope="row">views</th>${links.join('')}</tr></tbody></table></div>${pending}<p class="note">${escaped(matrix.note)}</p>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
