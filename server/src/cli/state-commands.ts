import { type Command, Option } from 'commander'
import type { StateExportFlags, StateImportFlags } from './state.ts'

/** Adds `state export` and `state import`; `onExit` is called with their exit codes. */
export function addStateCommands(
  program: Command,
  {
    urlOption,
    tokenOption,
    onExit,
  }: {
    urlOption: () => Option
    tokenOption: () => Option
    onExit: (code: number) => void
  },
) {
  const state = program
    .command('state')
    .summary('move states between servers and directories')
    .description('Moves the states of an organization, with their history, between servers of the API and directories.')
  const withCommon = (command: Command) =>
    command
      .addOption(urlOption())
      .addOption(tokenOption())
      .requiredOption('--organization <name>', 'organization on the server')
      .option('--workspace <name...>', 'only these workspaces; all by default')
      .option('--latest <count>', 'only the newest so many states of each workspace; the whole history by default')

  withCommon(state.command('export'))
    .summary('states of a server into a directory')
    .description(
      'Writes every state of an organization into a directory: one directory for each workspace, in it the states and history.jsonl. Goes on where an earlier export stopped.',
    )
    .requiredOption('--directory <path>', 'directory for the states; they hold secrets')
    .action(async (flags: StateExportFlags) => {
      const { stateExportCommand } = await import('./state.ts')
      onExit(await stateExportCommand(flags))
    })

  withCommon(state.command('import'))
    .summary('states of a directory or another server into an organization')
    .description(
      'Adds states from a directory, or from an organization of another server, to the workspaces of the same names, which are made where they are missing. Serials, lineages and every byte are kept. Each workspace is locked meanwhile; a lock of your own stays. Goes on where an earlier import stopped; a workspace whose state the source does not know is left alone.',
    )
    .option('--directory <path>', 'directory that `state export` has written')
    .option('--from-url <url>', 'address of the other server, such as https://app.terraform.io')
    .addOption(new Option('--from-token <token>', 'API token of the other server').env('GROUNDSTATE_FROM_TOKEN'))
    .option('--from-organization <name>', 'organization on the other server; of the same name by default')
    .option('--replace', 'put the states on top of what a workspace has, even if that is newer or of another lineage')
    .option(
      '--checkpoint <file>',
      'where to note what has arrived; in the directory, else in the current one, by default',
    )
    .action(async (flags: StateImportFlags) => {
      const { stateImportCommand } = await import('./state.ts')
      onExit(await stateImportCommand(flags))
    })
}
