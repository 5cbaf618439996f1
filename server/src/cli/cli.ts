import { flagOf, type Setting, type Settings, settingsHelp } from '@groundstate/agent/settings/setting'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { type Config, readConfig } from '../config.ts'
import { SETTINGS } from '../settings.ts'
import { StartError } from '../start-error.ts'
import { isHostName } from './cli-config.ts'
import { addStateCommands } from './state-commands.ts'

type SettingFlags = Record<string, string | undefined>

/**
 * Runs the command line; resolves to the exit code. Commands import what they need when they run, so `--help` is fast.
 */
export async function runCli(argv: readonly string[]): Promise<number> {
  const program = new Command('groundstate')
    .description('Runs Terraform and OpenTofu in workspaces, keeps their state, and asks others for their verdict.')
    .version('1.0.0')
    .enablePositionalOptions()
    .exitOverride()
    .showHelpAfterError('(run with --help for what there is)')
  let exitCode = 0

  withSettings(program.command('serve'))
    .summary('run the server')
    .description(
      'Runs the server until SIGTERM. Every setting is a flag or a GROUNDSTATE_… variable; flags win. The agent is the built-in one.',
    )
    .action(async (flags: SettingFlags) => {
      const { serveCommand } = await import('./serve.ts')
      exitCode = await serveCommand(configOf(flags))
    })

  program
    .command('cli-config')
    .summary('print a CLI configuration for terraform and tofu')
    .description(
      'Prints a CLI configuration with which terraform and tofu reach this server, over plain http too. Save it, and name the file in TF_CLI_CONFIG_FILE.',
    )
    .addOption(urlOption())
    .addOption(tokenOption())
    .addOption(hostNameOption())
    .action(async (options: { url: string; token?: string; hostName?: string }) => {
      const { cliConfiguration, hostNameFor } = await import('./cli-config.ts')
      process.stdout.write(cliConfiguration({ ...options, hostName: hostNameFor(options) }))
    })

  program
    .command('exec')
    .summary('run terraform or tofu against this server')
    .description(
      'Runs a command, such as `terraform plan`, with a CLI configuration for this server: groundstate exec -- terraform plan. ' +
        'It gets every signal that exec gets, once. Only SIGKILL cannot be passed on: without a terminal, the command survives it.',
    )
    .addOption(urlOption())
    .addOption(tokenOption())
    .addOption(hostNameOption())
    .argument('<command...>', 'the command and its arguments, after --')
    .passThroughOptions()
    .action(async (command: string[], options: { url: string; token?: string; hostName?: string }) => {
      const [{ execCommand }, { hostNameFor }] = [await import('./exec.ts'), await import('./cli-config.ts')]
      exitCode = await execCommand(command, { ...options, hostName: hostNameFor(options) })
    })

  withSettings(program.command('token').summary('manage API tokens').command('create'), DATABASE_SETTINGS)
    .summary('create an API token for a user')
    .description(
      'Creates an API token straight in the database, for anyone who can read the data directory. Prints it once.',
    )
    .option('--user <name>', 'username of the account', 'admin')
    .option('--description <text>', 'what the token is for', 'created on the command line')
    .option('--expires <duration>', 'such as 12h or 30d; never by default')
    .action(async (flags: SettingFlags & { user: string; description: string; expires?: string }) => {
      const { tokenCreateCommand } = await import('./token.ts')
      exitCode = await tokenCreateCommand(configOf(flags), flags)
    })

  withSettings(
    program.command('blobs').summary('manage the blobs: states, plans, logs and archives').command('adopt'),
    BLOB_SETTINGS,
  )
    .summary('make the blobs of these settings those of the database')
    .description(
      'Records the directory or bucket of these settings as the one that belongs to the database, after blobs were moved or restored ' +
        'on purpose. What the database names and is not there is lost. Stop all servers first.',
    )
    .action(async (flags: SettingFlags) => {
      const { blobsAdoptCommand } = await import('./blobs.ts')
      exitCode = await blobsAdoptCommand(configOf(flags))
    })

  addStateCommands(program, { urlOption, tokenOption, onExit: (code) => (exitCode = code) })

  program
    .command('agent')
    .summary('run an agent, which takes the runs of an agent pool')
    .argument('[settings...]', 'see groundstate agent --help')
    // It reads its own settings, as the stand-alone program does.
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (args: string[]) => {
      const { runCommandLine } = await import('@groundstate/agent/command-line')
      exitCode = await runCommandLine(args, process.env, 'groundstate agent')
    })

  withSettings(program.command('doctor'))
    .summary('check what the server needs')
    .description('Checks the engine, database, clock, disk, port and TLS, and says what to do about what is wrong.')
    .action(async (flags: SettingFlags) => {
      const { doctorCommand } = await import('./doctor.ts')
      exitCode = await doctorCommand(configOf(flags))
    })

  try {
    // To the standard output, as a response: without a command, commander treats the help as an error.
    if (argv.length < 3) program.help()
    await program.parseAsync([...argv])
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR
    if (error instanceof StartError) {
      process.stderr.write(`groundstate: ${error.message}\n`)
      return 1
    }
    throw error
  }
}

/** The exit code for a command or an option that cannot be. */
const USAGE_ERROR = 2

const { dataDir, databaseUrl, databaseDirectUrl, secret, logLevel } = SETTINGS
const DATABASE_SETTINGS = { dataDir, databaseUrl, databaseDirectUrl, secret, logLevel }
const BLOB_SETTINGS = {
  ...DATABASE_SETTINGS,
  ...Object.fromEntries(Object.entries<Setting>(SETTINGS).filter(([name]) => name.startsWith('s3'))),
}

function withSettings(command: Command, settings: Settings = SETTINGS) {
  for (const [name, { isSwitch }] of Object.entries(settings)) {
    const option = new Option(`${flagOf(name)} ${isSwitch === true ? '[value]' : '<value>'}`).preset('1').hideHelp()
    // `--no-proxy` is not the opposite of `--proxy`.
    option.negate = false
    command.addOption(option)
  }
  return command.addHelpText('after', () => `\nSettings:\n${settingsHelp(settings)}`)
}

/** The configuration from flags and environment variables; flags take precedence. */
function configOf(flags: SettingFlags): Config {
  return readConfig(process.env, flags)
}

function urlOption() {
  const port = process.env['GROUNDSTATE_PORT'] || '7777'
  const option = new Option('--url <url>', 'address of the server').default(`http://127.0.0.1:${port}`)
  return fromVariable(option, 'GROUNDSTATE_URL').argParser((url) => {
    if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url
    throw new InvalidArgumentError('It must be an address that begins with http:// or https://.')
  })
}

function tokenOption() {
  return fromVariable(new Option('--token <token>', 'API token'), 'GROUNDSTATE_TOKEN').argParser((token) => {
    if (/^[\x21-\x7e]+$/.test(token)) return token
    throw new InvalidArgumentError('It must be the text of a token, without spaces.')
  })
}

function hostNameOption() {
  return new Option('--host-name <name>', 'name by which configurations call this server')
    .default(undefined, 'that of an https address if terraform takes it as a name, otherwise groundstate.local')
    .argParser((name) => {
      if (isHostName(name)) return name
      throw new InvalidArgumentError('It must be a host name, such as groundstate.local.')
    })
}

/** Sets an option from an environment variable; an empty one counts as not set. */
function fromVariable(option: Option, name: string) {
  return process.env[name] === '' ? option : option.env(name)
}
