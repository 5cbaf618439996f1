import { chmodSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { AgentJob } from '@groundstate/contract/agent'
import { type Credential, readCredentials } from '@groundstate/contract/workload-identity'
import { type Identified, provide } from '../identity/providers.ts'
import { redacted, storeTokens } from '../identity/redaction.ts'
import { type VaultLogin, logIntoVault } from '../identity/vault.ts'
import { type RunDirectory, chownToRun } from '../isolation/run-directory.ts'
import type { AgentLog } from '../log.ts'
import { removeTree } from '../process/confined-file.ts'
import type { EngineContext } from './context.ts'

/** Variables that providers prefer to the files of dynamic credentials. */
const PREFERRED: Partial<Record<Credential['provider'], readonly string[]>> = {
  aws: ['AWS_ACCESS_KEY_ID', 'AWS_PROFILE', 'AWS_WEB_IDENTITY_TOKEN_FILE'],
  gcp: ['GOOGLE_OAUTH_ACCESS_TOKEN', 'GOOGLE_CLOUD_KEYFILE_JSON', 'GCLOUD_KEYFILE_JSON'],
  azure: ['ARM_CLIENT_SECRET', 'ARM_CLIENT_CERTIFICATE', 'ARM_CLIENT_CERTIFICATE_PATH', 'ARM_OIDC_TOKEN'],
  hcp: ['HCP_CLIENT_ID'],
}

type Identify<T> = {
  work: (identified: EngineContext) => Promise<T>
  agentLog: AgentLog
}

/**
 * Runs a phase with the identity that the workspace's variables configure: its processes find the files and variables that providers read.
 * Afterwards the files are removed, and tokens of Vault revoked; a failure of that does not change the outcome. Throws if the configuration
 * is incomplete.
 */
export async function withIdentity<T>(context: EngineContext, { work, agentLog }: Identify<T>) {
  const { job, log, directory, stop, agent, journal } = context
  const credentials = requireCredentials(context)
  if (credentials.length === 0) return work(context)
  await using stack = new AsyncDisposableStack()
  const logins: VaultLogin[] = []
  // Also after a failure, and before the phase is reported: the directory may be kept.
  stack.defer(async () => {
    await Promise.all([removeFiles(context, agentLog), ...logins.map(async (login) => login[Symbol.asyncDispose]())])
  })
  const identified: Identified[] = []
  for (const credential of credentials) {
    const jwt = tokenFor(job, credential)
    if (credential.provider !== 'vault') identified.push({ credential, token: jwt })
    else {
      const warn = (text: string) => log.write(`Warning: ${text}.\n`)
      const site = { certificates: agent.certificates, signal: stop.interrupt, warn }
      const login = await logIntoVault(credential, jwt, site)
      logins.push(login)
      identified.push({ credential, token: login.token })
    }
  }
  const tokens = [...new Set([...job.identityTokens, ...identified].map(({ token }) => token))]
  // The log of a plan whose agent has died is not sent.
  if (job.kind === 'apply') await storeTokens(journal.tokens, tokens)
  const { files, environment, variables } = provide(identified, siteOf(context))
  writeFiles(directory, files)
  reportConflicts(context, credentials, environment)
  return await work({
    ...context,
    log: redacted(log, tokens),
    ownVariables: variables,
    environment: {
      ...context.environment,
      run: { ...context.environment.run, ...environment },
      quiet: { ...context.environment.quiet, ...environment },
      identity: Object.keys(environment),
    },
  })
}

/** None for the configuration of a fork, which gets no tokens. */
function requireCredentials({ job, log }: EngineContext): Credential[] {
  const variables = job.variables.filter(({ category }) => category === 'env')
  const { credentials, problems } = readCredentials(new Map(variables.map(({ key, value }) => [key, value])), job.kind)
  if (job.withholdsSecrets) {
    if (credentials.length + problems.length > 0)
      log.write('Dynamic credentials are left out: the configuration comes from a fork.\n')
    return []
  }
  if (problems.length > 0) throw new Error(`the dynamic credentials are incomplete: ${problems.join('; ')}`)
  return credentials
}

function tokenFor({ identityTokens }: AgentJob, { provider, audience }: Credential): string {
  const found = identityTokens.find((token) => token.audience === audience)
  if (found !== undefined) return found.token
  const name = provider === 'token' ? 'TFC_WORKLOAD_IDENTITY_AUDIENCE' : `TFC_${provider.toUpperCase()}_PROVIDER_AUTH`
  throw new Error(`the server sent no identity token for ${name}: update the server, and start the run again`)
}

function siteOf({ job, directory, workingDirectory }: EngineContext) {
  mkdirSync(directory.identity, { recursive: true, mode: 0o700 })
  if (directory.user !== undefined) chmodSync(directory.identity, 0o711)
  // A saved plan contains these paths: absolute ones would not exist on the agent that applies.
  const place = relative(realpathSync(workingDirectory), realpathSync(directory.identity))
  return {
    runId: job.runId,
    pathOf: (name: string) => join(directory.identity, name),
    relativePathOf: (name: string) => join(place, name),
  }
}

function writeFiles(directory: RunDirectory, files: Record<string, string>) {
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory.identity, name)
    writeFileSync(path, text, { mode: 0o600 })
    chownToRun(path, directory)
  }
}

/** The run may have left files that cannot be removed, such as a mount point. */
async function removeFiles({ directory, job, journal, log }: EngineContext, agentLog: AgentLog) {
  try {
    await rm(journal.tokens, { force: true })
    await removeTree(directory.identity)
  } catch (error) {
    log.write('\nWarning: the files of the dynamic credentials could not be removed.\n')
    const fields = { jobId: job.id, runId: job.runId, path: directory.identity, error }
    agentLog.error(fields, 'the files of dynamic credentials could not be removed')
  }
}

/** Logs variables of the workspace that replace the dynamic credentials, or are replaced by them. */
function reportConflicts(
  { log, environment: { run } }: EngineContext,
  credentials: readonly Credential[],
  environment: Record<string, string>,
) {
  const preferred = credentials.flatMap(({ provider, tag }) => (tag === undefined ? (PREFERRED[provider] ?? []) : []))
  for (const name of preferred.filter((one) => Object.hasOwn(run, one)))
    log.write(`Warning: providers may prefer the environment variable ${name} to the dynamic credentials.\n`)
  for (const [name, value] of Object.entries(environment))
    if ((run[name] ?? value) !== value)
      log.write(`The environment variable ${name} is replaced by that of the dynamic credentials.\n`)
}
