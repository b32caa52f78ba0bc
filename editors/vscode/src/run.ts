/**
 * Running a launch, also under checks: what the lenses above a kernel and the commands *Tritium: Run Kernel* and *Sanitize Kernel* do.
 *
 * The server executes; this file asks, shows progress and prints. **Nothing runs in a workspace that is not trusted.**
 */
import { type CancellationToken, type CodeLens, commands, type OutputChannel, ProgressLocation, window, workspace } from 'vscode';
import { ExecuteCommandRequest, type LanguageClient } from 'vscode-languageclient/node';
import type { Server } from './server';

/** What a lens carries and `tritium.server.run` takes. */
export interface Launch {
  uri: string;
  launch: string | null;
  kernel: string | null;
}

/** What `tritium.server.run` answers. */
export interface Outcome {
  ok: boolean;
  /** The whole account. */
  text: string;
  /** The account in one line. */
  summary?: string;
}

/** What can be done with a launch: the command of its lens, the server's, and its words. */
const deeds = {
  run: { lens: 'tritium.run', command: 'tritium.server.run', doing: 'Running', question: 'Run which launch?' },
  sanitize: { lens: 'tritium.sanitize', command: 'tritium.server.sanitize', doing: 'Checking', question: 'Check which launch?' },
};

export type Deed = keyof typeof deeds;

export async function runKernel(server: Server, output: OutputChannel, given: Launch | undefined, deed: Deed = 'run'): Promise<Outcome | undefined> {
  if (!workspace.isTrusted) {
    void window.showWarningMessage('Tritium runs kernels only in a trusted workspace.', 'Manage Trust').then((choice) => {
      if (choice !== undefined) void commands.executeCommand('workbench.trust.manage');
    });
    return undefined;
  }
  const client = await server.running();
  if (client === undefined) {
    void window.showErrorMessage('Tritium: no server is running. See the Tritium log.');
    return undefined;
  }
  const launch = given ?? (await nearestLaunch(deed));
  if (launch === undefined) return undefined;
  const name = launch.launch ?? launch.kernel ?? 'kernel';
  const outcome = await window.withProgress({ location: ProgressLocation.Notification, title: `${deeds[deed].doing} ${name}`, cancellable: true }, (_, token) =>
    request(client, launch, deed, token),
  );
  if (outcome === undefined) return undefined;
  output.append(`${outcome.text.trimEnd()}\n\n`);
  const line = outcome.summary ?? outcome.text.trim().split('\n', 1)[0] ?? name;
  const toast = outcome.ok ? window.showInformationMessage(line, 'Show Output') : window.showErrorMessage(line, 'Show Output');
  void toast.then((choice) => {
    if (choice !== undefined) output.show(true);
  });
  return outcome;
}

async function request(client: LanguageClient, launch: Launch, deed: Deed, token: CancellationToken): Promise<Outcome | undefined> {
  try {
    return (await client.sendRequest(ExecuteCommandRequest.type, { command: deeds[deed].command, arguments: [launch] }, token)) as Outcome;
  } catch (error) {
    if (token.isCancellationRequested) return undefined;
    return { ok: false, text: error instanceof Error ? error.message : String(error) };
  }
}

/** The launch whose lens stands last above the cursor, or the first of the file; the person chooses among several. */
async function nearestLaunch(deed: Deed): Promise<Launch | undefined> {
  const editor = window.activeTextEditor;
  if (editor === undefined || editor.document.languageId !== 'python') {
    void window.showInformationMessage('Open a Python file with a Triton kernel to run one.');
    return undefined;
  }
  const lenses = ((await commands.executeCommand<CodeLens[]>('vscode.executeCodeLensProvider', editor.document.uri, 1000)) ?? []).filter(
    (lens) => lens.command?.command === deeds[deed].lens,
  );
  const first = lenses[0];
  if (first === undefined) {
    void window.showInformationMessage('No kernel in this file has a launch. Add a `# /// tritium` block or a simple host launch.');
    return undefined;
  }
  const cursor = editor.selection.active.line;
  const above = lenses.filter((lens) => lens.range.start.line <= cursor);
  const line = Math.max(...above.map((lens) => lens.range.start.line), -1);
  const near = above.filter((lens) => lens.range.start.line === line).map(carried);
  const choices = near.length > 0 ? near : [carried(first)];
  if (choices.length === 1) return choices[0];
  const picked = await window.showQuickPick(
    choices.map((launch) => ({ label: launch.launch ?? launch.kernel ?? 'kernel', description: launch.kernel ?? '', launch })),
    { title: deeds[deed].question },
  );
  return picked?.launch;
}

function carried(lens: CodeLens): Launch {
  return lens.command?.arguments?.[0] as Launch;
}
