import { versionLine } from '@groundstate/agent/build'
import { flagOf, type Setting, type Settings, settingsHelp } from '@groundstate/agent/settings/setting'
import { Command, CommanderError, Help, InvalidArgumentError, Option } from 'commander'
import { readConfig } from '../config.ts'
import { fileError } from '../directory.ts'
import { SETTINGS } from '../settings.ts'
import { StartError } from '../start-error.ts'
import type { BackupFlags } from './backup.ts'
import { isHostName } from './cli-config.ts'
import type { PolicyTestFlags } from './policy.ts'
import type { StateExportFlags, StateImportFlags } from './state.ts'

type SettingFlags = Record<string, string | undefined>
type ServerFlags = { url: string; token?: string; hostName?: string }

/** Runs the CLI and returns the exit code. Commands import their code when they run, so `--help` is fast. */
export async function runCli(argv: readonly string[]): Promise<number> {
  const program = new Command('groundstate')
    .description('Runs Terraform and OpenTofu in workspaces, stores their state, and calls run tasks.')
    .option('-V, --version', 'output the version, commit and build')
    .on('option:version', () => {
      process.stdout.write(versionLine('groundstate'))
      throw new CommanderError(0, 'groundstate.version', '')
    })
    .enablePositionalOptions()
    .exitOverride()
    .showHelpAfterError('(run with --help for commands and options)')
  let exitCode = 0
  let dataDir: string | undefined
  const configOf = (flags: SettingFlags) => {
    const config = readConfig(process.env, flags)
    dataDir = config.dataDir
    return config
  }

  withSettings(program.command('serve'))
    .summary('run the server, the default without a command')
    .description(
      'Runs the server until SIGTERM. Every setting is a flag or a GROUNDSTATE_… variable; flags take precedence.',
    )
    .action(async (flags: SettingFlags) => {
      const { serveCommand } = await import('./serve.ts')
      exitCode = await serveCommand(configOf(flags))
    })

  program
    .command('cli-config')
    .summary('print a CLI configuration for terraform and tofu')
    .description(
      'Prints a CLI configuration for terraform and tofu to use this server, also over plain HTTP. Save it, and set TF_CLI_CONFIG_FILE to the file.',
    )
    .addOption(urlOption())
    .addOption(tokenOption())
    .addOption(hostNameOption())
    .action(async (options: ServerFlags) => {
      const { cliConfiguration, hostNameFor } = await import('./cli-config.ts')
      process.stdout.write(cliConfiguration({ ...options, hostName: hostNameFor(options) }))
    })

  program
    .command('exec')
    .summary('run terraform or tofu against this server')
    .description(
      'Runs a command, such as `terraform plan`, with a CLI configuration for this server: groundstate exec -- terraform plan. ' +
        'Signals are forwarded, once each. SIGKILL cannot be forwarded: without a terminal, the command survives it.',
    )
    .addOption(urlOption())
    .addOption(tokenOption())
    .addOption(hostNameOption())
    .argument('<command...>', 'the command and its arguments, after --')
    .passThroughOptions()
    .action(async (command: string[], options: ServerFlags) => {
      const [{ execCommand }, { hostNameFor }] = [await import('./exec.ts'), await import('./cli-config.ts')]
      exitCode = await execCommand(command, { ...options, hostName: hostNameFor(options) })
    })

  withSettings(program.command('token').summary('manage API tokens').command('create'), DATABASE_SETTINGS)
    .summary('create an API token for a user')
    .description(
      'Creates an API token directly in the database, which requires access to the data directory. Prints it once.',
    )
    .option('--user <name>', 'username of the account', 'admin')
    .option('--description <text>', 'description of the token', 'created on the command line')
    .option('--expires <duration>', 'such as 12h or 30d; never by default')
    .action(async (flags: SettingFlags & { user: string; description: string; expires?: string }) => {
      const { tokenCreateCommand } = await import('./token.ts')
      exitCode = await tokenCreateCommand(configOf(flags), flags)
    })

  withSettings(
    program.command('blobs').summary('manage the blobs: states, plans, logs and archives').command('adopt'),
    BLOB_SETTINGS,
  )
    .summary('use the configured blob store with the database')
    .description(
      'Records the configured directory or bucket as the blob store of the database, after blobs were moved or restored. ' +
        'Blobs that are missing there are lost. Stop all servers first.',
    )
    .action(async (flags: SettingFlags) => {
      const { adoptBlobsCommand } = await import('./database.ts')
      exitCode = await adoptBlobsCommand(configOf(flags))
    })

  withSettings(program.command('rotate-secret'), BLOB_SETTINGS)
    .summary('encrypt everything with a new secret')
    .description(
      'Encrypts everything with GROUNDSTATE_SECRET that is encrypted with a secret in GROUNDSTATE_PREVIOUS_SECRETS, while servers run. ' +
        'All servers must have been restarted with both. It can be interrupted and run again.',
    )
    .option('--skip-unreadable', 'finish although some content cannot be decrypted')
    .action(async (flags: SettingFlags & { skipUnreadable?: true }) => {
      const { rotateSecretCommand } = await import('./rotate-secret.ts')
      exitCode = await rotateSecretCommand(configOf(flags), { skipUnreadable: flags.skipUnreadable === true })
    })

  withSettings(program.command('backup'), BLOB_SETTINGS)
    .summary('back up the embedded database and the blobs on disk')
    .description(
      'Copies the embedded database and the blobs on disk into a new subdirectory of <directory>, with or without a running server. ' +
        'Blobs that the latest backup there has too become hard links to its files. The secret is not included.',
    )
    .argument('<directory>', 'directory for the backups of this installation')
    .option('--full', 'copy all blobs again')
    .option('--blobs-only', 'leave out the database: for blobs on disk with an external database')
    .option('--include-secret', 'include the secret and the TLS keys; the backup can then be decrypted by its readers')
    .action(async (directory: string, flags: SettingFlags & BackupFlags) => {
      const { backupCommand } = await import('./backup.ts')
      exitCode = await backupCommand(configOf(flags), directory, flags)
    })

  withSettings(program.command('restore'), BLOB_SETTINGS)
    .summary('restore a backup into an empty data directory')
    .description(
      'Restores a backup into the data directory, which must be empty but for the secret and tls/. Verifies each file. Needs the secret of the backup.',
    )
    .argument('<backup>', 'the backup: a subdirectory that `groundstate backup` has written')
    .option('--check', 'only verify that the backup is complete and undamaged')
    .action(async (backup: string, flags: SettingFlags & { check?: true }) => {
      const { restoreCommand } = await import('./backup.ts')
      exitCode = await restoreCommand(configOf(flags), backup, flags)
    })

  withSettings(program.command('migrate-storage'), BLOB_SETTINGS)
    .summary('move the blobs between the data directory and a bucket')
    .description(
      'Copies all blobs to the other store while servers run. Run it, restart all servers with the new store, and run it again to finish. ' +
        'An interrupted one continues. Needs the settings of both stores.',
    )
    .addOption(new Option('--to <store>', 'where to').choices(['disk', 's3']).makeOptionMandatory())
    .action(async (flags: SettingFlags & { to: 'disk' | 's3' }) => {
      const { migrateStorageCommand } = await import('./migrate-storage.ts')
      exitCode = await migrateStorageCommand(configOf(flags), flags.to)
    })

  const identity = program
    .command('identity')
    .summary('manage the issuer of identity tokens')
    .description('Manages the keys that sign the identity tokens of runs, directly in the database of the server.')
  const identityCommand = (name: string) => withSettings(identity.command(name), IDENTITY_SETTINGS)

  identityCommand('keys')
    .summary('list the published keys')
    .description('Lists the published keys, the newest first.')
    .action(async (flags: SettingFlags) => {
      const { identityKeysCommand } = await import('./identity.ts')
      exitCode = await identityKeysCommand(configOf(flags))
    })

  identityCommand('rotate')
    .summary('publish a new key')
    .description(
      'Publishes a new key. It signs after a day; with GROUNDSTATE_ISSUER_URL after `groundstate identity activate`.',
    )
    .action(async (flags: SettingFlags) => {
      const { identityRotateCommand } = await import('./identity.ts')
      exitCode = await identityRotateCommand(configOf(flags))
    })

  identityCommand('activate')
    .summary('make the next key sign now')
    .description(
      'Makes the key of the last rotation sign now. With GROUNDSTATE_ISSUER_URL, it must be published there.',
    )
    .option('--force', 'do not check whether the key is published')
    .action(async (flags: SettingFlags & { force?: true }) => {
      const { identityActivateCommand } = await import('./identity.ts')
      exitCode = await identityActivateCommand(configOf(flags), { force: flags.force === true })
    })

  identityCommand('withdraw')
    .summary('remove a previous key at once')
    .description(
      'Removes a leaked key, which no longer signs, from the published keys. Running phases with its tokens fail.',
    )
    .argument('<key>', 'id of the key, as `groundstate identity keys` lists it')
    .action(async (key: string, flags: SettingFlags) => {
      const { identityWithdrawCommand } = await import('./identity.ts')
      exitCode = await identityWithdrawCommand(configOf(flags), key)
    })

  identityCommand('export')
    .summary('write the documents of the issuer for a static host')
    .description(
      'Writes .well-known/openid-configuration and .well-known/jwks below a directory, for any host of static files.',
    )
    .argument('<directory>', 'directory for the documents, which contain no secrets')
    .action(async (directory: string, flags: SettingFlags) => {
      const { identityExportCommand } = await import('./identity.ts')
      exitCode = await identityExportCommand(configOf(flags), directory)
    })

  const state = program
    .command('state')
    .summary('copy states between servers and directories')
    .description(
      'Copies the states of an organization, with their history, between servers of the API and directories.',
    )
  const stateCommand = (name: string) =>
    state
      .command(name)
      .addOption(urlOption())
      .addOption(tokenOption())
      .requiredOption('--organization <name>', 'organization on the server')
      .option('--workspace <name...>', 'only these workspaces; all by default')
      .option('--latest <count>', 'only this many newest states of each workspace; all by default')

  stateCommand('export')
    .summary('states of a server into a directory')
    .description(
      'Writes every state of an organization into a directory: one subdirectory for each workspace, with the states and history.jsonl. Continues an interrupted export.',
    )
    .requiredOption('--directory <path>', 'directory for the states, which contain secrets')
    .action(async (flags: StateExportFlags) => {
      const { stateExportCommand } = await import('./state.ts')
      exitCode = await stateExportCommand(flags)
    })

  stateCommand('import')
    .summary('states of a directory or another server into an organization')
    .description(
      'Adds states from a directory, or from an organization of another server, to the workspaces of the same names; missing workspaces are created. Serials, lineages and every byte are kept. Each workspace is locked during its import; your own lock stays. Continues an interrupted import; a workspace whose state the source does not have is skipped.',
    )
    .option('--directory <path>', 'directory that `state export` has written')
    .option('--from-url <url>', 'address of the other server, such as https://app.terraform.io')
    .addOption(new Option('--from-token <token>', 'API token of the other server').env('GROUNDSTATE_FROM_TOKEN'))
    .option('--from-organization <name>', 'organization on the other server; the same name by default')
    .option('--replace', 'add the states even if those of a workspace are newer or have another lineage')
    .option('--checkpoint <file>', 'file that records the progress; by default in the directory, or in the current one')
    .action(async (flags: StateImportFlags) => {
      const { stateImportCommand } = await import('./state.ts')
      exitCode = await stateImportCommand(flags)
    })

  program
    .command('policy')
    .summary('try policies')
    .description('Tries policies before they are enforced.')
    .command('test')
    .summary('evaluate policies against past runs')
    .description(
      'Evaluates the policies of a directory against past runs, which it does not affect, with the agents of their workspaces. ' +
        'Exits with 0 if no run would have been stopped, 1 if one would, and 2 if the evaluation failed.',
    )
    .argument('<directory>', 'directory with policies.hcl and .rego files')
    .addOption(urlOption())
    .addOption(tokenOption())
    .addOption(runOption())
    .option('--policy-set <id>', 'policy set whose parameters the policies get')
    .option(
      '--policies-path <path>',
      'directory of policies.hcl in <directory>; by default that of the set, or the root',
    )
    .option('--json', 'print the results as JSON')
    .action(async (directory: string, flags: PolicyTestFlags) => {
      const { policyTestCommand } = await import('./policy.ts')
      exitCode = await policyTestCommand(directory, flags)
    })

  program
    .command('agent')
    .summary('run an agent of an agent pool')
    .argument('[settings...]', 'see groundstate agent --help')
    // The agent parses its own settings.
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (args: string[]) => {
      const { runCommandLine } = await import('@groundstate/agent/command-line')
      exitCode = await runCommandLine(args, process.env, 'groundstate agent')
    })

  withSettings(program.command('doctor'))
    .summary('check the requirements of the server')
    .description('Checks engine, database, clock, disk, port and TLS, with advice for each problem.')
    .option('--bundle <file>', 'also write a .tar.gz for support, without secrets; exits with 0 if it is written')
    .action(async ({ bundle, ...flags }: SettingFlags & { bundle?: string }) => {
      const { doctorCommand } = await import('./doctor.ts')
      exitCode = await doctorCommand(configOf(flags), bundle === undefined ? {} : { bundle })
    })

  try {
    await program.parseAsync([...argv])
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR
    const problem = error instanceof StartError ? error : fileError(error, dataDir)
    if (problem === undefined) throw error
    process.stderr.write(`${problem.message.replaceAll(/^/gm, 'groundstate: ')}\n`)
    return 1
  }
}

const USAGE_ERROR = 2

const { baseUrl, dataDir, databaseUrl, databaseDirectUrl, issuerUrl, secret, previousSecrets, logLevel } = SETTINGS
const { httpsProxy, httpProxy, noProxy } = SETTINGS
const DATABASE_SETTINGS = { dataDir, databaseUrl, databaseDirectUrl, secret, previousSecrets, logLevel }
const IDENTITY_SETTINGS = { ...DATABASE_SETTINGS, baseUrl, issuerUrl, httpsProxy, httpProxy, noProxy }
const BLOB_SETTINGS = {
  ...DATABASE_SETTINGS,
  ...Object.fromEntries(
    Object.entries<Setting>(SETTINGS).filter(([name]) => name === 'blobStore' || name.startsWith('s3')),
  ),
}

function withSettings(command: Command, settings: Settings = SETTINGS) {
  for (const [name, { isSwitch }] of Object.entries(settings)) {
    const option = new Option(`${flagOf(name)} ${isSwitch === true ? '[value]' : '<value>'}`).preset('1').hideHelp()
    // `--no-proxy` is not the negation of `--proxy`.
    option.negate = false
    command.addOption(option)
  }
  return command
    .addHelpText('after', () => `\nSettings:\n${settingsHelp(settings)}`)
    .configureHelp({
      // The options that an unknown one may have meant.
      visibleOptions: ({ options }) => [...options],
      formatHelp: (shown, helper) => {
        helper.visibleOptions = (of) => new Help().visibleOptions(of)
        return new Help().formatHelp(shown, helper)
      },
    })
}

function urlOption() {
  const port = process.env['GROUNDSTATE_PORT'] || '7777'
  const option = new Option('--url <url>', 'address of the server').default(`http://127.0.0.1:${port}`)
  return fromVariable(option, 'GROUNDSTATE_URL').argParser((url) => {
    if (/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return url
    throw new InvalidArgumentError('It must be an address that begins with http:// or https://.')
  })
}

function tokenOption() {
  return fromVariable(new Option('--token <token>', 'API token'), 'GROUNDSTATE_TOKEN').argParser((token) => {
    if (/^[\x21-\x7e]+$/.test(token)) return token
    throw new InvalidArgumentError('It must be a token without spaces.')
  })
}

/** Repeatable, since a list after one flag would include the directory that follows. */
function runOption() {
  const about = 'run whose plan you may read, repeatable; by default those of the last 30 days in the scope of the set'
  return new Option('--run <id>', about).argParser((id, before: string[] | undefined) => [...(before ?? []), id])
}

function hostNameOption() {
  return new Option('--host-name <name>', 'host name of this server in configurations')
    .default(undefined, 'the host of an https address if terraform accepts it, otherwise groundstate.local')
    .argParser((name) => {
      if (isHostName(name)) return name
      throw new InvalidArgumentError('It must be a host name, such as groundstate.local.')
    })
}

/** Sets an option from an environment variable; an empty one counts as not set. */
function fromVariable(option: Option, name: string) {
  return process.env[name] === '' ? option : option.env(name)
}
