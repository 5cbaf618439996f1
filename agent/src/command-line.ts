import { parseArgs } from 'node:util'
import manifest from '../package.json' with { type: 'json' }
import { runAgent } from './agent/agent.ts'
import { createLineLog } from './log.ts'
import { AGENT_SETTINGS, type AgentSettings, TOKEN_VARIABLES, readAgentSettings } from './settings/agent-settings.ts'
import { settingsHelp } from './settings/settings-text.ts'
import { sharedOptions } from './settings/shared-settings.ts'

const EXAMPLE = `GROUNDSTATE_URL=https://groundstate.example.com GROUNDSTATE_AGENT_TOKEN=… `

/** `program` is the command that users type, such as `groundstate agent`. */
function helpText(program: string): string {
  return `Takes the runs of an agent pool from a Groundstate server, and runs Terraform or OpenTofu for them.

  ${EXAMPLE}${program}

It needs the address of the server and a token of the pool, and no open port: it asks the server for work. Settings are flags
or environment variables. A flag wins over a variable, and GROUNDSTATE_… over TFC_….

  GROUNDSTATE_AGENT_TOKEN      a token of the agent pool, here or in the file of --token-file
                               TFC_AGENT_TOKEN
${settingsHelp(AGENT_SETTINGS)}
SIGTERM or SIGINT ends it: it takes no more runs and lets those under way finish. A second signal, or the end of the drain
time, hands plans back and interrupts applies.

It exits with 0 when it was asked to end or has done its single job, with 1 when it cannot go on, such as with a token that is
refused, and with 2 when a setting is wrong.
`
}

/** Runs the agent as a separate process until a signal ends it. Resolves with the exit code. */
export async function runCommandLine(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  program = 'groundstate-agent',
): Promise<number> {
  // The reader of the log may exit before the agent does: an apply must survive that. An error may come after the last
  // line as well, so that this stays.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})

  const { values } = parseArgs({ args: [...args], options: ASKED, strict: false })
  if (values['help'] === true || values['version'] === true) {
    process.stdout.write(values['help'] === true ? helpText(program) : `${manifest.version}\n`)
    return 0
  }
  const read = readAgentSettings(args, env)
  // Child processes must not inherit it, and no process report may show it.
  for (const name of TOKEN_VARIABLES) delete env[name]
  if ('problems' in read) {
    process.stderr.write(
      `${read.problems.map((problem) => `${program}: ${problem}\n`).join('')}\nSee ${program} --help.\n`,
    )
    return 2
  }
  return run(read.settings, read.notes)
}

const ASKED = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const

async function run(settings: AgentSettings, notes: readonly string[]): Promise<number> {
  const log = createLineLog({ level: settings.logLevel, json: settings.logJson })
  for (const note of notes) log.warn({}, note)
  const drain = new AbortController()
  const forceful = new AbortController()
  const onSignal = (signal: NodeJS.Signals) => {
    const second = drain.signal.aborted
    log.info({ signal }, second ? 'ends what is under way' : 'takes no more work, and lets what is under way finish')
    ;(second ? forceful : drain).abort()
  }
  const onHangup = () => drain.abort()
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('SIGHUP', onHangup)

  const { idleTimeout, single } = settings
  try {
    await runAgent({
      serverUrl: settings.url,
      token: settings.token,
      name: settings.name,
      ...sharedOptions({ ...settings, concurrency: single ? 1 : settings.concurrency }),
      accepts: settings.accept,
      single,
      idleTimeoutMs: idleTimeout === undefined ? undefined : idleTimeout * 1_000,
      workDir: settings.workDir,
      strictEngineVersion: settings.strictEngine,
      waitsForEngine: true,
      caFile: settings.caFile,
      drainTimeoutMs: settings.drainSeconds * 1_000,
      log,
      signal: drain.signal,
      forcefulSignal: forceful.signal,
    })
    log.info({}, 'the agent has ended')
    return 0
  } catch (error) {
    log.error({}, error instanceof Error ? error.message : String(error))
    log.debug({ error }, 'the agent has ended')
    return 1
  } finally {
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal).off('SIGHUP', onHangup)
  }
}
