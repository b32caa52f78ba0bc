-- The configuration of a person who has set the plugin up as its help says; used by the checks and the screenshot.
vim.opt.runtimepath:prepend(vim.env.TRITIUM_PLUGIN)
vim.opt.swapfile = false
vim.lsp.config('tritium', { cmd = { vim.env.TRITIUM_BIN, 'lsp' } })
vim.lsp.enable('tritium')
vim.diagnostic.config({ virtual_text = true, signs = true })
vim.api.nvim_create_autocmd('LspAttach', {
  callback = function(event)
    vim.lsp.inlay_hint.enable(true, { bufnr = event.buf })
    vim.lsp.codelens.refresh({ bufnr = event.buf })
  end,
})
