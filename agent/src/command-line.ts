import { parseArgs } from 'node:util'
import { runAgent } from './agent/agent.ts'
import { VERSION, versionLine } from './build.ts'
import { createLineLog } from './log.ts'
import { messageOf } from './process/errors.ts'
import { AGENT_SETTINGS, type AgentSettings, TOKEN_VARIABLES, readAgentSettings } from './settings/agent-settings.ts'
import { settingsHelp } from './settings/setting.ts'
import { sharedOptions } from './settings/shared-settings.ts'
import { TracingError } from './tracing/settings.ts'
import { startTracing } from './tracing/tracing.ts'

const EXAMPLE = `GROUNDSTATE_URL=https://groundstate.example.com GROUNDSTATE_AGENT_TOKEN=… `

/** `program` is the command that users type, such as `groundstate agent`. */
function helpText(program: string): string {
  return `Executes the runs of an agent pool of a Groundstate server with Terraform or OpenTofu.

  ${EXAMPLE}${program}

It needs the address of the server and a token of the pool, but no open port: it polls the server for work. Settings are flags
or environment variables. A flag takes precedence over a variable, and GROUNDSTATE_… over TFC_….

  GROUNDSTATE_AGENT_TOKEN      token of the agent pool, here or in the file of --token-file
                               TFC_AGENT_TOKEN
${settingsHelp(AGENT_SETTINGS)}
SIGTERM or SIGINT drains it: it accepts no more runs and lets running ones finish. A second signal, or the end of the drain
time, requeues plans and interrupts applies.

Exit codes: 0 after a signal or the single job, 1 after a fatal error such as a refused token, 2 for invalid settings.
`
}

/** Runs the agent as a separate process until a signal ends it. Resolves with the exit code. */
export async function runCommandLine(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  program = 'groundstate-agent',
): Promise<number> {
  // The reader of the log may exit before the agent does: an apply must survive that, and errors may follow the last line.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})

  const { values } = parseArgs({ args: [...args], options: OPTIONS, strict: false })
  if (values['help'] === true || values['version'] === true) {
    process.stdout.write(values['help'] === true ? helpText(program) : versionLine(program))
    return 0
  }
  const read = readAgentSettings(args, env)
  // Child processes must not inherit it, and process reports must not show it.
  for (const name of TOKEN_VARIABLES) delete env[name]
  if ('problems' in read) {
    process.stderr.write(
      `${read.problems.map((problem) => `${program}: ${problem}\n`).join('')}\nSee ${program} --help.\n`,
    )
    return 2
  }
  return run(read.settings, { notes: read.notes, env, program })
}

const OPTIONS = { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'v' } } as const

type Start = { notes: readonly string[]; env: NodeJS.ProcessEnv; program: string }

async function run(settings: AgentSettings, { notes, env, program }: Start): Promise<number> {
  const log = createLineLog({ level: settings.logLevel, json: settings.logJson })
  const service = { name: 'groundstate-agent', version: VERSION, warn: log.warn }
  const tracing = await startTracing(env, service).catch((error: unknown) => error)
  if (tracing instanceof TracingError) {
    process.stderr.write(`${program}: ${tracing.message}\n`)
    return 2
  }
  if (tracing instanceof Error) throw tracing
  await using _ = tracing as AsyncDisposable
  for (const note of notes) log.warn({}, note)
  const drain = new AbortController()
  const forceful = new AbortController()
  const onSignal = (signal: NodeJS.Signals) => {
    const second = drain.signal.aborted
    log.info({ signal }, second ? 'ending running jobs' : 'draining: no more work is accepted, running jobs finish')
    ;(second ? forceful : drain).abort()
  }
  const onHangup = () => drain.abort()
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('SIGHUP', onHangup)

  const { idleTimeout, single, metricsAddress } = settings
  try {
    await runAgent({
      serverUrl: settings.url,
      token: settings.token,
      name: settings.name,
      ...sharedOptions({ ...settings, concurrency: single ? 1 : settings.concurrency }),
      accepts: settings.accept,
      single,
      idleTimeoutMs: idleTimeout === undefined ? undefined : idleTimeout * 1_000,
      monitor:
        metricsAddress &&
        (async (activity) => {
          const { startMonitor } = await import('./agent/monitor.ts')
          return startMonitor(activity, metricsAddress)
        }),
      workDir: settings.workDir,
      strictEngineVersion: settings.strictEngine,
      waitsForEngine: true,
      caFile: settings.caFile,
      drainTimeoutMs: settings.drainSeconds * 1_000,
      log,
      signal: drain.signal,
      forcefulSignal: forceful.signal,
    })
    log.info({}, 'agent exited')
    return 0
  } catch (error) {
    log.error({}, messageOf(error))
    log.debug({ error }, 'agent exited')
    return 1
  } finally {
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal).off('SIGHUP', onHangup)
  }
}
