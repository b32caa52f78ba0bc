/**
 * Another Python server, as far as its hover goes. **It speaks in one file only**, so that it stands in no other step's way.
 */
const vscode = require('vscode');

exports.activate = (context) => {
  const hover = { provideHover: () => new vscode.Hover('(variable) another server') };
  context.subscriptions.push(vscode.languages.registerHoverProvider({ language: 'python', pattern: '**/blocks.py' }, hover));
};
