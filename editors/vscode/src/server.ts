/**
 * The one language server of a window: started when a document first mentions Triton, restarted on request.
 *
 * **At most one server process belongs to the extension**: every start waits for the stop before it.
 */
import {
  commands,
  type Disposable,
  EventEmitter,
  LanguageStatusSeverity,
  languages,
  type LogOutputChannel,
  type TextDocument,
  window,
  workspace,
} from 'vscode';
import { LanguageClient, RevealOutputChannelOn, State, type StaticFeature } from 'vscode-languageclient/node';
import { find, type Program } from './program';
import { REPORT_COMMAND } from './report';
import { sumOfSelection } from './selection';
import { traceChannel } from './trace';

/** Hovers of kernels are short, with a link to the report. */
const linkedReports: StaticFeature = {
  fillClientCapabilities: (capabilities) => void (capabilities.experimental = { ...capabilities.experimental, reportCommand: REPORT_COMMAND }),
  initialize: () => {},
  getState: () => ({ kind: 'static' }),
  clear: () => {},
};

/**
 * Hints bring their explanations along. This editor asks for them one by one where it may, but a question that comes while it draws the
 * hints anew is lost, and the hint stays without a word until the text changes.
 */
const explainedHints: StaticFeature = {
  fillClientCapabilities: ({ textDocument }) => void delete textDocument?.inlayHint?.resolveSupport,
  preInitialize: ({ inlayHintProvider }) => {
    if (typeof inlayHintProvider === 'object') inlayHintProvider.resolveProvider = false;
  },
  initialize: () => {},
  getState: () => ({ kind: 'static' }),
  clear: () => {},
};

export class Server implements Disposable {
  private client: LanguageClient | undefined;
  private program: Program | undefined;
  private started = false;
  /** The start or stop under way; the next one queues behind it. */
  private turn: Promise<void> = Promise.resolve();
  private readonly trace: LogOutputChannel;
  private readonly starts = new EventEmitter<void>();
  /** A server runs that knows nothing but the settings. */
  readonly onDidStart = this.starts.event;
  private readonly status = languages.createLanguageStatusItem('tritium.server', { language: 'python' });

  constructor(
    private readonly log: LogOutputChannel,
    private readonly extensionPath: string,
  ) {
    this.trace = traceChannel(log);
    this.status.name = 'Tritium';
    this.status.command = { command: 'tritium.showLogs', title: 'Show Logs' };
    this.show('not started', LanguageStatusSeverity.Information);
  }

  /** Starts the server if this document is the first to need it. */
  consider(document: TextDocument): void {
    if (this.started || document.languageId !== 'python' || !/\btriton\b/.test(document.getText())) return;
    this.started = true;
    void this.restart();
  }

  /** Restarts a server that has been wanted; a window without Triton stays without one. */
  refresh(): void {
    if (this.started) void this.restart();
  }

  restart(): Promise<void> {
    this.started = true;
    this.turn = this.turn.then(() => this.stop()).then(() => this.start());
    return this.turn;
  }

  /** Some document has mentioned Triton. */
  get isWanted(): boolean {
    return this.started;
  }

  /** The running client, after any start under way has ended. */
  async running(): Promise<LanguageClient | undefined> {
    await this.turn;
    return this.client?.state === State.Running ? this.client : undefined;
  }

  async version(): Promise<string> {
    await this.turn;
    const program = this.program ?? (await this.locate());
    return program === undefined ? 'no server found' : `${program.version}, ${program.origin}: ${program.path}`;
  }

  dispose(): Thenable<void> {
    this.status.dispose();
    this.starts.dispose();
    this.turn = this.turn.then(() => this.stop()).then(() => this.trace.dispose());
    return this.turn;
  }

  private async locate(): Promise<Program | undefined> {
    const found = await find(workspace.getConfiguration('tritium').get('server.path', '').trim(), this.extensionPath);
    if (!('tried' in found)) return found;
    for (const line of found.tried) this.log.error(line);
    return undefined;
  }

  private async start(): Promise<void> {
    this.show('starting', LanguageStatusSeverity.Information, true);
    this.program = await this.locate();
    if (this.program === undefined) {
      this.show('no server', LanguageStatusSeverity.Error);
      // Not awaited: a message that nobody answers must not hold up a restart.
      void window
        .showErrorMessage('Tritium found no server program. Set tritium.server.path, or put `tritium` on PATH.', 'Open Setting', 'Show Logs')
        .then((choice) => {
          if (choice === 'Open Setting') void commands.executeCommand('workbench.action.openSettings', 'tritium.server.path');
          if (choice === 'Show Logs') this.log.show();
        });
      return;
    }
    const { path, version, origin } = this.program;
    this.log.info(`${version} (${origin}: ${path})`);
    const client: LanguageClient = new LanguageClient(
      'tritium',
      'Tritium',
      { command: path, args: ['lsp'] },
      {
        documentSelector: [
          { language: 'python', scheme: 'file' },
          { language: 'python', scheme: 'untitled' },
          // The cells of a notebook; the notebook itself goes to a server that says it reads notebooks.
          { language: 'python', notebook: '*' },
        ],
        synchronize: { configurationSection: 'tritium' },
        initializationOptions: workspace.getConfiguration('tritium'),
        outputChannel: this.log,
        traceOutputChannel: this.trace,
        revealOutputChannelOn: RevealOutputChannelOn.Never,
        // What a hover shows comes from the text of any file: a link may do this one thing.
        markdown: { isTrusted: { enabledCommands: [REPORT_COMMAND] } },
        middleware: {
          provideHover: async (document, position, token, next) =>
            (await sumOfSelection(client, document, position, token)) ?? next(document, position, token),
        },
      },
    );
    client.registerFeature(explainedHints);
    client.registerFeature(linkedReports);
    client.onDidChangeState(({ newState }) => {
      const active = newState === State.Running;
      void commands.executeCommand('setContext', 'tritium.active', active);
      if (active) {
        this.show(version, LanguageStatusSeverity.Information);
        // After the turn that started it: who listens asks the server.
        setTimeout(() => this.starts.fire());
      }
      else if (newState === State.Starting) this.show('starting', LanguageStatusSeverity.Information, true);
      else this.show('stopped', LanguageStatusSeverity.Warning);
    });
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      this.log.error(`The server did not start: ${error instanceof Error ? error.message : String(error)}`);
      this.show('failed to start', LanguageStatusSeverity.Error);
    }
  }

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client === undefined) return;
    try {
      // A client whose start failed refuses to stop; there is nothing left to stop then.
      await client.dispose(5_000);
    } catch (error) {
      this.log.warn(`The server did not stop cleanly: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private show(detail: string, severity: LanguageStatusSeverity, busy = false): void {
    this.status.text = 'Tritium';
    this.status.detail = detail;
    this.status.severity = severity;
    this.status.busy = busy;
  }
}
