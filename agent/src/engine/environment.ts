import { join } from 'node:path'
import type { AgentJob } from '@groundstate/contract/agent'
import type { RunDirectory } from '../isolation/run-directory.ts'
import { PROXY_VARIABLES, environmentOf } from '../process/relay.ts'

/** Variables of the agent's environment that its engines inherit: PATH, locale, and access to the network. */
const INHERITED = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'SSL_CERT_FILE', 'SSL_CERT_DIR', ...PROXY_VARIABLES]

/** Terraform permits `import` blocks in remote runs only if the agent's version is at least 1.10. */
const AGENT_VERSION = '1.22.0'

/** Variables that affect every command; they would change the output that the agent parses. */
const TUNING = /^TF_(CLI_ARGS$|LOG)/

/** For a command that needs little memory: collecting the garbage of its start takes a fifth of its processor time (measured). */
export const SMALL_HEAP = { GOGC: '400' }

type Shared = { certificates: string | undefined }

export type EngineEnvironment = {
  run: Record<string, string>
  /** For commands whose output is parsed. */
  quiet: Record<string, string>
  /** Names of workspace variables that are left out, since they would detach the run from its server. */
  refused: string[]
  /** Names of variables by which the run proves its identity: their values differ between runs. */
  identity: readonly string[]
}

/** The environment of a run's processes: the workspace's env variables, and settings of the agent that no variable may change. */
export function engineEnvironment(job: AgentJob, directory: RunDirectory, agent: Shared): EngineEnvironment {
  const runVariables = {
    TFC_RUN_ID: job.runId,
    TFC_WORKSPACE_NAME: job.workspaceName,
    TFC_WORKSPACE_SLUG: `${job.organizationName}/${job.workspaceName}`,
    TFC_CONFIGURATION_VERSION_ID: job.configurationVersionId,
    ...(job.projectName === undefined ? {} : { TFC_PROJECT_NAME: job.projectName }),
  }
  const controls = { ...runVariables, TFE_RUN_ID: job.runId, ...engineSettings(directory) }
  const variables = job.variables.filter(({ category }) => category === 'env')
  const refused = variables.filter(({ key }) => isRefused(key, controls)).map(({ key }) => key)
  const accepted = variables.filter(({ key, value }) => !refused.includes(key) && !value.includes('\0'))
  const run: Record<string, string> = {
    ...environmentOf(INHERITED),
    ...home(directory, agent),
    ...gitOverSsh(job, directory),
    ...(job.options.debug ? { TF_LOG: 'TRACE' } : {}),
    // A configuration may declare variables of these names, as on HCP Terraform.
    ...Object.fromEntries(Object.entries(runVariables).map(([key, value]) => [`TF_VAR_${key}`, value])),
    ...Object.fromEntries(accepted.map(({ key, value }) => [key, value])),
    ...controls,
  }
  const quiet = Object.fromEntries(Object.entries(run).filter(([key]) => !TUNING.test(key)))
  return { run, quiet, refused, identity: [] }
}

/** The environment of a command that neither plans nor applies; contains nothing of the workspace. */
export function bareEnvironment(directory: RunDirectory, agent: Shared): Record<string, string> {
  return { ...environmentOf(INHERITED), ...home(directory, agent), ...engineSettings(directory) }
}

function engineSettings(directory: RunDirectory) {
  return {
    TFC_AGENT_VERSION: AGENT_VERSION,
    TF_FORCE_LOCAL_BACKEND: '1',
    TF_CLI_CONFIG_FILE: directory.cliConfig,
    TF_IN_AUTOMATION: '1',
    TF_INPUT: '0',
    TF_PLUGIN_CACHE_DIR: directory.cache.path,
    // Otherwise a configuration without a lock file would download its providers for every run.
    TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE: '1',
    CHECKPOINT_DISABLE: '1',
    TMPDIR: directory.tmp,
  }
}

function home(directory: RunDirectory, { certificates }: Shared): Record<string, string> {
  return { HOME: directory.home, ...(certificates === undefined ? {} : { SSL_CERT_FILE: certificates }) }
}

/**
 * Modules are fetched without anyone who could answer a prompt. A new host is trusted at first: what the agent knew of it would be lost
 * with the directory.
 */
function gitOverSsh({ sshKey }: AgentJob, directory: RunDirectory): Record<string, string> {
  if (sshKey === undefined) return {}
  const knownHosts = join(directory.home, 'known_hosts')
  const options = [
    'BatchMode=yes',
    'IdentitiesOnly=yes',
    'StrictHostKeyChecking=accept-new',
    `UserKnownHostsFile="${knownHosts}"`,
  ]
  const args = ['-F', '/dev/null', '-i', directory.sshKey, ...options.flatMap((option) => ['-o', option])]
  const ssh = `ssh ${args.map((text) => `'${text.replaceAll("'", `'\\''`)}'`).join(' ')}`
  // ssh requires a user with a name. A user reserved for a run has none; in a user namespace it is root, with no more access.
  const named = '$(id -un > /dev/null 2>&1 || echo unshare --user --map-root-user)'
  return { GIT_SSH_COMMAND: `${named} ${ssh}`, GIT_SSH_VARIANT: 'ssh' }
}

function isRefused(key: string, controls: Record<string, string>): boolean {
  if (key === '' || /[=\0]/.test(key)) return true
  // A second name of TF_CLI_CONFIG_FILE, variables of the cloud block, and the data directory, which the agent reads.
  if (['TERRAFORM_CONFIG', 'TF_WORKSPACE', 'TF_DATA_DIR', 'TF_REATTACH_PROVIDERS'].includes(key)) return true
  return key in controls || /^TF_(CLOUD_|TOKEN_groundstate)/.test(key)
}
