/**
 * What is looked at: the active configuration of each kernel, the board and the version of Triton, one click away in the status bar.
 *
 * Board and version are settings; the active configuration is this workspace's memory and is told to every server that starts.
 * **What the status bar says is what the server answered last**, never what was asked for.
 */
import {
  commands,
  ConfigurationTarget,
  type Disposable,
  EventEmitter,
  type ExtensionContext,
  Position,
  type QuickPickItem,
  StatusBarAlignment,
  type TextDocument,
  type Uri,
  window,
  workspace,
} from 'vscode';
import { ExecuteCommandRequest } from 'vscode-languageclient/node';
import { ask, type Choice, type Choices, debounced, fileOf, isProblem } from './requests';
import type { Server } from './server';

/** What is beside the text: views, output, the debugger's console. */
const ASIDE = new Set(['tritium', 'output', 'debug']);
const MEMORY = 'tritium.activeConfigurations';

/** By file, then by kernel. */
type Memory = Record<string, Record<string, string>>;

export class Looks implements Disposable {
  private readonly changed = new EventEmitter<void>();
  /** Another configuration, board, version or server. */
  readonly onDidChange = this.changed.event;
  private readonly item = window.createStatusBarItem('tritium.looks', StatusBarAlignment.Right, 90);
  private readonly later = debounced(150, () => void this.update());
  private readonly subscriptions: Disposable[];
  private choices: { uri: Uri; choices: Choices } | undefined;
  /** The look that began last. */
  private latest: Promise<void> = Promise.resolve();
  /** Where the cursor was in the last text that could have kernels: a chart or a view in front changes nothing. */
  private last: { document: TextDocument; position: Position } | undefined;

  constructor(
    private readonly server: Server,
    private readonly context: ExtensionContext,
  ) {
    this.item.name = 'Tritium: Configuration, Board and Triton';
    this.item.command = 'tritium.choose';
    this.subscriptions = [
      this.changed,
      this.item,
      this.later,
      window.onDidChangeActiveTextEditor(() => this.later()),
      window.onDidChangeTextEditorSelection(() => this.later()),
      window.onDidChangeActiveNotebookEditor(() => this.later()),
      window.onDidChangeNotebookEditorSelection(() => this.later()),
      workspace.onDidChangeTextDocument(() => this.later()),
      workspace.onDidChangeConfiguration((event) => {
        if (!event.affectsConfiguration('tritium')) return;
        this.later();
        this.changed.fire();
      }),
      server.onDidStart(() => void this.remind()),
      commands.registerCommand('tritium.choose', () => this.choose()),
      commands.registerCommand('tritium.chooseConfiguration', (id?: unknown) => this.chooseConfiguration(typeof id === 'string' ? id : undefined)),
      commands.registerCommand('tritium.chooseGpu', (id?: unknown) => this.chooseSetting('gpu', typeof id === 'string' ? id : undefined)),
      commands.registerCommand('tritium.chooseTriton', (id?: unknown) => this.chooseSetting('triton', typeof id === 'string' ? id : undefined)),
    ];
  }

  dispose(): void {
    for (const one of this.subscriptions) one.dispose();
  }

  /** Makes a configuration the one that hovers, hints, views and charts are about. */
  async activate(document: string, kernel: string, configuration: string): Promise<void> {
    // Cells are named anew when a notebook is opened again.
    const uri = fileOf(document);
    const memory: Memory = structuredClone(this.context.workspaceState.get<Memory>(MEMORY, {}));
    (memory[uri] ??= {})[kernel] = configuration;
    await this.context.workspaceState.update(MEMORY, memory);
    await this.tell(uri, kernel, configuration);
    await this.update();
    this.changed.fire();
  }

  /** The status bar's entry as it stands; an extension can read its own alone. */
  get shown(): { text: string; tooltip: string; command: string } | undefined {
    if (this.choices === undefined) return undefined;
    return { text: this.item.text, tooltip: String(this.item.tooltip), command: String(this.item.command) };
  }

  /** What can be chosen at the cursor, freshly asked. */
  async at(): Promise<{ uri: Uri; choices: Choices } | undefined> {
    await this.update();
    return this.choices;
  }

  private async tell(uri: string, kernel: string, configuration: string): Promise<void> {
    const client = await this.server.running();
    await client?.sendRequest(ExecuteCommandRequest.type, { command: 'tritium.server.activate', arguments: [{ uri, kernel, configuration }] });
  }

  /** A server that starts knows of no choices. */
  private async remind(): Promise<void> {
    for (const [uri, kernels] of Object.entries(this.context.workspaceState.get<Memory>(MEMORY, {}))) {
      for (const [kernel, configuration] of Object.entries(kernels)) await this.tell(uri, kernel, configuration);
    }
    await this.update();
    this.changed.fire();
  }

  private update(): Promise<void> {
    this.latest = this.look();
    return this.latest;
  }

  private async look(): Promise<void> {
    const here = current();
    if (here !== undefined && !ASIDE.has(here.document.uri.scheme)) this.last = here;
    else if (this.last?.document.isClosed === true) this.last = undefined;
    const last = this.last;
    const isAsked = last?.document.languageId === 'python' && this.server.isWanted;
    const choices = isAsked ? await ask(this.server, 'tritium/choices', { uri: last.document.uri.toString() }, { position: last.position }) : undefined;
    // A later look has begun, and says what is so: whoever waits for this one waits for that.
    if (this.last !== last) return this.latest;
    this.choices = last === undefined || choices === undefined || isProblem(choices) ? undefined : { uri: last.document.uri, choices };
    void commands.executeCommand('setContext', 'tritium.file', this.choices !== undefined);
    void commands.executeCommand('setContext', 'tritium.kernel', this.choices?.choices.kernel != null);
    if (this.choices === undefined) return this.item.hide();
    const active = (all: Choice[]) => all.find((one) => one.is_active);
    const { kernel, configurations, gpus, tritons, unchecked = [] } = this.choices.choices;
    const [configuration, gpu, triton] = [active(configurations), active(gpus), active(tritons)];
    const short = configuration !== undefined && configurations.length > 1 ? ` · ${shortened(configuration.label)}` : '';
    this.item.text = `$(circuit-board) ${gpu?.label ?? '?'} · Triton ${triton?.label ?? '?'}${short}`;
    this.item.tooltip = [
      kernel === null ? 'No kernel here' : `${kernel}: ${configuration?.detail ?? 'no configuration'}${configuration === undefined ? '' : ` (${configuration.label})`}`,
      `Board: ${gpu?.label ?? 'unknown'}`,
      `Triton ${triton?.label ?? 'unknown'}${triton?.detail ? `, ${triton.detail}` : ''}`,
      // No news about these is no good news.
      ...(unchecked.length > 0 ? [`Not checked: ${unchecked.join(', ')}`] : []),
      'Click to change',
    ].join('\n');
    this.item.show();
  }

  private async choose(): Promise<void> {
    const at = await this.at();
    if (at === undefined) return void window.showInformationMessage('Open a Python file with a Triton kernel to choose what is looked at.');
    const { kernel, configurations, gpus, tritons } = at.choices;
    const active = (all: Choice[]) => all.find((one) => one.is_active)?.label ?? '?';
    const picked = await window.showQuickPick(
      [
        { label: '$(list-selection) Configuration…', description: `${kernel ?? 'no kernel'}: ${active(configurations)}`, command: 'tritium.chooseConfiguration' },
        { label: '$(circuit-board) Board…', description: active(gpus), command: 'tritium.chooseGpu' },
        { label: '$(versions) Triton Version…', description: active(tritons), command: 'tritium.chooseTriton' },
        { label: '$(table) Show Configurations', description: 'all of them side by side', command: 'tritium.showConfigurations' },
      ],
      { title: 'What is looked at' },
    );
    if (picked !== undefined) await commands.executeCommand(picked.command);
  }

  private async chooseConfiguration(given?: string): Promise<void> {
    const at = await this.at();
    const kernel = at?.choices.kernel;
    if (at === undefined || kernel == null) return void window.showInformationMessage('Place the cursor in a kernel to choose its configuration.');
    const id = given ?? (await pick(`Which configuration of ${kernel}?`, at.choices.configurations))?.id;
    if (id !== undefined) await this.activate(at.uri.toString(), kernel, id);
  }

  private async chooseSetting(name: 'gpu' | 'triton', given?: string): Promise<void> {
    const at = await this.at();
    if (at === undefined) return;
    const all = name === 'gpu' ? at.choices.gpus : at.choices.tritons;
    const projects: Choice = { id: '', label: 'As the project says', detail: '[tool.tritium] in pyproject.toml, else the default', is_active: false };
    const title = name === 'gpu' ? 'Which board?' : 'Which version of Triton?';
    const id = given ?? (await pick(title, [...all, projects]))?.id;
    if (id === undefined) return;
    const target = workspace.workspaceFolders === undefined ? ConfigurationTarget.Global : ConfigurationTarget.Workspace;
    await workspace.getConfiguration('tritium', at.uri).update(name, id === '' ? undefined : id, target);
  }
}

/** Where the person is: at the cursor, or in the cell of a notebook that is selected. */
function current(): { document: TextDocument; position: Position } | undefined {
  const editor = window.activeTextEditor;
  if (editor !== undefined) return { document: editor.document, position: editor.selection.active };
  const shown = window.activeNotebookEditor;
  if (shown === undefined || shown.selection.start >= shown.notebook.cellCount) return undefined;
  return { document: shown.notebook.cellAt(shown.selection.start).document, position: new Position(0, 0) };
}

export async function pick(title: string, all: Choice[]): Promise<Choice | undefined> {
  const items: (QuickPickItem & { choice: Choice })[] = all.map((choice) => ({
    label: `${choice.is_active ? '$(check) ' : ''}${choice.label}`,
    description: choice.detail,
    choice,
  }));
  return (await window.showQuickPick(items, { title, matchOnDescription: true }))?.choice;
}

function shortened(label: string): string {
  // Whole words: half a name says nothing.
  return label.length <= 32 ? label : `${label.slice(0, 31).replace(/\s\S*$/, '')} …`;
}
