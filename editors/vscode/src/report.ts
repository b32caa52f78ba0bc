/**
 * The report of a kernel as a page beside the source: what its hover says in three lines, and all that is behind them.
 *
 * **The page is rendered Markdown that follows the text and what is looked at**; its address says which kernel it is about.
 */
import { commands, Disposable, EventEmitter, Uri, window, workspace } from 'vscode';
import type { Looks } from './looks';
import { ask, debounced, fileOf, isProblem, type Target } from './requests';
import type { Server } from './server';

const SCHEME = 'tritium-report';

/** The command behind the link of a hover; the server learns its name. */
export const REPORT_COMMAND = 'tritium.showReport';

function address(target: Target): Uri {
  return Uri.from({ scheme: SCHEME, path: `/${target.kernel ?? 'kernel'}.md`, query: JSON.stringify({ uri: target.uri, kernel: target.kernel }) });
}

export function registerReport(server: Server, looks: Looks): Disposable {
  const changed = new EventEmitter<Uri>();
  const refresh = debounced(200, (source?: string) => {
    for (const { uri } of workspace.textDocuments) {
      if (uri.scheme === SCHEME && (source === undefined || fileOf((JSON.parse(uri.query) as Target).uri) === source)) changed.fire(uri);
    }
  });
  const provider = {
    onDidChange: changed.event,
    async provideTextDocumentContent(uri: Uri): Promise<string> {
      const report = await ask(server, 'tritium/report', JSON.parse(uri.query) as Target, { wait: true });
      return isProblem(report) ? report.problem : `# ${report.title}\n\n${report.text}`;
    },
  };
  /** Of the kernel at the cursor where none is named. */
  const show = async (given?: Target): Promise<void> => {
    let target = typeof given?.uri === 'string' ? given : undefined;
    if (target === undefined) {
      const at = await looks.at();
      if (at === undefined || at.choices.kernel === null) {
        void window.showInformationMessage('Place the cursor in a Triton kernel first.');
        return;
      }
      target = { uri: at.uri.toString(), kernel: at.choices.kernel };
    }
    const uri = address(target);
    if (workspace.textDocuments.some((open) => open.uri.toString() === uri.toString())) changed.fire(uri);
    await commands.executeCommand('markdown.showPreviewToSide', uri);
  };
  return Disposable.from(
    changed,
    refresh,
    workspace.registerTextDocumentContentProvider(SCHEME, provider),
    workspace.onDidChangeTextDocument(({ document }) => {
      if (document.languageId === 'python') refresh(fileOf(document.uri.toString()));
    }),
    looks.onDidChange(() => refresh(undefined)),
    commands.registerCommand(REPORT_COMMAND, show),
  );
}
