/**
 * The pointer over selected text asks for the sum of the selection: the server takes a range where the protocol has a position.
 *
 * **A selected word is still a word**: its own hover says more than a sum of one.
 */
import { type CancellationToken, type Hover, type Position, type TextDocument, window } from 'vscode';
import { HoverRequest, type LanguageClient } from 'vscode-languageclient/node';

export async function sumOfSelection(client: LanguageClient, document: TextDocument, position: Position, token: CancellationToken): Promise<Hover | undefined> {
  const selections = window.visibleTextEditors.filter((editor) => editor.document === document).flatMap((editor) => editor.selections);
  const selection = selections.find((one) => !one.isEmpty && one.contains(position));
  if (selection === undefined || document.getWordRangeAtPosition(position)?.contains(selection)) return undefined;
  const { code2ProtocolConverter: code, protocol2CodeConverter: protocol } = client;
  const params = { textDocument: code.asTextDocumentIdentifier(document), position: code.asRange(selection) };
  return protocol.asHover(await client.sendRequest(HoverRequest.method, params, token));
}
