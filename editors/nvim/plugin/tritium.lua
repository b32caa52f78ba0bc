if vim.g.loaded_tritium then
  return
end
vim.g.loaded_tritium = true

vim.api.nvim_create_user_command('TritiumRun', function()
  require('tritium').run()
end, { desc = 'Run the Triton kernel at the cursor' })
