import type { AgentJob } from '@groundstate/contract/agent'
import type { RunDirectory } from '../isolation/run-directory.ts'

/** Variables of the agent's environment that the engine needs to reach the network; no other is passed on. */
const INHERITED = [
  'PATH',
  'LANG',
  'LC_ALL',
  'TZ',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
]

/** Terraform lets `import` blocks pass in a worker only when it believes in an agent of at least 1.10. */
const AGENT_VERSION = '1.22.0'

/** Read by the engine ahead of every command; they would break those of ours whose output we parse. */
const TUNING = /^TF_(CLI_ARGS$|LOG)/

/**
 * For a command that needs little memory: its collector waits until the heap has grown to five times what is live. Much of
 * the processor time of such a command is the collection of what its start has left behind (measured: a fifth).
 */
export const SMALL_HEAP = { GOGC: '400' }

type Shared = { certificates: string | undefined }

export type EngineEnvironment = {
  /** For init, plan and apply. */
  run: Record<string, string>
  /** For commands whose output is parsed. */
  quiet: Record<string, string>
  /** Workspace variables that were left out since they would take the run off its server. */
  refused: string[]
}

/**
 * The environment of a run's processes: the workspace's env variables, and what ties the engine to its server, which no
 * variable may change. The agent's own environment is not part of it, but for PATH, locale, proxies and certificates.
 */
export function engineEnvironment(job: AgentJob, directory: RunDirectory, agent: Shared): EngineEnvironment {
  const facts = {
    TFC_RUN_ID: job.runId,
    TFC_WORKSPACE_NAME: job.workspaceName,
    TFC_WORKSPACE_SLUG: `${job.organizationName}/${job.workspaceName}`,
    TFC_CONFIGURATION_VERSION_ID: job.configurationVersionId,
    ...(job.projectName === undefined ? {} : { TFC_PROJECT_NAME: job.projectName }),
  }
  const controls = { ...facts, TFE_RUN_ID: job.runId, ...ties(directory) }
  const own = { ...home(directory, agent), ...(job.options.debug ? { TF_LOG: 'TRACE' } : {}) }
  const variables = job.variables.filter(({ category }) => category === 'env')
  const refused = variables.filter(({ key }) => isRefused(key, controls)).map(({ key }) => key)
  const given = variables.filter(({ key, value }) => !refused.includes(key) && !value.includes('\0'))

  // A configuration may declare a variable of a fact's name, as on the hosted service.
  const factVariables = Object.fromEntries(Object.entries(facts).map(([key, value]) => [`TF_VAR_${key}`, value]))
  const run = {
    ...inherited(),
    ...own,
    ...factVariables,
    ...Object.fromEntries(given.map(({ key, value }) => [key, value])),
    ...controls,
  }
  const quiet = Object.fromEntries(Object.entries(run).filter(([key]) => !TUNING.test(key)))
  return { run, quiet, refused }
}

/** For a command that neither plans nor applies: nothing of the workspace is in it. */
export function bareEnvironment(directory: RunDirectory, agent: Shared): Record<string, string> {
  return { ...inherited(), ...home(directory, agent), ...ties(directory) }
}

function ties(directory: RunDirectory) {
  return {
    TFC_AGENT_VERSION: AGENT_VERSION,
    TF_FORCE_LOCAL_BACKEND: '1',
    TF_CLI_CONFIG_FILE: directory.cliConfig,
    TF_IN_AUTOMATION: '1',
    TF_INPUT: '0',
    TF_PLUGIN_CACHE_DIR: directory.cache.path,
    // Without it a configuration that brings no lock file would download its providers again for every run.
    TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE: '1',
    CHECKPOINT_DISABLE: '1',
    TMPDIR: directory.tmp,
  }
}

function home(directory: RunDirectory, { certificates }: Shared): Record<string, string> {
  return { HOME: directory.home, ...(certificates === undefined ? {} : { SSL_CERT_FILE: certificates }) }
}

function inherited(): Record<string, string> {
  return Object.fromEntries(
    INHERITED.flatMap((key) => {
      const value = process.env[key]
      return value === undefined ? [] : [[key, value]]
    }),
  )
}

function isRefused(key: string, controls: Record<string, string>): boolean {
  if (key === '' || /[=\0]/.test(key)) return true
  // Two names of the CLI configuration file, the cloud block's own variables, and the directory that the agent reads.
  if (['TERRAFORM_CONFIG', 'TF_WORKSPACE', 'TF_DATA_DIR', 'TF_REATTACH_PROVIDERS'].includes(key)) return true
  return key in controls || /^TF_(CLOUD_|TOKEN_groundstate)/.test(key)
}
