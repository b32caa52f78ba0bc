/**
 * The Tritium extension: wires documents, settings and commands to the one server of the window.
 *
 * **A window in which no document mentions Triton starts no process and shows nothing.**
 */
import { commands, type ExtensionContext, window, workspace } from 'vscode';
import { Charts, type Kind } from './charts';
import { registerCheck } from './check';
import { registerCompare } from './compare';
import { Launches } from './launches';
import { Looks } from './looks';
import { registerReport } from './report';
import { type Deed, type Launch, type Outcome, runKernel } from './run';
import { Server } from './server';
import { Views } from './views';

let server: Server | undefined;

/** What another extension can ask of this one. */
export interface Tritium {
  /** The entry of the status bar about what is looked at; nothing where no kernel is near. */
  looks(): { text: string; tooltip: string; command: string } | undefined;
  /** The page that a chart shows now; nothing where it is not open. */
  chart(kind: Kind): string | undefined;
  /** The launches in the view *Testing*, a line each with what came of it last. */
  launches(): string[];
}

export function activate(context: ExtensionContext): Tritium {
  const log = window.createOutputChannel('Tritium', { log: true });
  const output = window.createOutputChannel('Tritium Run');
  const current = new Server(log, context.extensionPath);
  server = current;
  const launches = new Launches(current);
  const does =
    (deed: Deed) =>
    (launch?: unknown): Promise<Outcome | undefined> =>
      runKernel(current, output, launches, isLaunch(launch) ? launch : undefined, deed, context.workspaceState);

  const looks = new Looks(current, context);
  const views = new Views(current, looks);
  const charts = new Charts(current, looks, views, context);

  context.subscriptions.push(
    launches,
    looks,
    views,
    registerCompare(looks),
    registerReport(current, looks),
    registerCheck(current),
    log,
    output,
    commands.registerCommand('tritium.restartServer', () => current.restart()),
    commands.registerCommand('tritium.showLogs', () => log.show()),
    commands.registerCommand('tritium.showVersion', async () => {
      const line = `Tritium extension ${context.extension.packageJSON.version}; ${await current.version()}`;
      void window.showInformationMessage(line);
      return line;
    }),
    // One deed under two names: the lenses that the server sends name the first, people find the second in the palette.
    ...(['run', 'sanitize', 'bench', 'tune'] as const).flatMap((deed) => [
      commands.registerCommand(`tritium.${deed}`, does(deed)),
      commands.registerCommand(`tritium.${deed}Kernel`, does(deed)),
    ]),
    workspace.onDidOpenTextDocument((document) => current.consider(document)),
    workspace.onDidChangeTextDocument((event) => current.consider(event.document)),
    workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('tritium.server.path')) current.refresh();
    }),
    // Settings that an untrusted workspace may not set begin to count now.
    workspace.onDidGrantWorkspaceTrust(() => current.refresh()),
  );
  for (const document of workspace.textDocuments) current.consider(document);
  return { looks: () => looks.shown, chart: (kind) => charts.markup(kind), launches: () => launches.shown };
}

export function deactivate(): Thenable<void> | undefined {
  return server?.dispose();
}

function isLaunch(value: unknown): value is Launch {
  return typeof value === 'object' && value !== null && typeof (value as Launch).uri === 'string' && !('scheme' in value);
}
