import { availableParallelism, homedir, hostname } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import manifest from '../package.json' with { type: 'json' }
import { runAgent } from './agent.ts'
import { cpuLimit, memoryLimit } from './limit-settings.ts'
import { createAgentLog, type AgentLog } from './log.ts'

const HELP = `groundstate-agent ${manifest.version}: takes runs from a Groundstate server and runs Terraform or OpenTofu for them.

Settings are environment variables:

  GROUNDSTATE_URL                 base URL of the server (required)
  GROUNDSTATE_AGENT_TOKEN         a token of the agent pool (required)
  GROUNDSTATE_NAME                name of this agent (the host's name)
  GROUNDSTATE_CONCURRENCY         runs side by side (half of the cores, at least 1)
  GROUNDSTATE_WORK_DIR            working folders and caches, one agent each (~/.groundstate-agent, or
                                  /var/lib/groundstate-agent as root)
  GROUNDSTATE_ENGINE_PATH         a terraform or tofu binary, or a folder of them (PATH)
  GROUNDSTATE_STRICT_ENGINE       1: refuse a run whose exact engine version is not here
  GROUNDSTATE_CA_FILE             a PEM file of the authority behind the server's certificate
  GROUNDSTATE_ISOLATION           user: each run as a user of its own; off: as the agent's; auto: where it can be (auto)
  GROUNDSTATE_FIRST_RUN_USER      first of the 65536 user ids that agents of this machine share out (1900000000)
  GROUNDSTATE_SANDBOX             1: runs in a sandbox of bubblewrap, which must be installed
  GROUNDSTATE_MEMORY_LIMIT        memory that a program of a run may take, such as 2g
  GROUNDSTATE_CPU_LIMIT           processors that a program of a run may take, such as 1.5
  GROUNDSTATE_PIDS_LIMIT          processes and threads of a run (4096 where runs have users of their own)
  GROUNDSTATE_HOOKS               a folder of programs to run: pre-plan, post-plan, pre-apply, post-apply
  GROUNDSTATE_DRAIN_SECONDS       what runs get to finish after SIGTERM (600)

SIGTERM or SIGINT ends it: it takes no more runs and lets those under way finish. A second signal, or the end of the drain
time, hands plans back and interrupts applies.
`

const wholeNumber = z.coerce.number().int().min(0)

/** The users of runs can't enter root's home. */
function defaultWorkDir() {
  return process.geteuid?.() === 0 ? '/var/lib/groundstate-agent' : join(homedir(), '.groundstate-agent')
}

const environment = z.object({
  GROUNDSTATE_URL: z.url({ protocol: /^https?$/ }),
  GROUNDSTATE_AGENT_TOKEN: z.string().min(1),
  GROUNDSTATE_NAME: z.string().min(1).max(255).default(hostname()),
  GROUNDSTATE_CONCURRENCY: wholeNumber.min(1).default(Math.max(1, Math.floor(availableParallelism() / 2))),
  GROUNDSTATE_WORK_DIR: z.string().min(1).default(defaultWorkDir),
  GROUNDSTATE_ENGINE_PATH: z.string().min(1).optional(),
  GROUNDSTATE_STRICT_ENGINE: z.enum(['0', '1']).default('0'),
  GROUNDSTATE_CA_FILE: z.string().min(1).optional(),
  GROUNDSTATE_ISOLATION: z.enum(['auto', 'user', 'off']).default('auto'),
  GROUNDSTATE_FIRST_RUN_USER: wholeNumber
    .min(1_000)
    .max(2 ** 31 - 65_537)
    .optional(),
  GROUNDSTATE_SANDBOX: z.enum(['0', '1']).default('0'),
  GROUNDSTATE_MEMORY_LIMIT: memoryLimit.optional(),
  GROUNDSTATE_CPU_LIMIT: cpuLimit.optional(),
  GROUNDSTATE_PIDS_LIMIT: wholeNumber.min(64).optional(),
  GROUNDSTATE_HOOKS: z.string().min(1).optional(),
  GROUNDSTATE_DRAIN_SECONDS: wholeNumber.default(600),
})

/** Runs the agent as a process of its own until a signal ends it; answers the exit code. */
export async function runCommandLine(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  // Whoever read the log may go away before the agent does: an apply must not die of it. An error may come after the last
  // line as well, so that this stays.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})

  if (args.length > 0) {
    const asked = args.every((arg) => arg === '--help' || arg === '-h')
    process[asked ? 'stdout' : 'stderr'].write(HELP)
    return asked ? 0 : 2
  }
  const settings = environment.safeParse(env)
  if (!settings.success) {
    const problems = settings.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
    process.stderr.write(`${problems.join('\n')}\n\nSee groundstate-agent --help.\n`)
    return 2
  }

  const drain = new AbortController()
  const forceful = new AbortController()
  const onSignal = () => (drain.signal.aborted ? forceful : drain).abort()
  const onHangup = () => drain.abort()
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('SIGHUP', onHangup)

  try {
    await runAgent({
      serverUrl: settings.data.GROUNDSTATE_URL,
      token: settings.data.GROUNDSTATE_AGENT_TOKEN,
      name: settings.data.GROUNDSTATE_NAME,
      concurrency: settings.data.GROUNDSTATE_CONCURRENCY,
      workDir: settings.data.GROUNDSTATE_WORK_DIR,
      enginePath: settings.data.GROUNDSTATE_ENGINE_PATH,
      strictEngineVersion: settings.data.GROUNDSTATE_STRICT_ENGINE === '1',
      caFile: settings.data.GROUNDSTATE_CA_FILE,
      drainTimeoutMs: settings.data.GROUNDSTATE_DRAIN_SECONDS * 1_000,
      isolation: settings.data.GROUNDSTATE_ISOLATION,
      firstRunUser: settings.data.GROUNDSTATE_FIRST_RUN_USER,
      sandbox: settings.data.GROUNDSTATE_SANDBOX === '1',
      limits: {
        memory: settings.data.GROUNDSTATE_MEMORY_LIMIT,
        cpu: settings.data.GROUNDSTATE_CPU_LIMIT,
        pids: settings.data.GROUNDSTATE_PIDS_LIMIT,
      },
      hooks: settings.data.GROUNDSTATE_HOOKS,
      log: jsonLog(),
      signal: drain.signal,
      forcefulSignal: forceful.signal,
    })
    return 0
  } catch (error) {
    process.stderr.write(`groundstate-agent: ${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  } finally {
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal).off('SIGHUP', onHangup)
  }
}

/** One line of JSON for each event, on standard output. */
function jsonLog(): AgentLog {
  const line = (level: string) => (facts: object, message: string) => {
    process.stdout.write(`${JSON.stringify({ time: new Date(), level, message, ...facts })}\n`)
  }
  return createAgentLog({ debug: () => {}, info: line('info'), warn: line('warn'), error: line('error') })
}
