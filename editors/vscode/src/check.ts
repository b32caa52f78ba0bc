/**
 * Every kernel of the workspace, open or not: what is found joins the list of problems.
 *
 * **What the server says of an open file is never said twice**: files that are open, or are opened later, keep only that.
 */
import { commands, type Disposable, Disposable as Disposables, languages, ProgressLocation, type Uri, window, workspace } from 'vscode';
import { WorkDoneProgress, WorkspaceDiagnosticRequest } from 'vscode-languageclient/node';
import type { Server } from './server';

/** What a check has found. */
export interface Checked {
  files: number;
  problems: number;
}

export function registerCheck(server: Server): Disposable {
  const found = languages.createDiagnosticCollection('tritium.workspace');
  const isOpen = (uri: Uri) => workspace.textDocuments.some((document) => document.uri.toString() === uri.toString());
  const check = async (): Promise<Checked | undefined> => {
    const client = await server.running();
    if (client === undefined) return void window.showErrorMessage('Tritium: no server is running. See the Tritium log.');
    return window.withProgress({ location: ProgressLocation.Notification, title: 'Checking kernels', cancellable: true }, async (bar, token) => {
      const workDoneToken = `tritium.check.${Date.now()}`;
      let before = 0;
      const shown = client.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
        if (value.kind !== 'report') return;
        const now = value.percentage ?? before;
        bar.report({ message: value.message, increment: now - before });
        before = now;
      });
      try {
        const answer = await client.sendRequest(WorkspaceDiagnosticRequest.type, { previousResultIds: [], workDoneToken }, token);
        found.clear();
        let problems = 0;
        for (const report of answer.items) {
          if (report.kind !== 'full') continue;
          problems += report.items.length;
          const uri = client.protocol2CodeConverter.asUri(report.uri);
          if (report.items.length > 0 && !isOpen(uri)) found.set(uri, await client.protocol2CodeConverter.asDiagnostics(report.items, token));
        }
        const files = answer.items.length;
        void window.showInformationMessage(`Tritium: ${problems} remarks in ${files} files with kernels`, 'Show Problems').then((choice) => {
          if (choice !== undefined) void commands.executeCommand('workbench.actions.view.problems');
        });
        return { files, problems };
      } catch (error) {
        if (!token.isCancellationRequested) void window.showErrorMessage(`Tritium: the check ended: ${error instanceof Error ? error.message : String(error)}`);
        return undefined;
      } finally {
        shown.dispose();
      }
    });
  };
  return Disposables.from(
    found,
    commands.registerCommand('tritium.checkWorkspace', check),
    workspace.onDidOpenTextDocument((document) => found.delete(document.uri)),
    server.onDidStart(() => found.clear()),
  );
}
